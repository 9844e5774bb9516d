//! Whole runs and the command line, in one binary: to link one for each takes longer than to run it. None of them
//! changes what a process has only one of (environment, directory, signals, panic hook).
//!
//! Beside it: `alone` has what must not share the machine with other tests, `broker_contract` what the gate runs on
//! several servers.

mod agents;
mod baseline;
mod beginning;
mod behind;
mod bounds;
mod certificate;
mod command_line;
mod daily;
mod deployed;
mod docs;
mod doctor;
mod editions;
mod ends;
mod evidence;
mod exercises;
mod finding;
mod forgeries;
mod judging;
mod judging_mcp;
mod keys;
mod limits;
mod live_page;
mod loading;
mod luck;
mod named_sessions;
mod null_crumb_agents;
mod null_hubs;
mod null_pmos;
mod null_registries;
mod null_runtimes;
mod null_servers;
mod null_systems;
mod null_targets;
mod pages;
mod port;
mod probes;
mod program;
mod proxying;
mod registries;
mod revisions;
mod safety;
mod shards;
mod signs_of_life;
mod small_hubs;
#[path = "../support/mod.rs"]
mod support;
mod surroundings;
mod unreported;
mod watching;
