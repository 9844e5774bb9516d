//! The way in: how a started target reaches the parties that the suite plays, where `[target]` asks for more than their
//! addresses.
//!
//! `authority` is the CA of the run, `forward_proxy` takes requests for hosts that a target has compiled in (`intercept`),
//! `relay` ends TLS before a party, of that proxy and of the parties' own addresses (`serve_tls`), `sightings` is what
//! was noticed on the way. The parties themselves know of none of this: what arrives is what they would have been sent
//! directly, so it is recorded and judged alike. Without those keys nothing of this is made.

mod authority;
mod forward_proxy;
mod played;
mod relay;
mod sightings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::authority::Authority;
use self::forward_proxy::Routes;
pub(crate) use self::played::Played;
use self::relay::Expected;
use self::sightings::{Sighting, Sightings, TRUSTED};
use crate::engine::environment;
use crate::engine::manifest::Manifest;
use crate::guard;
use crate::net::http_connections::{self, Accepting};
use crate::transcript::lock;
use axum::serve::Listener as _;

/// Names of the suite's own servers, as their certificate has them.
const OWN: [&str; 3] = ["127.0.0.1", "localhost", "::1"];
/// What a proxy is not asked for.
const DIRECT: &str = "127.0.0.1,localhost,::1";

/// How started targets reach the suite.
#[derive(Default)]
pub struct Inbound {
    intercepts: bool,
    serves_tls: bool,
    trust: OnceLock<Result<Trust, String>>,
    sightings: Arc<Sightings>,
    serving: Mutex<JoinSet<()>>,
}

/// The CA of a run, and what says so to a target.
struct Trust {
    authority: Arc<Authority>,
    variables: BTreeMap<String, String>,
    /// With the certificate, as long as the run.
    _directory: TempDir,
}

impl std::fmt::Debug for Inbound {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Inbound").finish_non_exhaustive()
    }
}

impl Inbound {
    /// As the manifest says.
    pub fn of(manifest: &Manifest) -> Arc<Self> {
        let target = &manifest.target;
        Arc::new(Self { intercepts: target.intercept, serves_tls: target.serve_tls, ..Self::default() })
    }

    /// What a target is started with, beneath the `env` of its table: the proxy where hosts of these parties are taken,
    /// and the CA.
    ///
    /// # Errors
    /// There is no CA, or the proxy cannot listen.
    pub(crate) async fn around(&self, played: Vec<Played>) -> Result<BTreeMap<String, String>, String> {
        if !self.intercepts && !self.serves_tls {
            return Ok(BTreeMap::new());
        }
        let trust = self.trust()?;
        let mut variables = trust.variables.clone();
        if self.intercepts {
            let (listener, address) = listen().await?;
            let authority = Arc::clone(&trust.authority);
            let routes = Routes { authority, sightings: Arc::clone(&self.sightings), played };
            lock(&self.serving).spawn(forward_proxy::serve(listener, Arc::new(routes)));
            let url = format!("http://{address}");
            for (name, value) in [("HTTP_PROXY", url.as_str()), ("HTTPS_PROXY", &url), ("NO_PROXY", DIRECT)] {
                variables.insert(name.to_owned(), value.to_owned());
                variables.insert(name.to_ascii_lowercase(), value.to_owned());
            }
            variables.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
        }
        Ok(variables)
    }

    /// The URL of one of the suite's own servers as a started target is given it: with TLS where the manifest says so.
    ///
    /// # Errors
    /// There is no CA, or nothing can listen before that server.
    pub(crate) async fn url(&self, url: &str) -> Result<String, String> {
        let Some(rest) = url.strip_prefix("http://").filter(|_| self.serves_tls) else {
            return Ok(url.to_owned());
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let party: SocketAddr =
            authority.parse().map_err(|_| format!("`{url}` is no address of the suite"))?;
        let trust = self.trust()?;
        let (listener, address) = listen().await?;
        let known = (Arc::clone(&trust.authority), Arc::clone(&self.sightings));
        lock(&self.serving).spawn(front(listener, party, known));
        Ok(format!("https://{address}{path}"))
    }

    /// What was noticed so far that is no verdict: one sentence each.
    pub fn remarks(&self) -> Vec<String> {
        self.sightings.remarks()
    }

    /// Notes that a target needs this host and did not ask for it.
    pub(crate) fn note_unasked(&self, host: &str) {
        if self.intercepts {
            self.sightings.note(Sighting::Unasked, host);
        }
    }

    /// That no target trusts the CA of the run.
    pub(crate) fn distrust(&self) -> Option<String> {
        self.sightings.distrust()
    }

    fn trust(&self) -> Result<&Trust, String> {
        self.trust.get_or_init(Trust::new).as_ref().map_err(Clone::clone)
    }
}

impl Trust {
    fn new() -> Result<Self, String> {
        let authority = Arc::new(Authority::new()?);
        let failed = |error: std::io::Error| {
            environment::note(&error);
            format!("the certificate of the run cannot be written: {error}")
        };
        let directory = guard::directory("ca-").map_err(failed)?;
        let own = directory.path().join("ca.pem");
        std::fs::write(&own, authority.pem()).map_err(failed)?;
        // These variables name all issuers that are trusted, so those of the system stand beside it.
        let all = directory.path().join("issuers.pem");
        std::fs::write(&all, format!("{}{}", authority.pem(), authority::system())).map_err(failed)?;
        let shown = |path: &Path| path.display().to_string();
        let variables = TRUSTED.map(|name| {
            let is_added = matches!(name, "NODE_EXTRA_CA_CERTS" | "DENO_CERT");
            (name.to_owned(), shown(if is_added { &own } else { &all }))
        });
        Ok(Self { authority, variables: variables.into(), _directory: directory })
    }
}

async fn listen() -> Result<(TcpListener, SocketAddr), String> {
    let failed = |error: std::io::Error| format!("no port can be listened on: {error}");
    let listener = http_connections::listen(None).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Stands before a party, and ends TLS.
async fn front(listener: TcpListener, party: SocketAddr, known: (Arc<Authority>, Arc<Sightings>)) {
    let mut connections = JoinSet::new();
    let mut listener = Accepting(listener);
    loop {
        let (stream, _) = listener.accept().await;
        while connections.try_join_next().is_some() {}
        let (authority, sightings) = known.clone();
        connections.spawn(async move {
            let _ = stream.set_nodelay(true);
            relay::encrypted(stream, &Expected::Own(&OWN), party, (&authority, &sightings)).await;
        });
    }
}
