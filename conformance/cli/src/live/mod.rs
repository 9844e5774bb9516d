//! What is known of traffic while it passes: a line on a terminal, lines of JSON, numbers for Prometheus, a page.

mod metrics;
mod page;
mod shown;
mod view;

use std::net::SocketAddr;

use callmark_suite::net::http_server::HttpServer;
use tokio::task::JoinSet;

use self::page::Page;
pub(crate) use self::shown::Shown;
use crate::args::Format;
use crate::exit::Failure;

/// Shows traffic as long as this lives.
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
