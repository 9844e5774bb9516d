//! First uploads: whether the registry takes a definition and shows it again, and how fast it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{LONGEST_LOOK, ManagementSession, is_stored};
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::families::utp::registry::definition::Definition;
use crate::families::utp::registry::error::ManagementError;
use crate::families::utp::registry::exchange::Exchange;
use crate::families::utp::registry::upload::Upload;
use crate::net::http_client::Caller;

/// Between two looks at a registry that does not answer yet.
const LOOK: Duration = Duration::from_millis(10);
/// Before each try to have a definition taken and to read it back.
const WARM_UP: [Duration; 3] = [Duration::ZERO, Duration::from_millis(300), Duration::from_millis(1200)];
/// So long the first definition may take until it shows.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// Requests side by side that show how fast the registry is with many.
const CROWD: usize = 32;
/// Uploads side by side that show the same of those; their number stays small, since what is uploaded stays there.
const UPLOADS: usize = 8;

impl ManagementSession {
    /// Finds out whether the registry takes a definition and shows it again, and how fast it is.
    pub(super) async fn calibrate(&mut self, limits: &TimeoutLimits) -> Result<(), ManagementError> {
        let caller = Caller { scenario: "calibration".to_owned(), transcript: Arc::default() };
        let within = limits.scaled(self.table.launch.start_timeout());
        self.wait_for_it(&caller, within).await?;
        let mut slowest = Duration::ZERO;
        for (number, wait) in WARM_UP.into_iter().enumerate() {
            tokio::time::sleep(wait).await;
            let unique = self.unique("calibration", &number.to_string());
            let definition = Definition::full(&self.versions.own, &self.tool(&unique), &self.word(&unique));
            let project = self.project(&unique);
            let began = Instant::now();
            let patience = limits.scaled(FIRST_LOOK);
            let made = self.upload_and_look(&caller, &project, &definition, (patience, &is_stored)).await;
            // Two exchanges are more than one.
            slowest = began.elapsed();
            let (stored, status, summary) = caller.transcript.with(|frames| {
                let upload = Upload::of(frames, &made);
                let status = upload.and_then(|upload| upload.post.status());
                let summary = upload.map(|upload| upload.summary()).unwrap_or_default();
                (upload.is_some_and(|upload| upload.stored().is_some()), status, summary)
            });
            self.works = stored;
            self.summary = summary;
            if matches!(status, Some(401 | 403)) && !self.table.launch.is_started() {
                return Err(ManagementError::Refused(std::mem::take(&mut self.summary)));
            }
            // What takes a definition and does not show it, or says that it is at fault, does so later as well.
            if stored || status.is_some_and(|status| status < 500) {
                break;
            }
        }
        // Scenarios run side by side, and a registry may work in turn.
        let began = Instant::now();
        let nobody = self.nobody();
        let project = self.project("nobody");
        let crowd = (0..CROWD).map(|_| self.read(&caller, &project, &nobody));
        futures::future::join_all(crowd).await;
        slowest = slowest.max(began.elapsed());
        if self.works {
            slowest = slowest.max(self.crowded_uploads(&caller).await);
        }
        self.timeouts = Timeouts::calibrated(slowest, limits);
        Ok(())
    }

    /// How long a crowd of uploads would take, as a few of them show.
    async fn crowded_uploads(&self, caller: &Caller) -> Duration {
        let began = Instant::now();
        let uploads = (0..UPLOADS).map(|number| {
            let unique = self.unique("calibration", &format!("crowd {number}"));
            let definition = Definition::full(&self.versions.own, &self.tool(&unique), &self.word(&unique));
            let project = self.project(&unique);
            async move {
                self.upload_and_look(caller, &project, &definition, (Duration::ZERO, &is_stored)).await;
            }
        });
        futures::future::join_all(uploads).await;
        // One after another they take longer the more there are; side by side the estimate is only generous.
        began.elapsed() * u32::try_from(CROWD / UPLOADS).unwrap_or(1)
    }

    /// The definition of a tool that nobody uploads.
    fn nobody(&self) -> Definition {
        Definition::full(&self.versions.own, &self.tool("nobody"), "nobody")
    }

    /// Waits until something answers over HTTP.
    pub(super) async fn wait_for_it(
        &self,
        caller: &Caller,
        deadline: Duration,
    ) -> Result<(), ManagementError> {
        let began = Instant::now();
        let mut wait = LOOK;
        loop {
            let nobody = self.nobody();
            let project = self.project("nobody");
            let left = deadline.saturating_sub(began.elapsed()).max(LOOK);
            let request = self.read(caller, &project, &nobody);
            let number = tokio::time::timeout(left, request).await.unwrap_or_default();
            let (status, summary) = caller.transcript.with(|frames| {
                let exchange = Exchange::of(frames, number);
                (exchange.and_then(|exchange| exchange.status()), exchange.map(|exchange| exchange.summary()))
            });
            let is_warming_up = matches!(status, Some(502..=504));
            if status.is_some() && !is_warming_up {
                return Ok(());
            }
            if let Some(ended) = self.ended() {
                return Err(ManagementError::Start(ended));
            }
            if let Some(why) = self.client.trouble() {
                return Err(ManagementError::Reach { base: self.base.clone(), why });
            }
            if began.elapsed() + wait >= deadline {
                // One that is there and fails all the time is judged.
                return if is_warming_up {
                    Ok(())
                } else {
                    let why = summary.unwrap_or_else(|| "there was no answer in time".to_owned());
                    Err(ManagementError::Silent { base: self.base.clone(), seconds: deadline.as_secs(), why })
                };
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_LOOK);
        }
    }
}
