//! The line to the driver: the few commands of W3C WebDriver that the actions need, and one of Chromium's own.
//!
//! Every answer is bounded, which no client library offers: what a page makes of itself is the page's choice.

use std::time::Duration;

use reqwest::{Client, Method, redirect};
use serde_json::{Value, json};

use super::paths::BrowserPaths;
use super::process::Driver;
use crate::breadcrumb::tool::{ToolFailure, shorten};

/// A picture of a page is the largest answer.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// For one command, below the deadline of a call.
const DEADLINE: Duration = Duration::from_secs(18);
/// For a page to load, in milliseconds.
const PAGE_LOAD: u64 = 15_000;
/// For a script, in milliseconds.
const SCRIPT: u64 = 5_000;
/// For an element that a script has yet to make, in milliseconds.
const ELEMENT: u64 = 500;

/// What a headless browser for one tool can do without, and the pipe, which has the browser end with its driver.
const FLAGS: &[&str] = &[
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-zygote",
    "--mute-audio",
    "--window-size=1280,800",
];

/// Calls back when the tasks that the page has started are over.
const LATER: &str = "const done = arguments[0]; setTimeout(() => setTimeout(done));";

/// A session of the driver, which is a browser.
pub(super) struct Session {
    client: Client,
    url: String,
}

/// Why a command came to nothing.
#[derive(Debug)]
pub(super) enum DriverFault {
    /// The driver's word for it (WebDriver §6.6) and its sentence.
    Reported { error: String, message: String },
    /// No answer in time.
    Late,
    /// No answer at all, or none that can be read.
    Lost,
    /// An answer without end.
    TooLong,
}

impl Session {
    /// Has the driver start the browser.
    pub(super) async fn start(driver: &Driver, paths: &BrowserPaths) -> Result<Self, ToolFailure> {
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(DEADLINE)
            .build()
            .map_err(|_error| ToolFailure::new("the driver of the browser cannot be spoken with"))?;
        let mut session = Self { client, url: format!("http://127.0.0.1:{}/session", driver.port()) };
        let mut arguments: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        arguments.push(format!("--user-data-dir={}", driver.profile().display()));
        let name = if paths.is_shell() {
            "chrome-headless-shell"
        } else {
            arguments.push("--headless=new".to_owned());
            "chrome"
        };
        let capabilities = json!({"alwaysMatch": {
            "browserName": name,
            // The text of a page is there before its pictures are.
            "pageLoadStrategy": "eager",
            "unhandledPromptBehavior": "dismiss",
            "timeouts": {"pageLoad": PAGE_LOAD, "script": SCRIPT, "implicit": ELEMENT},
            "goog:chromeOptions": {
                "binary": paths.chromium.to_string_lossy(),
                "args": arguments,
                // No downloads.
                "prefs": {"download_restrictions": 3},
            },
        }});
        let body = json!({"capabilities": capabilities});
        let started = session.command(Method::POST, "", Some(&body)).await;
        let id = started.as_ref().ok().and_then(|started| started["sessionId"].as_str());
        let Some(id) = id.filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        else {
            let reason = match started {
                Err(DriverFault::Reported { message, .. }) => format!(": {}", first_line(&message)),
                _ => String::new(),
            };
            return Err(ToolFailure::new(format!("the driver cannot begin it{reason}")));
        };
        session.url = format!("{}/{id}", session.url);
        Ok(session)
    }

    /// Opens a page.
    pub(super) async fn open(&self, url: &str) -> Result<(), DriverFault> {
        self.command(Method::POST, "/url", Some(&json!({"url": url}))).await.map(drop)
    }

    /// Runs the body of a function of our own; pages do not see it.
    pub(super) async fn execute(&self, script: &str) -> Result<Value, DriverFault> {
        self.command(Method::POST, "/execute/sync", Some(&json!({"script": script, "args": []}))).await
    }

    /// The path of the first element that a CSS selector finds, below that of the session.
    pub(super) async fn element(&self, selector: &str) -> Result<String, DriverFault> {
        let body = json!({"using": "css selector", "value": selector});
        let found = self.command(Method::POST, "/element", Some(&body)).await?;
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        id.map(|id| format!("/element/{id}")).ok_or(DriverFault::Lost)
    }

    /// The text of an element as a person sees it.
    pub(super) async fn text(&self, element: &str) -> Result<Value, DriverFault> {
        self.command(Method::GET, &format!("{element}/text"), None).await
    }

    /// Clicks an element, once it can be seen, and waits until the page that this may lead to is there.
    ///
    /// A form is sent in a task of its own: a page that is left before that task has run never sends it. What is
    /// asked of a page that is just being left comes to nothing, and need not come to anything.
    pub(super) async fn click(&self, element: &str) -> Result<(), DriverFault> {
        self.command(Method::POST, &format!("{element}/click"), Some(&json!({}))).await?;
        let body = json!({"script": LATER, "args": []});
        for settled in [
            self.command(Method::POST, "/execute/async", Some(&body)).await,
            self.command(Method::GET, "/url", None).await,
        ] {
            match settled {
                Ok(_) | Err(DriverFault::Reported { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// A PNG in base64.
    pub(super) async fn screenshot(&self) -> Result<Value, DriverFault> {
        self.command(Method::GET, "/screenshot", None).await
    }

    /// Evaluates what a caller wrote, by Chromium's own protocol: it takes expressions, waits for promises, ends
    /// loops, and works on pages that forbid `eval`.
    pub(super) async fn evaluate(&self, expression: &str) -> Result<Value, DriverFault> {
        let body = json!({"cmd": "Runtime.evaluate", "params": {
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
            "timeout": SCRIPT,
        }});
        self.command(Method::POST, "/goog/cdp/execute", Some(&body)).await
    }

    async fn command(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, DriverFault> {
        let failed = |error: reqwest::Error| {
            if error.is_timeout() { DriverFault::Late } else { DriverFault::Lost }
        };
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(failed)?;
        let succeeded = response.status().is_success();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if bytes.len() + chunk.len() > MAX_ANSWER {
                return Err(DriverFault::TooLong);
            }
            bytes.extend_from_slice(&chunk);
        }
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(|_error| DriverFault::Lost)?;
        let value = answer["value"].take();
        if succeeded {
            return Ok(value);
        }
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Err(DriverFault::Reported { error: text("error"), message: text("message") })
    }
}

/// What a person needs of a driver's sentence: behind the first line it speaks of itself.
pub(super) fn first_line(message: &str) -> String {
    shorten(message.lines().next().unwrap_or_default().trim())
}
