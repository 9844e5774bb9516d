//! The vocabulary of the features about a Hub.
#![expect(clippy::needless_pass_by_value, reason = "cucumber hands over owned values")]

mod act;
mod answer;
mod arrange;
mod calendar;
mod mail;
mod provider;
mod refusal;
mod status;

use std::str::FromStr;

use cucumber::Parameter;

use crate::engine::parameters::vocabulary;
use crate::families::hub::contract;
use crate::families::hub::manifest;

/// A customer, by what is special about it.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "customer",
    regex = "connected|not_connected|expired|refreshable|read_only|limited|upstream_down|other"
)]
struct Customer(manifest::Customer);

impl FromStr for Customer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = manifest::Customer::ALL.into_iter();
        all.find(|own| own.name() == text).map(Self).ok_or_else(|| format!("`{text}` is no customer"))
    }
}

/// One of the six codes.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "code", regex = "[A-Z]+(?:_[A-Z]+)+")]
struct Code(&'static str);

impl FromStr for Code {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = contract::CODES.iter().find(|(code, _)| *code == text);
        known.map(|(code, _)| Self(code)).ok_or_else(|| format!("`{text}` is no code of the contract"))
    }
}

/// One of the nine tools.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "tool", regex = "(?:calendar|email)_[a-z_]+")]
struct Tool(&'static str);

impl FromStr for Tool {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = contract::TOOLS.iter().find(|tool| **tool == text);
        known.map(|tool| Self(tool)).ok_or_else(|| format!("`{text}` is no tool of the contract"))
    }
}

vocabulary! {
    /// What an `Authorization` has in place of the right secret.
    enum Secret "secret" {
        "without a secret" => None,
        "with another secret" => Other,
        "with one character more" => Longer,
        "with one character less" => Shorter,
        "with another last character" => OtherEnd,
        "with one character in front" => Preceded,
        "in the other case" => OtherCase,
        "with an empty secret" => Empty,
        "with the word null" => Null,
        "with the word undefined" => Undefined,
    }
}

impl Secret {
    fn authorization(self, right: &str) -> Option<String> {
        match self {
            Self::None => None,
            Self::Other => Some(format!("{} another-secret", contract::SCHEME)),
            Self::Longer => Some(format!("{} {right}x", contract::SCHEME)),
            Self::Shorter => Some(format!("{} {}", contract::SCHEME, without_last(right))),
            Self::OtherEnd => {
                let end = if right.ends_with('x') { 'y' } else { 'x' };
                Some(format!("{} {}{end}", contract::SCHEME, without_last(right)))
            }
            Self::Preceded => Some(format!("{} x{right}", contract::SCHEME)),
            Self::OtherCase => {
                let other: String = right.chars().map(other_case).collect();
                // A secret without letters has no other case.
                let end = if other == right { "x" } else { "" };
                Some(format!("{} {other}{end}", contract::SCHEME))
            }
            Self::Empty => Some(format!("{} ", contract::SCHEME)),
            // What a client without a secret makes of it.
            Self::Null => Some(format!("{} null", contract::SCHEME)),
            Self::Undefined => Some(format!("{} undefined", contract::SCHEME)),
        }
    }
}

fn other_case(letter: char) -> char {
    if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
}

fn without_last(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next_back();
    characters.as_str()
}
