//! What a run would do, before it does anything: how many scenarios and calls, and what they leave at the target.
//!
//! It follows from the steps alone, so that nobody is asked: what a target turns out to lack is counted as well, and what
//! is repeated alone is not.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::effect::calls;
use crate::engine::family::Families;
use crate::engine::invariant::ALWAYS;
use crate::engine::manifest::Manifest;
use crate::spec::catalog::Case;

/// What a run of one profile would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// Scenarios with traffic of their own.
    pub scenarios: usize,
    /// Calls of the target, about.
    pub calls: usize,
    /// What they leave there, each with its number.
    pub effects: BTreeMap<&'static str, usize>,
    /// What of it people get who have nothing to do with the run.
    pub to_people: BTreeMap<&'static str, usize>,
}

/// What a run of these scenarios would do, by profile.
pub fn of(families: Families, manifest: &Manifest, cases: &[&Case]) -> BTreeMap<String, Forecast> {
    let mut all: BTreeMap<String, Forecast> = BTreeMap::new();
    for case in cases.iter().filter(|case| !case.tags.contains(ALWAYS)) {
        let forecast = all.entry(case.profile.clone()).or_default();
        forecast.scenarios += 1;
        forecast.calls += calls(case);
        let effects = families.of(&case.profile).map(|family| family.protocol().effects(manifest, case));
        for effect in effects.into_iter().flatten() {
            *forecast.effects.entry(effect.what).or_default() += effect.count;
            if effect.reaches_people {
                *forecast.to_people.entry(effect.what).or_default() += effect.count;
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::run::{Library, Selection};
    use std::path::Path;

    fn forecast(text: &str) -> BTreeMap<String, Forecast> {
        let manifest = Manifest::parse("callmark.toml", text, Path::new(".")).expect("a sound manifest");
        let library = Library::load().expect("a sound library");
        let profiles = manifest.profiles().into_iter().map(str::to_owned).collect();
        let cases = library.select(&Selection { profiles, ..Selection::default() });
        of(crate::families::ALL, &manifest, &cases)
    }

    #[test]
    fn mails_of_a_hub_reach_people_unless_the_suite_is_its_provider() {
        let hub = "[target]\nname = \"a\"\n[hub]\nbase_url = \"http://127.0.0.1:1\"\nsecret = \"hush\"\n";
        let all = forecast(hub);
        let own = &all["hub.server"];
        assert!(own.scenarios > 50 && own.calls >= own.scenarios, "{own:?}");
        assert!(own.to_people["mails sent"] > 5 && own.effects["events created"] > 5, "{own:?}");
        let own = &forecast(&format!("{hub}[hub.provider]\nlisten = \"127.0.0.1:18080\"\n"))["hub.server"];
        assert!(own.to_people.is_empty() && own.effects.contains_key("mails sent"), "{own:?}");
    }

    #[test]
    fn what_has_no_traffic_of_its_own_is_no_call() {
        let all = forecast("[target]\nname = \"a\"\n[utp.tool-service]\n");
        let own = &all["utp.tool-service"];
        let library = Library::load().expect("a sound library");
        let profiles = vec!["utp.tool-service".to_owned()];
        let cases = library.select(&Selection { profiles, ..Selection::default() });
        assert!(own.scenarios < cases.len() && own.to_people.is_empty(), "{own:?}");
    }
}
