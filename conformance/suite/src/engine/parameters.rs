//! Parameters of steps that several families use.

use std::str::FromStr;

use cucumber::Parameter;
use serde_json::Value;

/// A JSON value as it stands in a step, up to the end of the line.
#[derive(Clone, Debug, Parameter)]
#[param(name = "json", regex = r#"null|true|false|-?\d+(?:\.\d+)?|"(?:[^"\\]|\\.)*"|\{.*\}|\[.*\]"#)]
pub(crate) struct Json(pub Value);

impl FromStr for Json {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text).map(Self)
    }
}

/// A closed vocabulary: an enum, and the words that features have for it. The first alternative that fits is taken, so
/// that a text stands before those that begin it, and an empty one last.
macro_rules! vocabulary {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident $parameter:literal {
            $first_text:literal => $first:ident
            $(, $text:literal => $variant:ident)* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $first,
            $($variant),*
        }

        impl ::std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $first_text => Ok(Self::$first),
                    $($text => Ok(Self::$variant),)*
                    other => Err(format!("`{other}` is no `{}`", $parameter)),
                }
            }
        }

        impl ::cucumber::codegen::Parameter for $name {
            const NAME: &'static str = $parameter;
            const REGEX: &'static str = concat!($first_text $(, "|", $text)*);
        }
    };
}
pub(crate) use vocabulary;
