//! What is kept in `mcp_state` (Tool bus v1 L20).

use serde_json::Value;

use super::Reply;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::call::Probe;
use crate::families::toolbus::reason::Alternative;
use crate::families::toolbus::replicas;

/// A look at the state.
#[derive(Clone, Debug)]
pub struct Read {
    /// What was found; nothing where nothing is stored.
    pub value: Option<Value>,
    /// Id of the request that asked for it.
    pub reader: i64,
}

/// The state holds this value, whenever and by whichever replica it was read.
pub fn holds(reply: &Reply<'_>, reads: &[Read], expected: &Value) -> Judgement {
    let is_it = |own: &&Read| {
        let read = own.value.as_ref();
        read.is_some_and(|read| answer::same(&reply.lasting_result(read.clone()), expected))
    };
    let Some(wrong) = reads.iter().find(|own| !is_it(own)) else { return Ok(()) };
    let home = replicas::asked(reply.frames, reply.made.id);
    let is_at_home = |own: &&Read| replicas::asked(reply.frames, own.reader) == home;
    let found_at_home = reads.iter().filter(is_it).find(is_at_home);
    let other = replicas::asked(reply.frames, wrong.reader);
    Err(match (home, other) {
        (Some(home), Some(other)) if found_at_home.is_some() => {
            let finding = not_held(reply, wrong, expected);
            across(finding, home, other).into()
        }
        _ => not_held(reply, wrong, expected).into(),
    })
}

/// Says of a finding that it shows only where several replicas are asked.
fn across(mut finding: Finding, home: usize, other: usize) -> Finding {
    finding.message = format!(
        "{} (it shows only across replicas: replica {} has it, which got the call, and replica {} does not)",
        finding.message,
        home + 1,
        other + 1
    );
    if !finding.hint.contains(replicas::EVERYWHERE) {
        finding.hint = format!("{}; keep the state {}", finding.hint, replicas::EVERYWHERE);
    }
    finding
}

fn not_held(reply: &Reply<'_>, wrong: &Read, expected: &Value) -> Finding {
    let (read, reader) = (wrong.value.as_ref(), wrong.reader);
    let call = &reply.made.call;
    let scope = call.stored.as_ref().and_then(|(_, scope)| scope.as_deref());
    let place = scope.map_or_else(String::new, |scope| format!(" in the scope `{scope}`"));
    let hint =
        "store what the call returns, after shaping, under the key and in the scope that were asked for";
    // Where the call stores nothing an earlier one did, and those after it were to leave it there.
    let (message, hint) = if call.stored.is_some() {
        let is_default = read.is_none() && !call.arguments.contains_key("store_scope");
        let scopes = "; without `store_scope` it is looked for in the first of `toolbus.scopes` of the manifest, which \
                      has to be the server's default";
        (
            format!("`store_as` of `{}` does not put the result into the state{place}", reply.tool()),
            format!("{hint}{}", if is_default { scopes } else { "" }),
        )
    } else {
        (
            "what a call stored is no longer what it was after calls that fail or store nothing".to_owned(),
            "change the state only for a call with `store_as` that succeeds".to_owned(),
        )
    };
    let mut finding = reply
        .finding(message, hint)
        .expected(expected.clone())
        .actual(read.or(Some(&Value::from("nothing is stored there"))));
    // What the reader was asked and answered shows whether the manifest describes it rightly.
    for frame in
        [answer::request(reply.frames, reader), answer::frame(reply.frames, reader)].into_iter().flatten()
    {
        finding = finding.frame(frame);
    }
    finding
}

/// Where the call reads the state, it gives something back: a server need not keep a result that holds secrets.
pub fn gives_what_was_kept(reply: &Reply<'_>, value_pointer: &str) -> Judgement {
    if reply.made.call.probe != Some(Probe::State) {
        return Ok(());
    }
    if !reply.answer.is_failure() {
        let value = reply.envelope()?.pointer(&format!("{}{value_pointer}", reply.result_pointer)).cloned();
        if value.is_some_and(|value| !value.is_null()) {
            return Ok(());
        }
    }
    Err(Alternative::KeepsNoSecret.seen_in(answer::frame(reply.frames, reply.made.id)))
}

/// What is wrong where a scope still holds what a call stored: it was stored there, or in another scope.
pub fn why_it_is_there(reply: &Reply<'_>, scope: &str) -> &'static str {
    let stored_in = reply.made.call.stored.as_ref().and_then(|(_, scope)| scope.as_deref());
    if stored_in == Some(scope) {
        "what was stored in a scope that ends with the server outlives its restart"
    } else {
        "what was stored in one scope is read from another"
    }
}

/// The state holds nothing that came from the call. That counts only where what is stored on purpose is read back on the
/// same way.
pub fn does_not_hold(reply: &Reply<'_>, read: Option<&Value>, is_read_back: bool, why: &str) -> Judgement {
    match read {
        None if is_read_back => Ok(()),
        None => Err(CheckFailure::NotObserved(
            "a result that `store_as` stores is not read back by `toolbus.probes.state` either, so an empty state shows \
             nothing"
                .to_owned(),
        )),
        Some(read) => Err(reply
            .finding(
                why.to_owned(),
                "store only where `store_as` asks for it, and only there, and only what a call gave",
            )
            .expected("nothing is stored there")
            .actual(Some(read))
            .into()),
    }
}
