//! The browser tool `astral`: pages in a headless Chromium (Standard, "Output field access", browser tool).
//!
//! Read in this order: `actions` for what can be asked for, `webdriver` for the line to the driver (W3C WebDriver),
//! `process` for how driver and browser begin and end together, `paths` for where they are.
//! Neighbour: [`tool`](super::tool) says what a tool is.
//!
//! There is one browser with one page, started with the first call and kept; calls take turns on it, and a call without
//! `url` is about the page that the one before left open. A browser that hangs or is lost is replaced for the next
//! call. Deliberately absent: pages side by side, files, downloads, logins that outlast the browser, and any address
//! but `http`, `https` and `about:blank`. Which of those may be reached is for the network that it runs in.

mod actions;
mod paths;
mod process;
mod running;
mod webdriver;

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

use self::actions::Action;
use self::process::Driver;
use self::running::RunningBrowser;
use self::webdriver::{DriverFault, Session};
use super::tool::{Tool, ToolCall, ToolDefinition, ToolFailure};

pub use self::paths::BrowserPaths;

/// For one call, and for the browser to begin.
const DEADLINE: Duration = Duration::from_secs(20);
/// How the text of a failure begins that is this machine's: no page was asked for.
pub const UNSTARTED: &str = "the browser does not start";
/// A browser starts within a second, but hangs about once in a hundred times: then it is restarted.
const HANGS: Duration = Duration::from_secs(5);

/// How the tool is set up.
#[derive(Debug, Clone, Default)]
pub struct BrowserConfig {
    /// The programs; without them every call fails and says so.
    pub paths: Option<BrowserPaths>,
    /// Where screenshots go; without one into a directory of the tool's own, which is gone when the tool is.
    pub screenshots: Option<PathBuf>,
}

/// The tool `astral`. When it is dropped its browser ends, and also when this process does, however that ends.
pub struct Browser {
    definition: ToolDefinition,
    config: BrowserConfig,
    state: Mutex<State>,
}

/// What is kept between calls.
#[derive(Default)]
struct State {
    running: Option<RunningBrowser>,
    /// Outlives a browser that was replaced, with the screenshots in it.
    screenshots: Option<TempDir>,
}

impl Browser {
    /// The Chromium and the driver of this machine: `CALLMARK_CHROMIUM` and `CALLMARK_CHROMEDRIVER`, or the `PATH`.
    pub fn find() -> Option<BrowserPaths> {
        paths::find(|name| std::env::var_os(name))
    }

    /// The tool; nothing is started before the first call.
    pub fn new(config: BrowserConfig) -> Self {
        Self { definition: definition(), config, state: Mutex::default() }
    }

    /// Ends the browser and waits until it is gone. A later call begins another one.
    pub async fn shutdown(&self) {
        let mut state = self.state.lock().await;
        if let Some(running) = state.running.take() {
            running.driver.end().await;
        }
        state.screenshots = None;
    }

    async fn call(&self, call: ToolCall) -> Result<Value, ToolFailure> {
        let action = Action::read(&call.input)?;
        let mut state = self.state.lock().await;
        let mut running = match state.running.take() {
            Some(running) => running,
            None => self.start().await?,
        };
        let directory = self.directory(&mut state)?;
        let done = tokio::time::timeout(DEADLINE, action.perform(&mut running, &directory))
            .await
            .unwrap_or(Err(actions::ActionFault::Driver(DriverFault::Late)));
        match &done {
            // What a late or lost browser would still do is not known, so the next call gets a new one.
            Err(fault) if fault.is_the_end() => running.driver.end().await,
            Ok(_) | Err(_) => state.running = Some(running),
        }
        done.map_err(actions::ActionFault::into_failure)
    }

    async fn start(&self) -> Result<RunningBrowser, ToolFailure> {
        let paths = self.config.paths.as_ref().ok_or_else(|| {
            ToolFailure::new(
                "there is no browser on this machine: install Chromium and its driver, or say where they are in \
                 `CALLMARK_CHROMIUM` and `CALLMARK_CHROMEDRIVER`",
            )
        })?;
        let starting = || async {
            let driver = Driver::start(paths).await?;
            let session = Session::start(&driver, paths).await?;
            Ok(RunningBrowser { session, driver, open: false })
        };
        let begun = async {
            match tokio::time::timeout(HANGS, starting()).await {
                Ok(begun) => begun,
                Err(_elapsed) => starting().await,
            }
        };
        let begun = tokio::time::timeout(DEADLINE, begun)
            .await
            .unwrap_or_else(|_elapsed| Err(ToolFailure::new("there was no answer in time")));
        begun.map_err(|failure| ToolFailure::new(format!("{UNSTARTED}: {failure}")))
    }

    fn directory(&self, state: &mut State) -> Result<PathBuf, ToolFailure> {
        if let Some(directory) = &self.config.screenshots {
            return Ok(directory.clone());
        }
        if state.screenshots.is_none() {
            let made = tempfile::Builder::new().prefix("astral-").tempdir();
            let made =
                made.map_err(|_error| ToolFailure::new("there is no directory for screenshots to be had"))?;
            state.screenshots = Some(made);
        }
        Ok(state.screenshots.as_ref().map(|made| made.path().to_owned()).unwrap_or_default())
    }
}

impl std::fmt::Debug for Browser {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Browser").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Tool for Browser {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        Box::pin(self.call(call))
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(Self::shutdown(self))
    }
}

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "astral".to_owned(),
        description:
            "Opens a page in a browser, reads it, clicks in it, takes its picture or runs a script in it."
                .to_owned(),
        category: "browser".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "action": {"enum": ["navigate", "extract", "click", "screenshot", "evaluate"]},
                "url": {"type": "string", "description": "The page; without it, the one that is open."},
                "selector": {"type": "string", "minLength": 1, "description": "CSS selector of an element."},
                "script": {"type": "string", "description": "JavaScript: an expression, or a body with `return`."}
            },
            "required": ["action"],
            "allOf": [
                {"if": {"properties": {"action": {"const": "navigate"}}}, "then": {"required": ["url"]}},
                {"if": {"properties": {"action": {"const": "click"}}}, "then": {"required": ["selector"]}},
                {"if": {"properties": {"action": {"const": "evaluate"}}}, "then": {"required": ["script"]}}
            ]
        }),
        output_schema: json!({
            "type": "object",
            "properties": {
                "url": {"type": "string"},
                "title": {"type": "string"},
                "text": {"type": "string"},
                "clicked": {"type": "boolean"},
                "path": {"type": "string", "description": "Of a PNG file."},
                "result": {"description": "What the script gave, as JSON."}
            }
        }),
    }
}
