//! Why a scenario judged nothing although nothing went wrong.
//!
//! There are two reasons, and both are closed lists. [`Undeclared`]: the manifest leaves out what the scenario is
//! about. [`Alternative`]: the documents leave a way open that leaves nothing to judge, and a message of the target
//! shows that it took this way. Where neither holds, the subject was not seen, and that is
//! [`CheckFailure::NotObserved`](super::CheckFailure::NotObserved).

use callmark_reports::record::Direction;

use super::CheckFailure;
use crate::transcript::{Frame, Kind};

/// An enum whose members each have a key and a sentence, and a list of all of them.
macro_rules! reasons {
    (
        $(#[$doc:meta])*
        $name:ident, $key:ident: $key_doc:literal, {
            $($variant:ident: $own:literal => $text:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(
                #[doc = $text]
                $variant,
            )+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            #[doc = $key_doc]
            pub const fn $key(self) -> &'static str {
                match self {
                    $(Self::$variant => $own,)+
                }
            }

            /// What a report says; `{}` stands for the name of what is concerned.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

reasons! {
    /// What a manifest does not declare, or declares in a way that leaves nothing to judge.
    Undeclared, key: "The key of the manifest.", {
        // The Hub and its agent
        AgentTool: "hub.agent.tools" => "`hub.agent.tools` does not name `{}`",
        HubStub: "hub.stub" => "`hub.stub` is set, and the stub has nothing to look at under `{}`",
        HubProvider: "hub.provider" => "`hub.provider` is not declared: the suite is not the Hub's provider",
        // The tool bus
        OtherProbe: "toolbus.probes.other"
            => "`toolbus.probes.other` names the tool of the echo, so nothing tells two tools apart",
        SecretPlace: "toolbus.probes.secret" => "the call of `toolbus.probes.secret` puts no secret under `{}`",
        // Breadcrumbs
        CatalogTool: "breadcrumb.catalog" => "`breadcrumb.catalog` has no `{}`",
    }
}

reasons! {
    /// A way that the documents leave open and that leaves nothing to judge.
    Alternative, source: "Where it is left open.", {
        // UTP
        OneByOne: "UTP Tool Protocol §3.1, resolution A-37"
            => "the runtime makes the calls of one answer one by one",
        NoSubmit: "UTP Tool Protocol §2" => "the worker does not offer `submit_result` to the model",
        LookAlike: "UTP Tool Protocol §3.1, resolution A-01"
            => "a plain `suspend` and a plain `terminate` look alike on this runtime",
        NoCall: "Tool Development Guide §4, resolution A-31" => "the worker does not make the call",
        ConsumedHidden: "UTP Tool Protocol §4.2, resolution A-24"
            => "the Inbox does not show records that a turn has gone on with",
        NoSuchVariable: "Tool Development Guide §4, resolution A-31"
            => "the call has no value for the template variable",
        RefusesNames: "Tool Development Guide §3.2, resolution A-17" => "the registry takes no such names",
        UnansweredFailure: "UTP Tool Protocol §4.1, resolution A-09"
            => "the target does not answer a call that cannot succeed",
        UnansweredRefusal: "UTP Tool Protocol §4.1, resolution A-09"
            => "the target does not answer a command that it refuses",
        NoRefusalCard: "UTP Tool Protocol §4.1, resolution A-09"
            => "the target saves no card for a command that it refuses",
        FewFailures: "UTP Tool Protocol §4.1, resolution A-09" => "fewer than two commands got a failed result",
        NotFailed: "UTP Tool Protocol §4.1, resolution A-07" => "the call has no failed tool.result card",
        UnansweredBare: "UTP Tool Protocol §4.1, resolution A-09"
            => "the target does not answer a call without arguments",
        SaysNothing: "UTP Tool Protocol §4.2" => "the built-in says nothing of what it has done",
        NoRequest: "Tool Development Guide §4" => "the target makes no request for a row without `base_url`",
        KeyNotSent: "Tool Development Guide §4"
            => "the target does not send the value of the key, so it has nothing to hide",
        LogsNothing: "Tool Development Guide §4" => "the target logs nothing, so no key can be in its log",
        // The Hub and its agent
        NoStatusQuestion: "Tool Execution Contract L328" => "the agent does not ask for the status",
        NotServed: "Tool Execution Contract L85"
            => "the call fails for a reason that has nothing to do with limits",
        NoErrorCode: "Tool Execution Contract L59-85, resolutions A5 and A27" => "the error has no `error.code`",
        // The tool bus
        NoArtifacts: "Tool bus v1 L30, resolution A9" => "a call that fails leaves no artifacts",
        RefusesShape: "Tool bus v1 L19, resolution A5"
            => "the server does not give what stands beside the secret for this `output` either",
        LeavesResultOut: "Tool bus v1 L24, resolution A19" => "the compact envelope leaves the result out",
        RefusesLarge: "Tool bus v1 L27, resolution A7" => "the server refuses a large result",
        PlainTrace: "Tool bus v1 L27, resolution A3"
            => "`trace` is a plain string, so there is no place for other ids",
        LongText: "Tool bus v1 L26" => "the text is too long to be kept; whether it may be is another rule",
        // Breadcrumbs
        OneCall: "Universal Tool Invocation" => "the agent does not make several calls in one message",
        NoConfiguration: "Universal Tool Invocation" => "the agent names no configuration",
        NoFallback: "Universal Tool Invocation" => "the agent says that the tool failed and tries no fallback",
        FailureInOutput: "Universal Tool Invocation" => "the tool reports the failure in its output",
    }
}

/// What the manifest does not declare, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclaration {
    what: Undeclared,
    name: String,
}

impl Undeclared {
    /// The scenario has no subject; `name` is what is not declared, for example a tool.
    pub fn of(self, name: impl Into<String>) -> CheckFailure {
        CheckFailure::NotApplicable(Undeclaration { what: self, name: name.into() })
    }
}

impl From<Undeclared> for CheckFailure {
    fn from(what: Undeclared) -> Self {
        what.of("")
    }
}

impl std::fmt::Display for Undeclaration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.what.text().replace("{}", &self.name))
    }
}

/// A permitted way that the target took, and the messages that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted {
    way: Alternative,
    frames: Vec<u32>,
}

impl Permitted {
    /// Which way it is.
    pub fn way(&self) -> Alternative {
        self.way
    }

    /// Numbers of the messages that show it, at least one.
    pub fn frames(&self) -> &[u32] {
        &self.frames
    }
}

impl Alternative {
    /// The target took this way, as `frames` show; the subject was not seen where none of them is the target's.
    ///
    /// Silence is no witness: a target that does nothing takes no way.
    pub fn seen_in<'a>(self, frames: impl IntoIterator<Item = &'a Frame>) -> CheckFailure {
        let own = frames
            .into_iter()
            .filter(|frame| frame.direction == Direction::FromTarget && frame.kind != Kind::Closed);
        let frames: Vec<u32> = own.map(|frame| frame.n).collect();
        if frames.is_empty() {
            return CheckFailure::NotObserved(format!("no message shows whether {}", self.text()));
        }
        CheckFailure::Permitted(Permitted { way: self, frames })
    }
}

impl std::fmt::Display for Permitted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.way.text())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    fn frame(n: u32, direction: Direction, kind: Kind) -> Frame {
        Frame {
            n,
            at_us: 0,
            direction,
            kind,
            channel: String::new(),
            headers: BTreeMap::new(),
            body: Value::Null,
        }
    }

    #[test]
    fn silence_is_no_permitted_way() {
        let ours = frame(1, Direction::ToTarget, Kind::Command);
        let lost = frame(2, Direction::FromTarget, Kind::Closed);
        for way in Alternative::ALL {
            assert!(matches!(way.seen_in(None), CheckFailure::NotObserved(_)), "{way:?} without a message");
            let seen = way.seen_in([&ours, &lost]);
            assert!(matches!(seen, CheckFailure::NotObserved(_)), "{way:?} where the target sent nothing");
        }
    }

    #[test]
    fn a_message_of_the_target_shows_a_permitted_way() {
        let frames = [
            frame(1, Direction::ToTarget, Kind::Command),
            frame(2, Direction::FromTarget, Kind::Report),
            frame(3, Direction::FromTarget, Kind::CardSave),
        ];
        let CheckFailure::Permitted(seen) = Alternative::UnansweredRefusal.seen_in(&frames) else {
            panic!("a report of the target is a witness")
        };
        assert_eq!((seen.way(), seen.frames()), (Alternative::UnansweredRefusal, &[2, 3][..]));
    }

    #[test]
    fn a_reason_names_what_is_not_declared() {
        let CheckFailure::NotApplicable(reason) = Undeclared::AgentTool.of("email_send") else {
            panic!("it is not applicable")
        };
        assert_eq!(reason.to_string(), "`hub.agent.tools` does not name `email_send`");
    }
}
