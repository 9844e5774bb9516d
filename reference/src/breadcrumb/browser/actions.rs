//! What can be asked of the browser, and what comes back, in the fields of the Standard.
//!
//! The browser's own page about a page that it cannot load is no page: whatever would read it fails instead.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use url::Url;

use super::running::RunningBrowser;
use super::webdriver::{DriverFault, first_line};
use crate::breadcrumb::tool::{ToolFailure, shorten};

/// A text or a result may not be longer: an answer has to fit into a breadcrumb.
const MAX_RESULT: usize = 512 * 1024;

/// Where a page is and what it is called, in one round trip.
const PAGE: &str = "return [document.URL, document.title];";
const TEXT: &str = "return document.body ? document.body.innerText : '';";
const NO_RETURN: &str = "Illegal return statement";

/// One call, read.
#[derive(Debug)]
pub(super) struct Action {
    url: Option<String>,
    what: What,
}

#[derive(Debug)]
enum What {
    Navigate,
    Extract { selector: Option<String> },
    Click { selector: String },
    Screenshot,
    Evaluate { script: String },
}

/// Why it came to nothing.
#[derive(Debug)]
pub(super) enum ActionFault {
    /// The sentence is there already.
    Failed(ToolFailure),
    /// The driver's.
    Driver(DriverFault),
}

impl From<DriverFault> for ActionFault {
    fn from(fault: DriverFault) -> Self {
        Self::Driver(fault)
    }
}

impl Action {
    pub(super) fn read(input: &Map<String, Value>) -> Result<Self, ToolFailure> {
        let text = |name: &str| match input.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(ToolFailure::new(format!("`{name}` must be a string"))),
        };
        let url = text("url")?.map(|url| address(&url)).transpose()?;
        let needed = |name: &str, action: &str| {
            text(name)?.ok_or_else(|| ToolFailure::new(format!("`{action}` needs `{name}`")))
        };
        let action = needed("action", "astral")?;
        let what = match action.as_str() {
            "navigate" => {
                needed("url", &action)?;
                What::Navigate
            }
            "extract" => What::Extract { selector: text("selector")? },
            "click" => What::Click { selector: needed("selector", &action)? },
            "screenshot" => What::Screenshot,
            "evaluate" => What::Evaluate { script: needed("script", &action)? },
            other => return Err(ToolFailure::new(format!("there is no action `{}`", shorten(other)))),
        };
        Ok(Self { url, what })
    }

    pub(super) async fn perform(
        &self,
        running: &mut RunningBrowser,
        directory: &Path,
    ) -> Result<Value, ActionFault> {
        let (address, title) = self.page(running).await?;
        let session = &running.session;
        match &self.what {
            What::Navigate => Ok(json!({"url": address, "title": title})),
            What::Extract { selector: None } => short(json!({"text": session.execute(TEXT).await?})),
            What::Extract { selector: Some(selector) } => {
                let element = session.element(selector).await.map_err(|fault| no_element(fault, selector))?;
                short(json!({"text": session.text(&element).await?}))
            }
            What::Click { selector } => {
                let element = session.element(selector).await.map_err(|fault| no_element(fault, selector))?;
                session.click(&element).await?;
                Ok(json!({"clicked": true}))
            }
            What::Screenshot => {
                let picture = session.screenshot().await?;
                Ok(json!({"path": store(picture.as_str().unwrap_or_default(), directory).await?}))
            }
            What::Evaluate { script } => {
                let mut evaluated = session.evaluate(script).await.map_err(stopped)?;
                if thrown(&evaluated).is_some_and(|text| text.contains(NO_RETURN)) {
                    // Not parsed means not run, so it runs once all the same.
                    let body = format!("(async function () {{\n{script}\n}})()");
                    evaluated = session.evaluate(&body).await.map_err(stopped)?;
                }
                if let Some(text) = thrown(&evaluated) {
                    return Err(failed(format!("the script failed: {}", first_line(text))));
                }
                short(json!({"result": result(&evaluated)}))
            }
        }
    }

    /// Opens the page that is wanted, and says which one there is.
    async fn page(&self, running: &mut RunningBrowser) -> Result<(String, String), ActionFault> {
        if let Some(url) = &self.url {
            running.open = true;
            running.session.open(url).await.map_err(|fault| unreachable(fault, url))?;
        } else if !running.open {
            return Err(failed("no page is open yet: say which one in `url`".to_owned()));
        }
        let page = running.session.execute(PAGE).await?;
        let text = |at: usize| page[at].as_str().unwrap_or_default().to_owned();
        let address = text(0);
        if address.starts_with("chrome-error:") {
            let wanted = self.url.as_deref().map_or_else(String::new, |url| format!(" `{}`", shorten(url)));
            return Err(failed(format!("the page{wanted} cannot be reached")));
        }
        Ok((address, text(1)))
    }
}

impl ActionFault {
    /// Whether the browser is of no further use.
    pub(super) fn is_the_end(&self) -> bool {
        match self {
            Self::Failed(_) => false,
            Self::Driver(DriverFault::Reported { error, .. }) => matches!(
                error.as_str(),
                "invalid session id"
                    | "no such window"
                    | "timeout"
                    | "script timeout"
                    | "session not created"
            ),
            Self::Driver(DriverFault::Late | DriverFault::Lost | DriverFault::TooLong) => true,
        }
    }

    pub(super) fn into_failure(self) -> ToolFailure {
        match self {
            Self::Failed(failure) => failure,
            Self::Driver(DriverFault::Late) => ToolFailure::new("the browser took too long"),
            Self::Driver(DriverFault::Lost) => ToolFailure::new("the browser has ended"),
            Self::Driver(DriverFault::TooLong) => ToolFailure::new("the browser's answer is too long"),
            Self::Driver(DriverFault::Reported { error, message }) => {
                ToolFailure::new(match error.as_str() {
                    "timeout" => "the page took too long".to_owned(),
                    "script timeout" => "the script took too long".to_owned(),
                    "element not interactable" => {
                        "the element cannot be seen, so it cannot be clicked".to_owned()
                    }
                    "element click intercepted" => "another element covers the one to be clicked".to_owned(),
                    _ => format!("the browser refused: {}", first_line(&message)),
                })
            }
        }
    }
}

/// An address that the browser may open, as it was written.
fn address(url: &str) -> Result<String, ToolFailure> {
    let parsed = Url::parse(url)
        .map_err(|error| ToolFailure::new(format!("`{}` is no address: {error}", shorten(url))))?;
    if matches!(parsed.scheme(), "http" | "https") || parsed.as_str() == "about:blank" {
        Ok(url.to_owned())
    } else {
        Err(ToolFailure::new(format!("`{}:` is not opened: only `http:` and `https:` are", parsed.scheme())))
    }
}

fn failed(text: String) -> ActionFault {
    ActionFault::Failed(ToolFailure::new(text))
}

fn unreachable(fault: DriverFault, url: &str) -> ActionFault {
    match &fault {
        DriverFault::Reported { message, .. } => match message.split_once("net::") {
            None => ActionFault::Driver(fault),
            Some((_, reason)) => {
                let word = reason.split_whitespace().next().unwrap_or_default();
                failed(format!("the page `{}` cannot be reached: `{}`", shorten(url), shorten(word)))
            }
        },
        _ => ActionFault::Driver(fault),
    }
}

fn no_element(fault: DriverFault, selector: &str) -> ActionFault {
    match &fault {
        DriverFault::Reported { error, .. } if error == "no such element" => {
            failed(format!("no element of the page fits the selector `{}`", shorten(selector)))
        }
        DriverFault::Reported { error, .. } if error == "invalid selector" => {
            failed(format!("`{}` is no CSS selector", shorten(selector)))
        }
        _ => ActionFault::Driver(fault),
    }
}

/// A script that was ended for taking too long is an internal error to the browser.
fn stopped(fault: DriverFault) -> ActionFault {
    match &fault {
        DriverFault::Reported { message, .. } if message.contains("Internal error") => {
            failed("the script was stopped: it took too long".to_owned())
        }
        _ => ActionFault::Driver(fault),
    }
}

fn short(output: Value) -> Result<Value, ActionFault> {
    let length = output.to_string().len();
    if length > MAX_RESULT {
        Err(failed(format!("what the page gave is longer than {MAX_RESULT} bytes")))
    } else {
        Ok(output)
    }
}

/// What the script threw, where it did.
fn thrown(evaluated: &Value) -> Option<&str> {
    let details = evaluated.get("exceptionDetails")?;
    let found = details.pointer("/exception/description").or_else(|| details.pointer("/exception/value"));
    Some(found.and_then(Value::as_str).or_else(|| details["text"].as_str()).unwrap_or("it threw something"))
}

/// The value as JSON; what JSON cannot say, such as `NaN`, as text, and `undefined` as null.
fn result(evaluated: &Value) -> Value {
    let result = &evaluated["result"];
    result.get("value").or_else(|| result.get("unserializableValue")).cloned().unwrap_or_default()
}

async fn store(picture: &str, directory: &Path) -> Result<String, ActionFault> {
    let bytes =
        STANDARD.decode(picture).map_err(|_error| failed("the browser gave no picture".to_owned()))?;
    let directory = directory.to_owned();
    let stored = tokio::task::spawn_blocking(move || -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(&directory)?;
        let file = tempfile::Builder::new().prefix("screenshot-").suffix(".png").tempfile_in(&directory)?;
        std::fs::write(file.path(), bytes)?;
        Ok(file.into_temp_path().keep()?)
    });
    match stored.await {
        Ok(Ok(path)) => Ok(path.to_string_lossy().into_owned()),
        Ok(Err(_)) | Err(_) => Err(failed("the picture cannot be stored".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Action, result, thrown};

    #[test]
    fn calls_are_read() {
        fn check(input: &Value, expect: Result<(), &str>) {
            let read = Action::read(input.as_object().expect("an object"));
            match (read, expect) {
                (Ok(_), Ok(())) => {}
                (Err(failure), Err(part)) => assert!(failure.to_string().contains(part), "{failure}"),
                (read, _) => panic!("{input}: {read:?}"),
            }
        }
        check(&json!({"action": "navigate", "url": "http://127.0.0.1/a"}), Ok(()));
        check(&json!({"action": "navigate", "url": "about:blank"}), Ok(()));
        check(&json!({"action": "extract", "selector": null}), Ok(()));
        check(&json!({"action": "screenshot"}), Ok(()));
        check(&json!({"action": "navigate"}), Err("`navigate` needs `url`"));
        check(&json!({"action": "navigate", "url": "file:///etc/passwd"}), Err("`file:` is not opened"));
        check(&json!({"action": "screenshot", "url": "chrome://version"}), Err("`chrome:` is not opened"));
        check(&json!({"action": "extract", "url": "here"}), Err("is no address"));
        check(&json!({"action": "click", "url": "http://a"}), Err("`click` needs `selector`"));
        check(&json!({"action": "evaluate", "script": 7}), Err("`script` must be a string"));
        check(&json!({"action": "dance"}), Err("no action `dance`"));
        check(&json!({}), Err("needs `action`"));
    }

    #[test]
    fn scripts_give_json_or_what_they_threw() {
        assert_eq!(result(&json!({"result": {"type": "number", "value": 42}})), json!(42));
        assert_eq!(result(&json!({"result": {"type": "undefined"}})), Value::Null);
        assert_eq!(result(&json!({"result": {"unserializableValue": "NaN"}})), json!("NaN"));
        let exception =
            json!({"exceptionDetails": {"text": "Uncaught", "exception": {"description": "Error: no"}}});
        assert_eq!(thrown(&exception), Some("Error: no"));
        assert_eq!(thrown(&json!({"exceptionDetails": {"exception": {"value": "no"}}})), Some("no"));
        assert_eq!(thrown(&json!({"result": {}})), None);
    }
}
