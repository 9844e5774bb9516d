//! The browser tool on the Chromium of this machine; without one, the tests say so and pass.

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use callmark_reference::breadcrumb::browser::{Browser, BrowserConfig};
use callmark_reference::breadcrumb::tool::{Tool, ToolCall};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const PAGE: &str = "<!doctype html><title>Quartz</title><p id=a>Hard <b>rock</b></p><p hidden>unseen</p>\
    <button id=go onclick=\"fetch('/clicked')\">Go</button>";

fn browser() -> Option<Browser> {
    let paths = Browser::find();
    if paths.is_none() {
        eprintln!("not tested: this machine has no Chromium with a driver (`CALLMARK_CHROMIUM`, `PATH`)");
    }
    paths.map(|paths| Browser::new(BrowserConfig { paths: Some(paths), screenshots: None }))
}

/// A page, and a channel that receives when its button is clicked.
async fn site() -> (String, mpsc::UnboundedReceiver<()>) {
    let (sender, clicks) = mpsc::unbounded_channel();
    let clicked = get(move || async move {
        let _ = sender.send(());
    });
    let strict = get(|| async { ([("content-security-policy", "script-src 'none'")], Html(PAGE)) });
    let router = Router::new()
        .route("/page", get(|| async { Html(PAGE) }))
        .route("/strict", strict)
        .route("/clicked", clicked);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, clicks)
}

async fn run(browser: &Browser, input: Value) -> Result<Value, String> {
    let Value::Object(input) = input else { return Err("no object".to_owned()) };
    let output = browser.run(ToolCall::new(input)).await.map_err(|failure| failure.to_string())?;
    assert!(jsonschema::is_valid(&browser.definition().output_schema, &output), "{output}");
    Ok(output)
}

#[tokio::test]
async fn every_action_gives_what_the_standard_names() {
    let Some(browser) = browser() else { return };
    let (site, mut clicks) = site().await;
    let page = format!("{site}/page");
    let none = run(&browser, json!({"action": "extract"})).await.expect_err("no page is open");
    assert!(none.contains("no page is open yet"), "{none}");

    let output = run(&browser, json!({"action": "navigate", "url": page})).await;
    assert_eq!(output, Ok(json!({"url": page, "title": "Quartz"})));
    let output = run(&browser, json!({"action": "extract", "selector": "#a"})).await;
    assert_eq!(output, Ok(json!({"text": "Hard rock"})));
    let output = run(&browser, json!({"action": "extract", "url": page})).await.expect("a text");
    let text = output["text"].as_str().expect("a text");
    assert!(text.contains("Hard rock") && !text.contains("unseen"), "{text}");

    let output = run(&browser, json!({"action": "click", "url": page, "selector": "#go"})).await;
    assert_eq!(output, Ok(json!({"clicked": true})));
    let click = tokio::time::timeout(std::time::Duration::from_secs(10), clicks.recv()).await;
    assert_eq!(click, Ok(Some(())));

    let output = run(&browser, json!({"action": "screenshot", "url": page})).await.expect("a picture");
    let path = output["path"].as_str().expect("a path").to_owned();
    assert!(std::fs::read(&path).expect("a file").starts_with(b"\x89PNG\r\n\x1a\n"));

    browser.shutdown().await;
    assert!(!std::path::Path::new(&path).exists());
}

#[tokio::test]
async fn scripts_are_expressions_or_bodies() {
    let Some(browser) = browser() else { return };
    let (site, _clicks) = site().await;
    for page in ["/page", "/strict"] {
        let page = format!("{site}{page}");
        let evaluate = async |script: &str| {
            let input = json!({"action": "evaluate", "url": page, "script": script});
            run(&browser, input).await.map(|output| output["result"].clone())
        };
        assert_eq!(evaluate("6*7").await, Ok(json!(42)));
        assert_eq!(evaluate("return document.title").await, Ok(json!("Quartz")));
        assert_eq!(evaluate("Promise.resolve({a: [1, null]})").await, Ok(json!({"a": [1, null]})));
        assert_eq!(evaluate("undefined").await, Ok(Value::Null));
        let thrown = evaluate("throw new Error('too hard')").await.expect_err("a throw");
        assert_eq!(thrown, "the script failed: Error: too hard");
        assert!(evaluate("nowhere.to.be.found").await.is_err());
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_said_and_the_next_call_works() {
    let Some(browser) = browser() else { return };
    let (site, _clicks) = site().await;
    let page = format!("{site}/page");
    let check = async |input: Value, expect: &str| {
        let text = run(&browser, input).await.expect_err("a failure");
        assert!(text.contains(expect) && !text.contains('\n'), "{text}");
    };
    // A port that is refused, one that the browser itself does not open, and a name that nobody has.
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        format!("http://{}/", listener.local_addr().expect("an address"))
    };
    for url in [closed.as_str(), "http://127.0.0.1:9/p", "http://callmark.invalid/"] {
        check(json!({"action": "navigate", "url": url}), "cannot be reached").await;
        check(json!({"action": "extract", "url": url}), "cannot be reached").await;
    }
    check(json!({"action": "extract", "url": page, "selector": "#none"}), "no element").await;
    check(json!({"action": "click", "url": page, "selector": "##"}), "no CSS selector").await;
    check(json!({"action": "click", "url": page, "selector": "p[hidden]"}), "cannot be").await;
    check(json!({"action": "evaluate", "url": page, "script": "while (true) {}"}), "the script").await;
    let output = run(&browser, json!({"action": "navigate", "url": page})).await;
    assert_eq!(output, Ok(json!({"url": page, "title": "Quartz"})));
}

#[tokio::test]
async fn without_a_browser_every_call_says_so() {
    let browser = Browser::new(BrowserConfig::default());
    let text = run(&browser, json!({"action": "screenshot"})).await.expect_err("no browser");
    assert!(text.contains("no browser on this machine"), "{text}");
}

/// The processes of the machine that have a text among their arguments.
fn processes_with(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let arguments = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    arguments.filter(|arguments| String::from_utf8_lossy(arguments).contains(text)).count()
}

#[tokio::test]
async fn its_processes_end_when_it_is_dropped() {
    use std::os::unix::fs::PermissionsExt as _;

    let Some(mut paths) = Browser::find() else { return };
    // A browser that can be distinguished from every other one.
    let directory = tempfile::tempdir().expect("a directory");
    let mark = format!("--mark={}", directory.path().display());
    // Its name shows what kind of browser it is.
    let marked = directory.path().join(paths.chromium.file_name().expect("a program has a name"));
    let script = format!("#!/bin/sh\nexec '{}' \"$@\" '{mark}'\n", paths.chromium.display());
    std::fs::write(&marked, script).expect("a file");
    std::fs::set_permissions(&marked, std::fs::Permissions::from_mode(0o755)).expect("a program");
    paths.chromium = marked;
    let browser = Browser::new(BrowserConfig { paths: Some(paths), screenshots: None });
    let (site, _clicks) = site().await;
    run(&browser, json!({"action": "navigate", "url": format!("{site}/page")})).await.expect("a page");
    assert!(processes_with(&mark) > 0);

    drop(browser);
    let gone = async {
        while processes_with(&mark) > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), gone).await.expect("no process is left");
}
