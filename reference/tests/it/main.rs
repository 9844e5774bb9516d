//! All tests of the reference over sockets and pipes, in one binary: to link one for each takes longer than to run it.
//! None of them changes what a process has only one of (environment, directory, signals, panic hook).

mod breadcrumb;
mod breadcrumb_agent;
mod breadcrumb_browser;
mod breadcrumb_llm;
mod broker_limits;
mod hub;
mod hub_agent;
#[cfg(feature = "postgres")]
mod postgres_cluster;
mod toolbus;
mod utp;
mod utp_fleet;
mod utp_openapi;
mod utp_pmo;
mod utp_runtime;
mod utp_v1r4;
