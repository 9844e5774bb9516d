//! What a scenario leaves behind for the verdict, the evidence and the transcript.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use super::company::Beside;
use super::names::Names;
use crate::engine::environment;
use crate::engine::escapes;
use crate::engine::invariant::Invariant;
use crate::engine::judge::{Basis, Cause, CheckFailure};
use crate::engine::parts::Parts;
use crate::engine::secrets::Redactor;
use crate::engine::timing::heartbeat;
use crate::engine::world;
use crate::engine::world::Core;
use crate::transcript::{Frame, lines};

/// Why a scenario is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RerunReason {
    /// It ended in silence.
    Silence,
    /// The target reported that something had not come in time, which the suite's own parties may have sent late.
    Timeout,
    /// It was given something that an earlier scenario may have harmed.
    Borrowed,
    /// The machine lacked something meanwhile.
    Shortage,
    /// The suite was held up, so that its own parties may have been late.
    HeldUp,
    /// A process ended by itself meanwhile.
    Exit,
}

/// What a World left, and what the end of the run added.
#[derive(Clone, Debug, Default)]
pub(super) struct ScenarioResult {
    /// Of the World.
    pub artifacts: world::ScenarioArtifacts,
    /// What MAY rules recorded.
    pub notes: Vec<String>,
    /// Who ran beside it.
    pub beside: Beside,
    /// Its place among all scenarios of the run as they ended.
    pub order: usize,
    /// When it ended.
    pub ended: Option<Instant>,
    /// When the target sent it something last.
    pub answered: Option<Instant>,
    /// Why what came of it is not believed yet.
    pub again: Option<RerunReason>,
    /// Whether it came to a verdict against the target while the suite was held up.
    pub held_up: bool,
    /// Whether the target's process was found ended.
    pub has_ended: bool,
    /// How a process that it had ended by itself, where it is started for scenarios and not for the run.
    pub exited: Option<String>,
    /// Who ran when it ended, where it did not end well.
    pub flight: Vec<String>,
    /// What the machine lacked meanwhile.
    pub shortage: Option<String>,
    /// In place of its frames: those of another scenario, where a late judgement was made at them.
    pub judged: Option<Vec<Frame>>,
    /// What it judges of every exchange, where that is what it does.
    pub invariant: Option<Arc<dyn Invariant>>,
    /// Id of the scenario whose exchange it found at fault.
    pub found_in: Option<String>,
}

impl ScenarioResult {
    /// The messages that the scenario is about.
    pub(super) fn frames(&self) -> Vec<Frame> {
        let own =
            || self.artifacts.transcript.as_ref().map(|transcript| transcript.frames()).unwrap_or_default();
        self.judged.clone().unwrap_or_else(own)
    }
}

impl ScenarioResult {
    /// Looks back at the scenario, which has ended: what was lacking meanwhile, and whether to run it again.
    pub(super) fn look_back(&mut self, core: &Core, borrowed: bool) {
        self.ended = Some(Instant::now());
        self.answered = core.transcript.last_answer();
        let lacked = environment::hindered_since(core.transcript.began()).map(Cow::into_owned);
        self.shortage = lacked.or_else(|| core.fault_of_the_machine());
        let trouble = core.trouble.as_ref();
        self.has_ended =
            matches!(trouble, Some(CheckFailure::CouldNotRun { cause: Cause::Implementation, .. }));
        let is_verdict = matches!(trouble, Some(CheckFailure::Broken(_) | CheckFailure::NotObserved(_)));
        self.held_up = is_verdict && heartbeat::held_up_since(core.transcript.began());
        self.again = self.reason(core, borrowed);
    }

    /// Whether the scenario says if the target answers: it waited in vain, or something came.
    pub(super) fn speaks_of_target(&self) -> bool {
        self.invariant.is_none() && (self.again == Some(RerunReason::Silence) || self.answered.is_some())
    }

    /// Why what came of the scenario is not believed yet.
    fn reason(&self, core: &Core, borrowed: bool) -> Option<RerunReason> {
        let trouble = core.trouble.as_ref();
        if trouble.is_some() && self.shortage.is_some() {
            return Some(RerunReason::Shortage);
        }
        let is_silent = |trouble| Basis::of(trouble, &core.transcript) == Basis::Silence;
        if self.exited.is_some() && trouble.is_none_or(is_silent) {
            return Some(RerunReason::Exit);
        }
        let trouble = trouble?;
        if borrowed && !matches!(trouble, CheckFailure::NotApplicable(_) | CheckFailure::Permitted(_)) {
            return Some(RerunReason::Borrowed);
        }
        if is_silent(trouble) {
            return Some(RerunReason::Silence);
        }
        let is_verdict = matches!(trouble, CheckFailure::Broken(_) | CheckFailure::NotObserved(_));
        if is_verdict && core.transcript.reported_timeout() {
            return Some(RerunReason::Timeout);
        }
        self.held_up.then_some(RerunReason::HeldUp)
    }

    /// What only a finding of its own would show is left out where there is none, and none can come. How a message is sent
    /// by hand stays: `@always` scenarios may find something in the messages.
    pub(super) fn forget_evidence(&mut self) {
        if !self.artifacts.is_rechecked {
            self.artifacts.subject = None;
        }
        self.artifacts.names.shrink_to_fit();
    }

    /// All messages of the scenario, for whoever writes them down.
    pub(super) fn written(&self) -> Vec<Frame> {
        self.artifacts.transcript.as_ref().map(|transcript| transcript.all()).unwrap_or_default()
    }
}

/// Writes the messages of scenarios as JSON, without secrets.
pub(super) struct Lines {
    names: Names,
    /// The secrets as they stand in JSON.
    written: Parts,
}

impl Lines {
    pub(super) fn without(secrets: &[String]) -> Self {
        Self { names: numbered(secrets), written: Redactor::in_json(secrets) }
    }

    /// A line for each message of a scenario. They are read only where a secret stands in them.
    pub(super) fn write(&self, id: &str, result: &ScenarioResult, out: &mut impl Write) -> io::Result<()> {
        let Some(transcript) = &result.artifacts.transcript else { return Ok(()) };
        let mut all = transcript.lines()?;
        let may_be_escaped = !self.written.is_empty() && escapes::has_needless(&all);
        if may_be_escaped || self.written.stand_in(&all) {
            all = lines(&without_secrets(result.written(), &self.names))?;
        }
        let id = serde_json::to_string(id)?;
        // Each ends with a line break, and has no other.
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', &all) {
            write!(out, "{{\"scenario\":{id},\"frame\":")?;
            out.write_all(&all[from..end])?;
            out.write_all(b"}\n")?;
            from = end + 1;
        }
        Ok(())
    }
}

/// What stands in place of secrets where they must stay apart, so that a judgement can distinguish them.
pub(super) fn numbered(secrets: &[String]) -> Names {
    Names { secrets: Arc::new(Redactor::numbered(secrets)), ..Names::default() }
}

/// Frames as they may be stored.
pub(super) fn without_secrets(mut frames: Vec<Frame>, names: &Names) -> Vec<Frame> {
    if names.secrets.is_empty() {
        return frames;
    }
    for frame in &mut frames {
        frame.body = names.rename(&frame.body);
        frame.channel = names.text(&frame.channel);
        let headers = std::mem::take(&mut frame.headers).into_iter();
        frame.headers = headers.map(|(name, value)| (names.text(&name), names.text(&value))).collect();
    }
    frames
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::{Value, json};

    use super::*;
    use crate::transcript::{Kind, Message, Transcript};

    fn written(body: &Value, secrets: &[&str]) -> String {
        let transcript = Transcript::default();
        let message = |body: &Value| Message {
            direction: Direction::FromTarget,
            kind: Kind::Report,
            channel: "l0.v1.prj.public.report".to_owned(),
            headers: BTreeMap::new(),
            body: body.clone(),
        };
        transcript.record(message(body));
        transcript.pack();
        transcript.record(message(&json!("after")));
        let artifacts = world::ScenarioArtifacts {
            transcript: Some(Arc::new(transcript)),
            ..world::ScenarioArtifacts::default()
        };
        let result = ScenarioResult { artifacts, ..ScenarioResult::default() };
        let secrets: Vec<String> = secrets.iter().map(|&secret| secret.to_owned()).collect();
        let mut out = Vec::new();
        Lines::without(&secrets).write("a \"b\"/1", &result, &mut out).expect("written");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn each_message_is_a_line() {
        let text = written(&json!({"text": "a\nb", "n": [0.1, 7]}), &[]);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0]["scenario"], "a \"b\"/1");
        assert_eq!(lines[0]["frame"]["body"], json!({"text": "a\nb", "n": [0.1, 7]}));
        assert_eq!(lines[1]["frame"]["body"], "after");
    }

    #[test]
    fn no_line_holds_a_secret_however_json_writes_it() {
        for secret in ["hush-0123", "hush\"\\\n\u{7}é", "1234567"] {
            let text = written(&json!({"a": [format!("x{secret}y")], secret: 1_234_567}), &[secret, "other"]);
            let frame = &text[text.find("\"body\"").expect("a body")..];
            assert!(frame.starts_with("\"body\":{\"a\":[\"x***0001***y\"],\"***0001***\":"), "{text}");
            assert!(secret != "1234567" || !text.contains(secret), "{text}");
        }
    }
}
