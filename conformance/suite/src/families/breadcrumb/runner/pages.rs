//! The pages that a browser under test visits (`docs/breadcrumbs.md`, "A browser").
//!
//! Each scenario has a page of its own; what stands on it hangs on the scenario's mark and not in its address. The page
//! works without scripts: its button sends a form.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::families::breadcrumb::router::ScenarioRouter;
use crate::net::http_connections;
use crate::net::http_connections::Accepting;
use crate::transcript::Kind;

/// The element with the paragraph.
pub const STORY: &str = "#story";
/// The button.
pub const BUTTON: &str = "#go";
/// Where the button leads.
pub const CLICKED: &str = "/clicked/";

/// The pages of a run. They end when this is dropped.
pub struct Pages {
    address: SocketAddr,
    // Ends with the pages.
    _serving: JoinSet<()>,
}

/// What stands on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// Its paragraph.
    pub story: String,
}

impl Page {
    /// The page of the scenario with this mark.
    pub fn of(unique: &str) -> Self {
        let word = crate::engine::digest::hash(&["page", unique]);
        Self {
            title: format!("Quartz {}", &word[..8]),
            story: format!("The pump of room {} ran dry at noon.", &word[8..16]),
        }
    }

    fn html(&self, unique: &str) -> String {
        format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title></head><body>\
             <h1>Pump log</h1><p id=\"story\">{}</p>\
             <form action=\"{CLICKED}{unique}\" method=\"get\"><button id=\"go\" type=\"submit\">Go</button></form>\
             </body></html>",
            self.title, self.story
        )
    }
}

impl Pages {
    /// Listens on a free port.
    ///
    /// # Errors
    /// Why it cannot listen.
    pub async fn start(router: &Arc<ScenarioRouter>) -> Result<Self, String> {
        let listener = http_connections::listen(None).await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let router = Router::new().fallback(handle).with_state(Arc::clone(router));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            // Serving ends with the task; an error of one connection is that connection's own.
            let _ = axum::serve(Accepting(listener), router).await;
        });
        Ok(Self { address, _serving: serving })
    }

    /// Pages that are not served any more, for a run that is judged again.
    pub(in crate::families::breadcrumb) fn offline(address: SocketAddr) -> Self {
        Self { address, _serving: JoinSet::new() }
    }

    /// Where they are.
    pub(in crate::families::breadcrumb) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page of a scenario.
    pub fn url(&self, unique: &str) -> String {
        format!("http://{}/page/{unique}", self.address)
    }

    /// `host:port`, which differs from run to run.
    pub fn host(&self) -> String {
        self.address.to_string()
    }
}

async fn handle(State(router): State<Arc<ScenarioRouter>>, request: Request) -> Response {
    let path = request.uri().path();
    let Some(unique) = path.strip_prefix("/page/").or_else(|| path.strip_prefix(CLICKED)) else {
        return (StatusCode::NOT_FOUND, "there is no such page").into_response();
    };
    let scenario_channel = router.whose(unique);
    let channel = format!("{} {path}", request.method());
    router.record_incoming_of(&scenario_channel, Kind::Web, &channel, BTreeMap::new(), Value::Null);
    if path.starts_with(CLICKED) {
        return Html("<!doctype html><title>Thanks</title><p>Thanks.</p>").into_response();
    }
    Html(Page::of(&scenario_channel.unique).html(&scenario_channel.unique)).into_response()
}
