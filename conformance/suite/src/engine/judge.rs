//! What a judgement is, whatever the protocol: `Ok`, or why not.
//!
//! The judgements themselves stand with their family (`utp::judge`, `toolbus::judge`): pure functions over a
//! transcript, without I/O, clock or state, so that the same call gives the same answer live, over a file, and
//! next year.

mod reason;

use callmark_reports::record::{Direction, Level};
use serde_json::Value;

pub(crate) use self::reason::reasons;
pub use self::reason::{Permitted, Reason, Reasons, Undeclaration};
use crate::transcript::{Frame, Kind, Transcript};

/// Something about the target that a rule does not allow. It is data, not an error of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What is wrong, one sentence.
    pub message: String,
    /// What would have been right.
    pub expected: Option<Value>,
    /// What came instead.
    pub actual: Option<Value>,
    /// Where in the message.
    pub pointer: Option<String>,
    /// What to change.
    pub hint: String,
    /// Numbers of the frames involved.
    pub frames: Vec<u32>,
    /// Number of the message to the target that is judged; the scenario's own where none is named.
    pub subject: Option<u32>,
    /// Why the documents ask for less in this very point than in the rule as a whole, where they do.
    lenience: Option<&'static str>,
    /// Set where it is about an answer that did not come, whatever is shown in its place.
    pub is_about_silence: bool,
}

impl Finding {
    /// A finding with its sentence and what to change.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            expected: None,
            actual: None,
            pointer: None,
            hint: hint.into(),
            frames: Vec::new(),
            subject: None,
            lenience: None,
            is_about_silence: false,
        }
    }

    /// Says what would have been right.
    #[must_use]
    pub fn expected(mut self, value: impl Into<Value>) -> Self {
        self.expected = Some(value.into());
        self
    }

    /// Says what came; nothing when `value` is `None`.
    #[must_use]
    pub fn actual(mut self, value: Option<&Value>) -> Self {
        self.actual = value.cloned();
        self
    }

    /// Points into the message.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Names a frame involved.
    #[must_use]
    pub fn frame(mut self, frame: &Frame) -> Self {
        self.frames.push(frame.n);
        self
    }

    /// Says that an answer did not come, so that what is shown is only what came in its place.
    #[must_use]
    pub fn about_silence(mut self) -> Self {
        self.is_about_silence = true;
        self
    }

    /// Names the message to the target that is judged, where a scenario sends more than one.
    #[must_use]
    pub fn about(mut self, frame: &Frame) -> Self {
        self.subject = Some(frame.n);
        self
    }

    /// Lowers the finding to a recommendation. `why` is what the documents leave open, one clause that names the
    /// ambiguity where there is one.
    #[must_use]
    pub fn recommended(mut self, why: &'static str) -> Self {
        self.lenience = Some(why);
        self
    }

    /// The level of the finding, where it is another than the rule's.
    pub fn level(&self) -> Option<Level> {
        self.lenience.map(|_| Level::Should)
    }

    /// Why it is only a recommendation, where it is one.
    pub fn lenience(&self) -> Option<&'static str> {
        self.lenience
    }
}

/// Why a scenario ended before its last step.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckFailure {
    /// The target breaks the rule.
    Broken(Box<Finding>),
    /// There was nothing to judge.
    NotObserved(String),
    /// The manifest does not declare what there would be to judge.
    NotApplicable(Undeclaration),
    /// The target was seen to take a way that the documents leave open and that leaves nothing to judge.
    Permitted(Permitted),
    /// The check had no chance.
    CouldNotRun {
        /// Class of the cause.
        cause: Cause,
        /// One sentence.
        message: String,
    },
}

impl From<Finding> for CheckFailure {
    fn from(finding: Finding) -> Self {
        Self::Broken(Box::new(finding))
    }
}

/// What a trouble rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// What the target did.
    #[default]
    Content,
    /// What it did not do in time, or a connection that was lost. On a busy machine that is no verdict.
    Silence,
}

impl Basis {
    /// What a trouble of the scenario with this transcript rests on.
    ///
    /// Waits say themselves that they ran out ([`Transcript::wait`]), so that no judgement has to. A finding that shows
    /// what the target sent instead of the right thing is about that, whatever else was late.
    pub fn of(trouble: &CheckFailure, transcript: &Transcript) -> Self {
        if !transcript.fell_silent() {
            return Self::Content;
        }
        match trouble {
            CheckFailure::CouldNotRun { cause: Cause::Config | Cause::Suite, .. } => Self::Content,
            CheckFailure::Broken(finding) if !finding.is_about_silence && finding.actual.is_some() => {
                let shows = |frame: &Frame| {
                    frame.direction == Direction::FromTarget
                        && frame.kind != Kind::Closed
                        && finding.frames.contains(&frame.n)
                };
                if transcript.all().iter().any(shows) { Self::Content } else { Self::Silence }
            }
            _ => Self::Silence,
        }
    }
}

/// Classes of causes for what could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The manifest says something that cannot be.
    Config,
    /// The broker or the target cannot be reached.
    Reachability,
    /// A probe does not do what the manifest says.
    Fixture,
    /// The target stopped working.
    Implementation,
    /// The machine that the suite runs on lacks something.
    Environment,
    /// The suite itself failed.
    Suite,
}

impl Cause {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Reachability => "reachability",
            Self::Fixture => "fixture",
            Self::Implementation => "implementation",
            Self::Environment => "environment",
            Self::Suite => "suite",
        }
    }
}

/// The answer of a judgement.
pub type Judgement = Result<(), CheckFailure>;
