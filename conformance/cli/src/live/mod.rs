//! What is known of traffic while it passes: a line on a terminal, lines of JSON, numbers for Prometheus, a page.

mod metrics;
mod page;
mod view;

use std::net::SocketAddr;
use std::sync::Arc;

use callmark_suite::engine::recording::live::Feed;
use callmark_suite::engine::recording::progress::Progress;
use callmark_suite::engine::recording::{Origin, Source};
use callmark_suite::engine::run::Library;
use callmark_suite::net::http_server::HttpServer;
use tokio::task::JoinSet;

use self::page::Page;
use crate::args::Format;
use crate::exit::Failure;

/// Whose traffic is shown.
#[derive(Clone)]
pub(crate) struct Shown {
    library: Arc<Library>,
    progress: Arc<Progress>,
    source: Source,
    strict: bool,
}

impl Shown {
    /// The traffic of `name` that this feed takes.
    pub(crate) fn new(
        library: &Arc<Library>,
        feed: &Feed,
        (name, origin): (&str, Origin),
        strict: bool,
    ) -> Self {
        Self {
            library: Arc::clone(library),
            progress: Arc::clone(feed.progress()),
            source: Source::new(name.to_owned(), origin),
            strict,
        }
    }
}

/// Shows it as long as this lives.
pub(crate) struct Live {
    _metrics: Option<HttpServer>,
    _page: Option<Page>,
    _view: JoinSet<()>,
}

impl Live {
    /// Shows traffic in this format; `metrics` is where Prometheus asks, `page` where a browser does.
    ///
    /// # Errors
    /// When it cannot listen there.
    pub(crate) async fn start(
        shown: &Shown,
        format: Format,
        (metrics, page): (Option<SocketAddr>, Option<SocketAddr>),
    ) -> Result<Self, Failure> {
        let metrics = match metrics {
            None => None,
            Some(address) => Some(metrics::serve(address, shown.clone()).await.map_err(Failure::usage)?),
        };
        if let Some(server) = &metrics {
            eprintln!("metrics {}/metrics", server.url());
        }
        let page = match page {
            None => None,
            Some(address) => Some(Page::start(address, shown.clone()).await.map_err(Failure::usage)?),
        };
        if let Some(page) = &page {
            eprintln!("page {}/", page.url());
        }
        let mut view = JoinSet::new();
        view.spawn(view::show(shown.clone(), format));
        Ok(Self { _metrics: metrics, _page: page, _view: view })
    }
}
