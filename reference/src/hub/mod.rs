//! The Tool Execution Contract: how an agent has a Hub call the services that its customers connected.

pub mod agent;
