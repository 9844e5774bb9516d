//! Benches for the saboteur: a correct target behind a mutating wire, one session after another.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::session::Sessions;
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families;
use callmark_suite::mutation::{Patience, TargetFactory, TargetInstance};
use callmark_suite::net::wire::Wire;
use futures::future::{BoxFuture, LocalBoxFuture};

use super::manifest::{all, manifest};
use super::setting::{Bundled, Setting, limits};

/// As [`limits`], and for short patience less.
fn sabotage_limits(patience: Patience) -> TimeoutLimits {
    match patience {
        Patience::Full => limits(1.0),
        Patience::Short => TimeoutLimits {
            answer_floor: Duration::from_millis(500),
            // A hundred times as long as a call of the calibration took: on a busy machine that is for ever.
            answer_ceiling: Duration::from_secs(2),
            late_floor: Duration::ZERO,
            ..limits(1.0)
        },
    }
}

/// Sets up the reference for the saboteur.
pub struct ReferenceFactory {
    /// The `callmark` binary.
    pub program: PathBuf,
}

struct ReferenceInstance {
    manifest: Manifest,
    protocols: Vec<Box<dyn Bundled>>,
    opened: u64,
}

impl TargetFactory for ReferenceFactory {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn TargetInstance>, String>> {
        Box::pin(async {
            let manifest = manifest(&self.program).map_err(|error| error.to_string())?;
            let instance = ReferenceInstance { manifest, protocols: all(), opened: 0 };
            Ok(Box::new(instance) as Box<dyn TargetInstance>)
        })
    }
}

impl TargetInstance for ReferenceInstance {
    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        wire: Arc<dyn Wire>,
        patience: Patience,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>> {
        Box::pin(async move {
            let protocol = families::ALL.of(profile).map(|family| family.protocol().name());
            let own = self.protocols.iter_mut().find(|own| Some(own.protocol()) == protocol);
            let own = own.ok_or_else(|| format!("the reference does not play `{profile}`"))?;
            self.opened += 1;
            let limits = sabotage_limits(patience);
            let setting = Setting { manifest: &mut self.manifest, wire, limits, seed: self.opened };
            own.sessions(profile, setting).await
        })
    }
}
