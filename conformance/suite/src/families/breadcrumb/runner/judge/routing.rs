//! Where results go (Universal Tool Invocation L39-41, L46-63, L126-135).

use serde_json::Value;

use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::crumb::SESSION;
use crate::families::breadcrumb::manifest::View;
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::value::holds;
use crate::transcript::{Frame, Kind};

/// Who sees what of a session.
#[derive(Clone, Debug)]
pub struct Audience<'a> {
    /// What the user sees.
    pub user: &'a [View],
    /// What sets the agent going.
    pub agent: &'a [View],
    /// The tag of the session.
    pub session: String,
    /// Whether an agent of the target's own may have spoken.
    pub has_agent: bool,
}

impl Audience<'_> {
    /// Whether the user has had the result of a call.
    pub fn shows(&self, frames: &[Frame], call: &Call) -> bool {
        !self.shown(frames, call).is_empty() || self.is_added(frames, call)
    }

    /// Whether it was reported to anybody how a call without a known result ended.
    pub fn is_reported(&self, frames: &[Frame], call: &Call) -> bool {
        let own = frames.iter().filter(|frame| frame.kind == Kind::Crumb && is_seen(frame, self.user));
        let mut seen = own.filter(|frame| tags(frame).any(|tag| tag == self.session));
        seen.next().is_some() || Answer::of(frames, call).is_some()
    }

    /// Breadcrumbs for the user of this session that hold the result of a call.
    pub fn shown<'f>(&self, frames: &'f [Frame], call: &Call) -> Vec<&'f Frame> {
        let own = frames.iter().filter(|frame| frame.kind == Kind::Crumb && is_seen(frame, self.user));
        own.filter(|frame| tags(frame).any(|tag| tag == self.session) && holds_result(frame, call)).collect()
    }

    /// What was stored for the user of another session, with the result of a call.
    fn strayed<'f>(&self, frames: &'f [Frame], call: &Call) -> Option<&'f Frame> {
        let mut own = frames.iter().filter(|frame| frame.kind == Kind::Crumb && is_seen(frame, self.user));
        own.find(|frame| {
            tags(frame).any(|tag| tag.starts_with(SESSION) && tag != self.session)
                && holds_result(frame, call)
        })
    }

    /// Whether the result of a call was added to a breadcrumb that was there: a change says neither schema nor tags.
    fn is_added(&self, frames: &[Frame], call: &Call) -> bool {
        let changes = frames.iter().filter(|frame| frame.kind == Kind::CrumbChange);
        changes
            .filter(|frame| frame.member("/schema_name").is_none() || is_seen(frame, self.user))
            .any(|frame| holds_result(frame, call))
    }

    /// What has a language model, or the agent in the target, work on the result of a call.
    pub fn turns<'f>(&self, frames: &'f [Frame], call: &Call) -> Vec<&'f Frame> {
        let is_turn = |frame: &&Frame| match frame.kind {
            Kind::Upstream => call.sign.as_ref().is_some_and(|sign| holds(&frame.body, sign)),
            Kind::Crumb => is_seen(frame, self.agent) && holds_result(frame, call),
            _ => false,
        };
        frames.iter().filter(is_turn).collect()
    }
}

fn tags(frame: &Frame) -> impl Iterator<Item = &str> {
    frame.body.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn is_seen(frame: &Frame, views: &[View]) -> bool {
    views.iter().any(|view| {
        view.schema_name.as_deref().is_none_or(|name| frame.text("/schema_name") == Some(name))
            && view.tag.as_deref().is_none_or(|wanted| tags(frame).any(|tag| tag == wanted))
    })
}

fn holds_result(frame: &Frame, call: &Call) -> bool {
    let sign = call.sign.as_ref();
    sign.is_some_and(|sign| frame.body.get("context").is_some_and(|context| holds(context, sign)))
}

/// The result comes back to who asked for it.
pub fn reaches_agent(frames: &[Frame], call: &Call) -> Judgement {
    let all = Answer::any(frames, call);
    let sign = call.sign.as_ref();
    if all
        .iter()
        .any(|answer| sign.is_none_or(|sign| answer.output().is_some_and(|output| holds(output, sign))))
    {
        return Ok(());
    }
    let mut finding = Finding::new(
        format!("the result of `{}` does not come back to the agent", call.tool()),
        "where `return_to_llm` is `true`, store a `tool.response.v1` with the result: it is what sets the agent going",
    );
    if let Some(sign) = sign {
        finding = finding.expected(sign.clone());
    }
    if let Some(answer) = all.first() {
        finding = finding.actual(Some(&answer.frame.body)).frame(answer.frame);
    }
    Err(finding.into())
}

/// The user sees nothing of a result before the agent has worked on it.
pub fn stays_with_agent(frames: &[Frame], call: &Call, audience: &Audience<'_>) -> Judgement {
    let turns = audience.turns(frames, call);
    let first_turn = turns.first().map_or(u32::MAX, |frame| frame.n);
    let Some(frame) = audience.shown(frames, call).into_iter().find(|frame| frame.n < first_turn) else {
        return Ok(());
    };
    let answered = Answer::of(frames, call).map_or(u32::MAX, |answer| answer.frame.n);
    if audience.has_agent && answered < frame.n {
        return Err(CheckFailure::NotObserved(
            "what the user was shown may be what the target's agent said".to_owned(),
        ));
    }
    Err(Finding::new(
        format!("the user is shown the raw result of `{}` ahead of the agent", call.tool()),
        "where `return_to_llm` is `true`, store the `tool.response.v1` only; what there is to say to the user, the agent says",
    )
    .actual(Some(&frame.body))
    .at("/context")
    .frame(frame)
    .into())
}

/// The result is shown to the user.
pub fn reaches_user(frames: &[Frame], call: &Call, audience: &Audience<'_>) -> Judgement {
    if audience.shows(frames, call) {
        return Ok(());
    }
    if let Some(frame) = audience.strayed(frames, call) {
        return Err(Finding::new(
            format!("the result of `{}` is shown in another session", call.tool()),
            "show it in the session whose tag stands in the breadcrumb that asks for it: keep that tag with each request, \
             not in one place for all, since another session may speak while a tool works",
        )
        .expected(audience.session.clone())
        .actual(frame.body.get("tags"))
        .at("/tags")
        .frame(frame)
        .into());
    }
    let mut finding = Finding::new(
        format!("the user is not shown the result of `{}`", call.tool()),
        format!(
            "where `return_to_llm` is `false`, store a breadcrumb that the user sees, with the tag `{}` and the value in \
             its `context`; `breadcrumb.runner.user_view` in the manifest says what the user sees",
            audience.session
        ),
    );
    if let Some(sign) = &call.sign {
        finding = finding.expected(sign.clone());
    }
    if let Some(frame) =
        frames.iter().rev().find(|frame| frame.kind == Kind::Crumb && holds_result(frame, call))
    {
        finding = finding.actual(Some(&frame.body)).frame(frame);
    }
    Err(finding.into())
}

/// A failure is reported to the user, or answered.
pub fn is_admitted(frames: &[Frame], call: &Call, audience: &Audience<'_>) -> Judgement {
    if audience.is_reported(frames, call) {
        return Ok(());
    }
    Err(Finding::new(
        format!("the failure of the call of `{}` is reported to nobody", call.tool()),
        "where `return_to_llm` is `false` and the tool fails, show the user a message that says so, or store a \
         `tool.response.v1` with `status` `error`",
    )
    .expected(call.id())
    .into())
}

/// No language model is asked about the result, and no agent turn starts by it.
pub fn takes_no_turn(frames: &[Frame], call: &Call, audience: &Audience<'_>) -> Judgement {
    let Some(frame) = audience.turns(frames, call).into_iter().next() else { return Ok(()) };
    Err(Finding::new(
        format!(
            "the result of `{}`, which goes to the user, sets a language model or the agent going",
            call.tool()
        ),
        "where `return_to_llm` is `false`, store the result for the user and stop there",
    )
    .actual(Some(&frame.body))
    .frame(frame)
    .into())
}

/// That the user was served at all, without which "the user does not see it" says nothing.
pub fn is_serving(frames: &[Frame], call: &Call, audience: &Audience<'_>) -> Judgement {
    if audience.shows(frames, call) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved("no result reached the user on the same path".to_owned()))
}
