//! The vocabulary of the features about a tool runner.
#![expect(clippy::needless_pass_by_value, reason = "cucumber hands over owned values")]

mod act;
mod answer;
mod arrange;
mod configuration;
mod request;
mod routing;
mod text;
mod tool;
mod workflow;
