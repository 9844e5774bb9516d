//! What a Hub must do: pure judgements over exchanges, one module a subject.

pub mod calendar;
pub mod choice;
pub mod envelope;
pub mod mail;
pub mod message;
pub mod provider;
pub mod refusal;
pub mod shape;
pub mod status;
pub mod token;
