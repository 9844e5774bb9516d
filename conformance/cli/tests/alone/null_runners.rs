//! Tool runners that do nothing of what they should score no pass, and never end as conformant.
//!
//! Each is a command that speaks JSON lines.

use crate::support::{self, nothing};
use callmark_reports::record::Verdict;
use callmark_suite::families::breadcrumb::manifest::BreadcrumbTable;

const PROFILES: [&str; 3] = ["breadcrumb.runner", "breadcrumb.tools", "breadcrumb.workflow"];
/// What of a line names the tool and the id of its last request.
const REQUEST: &str = r#".*"tool":"\([^"]*\)".*"requestId":"\([^"]*\)".*"#;

async fn check(command: &[&str], expect: Verdict) {
    let mut manifest = support::manifest();
    let runner = manifest.get_mut::<BreadcrumbTable>().expect("the bundled manifest has a runner");
    runner.launch.start = Some(command.iter().map(|word| (*word).to_owned()).collect());
    runner.lines = true;
    runner.launch.start_timeout_seconds = Some(1.0);
    let _turn = crate::TURN.acquire().await.expect("never closed");
    nothing::check(&manifest, &PROFILES, "", expect, &format!("{command:?}")).await;
}

/// Answers every line with a `tool.response.v1` of this context, in which `\1` is the tool and `\2` the id.
async fn check_answer(context: &str, expect: Verdict) {
    let answer = format!(
        r#"{{"schema_name":"tool.response.v1","title":"Response","tags":["tool:response"],"context":{context}}}"#
    );
    check(&["sed", "-u", "-n", &format!("s/{REQUEST}/{answer}/p")], expect).await;
}

nothing::tests_in_lines!(check);

#[tokio::test]
async fn an_echo_under_the_schema_of_answers() {
    check(&["sed", "-u", "s/agent.response.v1/tool.response.v1/"], Verdict::Incomplete).await;
}

#[tokio::test]
async fn an_error_for_everything() {
    let context = r#"{"request_id":"\2","tool":"\1","status":"error","error":"it did not work"}"#;
    check_answer(context, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_success_without_output_for_everything() {
    check_answer(r#"{"request_id":"\2","tool":"\1","status":"success"}"#, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_empty_success_for_everything() {
    check_answer(r#"{"request_id":"\2","tool":"\1","status":"success","output":{}}"#, Verdict::Nonconformant)
        .await;
}

#[tokio::test]
async fn a_success_and_an_error_for_everything() {
    let context =
        r#"{"request_id":"\2","tool":"\1","status":"success","output":{},"error":"it did not work"}"#;
    check_answer(context, Verdict::Nonconformant).await;
}
