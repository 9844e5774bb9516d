//! What a transcript shows of one call: its reports, its cards, its signs of life.

use std::cell::OnceCell;
use std::time::Duration;

use callmark_reports::record::Direction;
use serde_json::Value;

use super::project::project;
use super::turn_start;
use crate::engine::judge::CheckFailure;
use crate::families::utp::call::Call;
use crate::families::utp::message::{call_id, card_type};
use crate::families::utp::revision::Revision;
use crate::families::utp::tool::Tool;
use crate::transcript::{Frame, Kind, member_at, shorten};

/// The five values of `status` (UTP §4.2).
pub const STATUSES: [&str; 5] = ["success", "failed", "canceled", "timeout", "partial"];

/// The calls of one scenario: the one under test and the others, whose messages are not its own.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'a> {
    /// Under test.
    pub subject: &'a Call,
    /// Ids and turns of every other call that the suite made in the project.
    pub others: &'a [String],
    /// What was found of it, where its messages are all there.
    found: Option<&'a Found>,
}

/// What is found of a call once, for all that judge it, where its messages are all there.
#[derive(Debug, Default)]
pub struct Found {
    reports: Once<Vec<usize>>,
    card: Once<Option<usize>>,
}

/// Places among messages, and which messages: where they begin, and how many they are.
#[derive(Debug)]
struct Once<T>(OnceCell<((usize, usize), T)>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(OnceCell::new())
    }
}

impl<T> Once<T> {
    /// What was found among these messages; nothing where it was found among others.
    fn among(&self, frames: &[Frame], find: impl FnOnce() -> T) -> Option<&T> {
        let among = (frames.as_ptr().addr(), frames.len());
        let (own, found) = self.0.get_or_init(|| (among, find()));
        (*own == among).then_some(found)
    }
}

impl<'a> Calls<'a> {
    /// A call, and the ids and turns of all others.
    pub fn new(subject: &'a Call, others: &'a [String]) -> Self {
        Self { subject, others, found: None }
    }

    /// Looks once for what is judged of it, in messages that do not change.
    #[must_use]
    pub fn found_once(self, found: &'a Found) -> Self {
        Self { found: Some(found), ..self }
    }

    /// Whether a report or a saved card belongs to one of the other calls, by its id or by its turn.
    pub fn is_foreign(&self, frames: &[Frame], frame: &Frame) -> bool {
        let revision = self.subject.revision;
        let reported = Some(frame).filter(|frame| frame.kind == Kind::Report);
        let reported = reported.and_then(|report| revision.reported(report, "agent_turn_id"));
        let turn = reported.or_else(|| frame.text("/card/metadata/agent_turn_id"));
        [owner(frames, frame, revision), turn]
            .into_iter()
            .flatten()
            .any(|id| self.others.iter().any(|other| other == id))
    }

    /// Whether a message is of another project to which a command was sent: ids may be the same there.
    pub fn is_of_another_project(&self, frames: &[Frame], frame: &Frame) -> bool {
        let own = self.subject.subject.split('.').nth(2);
        let project = project(frame);
        project.is_some()
            && project != own
            && frames.iter().any(|other| other.kind == Kind::Command && other.token(2) == project)
    }
}

/// Reports of the call under test, in order.
///
/// A report belongs to the call when its payload or its correlation id says so. A report that names no
/// call of the suite at all is the target's answer to something, so it counts too: an answer with a
/// broken id must not look like silence. Where a call has a `tool_result`, its other Inbox messages
/// (progress, logs) are the target's own affair.
pub fn reports<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Vec<&'a Frame> {
    let at = |places: &[usize]| places.iter().map(|place| &frames[*place]).collect();
    match calls.found.and_then(|found| found.reports.among(frames, || find_reports(frames, calls))) {
        Some(places) => at(places),
        None => at(&find_reports(frames, calls)),
    }
}

/// Where they stand.
fn find_reports(frames: &[Frame], calls: &Calls<'_>) -> Vec<usize> {
    let all = || frames.iter().enumerate().filter(|(_, frame)| frame.kind == Kind::Report);
    let is_here = |frame: &Frame| !calls.is_of_another_project(frames, frame);
    let id = calls.subject.tool_call_id.as_str();
    let names = |frame: &Frame| {
        calls.subject.revision.reported(frame, "tool_call_id") == Some(id)
            || frame.text("/correlation_id") == Some(id)
    };
    let mut own: Vec<(usize, &Frame)> = all().filter(|(_, frame)| names(frame) && is_here(frame)).collect();
    if own.is_empty() {
        own = all().filter(|(_, frame)| is_here(frame) && !calls.is_foreign(frames, frame)).collect();
    }
    let is_result = |frame: &Frame| frame.text("/message_type") == Some("tool_result");
    let has_results = own.iter().any(|(_, frame)| is_result(frame));
    own.into_iter().filter(|(_, frame)| !has_results || is_result(frame)).map(|(place, _)| place).collect()
}

/// As [`reports`], where there is something to judge only if there is one.
pub fn some_reports<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Result<Vec<&'a Frame>, CheckFailure> {
    let reports = reports(frames, calls);
    if reports.is_empty() {
        return Err(CheckFailure::NotObserved("the target reported no callback for the call".to_owned()));
    }
    Ok(reports)
}

/// The first report of the call under test.
pub fn report<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Option<&'a Frame> {
    reports(frames, calls).into_iter().next()
}

/// Cards that the target saved, with the frames that saved them.
pub fn saved_cards(frames: &[Frame]) -> impl Iterator<Item = (&Frame, &Value)> {
    frames.iter().filter(|frame| frame.kind == Kind::CardSave).map(|frame| (frame, card_in(frame)))
}

/// The card that a message saves.
fn card_in(frame: &Frame) -> &Value {
    frame.body.get("card").filter(|card| card.is_object()).unwrap_or(&frame.body)
}

/// Saved cards that are results: of type tool.result, or of no type at all. Others are the target's own affair.
pub fn result_cards(frames: &[Frame]) -> impl Iterator<Item = (&Frame, &Value)> {
    saved_cards(frames).filter(|(_, card)| card_type(card).is_none_or(|kind| kind == "tool.result"))
}

/// Whether a frame saves a result card.
pub fn is_result(frame: &Frame) -> bool {
    result_cards(std::slice::from_ref(frame)).next().is_some()
}

/// The last saved version of the card that a callback points to.
pub fn card_of<'a>(frames: &'a [Frame], report: &Frame) -> Option<(&'a Frame, &'a Value)> {
    let id = report.text("/payload/tool_result_card_id")?;
    saved_cards(frames)
        .filter(|(frame, card)| {
            let is_there = project(frame).zip(project(report)).is_none_or(|(own, other)| own == other);
            is_there && card.get("card_id").and_then(Value::as_str) == Some(id)
        })
        .last()
}

/// Whether a report points to a card that was saved in another project.
pub fn is_pointed_to_elsewhere(frames: &[Frame], report: &Frame) -> bool {
    let id = report.text("/payload/tool_result_card_id");
    id.is_some()
        && saved_cards(frames).any(|(frame, card)| {
            project(frame) != project(report) && card.get("card_id").and_then(Value::as_str) == id
        })
}

/// The tool.result card of the call: the one its callback points to, else one that names the call, else
/// the only card that belongs to no other call.
pub fn result_card<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Option<(&'a Frame, &'a Value)> {
    let place = match calls.found.and_then(|found| found.card.among(frames, || find_card(frames, calls))) {
        Some(place) => *place,
        None => find_card(frames, calls),
    };
    let frame = &frames[place?];
    Some((frame, card_in(frame)))
}

/// Where it is saved.
fn find_card(frames: &[Frame], calls: &Calls<'_>) -> Option<usize> {
    let pointed = report(frames, calls).and_then(|report| card_of(frames, report));
    let id = calls.subject.tool_call_id.as_str();
    let cards = || result_cards(frames).filter(|(frame, _)| !calls.is_of_another_project(frames, frame));
    let (card, _) = pointed
        .or_else(|| cards().find(|(_, card)| call_id(card) == Some(id)))
        .or_else(|| cards().find(|(frame, _)| !calls.is_foreign(frames, frame)))?;
    frames.iter().position(|frame| std::ptr::eq(frame, card))
}

/// Whether a card says how a call ended, and is not saved only to be filled later.
pub fn holds_outcome(card: &Value) -> bool {
    let status = member_at(card, "/content/status").and_then(Value::as_str);
    let holds = |member: &str| member_at(card, member).is_some_and(|value| !value.is_null());
    status.is_some_and(|status| STATUSES.contains(&status))
        && (holds("/content/result") || holds("/content/error"))
}

/// The answer of the card store that showed the target the card which a command points to.
pub fn card_shown<'a>(frames: &'a [Frame], command: &Frame) -> Option<&'a Frame> {
    let id = command.text("/tool_call_card_id")?;
    let holds = |card: &Value| card.get("card_id").and_then(Value::as_str) == Some(id);
    frames.iter().find(|frame| {
        let cards = frame.body.get("cards").and_then(Value::as_array);
        frame.kind == Kind::CardsReply
            && (cards.is_some_and(|cards| cards.iter().any(holds)) || holds(&frame.body))
    })
}

/// The id of the call that a report or a saved card belongs to; a card without one belongs to the report that
/// points to it.
pub fn owner<'a>(frames: &'a [Frame], frame: &'a Frame, revision: Revision) -> Option<&'a str> {
    let of_report = |report: &'a Frame| {
        revision.reported(report, "tool_call_id").or_else(|| report.text("/correlation_id"))
    };
    if frame.kind == Kind::Report {
        return of_report(frame);
    }
    let card = frame.body.get("card")?;
    call_id(card).or_else(|| {
        let id = card.get("card_id")?.as_str()?;
        let pointing = frames
            .iter()
            .filter(|other| other.kind == Kind::Report)
            .find(|other| other.text("/payload/tool_result_card_id") == Some(id))?;
        of_report(pointing)
    })
}

/// Whether the target shows that it did the work of a call: only who read the card knows its token.
pub fn reflects(frames: &[Frame], call: &Call) -> bool {
    work(frames, call).next().is_some()
}

/// What shows the work of a call. A built-in that starts turns works by starting one, whatever it says of itself; who asks
/// for a turn that is there already starts none.
pub fn work<'a>(frames: &'a [Frame], call: &Call) -> impl Iterator<Item = &'a Frame> {
    let kinds: &[Kind] = match call.tool {
        tool if tool.starts_turns() => &[Kind::TurnStart],
        Tool::ProvisionAgent => &[Kind::RosterSave, Kind::CardSave, Kind::Report],
        _ => &[Kind::CardSave, Kind::Report],
    };
    frames
        .iter()
        .filter(|frame| frame.direction == Direction::FromTarget && kinds.contains(&frame.kind))
        .filter(|frame| shows_work(frames, frame, call))
        .filter(|frame| {
            frame.kind != Kind::TurnStart || turn_start::known_as(frames, frame, call.revision).is_none()
        })
}

/// Whether a message shows the work of a call. A result that other calls give too counts where the message names this
/// call, or none that the suite made.
fn shows_work(frames: &[Frame], frame: &Frame, call: &Call) -> bool {
    if !call.proof.is_a_result() {
        return call.proof.is_repeated_in(&frame.body);
    }
    let is_made = |id: &str| {
        let mut commands = frames.iter().filter(|frame| frame.kind == Kind::Command);
        commands.any(|command| call.revision.sent(command, "tool_call_id") == Some(id))
    };
    frame.body.get("card").is_some_and(|card| call.proof.is_in_card(card))
        && owner(frames, frame, call.revision)
            .is_none_or(|owner| owner == call.tool_call_id || !is_made(owner))
}

/// Whether the result of an echo call holds the token, and nothing at all is where the manifest says.
pub fn is_misplaced(frames: &[Frame], call: &Call) -> bool {
    let own = result_cards(frames).filter(|(_, card)| call_id(card) == Some(&call.tool_call_id)).last();
    let Some(result) = own.and_then(|(_, card)| member_at(card, "/content/result")) else { return false };
    call.proof.is_in_result(result) && result.pointer(&call.result_pointer).is_none()
}

/// Whether a frame says what came of a call: a report that is no other Inbox message, or a result card.
pub fn is_outcome(frame: &Frame) -> bool {
    match frame.kind {
        Kind::Report => frame.member("/message_type").is_none_or(|kind| kind == "tool_result"),
        Kind::CardSave => is_result(frame),
        _ => false,
    }
}

/// The report of a call's outcome, by its id.
pub fn outcome<'a>(frames: &'a [Frame], call: &Call) -> Option<&'a Frame> {
    let id = Some(call.tool_call_id.as_str());
    frames
        .iter()
        .filter(|frame| frame.kind == Kind::Report && is_outcome(frame))
        .find(|frame| owner(frames, frame, call.revision) == id)
}

/// Whether a call was answered, and its card shows other work than its own. A built-in need not say what it did,
/// and may do it after its answer; only a failure says that it did not.
pub fn is_mixed_up(frames: &[Frame], call: &Call) -> bool {
    outcome(frames, call).is_some_and(|report| {
        if call.tool.is_builtin() {
            return report.text("/payload/status") == Some("failed");
        }
        card_of(frames, report)
            .is_some_and(|(_, card)| !call.proof.is_in_card(card) && !call.proof.is_repeated_in(&report.body))
    })
}

/// What the card of a call that was answered as failed says of that.
pub fn failure(frames: &[Frame], call: &Call) -> Option<String> {
    let report = outcome(frames, call).filter(|report| report.text("/payload/status") == Some("failed"))?;
    let error = card_of(frames, report).and_then(|(_, card)| member_at(card, "/content/error"));
    Some(error.map_or_else(
        || "without an error in its card".to_owned(),
        |error| format!("with {}", shorten(error)),
    ))
}

/// The command of a call.
pub fn command<'a>(frames: &'a [Frame], call: &Call) -> Option<&'a Frame> {
    commands(frames, call).next()
}

/// The command of a call, and its repetitions.
pub fn commands<'a>(frames: &'a [Frame], call: &Call) -> impl Iterator<Item = &'a Frame> {
    let (id, revision) = (call.tool_call_id.clone(), call.revision);
    let is_own = move |frame: &&Frame| {
        frame.kind == Kind::Command && revision.sent(frame, "tool_call_id") == Some(&id)
    };
    frames.iter().filter(is_own)
}

/// The first report of a turn.
pub fn report_in_turn<'a>(frames: &'a [Frame], revision: Revision, turn: &Value) -> Option<&'a Frame> {
    let mut reports = frames.iter().filter(|frame| frame.kind == Kind::Report);
    reports.find(|frame| revision.reported_value(frame, "agent_turn_id").as_ref() == Some(turn))
}

/// Time from the command of a call to the first sign that its work was done.
pub fn latency(frames: &[Frame], call: &Call) -> Option<Duration> {
    let sent = command(frames, call)?;
    let done = work(frames, call).next()?;
    Some(Duration::from_micros(done.at_us.saturating_sub(sent.at_us)))
}

/// What the target did for other calls after the command of the call under test: it is alive, and past that command.
pub fn life_after<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> impl Iterator<Item = &'a Frame> {
    let is_other = |frame: &Frame| {
        let id = calls.subject.revision.sent(frame, "tool_call_id");
        id.is_some_and(|id| calls.others.iter().any(|other| other == id))
    };
    let command = frames.iter().rposition(|frame| frame.kind == Kind::Command && !is_other(frame));
    let after = &frames[command.unwrap_or_default()..];
    after.iter().filter(|frame| match frame.kind {
        Kind::Report | Kind::CardSave => calls.is_foreign(frames, frame),
        Kind::TurnStart | Kind::RosterSave => frame.direction == Direction::FromTarget,
        _ => false,
    })
}

/// Whether the target sent anything at all.
pub fn is_responsive(frames: &[Frame]) -> bool {
    frames.iter().any(|frame| frame.direction == Direction::FromTarget)
}
