//! The upstream that the suite plays for an OpenAPI executor (Guide §4): one HTTP server that answers for every host.
//!
//! In reading order: `keys` (what the environment holds), `script` (how the calls of a project are answered), `asked` (a
//! request, whatever its form), `server` (connections). It accepts whatever can be read and judges nothing; which hosts
//! may be asked is for `judge::upstream`. Deliberately absent: TLS, and any answer that repeats a key.

mod asked;
pub mod joined;
mod keys;
mod script;
mod server;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::manifest::OpenApiTable;
use super::platform::PlatformService;
use super::token::tokens;
use crate::net::http_connections;
use crate::net::inbound::Played;
use crate::transcript::lock;

pub use asked::ALLOWED;
pub use keys::{Key, Keys, Variable};
pub use script::{AnswerForm, ResponseMode, Script};

/// What an upstream is started with, and what is known of the executor before it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UpstreamPlan {
    /// `host:port`; a free port of the loopback address when absent.
    pub listen: Option<String>,
    /// What the executor's environment holds.
    pub keys: Keys,
    /// After how long the executor gives up an upstream that does not answer.
    pub timeout: Option<Duration>,
    /// Whether its own configuration maps `api_key` to [`Variable::Service`].
    pub service_envs: bool,
    /// Whether its log can be read.
    pub has_log: bool,
}

impl UpstreamPlan {
    /// For the executor of a manifest.
    pub fn of(own: &OpenApiTable, is_started: bool) -> Self {
        let keys =
            if is_started { Keys::completed(&own.environment) } else { Keys::declared(&own.environment) };
        Self {
            listen: own.upstream.clone(),
            keys,
            timeout: own.timeout_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            service_envs: own.service_envs,
            has_log: is_started || own.log.is_some(),
        }
    }
}

/// The upstream of a run. It ends when it is dropped.
#[derive(Debug)]
pub struct Upstream {
    /// What is known of the executor.
    pub plan: UpstreamPlan,
    address: SocketAddr,
    platforms: Arc<Mutex<Vec<Weak<PlatformService>>>>,
    _tasks: JoinSet<()>,
}

impl Upstream {
    /// Listens, and answers from now on; whose requests are whose is known once the platform is attached.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(plan: UpstreamPlan) -> std::io::Result<Arc<Self>> {
        let listener = http_connections::listen(plan.listen.as_deref()).await?;
        let address = listener.local_addr()?;
        let platforms = Arc::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(server::serve(listener, Arc::clone(&platforms)));
        Ok(Arc::new(Self { plan, address, platforms, _tasks: tasks }))
    }

    /// An upstream that does not listen, for a run that is judged again.
    pub(in crate::families::utp) fn offline(plan: UpstreamPlan) -> Arc<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        Arc::new(Self { plan, address, platforms: Arc::default(), _tasks: JoinSet::new() })
    }

    /// Adds a platform in whose projects requests are recorded. Several are those of a target that serves several revisions;
    /// one whose run is over is forgotten.
    pub fn attach(&self, platform_service: &Arc<PlatformService>) {
        let mut platforms = lock(&self.platforms);
        platforms.retain(|other| other.strong_count() > 0);
        platforms.push(Arc::downgrade(platform_service));
    }

    /// The hosts that it has in the world, for an executor that has compiled them in: the two that may be asked, and
    /// those that a scenario has it asked for all the same.
    pub(in crate::families::utp) fn played(&self) -> Played {
        let platforms = Arc::clone(&self.platforms);
        Played::at(self.address, move |host| {
            let is_expected = |platform_service: &PlatformService| {
                !platform_service.find(|project| project.upstream.watches(host).then_some(())).is_empty()
            };
            let platforms: Vec<_> = lock(&platforms).iter().filter_map(Weak::upgrade).collect();
            ALLOWED.contains(&host)
                || tokens(host).next().is_some()
                || platforms.iter().any(|own| is_expected(own))
        })
    }

    /// Base URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the executor declares beside its modes, as `@cap:` tags name it.
    pub fn capabilities(&self) -> impl Iterator<Item = String> + use<> {
        let knows = |variable: Variable| self.plan.keys.of(variable).is_some();
        [
            ("jina.key", knows(Variable::Default)),
            ("jina.auth_env", knows(Variable::Named)),
            ("jina.envs", knows(Variable::Parameter)),
            (
                "jina.service_envs",
                self.plan.service_envs && knows(Variable::Parameter) && knows(Variable::Service),
            ),
            ("jina.timeout", self.plan.timeout.is_some()),
            ("jina.log", self.plan.has_log),
        ]
        .into_iter()
        .filter(|(_, there)| *there)
        .map(|(name, _)| name.to_owned())
    }
}

/// The options of a tool of this mode, as far as every scenario has them: those of the Guide's example, and the way in
/// which a reader is asked is its executor's own affair.
pub fn options(mode: &str, host: &str) -> Value {
    let mut jina = json!({"mode": mode, "base_url": format!("https://{host}")});
    if mode == "search" {
        jina["path"] = json!("/search");
        jina["method"] = json!("GET");
    }
    json!({"jina": jina})
}
