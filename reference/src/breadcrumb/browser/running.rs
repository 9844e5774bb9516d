//! Driver and browser at work; `actions` use them, [`super`] begins and ends them.

use super::process::Driver;
use super::webdriver::Session;

/// Driver and browser at work.
pub(super) struct RunningBrowser {
    pub(super) session: Session,
    pub(super) driver: Driver,
    /// Whether a page was opened.
    pub(super) open: bool,
}
