//! `certify --chaos`: after the run, the replicas of the target are disturbed one after the other while they work.

use std::sync::Arc;

use callmark_reports::chaos::{ChaosReport, ChaosVerdict, Disturbance};
use callmark_suite::engine::chaos::{self, Fleet};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::RunPlan;
use callmark_suite::engine::session::{Session, Sessions};
use callmark_suite::families;
use callmark_suite::families::hub::manifest::HubTable;
use callmark_suite::families::toolbus::manifest::ToolbusTable;
use callmark_suite::families::utp::manifest::UtpTable;

use crate::console;
use crate::exit::{self, Failure};

/// What a target needs for it.
const NEEDS: &str = "`replicas = 3` beside `start` under `[utp]`, `[hub]` or `[toolbus]` has the suite start three; a Tool \
                     Service needs the probe `count`, which shows what is done twice, a Hub the customer `connected` and the \
                     tools that make and change its events, and an MCP server the probe `state` with the scope `persistent`, or \
                     artifacts";

/// Looks whether there is something to disturb, before anything is started.
pub(crate) fn check(manifest: &Manifest) -> Result<(), Failure> {
    let counts = [
        manifest.get::<UtpTable>().and_then(|utp| utp.replicas),
        manifest.get::<HubTable>().and_then(|hub| hub.replicas),
        manifest.get::<ToolbusTable>().and_then(|toolbus| toolbus.replicas),
    ];
    let has_several = counts.into_iter().flatten().any(|count| count.get() > 1);
    if has_several { Ok(()) } else { Err(nothing_to_disturb()) }
}

fn nothing_to_disturb() -> Failure {
    Failure::usage("`--chaos` needs a target of several replicas that the suite starts").hint(NEEDS)
}

/// Disturbs the replicas of each role of a run.
pub(crate) async fn run(plan: &RunPlan, say: &(dyn Fn(String) + Sync)) -> Result<Vec<ChaosReport>, Failure> {
    let (sessions, profiles) = (&plan.sessions, &plan.selection.profiles);
    let fleets: Vec<Arc<dyn Fleet>> =
        profiles.iter().filter_map(|profile| fleet(sessions, profile)).collect();
    // What could not be started, or never did its work, is in the record.
    let is_usable = |profile: &String| {
        let is_idle = |own: &Arc<dyn Session>| own.idle(profile).is_some();
        !plan.blocked.contains_key(profile) && session(sessions, profile).is_some_and(|own| !is_idle(own))
    };
    if fleets.is_empty() && profiles.iter().any(is_usable) {
        return Err(nothing_to_disturb());
    }
    let mut reports = Vec::new();
    for fleet in fleets {
        let profile = fleet.profile();
        let on_round = |number: usize, of: usize, own: &Disturbance| {
            say(format!("chaos, {profile}, {number} of {of}: {own}"));
        };
        let report = chaos::run(fleet, plan.seed, &on_round).await;
        // A target may repeat them.
        reports.push(console::without_secrets(&report).map_err(Failure::internal)?);
    }
    Ok(reports)
}

fn session<'s>(sessions: &'s Sessions, profile: &str) -> Option<&'s Arc<dyn Session>> {
    let family = families::ALL.of(profile)?;
    sessions.iter().find(|session| session.family() == family.id())
}

fn fleet(sessions: &Sessions, profile: &str) -> Option<Arc<dyn Fleet>> {
    let family = families::ALL.of(profile)?;
    let is_idle = session(sessions, profile)?.idle(profile).is_some();
    if is_idle { None } else { family.protocol().fleet(sessions, family.id(), profile) }
}

/// The exit code of a run that ends with `code` without its chaos.
pub(crate) fn code(reports: &[ChaosReport], code: u8) -> u8 {
    let any = |verdict| reports.iter().any(|report| report.verdict() == verdict);
    match code {
        exit::CONFORMANT | exit::INCOMPLETE | exit::STALE_BASELINE if any(ChaosVerdict::Broken) => {
            exit::NONCONFORMANT
        }
        exit::CONFORMANT | exit::STALE_BASELINE if any(ChaosVerdict::Incomplete) => exit::INCOMPLETE,
        code => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(hindered: Option<&str>) -> ChaosReport {
        ChaosReport {
            profile: String::new(),
            seed: 1,
            replicas: 3,
            broker_nodes: 0,
            disturbances: Vec::new(),
            calls: 0,
            findings: Vec::new(),
            hindered: hindered.map(str::to_owned),
        }
    }

    #[test]
    fn what_was_not_tried_is_no_success_and_hides_no_failure() {
        assert_eq!(code(&[], exit::CONFORMANT), exit::CONFORMANT);
        assert_eq!(code(&[report(None)], exit::CONFORMANT), exit::CONFORMANT);
        assert_eq!(code(&[report(None), report(Some("why"))], exit::CONFORMANT), exit::INCOMPLETE);
        assert_eq!(code(&[report(Some("why"))], exit::NONCONFORMANT), exit::NONCONFORMANT);
    }

    #[test]
    fn there_has_to_be_something_to_disturb() {
        let manifest = |utp: &str| {
            let text = format!("[target]\nname = \"a\"\n[utp]\n{utp}\n[utp.tool-service]\n");
            Manifest::parse("callmark.toml", &text, std::path::Path::new(".")).expect("a manifest")
        };
        assert!(check(&manifest("start = [\"a\"]\nreplicas = 3")).is_ok());
        assert!(check(&manifest("start = [\"a\"]")).is_err());
        let hub = "[target]\nname = \"a\"\n[hub]\nstart = [\"a\"]\nreplicas = 3\n";
        let hub = Manifest::parse("callmark.toml", hub, std::path::Path::new(".")).expect("a manifest");
        assert!(check(&hub).is_ok());
    }
}
