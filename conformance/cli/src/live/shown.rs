//! Whose traffic is shown, and how it was judged so far.

use std::sync::Arc;

use callmark_suite::engine::recording::live::Feed;
use callmark_suite::engine::recording::progress::Progress;
use callmark_suite::engine::recording::{Origin, Source};
use callmark_suite::engine::run::Library;

/// Whose traffic is shown.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(super) library: Arc<Library>,
    pub(super) progress: Arc<Progress>,
    pub(super) source: Source,
    pub(super) strict: bool,
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
