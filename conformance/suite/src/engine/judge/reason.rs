//! Why a scenario judged nothing although nothing went wrong.
//!
//! There are two kinds of reasons, and each protocol has a closed list of both. `Undeclared`: the manifest leaves out
//! what the scenario is about. `Alternative`: the documents leave a way open that leaves nothing to judge, and a message
//! of the target shows that it took this way. Where neither holds, the subject was not seen, and that is
//! [`CheckFailure::NotObserved`](super::CheckFailure::NotObserved).

use callmark_reports::record::Direction;

use super::CheckFailure;
use crate::transcript::{Frame, Kind};

/// A member of a protocol's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Its name in the list.
    pub name: &'static str,
    /// The key of the manifest that is left out, or the place in a document that leaves the way open.
    pub basis: &'static str,
    /// What a report says; `{}` stands for the name of what is concerned.
    pub text: &'static str,
}

/// The reasons of a protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reasons {
    /// What a manifest does not declare, or declares in a way that leaves nothing to judge.
    pub undeclared: &'static [Reason],
    /// Ways that the documents leave open and that leave nothing to judge.
    pub alternatives: &'static [Reason],
}

/// A list of reasons: `Undeclared`, with the keys of the manifest, or `Alternative`, with places in documents.
macro_rules! reasons {
    (Undeclared, $($variant:ident: $basis:literal => $text:literal,)+) => {
        $crate::engine::judge::reasons! {
            @list "What a manifest does not declare, or declares in a way that leaves nothing to judge.",
            Undeclared, $($variant: $basis => $text,)+
        }

        impl Undeclared {
            /// The scenario has no subject; `name` is what is not declared, for example a tool.
            pub fn of(self, name: impl Into<String>) -> $crate::engine::judge::CheckFailure {
                self.reason().not_declared(name.into())
            }
        }

        impl From<Undeclared> for $crate::engine::judge::CheckFailure {
            fn from(what: Undeclared) -> Self {
                what.of("")
            }
        }
    };
    (Alternative, $($variant:ident: $basis:literal => $text:literal,)+) => {
        $crate::engine::judge::reasons! {
            @list "A way that the documents leave open and that leaves nothing to judge.",
            Alternative, $($variant: $basis => $text,)+
        }

        impl Alternative {
            /// The target took this way, as `frames` show; the subject was not seen where none of them is the target's.
            pub fn seen_in<'a>(
                self,
                frames: impl IntoIterator<Item = &'a $crate::transcript::Frame>,
            ) -> $crate::engine::judge::CheckFailure {
                self.reason().seen_in(frames)
            }
        }
    };
    (@list $doc:literal, $name:ident, $($variant:ident: $basis:literal => $text:literal,)+) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(
                #[doc = $text]
                $variant,
            )+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[$crate::engine::judge::Reason] = &[$(Self::$variant.reason()),+];

            const fn reason(self) -> $crate::engine::judge::Reason {
                match self {
                    $(Self::$variant => $crate::engine::judge::Reason {
                        name: stringify!($variant),
                        basis: $basis,
                        text: $text,
                    },)+
                }
            }
        }
    };
}

pub(crate) use reasons;

/// What the manifest does not declare, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclaration {
    what: Reason,
    name: String,
}

impl std::fmt::Display for Undeclaration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.what.text.replace("{}", &self.name))
    }
}

/// A permitted way that the target took, and the messages that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted {
    way: Reason,
    frames: Vec<u32>,
}

impl Permitted {
    /// Which way it is.
    pub fn way(&self) -> Reason {
        self.way
    }

    /// Numbers of the messages that show it, at least one.
    pub fn frames(&self) -> &[u32] {
        &self.frames
    }
}

impl Reason {
    /// The manifest does not declare what is named.
    pub(crate) fn not_declared(self, name: String) -> CheckFailure {
        CheckFailure::NotApplicable(Undeclaration { what: self, name })
    }

    /// The target took this way, as `frames` show; the subject was not seen where none of them is the target's.
    ///
    /// Silence is no witness: a target that does nothing takes no way.
    pub(crate) fn seen_in<'a>(self, frames: impl IntoIterator<Item = &'a Frame>) -> CheckFailure {
        let own = frames
            .into_iter()
            .filter(|frame| frame.direction == Direction::FromTarget && frame.kind != Kind::Closed);
        let frames: Vec<u32> = own.map(|frame| frame.n).collect();
        if frames.is_empty() {
            return CheckFailure::NotObserved(format!("no message shows whether {}", self.text));
        }
        CheckFailure::Permitted(Permitted { way: self, frames })
    }
}

impl std::fmt::Display for Permitted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.way.text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    const WAY: Reason = Reason { name: "Way", basis: "A document §1", text: "the target goes another way" };

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
        assert!(matches!(WAY.seen_in(None), CheckFailure::NotObserved(_)), "without a message");
        let seen = WAY.seen_in([&ours, &lost]);
        assert!(matches!(seen, CheckFailure::NotObserved(_)), "where the target sent nothing");
    }

    #[test]
    fn a_message_of_the_target_shows_a_permitted_way() {
        let frames = [
            frame(1, Direction::ToTarget, Kind::Command),
            frame(2, Direction::FromTarget, Kind::Report),
            frame(3, Direction::FromTarget, Kind::CardSave),
        ];
        let CheckFailure::Permitted(seen) = WAY.seen_in(&frames) else {
            panic!("a report of the target is a witness")
        };
        assert_eq!((seen.way(), seen.frames()), (WAY, &[2, 3][..]));
    }

    #[test]
    fn a_reason_names_what_is_not_declared() {
        let tools = Reason { name: "Tool", basis: "a.tools", text: "`a.tools` does not name `{}`" };
        let CheckFailure::NotApplicable(reason) = tools.not_declared("email_send".to_owned()) else {
            panic!("it is not applicable")
        };
        assert_eq!(reason.to_string(), "`a.tools` does not name `email_send`");
    }
}
