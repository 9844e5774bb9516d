//! The vocabulary of the features about an agent that writes invocations.

mod arrange;
mod conduct;
mod form;
