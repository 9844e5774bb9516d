//! What the suite plays around a UTP target beside the platform and the broker.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::target::{Handing, Port};
use crate::families::utp::binding::PlatformKind;
use crate::families::utp::manifest::UtpTable;
use crate::families::utp::runtime::model::Model;
use crate::families::utp::upstream::{Upstream, UpstreamPlan};
use crate::net::inbound::{Inbound, Played};

/// The variable that a parameter is taken from.
const PARAM_KEY: &str = "CALLMARK_PARAM_KEY";

/// The parties that the suite plays beside the platform, and what a started target is given of them.
#[derive(Default)]
pub(super) struct Parties {
    pub(super) model: Option<Arc<Model>>,
    pub(super) upstream: Option<Arc<Upstream>>,
    /// Base URL of a runtime that is reached over HTTP.
    pub(super) url: Option<String>,
    /// What a started target finds in `CALLMARK_PARAM_KEY`.
    pub(super) secret: Option<String>,
    /// Where the runtime is to listen.
    pub(super) port: Option<Port>,
    pub(super) environment: BTreeMap<String, String>,
}

impl Parties {
    /// What a started target must not write into its log.
    pub(super) fn secrets(&self) -> Vec<String> {
        let keys = self.upstream.iter().flat_map(|upstream| upstream.plan.keys.iter());
        keys.map(|key| key.expose().to_owned()).chain(self.secret.clone()).collect()
    }

    /// Hosts that they have in the world.
    pub(super) fn played(&self) -> Vec<Played> {
        self.upstream.iter().map(|upstream| upstream.played()).collect()
    }

    /// Starts those that the wanted profiles need.
    ///
    /// # Errors
    /// Why one cannot be started.
    pub(super) async fn gather(
        wanted: &[&str],
        table: &UtpTable,
        (is_started, inbound): (bool, &Inbound),
        handing: Handing,
    ) -> Result<Self, String> {
        let mut parties = Self::default();
        if let Some(own) = table.openapi.as_ref().filter(|_| wanted.contains(&"utp.openapi")) {
            let upstream = Upstream::start(UpstreamPlan::of(own, is_started)).await;
            let upstream = upstream.map_err(|error| format!("no upstream: {error}"))?;
            parties
                .environment
                .insert("CALLMARK_UPSTREAM_URL".to_owned(), inbound.url(&upstream.url()).await?);
            parties.environment.extend(upstream.plan.keys.environment());
            parties.upstream = Some(upstream);
        }
        let known = parties.environment.get(PARAM_KEY).cloned();
        let mut set = |name: &str, value: String| drop(parties.environment.insert(name.to_owned(), value));
        if CALLERS.iter().any(|profile| wanted.contains(profile)) {
            let model = Arc::new(Model::start(table.runtime.model.as_deref()).await?);
            set("CALLMARK_MODEL_URL", inbound.url(&model.url()).await?);
            if is_started {
                let secret =
                    known.unwrap_or_else(|| crate::families::utp::test_environment::unique_secret("param"));
                set(PARAM_KEY, secret.clone());
                parties.secret = Some(secret);
            } else {
                parties.secret =
                    table.openapi.as_ref().and_then(|own| own.environment.get(PARAM_KEY).cloned());
            }
            parties.model = Some(model);
            if table.platform == PlatformKind::Http {
                let url = if let Some(url) = &table.runtime.url {
                    url.clone()
                } else {
                    let port = parties.port.insert(Port::take(handing)?);
                    let address = port.address();
                    set("CALLMARK_LISTEN", address.clone());
                    format!("http://{address}")
                };
                parties.url = Some(url);
            }
        }
        Ok(parties)
    }
}

/// Profiles of a runtime.
pub(super) const CALLERS: [&str; 2] = ["utp.worker", "utp.execution"];
