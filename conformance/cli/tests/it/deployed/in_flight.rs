//! `in_flight` of a target's manners over what has no connection for each call: a bus, and standard input.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;

use futures::StreamExt as _;
use serde_json::Value;

use super::Home;
use super::nats::{Server, manifest};

/// With at most so many calls at a time.
fn with_in_flight(manifest: &str, count: usize) -> String {
    manifest.replacen("[target]\n", &format!("[target]\nmanners = {{ in_flight = {count} }}\n"), 1)
}

/// The largest number of commands that were open at a time, of those that a report answers.
#[derive(Debug, Default)]
struct Watched {
    /// By the id of a call, when its command and its report passed.
    calls: BTreeMap<String, (usize, Option<usize>)>,
    passed: usize,
}

impl Watched {
    fn note(&mut self, message: &async_nats::Message) {
        let body: Value = serde_json::from_slice(&message.payload).unwrap_or_default();
        let is_command = message.subject.contains(".cmd.tool.");
        let id = match (is_command, message.subject.ends_with(".report")) {
            (true, _) => &body["tool_call_id"],
            (_, true) => &body["payload"]["tool_call_id"],
            _ => &Value::Null,
        };
        let Some(id) = id.as_str() else { return };
        self.passed += 1;
        if is_command {
            // A command that is repeated makes no further call.
            self.calls.entry(id.to_owned()).or_insert((self.passed, None));
        } else if let Some((_, end)) = self.calls.get_mut(id) {
            end.get_or_insert(self.passed);
        }
    }

    fn most(&self) -> usize {
        let answered = self.calls.values().filter_map(|(begin, end)| Some((*begin, (*end)?)));
        let mut edges: Vec<(usize, isize)> =
            answered.flat_map(|(begin, end)| [(begin, 1), (end, -1)]).collect();
        edges.sort_unstable();
        let mut open = 0_isize;
        let most = edges.into_iter().map(|(_, step)| {
            open += step;
            open
        });
        most.max().unwrap_or_default().unsigned_abs()
    }
}

/// Runs something while a client of the server watches what passes.
fn watching(server: &Server, work: impl FnOnce()) -> Watched {
    let port = server.port;
    let (ready, is_ready) = mpsc::channel();
    let (end, mut ended) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let client = async_nats::connect(format!("nats://127.0.0.1:{port}")).await.expect("a connection");
            // One subscription for both, which keeps their order.
            let mut passing = client.subscribe(">").await.expect("a subscription");
            client.flush().await.expect("an answer");
            ready.send(()).expect("somebody waits");
            let mut watched = Watched::default();
            loop {
                tokio::select! {
                    Some(message) = passing.next() => watched.note(&message),
                    _ = &mut ended => return watched,
                }
            }
        })
    });
    is_ready.recv().expect("it subscribes");
    work();
    drop(end);
    thread.join().expect("no panic")
}

#[test]
fn no_more_commands_are_open_on_a_bus_than_may_be() {
    let home = Home::new();
    let server = Server::start(home.path(), "");
    let _service = server.service("service:none");
    let plain = manifest("", &format!("nats = \"nats://127.0.0.1:{}\"\n", server.port));
    let run = |manifest: &str| {
        let watched = watching(&server, || {
            let mut command = vec!["certify", "--out", "out"];
            command.extend(
                ["TDG-1-02", "UTP-3.2-06", "UTP-3.2-02"].into_iter().flat_map(|rule| ["--rule", rule]),
            );
            let (code, said) = home.run(&command, manifest);
            assert_eq!((code, home.failed()), (0, 0), "{said}");
        });
        assert!(watched.calls.len() > 5, "{watched:?}");
        watched.most()
    };
    assert!(run(&plain) > 2, "a run without manners shows nothing");
    for count in [1, 2] {
        let most = run(&with_in_flight(&plain, count));
        assert!((1..=count).contains(&most), "{most} commands were open, and {count} may be");
    }
}

#[test]
fn no_more_lines_are_open_at_a_runner_than_may_be() {
    let home = Home::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = home.path().join("most");
    let start = [
        "python3".to_owned(),
        here.join("tests/it/deployed/counting.py").display().to_string(),
        file.display().to_string(),
        "--".to_owned(),
        "python3".to_owned(),
        here.join("../../examples/python-runner/runner.py").display().to_string(),
        "--lines".to_owned(),
    ];
    let plain = format!(
        "[target]\nname = \"counted\"\n[breadcrumb]\nstart = {start:?}\nlines = true\n\
         env = {{ PYTHONDONTWRITEBYTECODE = \"1\" }}\ncatalog = [\"echo\", \"calculator\", \"timer\"]\n[breadcrumb.runner]\n"
    );
    let run = |manifest: &str| {
        let command = ["certify", "--out", "out", "--rule", "BRD-51", "--rule", "BRD-58"];
        let (code, said) = home.run(&command, manifest);
        assert_eq!((code, home.failed()), (0, 0), "{said}");
        std::fs::read_to_string(&file).expect("a number").parse::<usize>().expect("a number")
    };
    assert!(run(&plain) > 1, "a run without manners shows nothing");
    assert_eq!(run(&with_in_flight(&plain, 1)), 1);
}
