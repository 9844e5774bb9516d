//! The Hub over HTTP, as an agent meets it: with the stand-in as its provider, and with providers that misbehave.

mod calendar;
mod codes;
mod concurrency;
mod faults;
mod mail;
mod refusals;
mod requests;
mod status;
mod support;
