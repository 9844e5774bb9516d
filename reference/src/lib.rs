//! The reference implementation of the protocols that Callmark certifies: code to read next to the documents.
//!
//! One module per protocol; `broker` carries UTP. What all of them use lies beside them: [`log`], [`secret`],
//! [`environment`], `http`, `completion` (answers of language models), [`postgres`],
//! `cause` and `sync`.
//! It knows nothing of the suite that judges it: there are no test hooks here, and the suite reaches it over
//! sockets like any other implementation.

pub mod breadcrumb;
pub mod broker;
mod cause;
mod completion;
pub mod environment;
mod http;
pub mod hub;
pub mod log;
pub mod postgres;
pub mod secret;
mod sync;
pub mod toolbus;
pub mod utp;
