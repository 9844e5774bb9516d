//! A running driver and browser; `actions` use them, [`super`] starts and ends them.

use super::process::Driver;
use super::webdriver::Session;

/// A running driver and browser.
pub(super) struct RunningBrowser {
    pub(super) session: Session,
    pub(super) driver: Driver,
    /// Whether a page was opened.
    pub(super) open: bool,
}
