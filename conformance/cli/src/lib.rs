//! The `callmark` binary: the only place that prints.
//!
//! `args` is the one table of flags; each subcommand has a module; `exit` has the exit codes; `console` prints.
//! Judging is `callmark-suite`'s business, the bundled target is `callmark-reference`'s.

#[macro_use]
mod console;

mod args;
mod baseline;
mod beside;
pub mod broker;
pub mod bundled;
mod certificate;
mod certify;
mod chaos;
mod conclusion;
mod daily;
mod descriptors;
mod diff;
mod docs;
mod doctor;
mod editions;
mod exit;
mod folder;
mod forecast;
mod init;
mod judge;
mod live;
mod load;
mod manual;
mod mock;
mod progress;
mod proxy;
mod report;
mod reports;
mod rules;
mod sabotage;
mod schema;
mod serve;
mod setup;
mod shards;
mod timings;
mod watch;

use std::process::ExitCode;

use callmark_suite::guard;
use clap::Parser as _;

use crate::args::{Arguments, Command};

/// Parses the command line, runs it, and answers with its exit code.
pub fn main() -> ExitCode {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !callmark_suite::engine::world::is_abort(panic.payload()) {
            print(panic);
        }
    }));
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version go to stdout and are no errors.
            let code = if error.use_stderr() { exit::USAGE } else { exit::CONFORMANT };
            if let (Err(error), false) = (error.print(), error.use_stderr()) {
                console::cannot_write(&error);
            }
            return ExitCode::from(code);
        }
    };
    if let Some(folder) = &arguments.features
        && let Err(failure) = setup::read_features(folder)
    {
        return ExitCode::from(failure.print());
    }
    let outcome = match arguments.command.unwrap_or_default() {
        Command::Certify(arguments) => certify::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Rules(arguments) => rules::list(&arguments),
        Command::Explain(arguments) => rules::explain(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Schema(arguments) => Ok(schema::run(&arguments)),
        Command::Sabotage(arguments) => sabotage::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Keygen(arguments) => certificate::keygen(&arguments),
        Command::Verify(arguments) => certificate::verify(&arguments),
        Command::Judge(arguments) => judge::run(&arguments),
        Command::Proxy(arguments) => proxy::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
        Command::Merge(arguments) => shards::merge(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Editions(arguments) => editions::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments),
        Command::Man(arguments) => manual::man(&arguments),
    };
    guard::finish();
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => ExitCode::from(failure.print()),
    }
}
