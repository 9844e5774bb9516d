//! What `certify` says and asks before it touches a target: `--dry-run`, and the question where mails would go to people.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _};

use callmark_suite::engine::forecast::{self, Forecast};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::{Library, Selection};
use callmark_suite::engine::session::CleanedUp;
use serde_json::json;

use crate::args::{CertifyArguments, Format};
use crate::exit::{self, Failure};

/// What a run of this selection would do, by profile.
fn of(library: &Library, manifest: &Manifest, selection: &Selection) -> BTreeMap<String, Forecast> {
    forecast::of(library.families, manifest, &library.select(selection))
}

/// Prints it, and nothing else happens.
pub(crate) fn print(
    arguments: &CertifyArguments,
    library: &Library,
    manifest: &Manifest,
    selection: &Selection,
) -> u8 {
    let all = of(library, manifest, selection);
    if arguments.format == Format::Json {
        let record = json!({"target": manifest.target.name, "profiles": all});
        println!("{record:#}");
        return exit::CONFORMANT;
    }
    println!("plan for {} {} (nothing is sent)", manifest.target.name, manifest.target.version);
    for (profile, own) in &all {
        println!("  {profile:<28} at most {} scenarios, about {} calls", own.scenarios, own.calls);
        for (what, count) in &own.effects {
            let people = if own.to_people.contains_key(what) { ", which reach people" } else { "" };
            println!("  {:<28} about {count} {what}{people}", "");
        }
    }
    if let Some(manners) = &manifest.target.manners {
        let rate = manners.requests_per_second.map(|rate| format!("at most {rate} requests a second"));
        let flight = manners.in_flight.map(|count| format!("at most {count} at a time"));
        let prefix = Some(&manners.prefix).filter(|prefix| !prefix.is_empty());
        let prefix = prefix.map(|prefix| format!("ids begin with `{prefix}`"));
        let clean_up = manners.clean_up.then(|| "deleted afterwards, as far as the protocol can".to_owned());
        let all: Vec<String> = [rate, flight, prefix, clean_up].into_iter().flatten().collect();
        println!("  manners: {}", all.join("; "));
    }
    exit::CONFORMANT
}

/// Asks, on a terminal, whether people may get mails; anywhere else it is said.
///
/// # Errors
/// They may not.
pub(crate) fn consent(
    arguments: &CertifyArguments,
    library: &Library,
    manifest: &Manifest,
    selection: &Selection,
) -> Result<(), Failure> {
    if arguments.target.is_none() || arguments.plan.yes {
        return Ok(());
    }
    let mut to_people: BTreeMap<&str, usize> = BTreeMap::new();
    for own in of(library, manifest, selection).values() {
        own.to_people.iter().for_each(|(what, count)| *to_people.entry(what).or_default() += count);
    }
    let all: Vec<String> = to_people.iter().map(|(what, count)| format!("about {count} {what}")).collect();
    if all.is_empty() {
        return Ok(());
    }
    let all = all.join(" and ");
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        eprintln!(
            "note: {all} through `{}`, which the suite did not start (`--dry-run` shows the plan)",
            manifest.target.name
        );
        return Ok(());
    }
    eprintln!("{all} through `{}`, which the suite did not start. Go on? [y/N]", manifest.target.name);
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    Err(Failure::usage("nothing was sent")
        .hint("`--yes` goes on without the question, `--dry-run` shows the plan; with `[hub.provider]` the suite is the mailbox"))
}

/// Says what became of what the run made.
pub(crate) fn say_cleaned_up(remains: &CleanedUp) {
    if !remains.deleted.is_empty() {
        eprintln!("deleted at the target: {}", remains.deleted.join(", "));
    }
    if !remains.left.is_empty() {
        eprintln!("stays at the target:");
        remains.left.iter().for_each(|left| eprintln!("  {left}"));
    }
}
