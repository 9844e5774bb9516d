//! Agents that call no tool as they are asked to score no pass, and never end as conformant.
//!
//! Each is a command that speaks JSON lines.

use crate::support::{self, nothing};
use callmark_reports::record::Verdict;
use callmark_suite::families::breadcrumb::agent::manifest::CrumbDriveTable;
use callmark_suite::families::breadcrumb::manifest::BreadcrumbTable;

/// What of a line names the session.
const SESSION: &str = r#".*"\(session:[^"]*\)".*"#;
/// What of a line names the session, and what the user wants to have looked up, saved or worked out.
const WISH: &str = r#".*"\(session:[^"]*\)".*\([a-z]\{4,6\}-[0-9a-f]\{12\}-[0-9]\).*"#;

async fn check(command: &[&str], expect: Verdict) {
    let mut manifest = support::manifest();
    let breadcrumb = manifest.get_mut::<BreadcrumbTable>().expect("the bundled manifest has breadcrumbs");
    let agent = breadcrumb.agent.as_mut().expect("the bundled manifest has an agent");
    agent.launch.start = None;
    let command = Some(command.iter().map(|word| (*word).to_owned()).collect());
    agent.drive = Some(CrumbDriveTable { command, ..CrumbDriveTable::default() });
    // Who answers at all is waited for, also on a busy machine; who does not costs this much.
    agent.launch.start_timeout_seconds = Some(if expect == Verdict::Incomplete { 1.0 } else { 20.0 });
    nothing::check(&manifest, &["breadcrumb.agent"], "", expect, "the agent").await;
}

/// Says the same context to every line that fits a pattern, in the session of that line.
async fn check_context(pattern: &str, context: &str, expect: Verdict) {
    let said = format!(
        r#"{{"action":"create","breadcrumb":{{"schema_name":"agent.response.v1","title":"Response","tags":["agent:response","\1"],"context":{context}}}}}"#
    );
    check(&["sed", "-u", "-n", &format!("s/{pattern}/{said}/p")], expect).await;
}

/// A single call of a tool with an input.
fn call(tool: &str, input: &str) -> String {
    format!(
        r#"{{"message":"One moment.","tool_requests":[{{"tool":"{tool}","input":{input},"requestId":"{tool}-1","return_to_llm":true}}]}}"#
    )
}

nothing::tests_in_lines!(check);

#[tokio::test]
async fn an_echo_under_the_schema_of_invocations() {
    check(&["sed", "-u", "s/user.message.v1/agent.response.v1/"], Verdict::Incomplete).await;
}

#[tokio::test]
async fn words_for_everything() {
    check(&["sed", "-u", "s/.*/Good morning./"], Verdict::Incomplete).await;
}

#[tokio::test]
async fn a_message_without_a_call_for_everything() {
    check_context(SESSION, r#"{"message":"It is done."}"#, Verdict::Incomplete).await;
}

#[tokio::test]
async fn the_same_calculation_for_everything() {
    let context = call("calculator", r#"{"expression":"1 + 1"}"#);
    // It makes the calls of a session under one id, which is broken whatever else it does.
    check_context(SESSION, &context, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_search_for_the_same_thing_for_everything() {
    let context = call("web-notes", r#"{"query":"news"}"#);
    check_context(SESSION, &context, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_search_for_whatever_is_wanted() {
    let context = call("web-notes", r#"{"query":"\2"}"#);
    check_context(WISH, &context, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn the_invocation_of_somebody_else() {
    let fixed = call("web-notes", r#"{"query":"news"}"#);
    check(&["sed", "-u", &format!("s/.*/{fixed}/")], Verdict::Incomplete).await;
}
