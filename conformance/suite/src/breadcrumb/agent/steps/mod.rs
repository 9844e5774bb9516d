//! The vocabulary of the features about an agent that writes invocations.
#![expect(clippy::needless_pass_by_value, reason = "cucumber hands over owned values")]

mod arrange;
mod conduct;
mod form;
