//! Where mails would reach people, somebody at a terminal is asked before anything is sent.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::gateway::{Decision, Gateway};
use super::{HUB_SECRET, Home, hub, unwrapped};
use crate::pages::served::Served;
use crate::support;

const QUESTION: &str = "through `deployed`, which the suite did not start. Go on? [y/N]";

/// A Hub that the suite did not start, and what has asked it for anything.
struct Deployed {
    home: Home,
    asked: Arc<AtomicUsize>,
    _hub: (Served, Gateway),
}

impl Deployed {
    fn new() -> Self {
        let home = Home::new();
        let served = Served::start(&["hub"], "http://");
        let asked = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&asked);
        let gateway = Gateway::start(None, &served.address, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Decision::Pass
        });
        let manifest = hub(&format!("http://127.0.0.1:{}", gateway.port()));
        std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
        Self { home, asked, _hub: (served, gateway) }
    }

    /// Certifies with rules that send mails where somebody at a terminal would type this: the exit code, what the terminal
    /// showed, and how many requests came.
    fn at_a_terminal(&self, answer: &str, more: &[&str]) -> (Option<i32>, String, usize) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/deployed/terminal.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(answer).arg(support::program());
        command.args(["certify", "--target", "callmark.toml", "--out", "out", "--rule", "HUB-85"]).args(more);
        command.current_dir(self.home.path()).env("HUB_SECRET", HUB_SECRET).env("NO_COLOR", "1");
        self.asked.store(0, Ordering::Relaxed);
        let output = command.output().expect("python3 runs");
        let said = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        (output.status.code(), unwrapped(&said), self.asked.load(Ordering::Relaxed))
    }
}

#[test]
fn nothing_is_sent_before_somebody_at_a_terminal_agrees() {
    let deployed = Deployed::new();
    for answer in ["n", "no", " ", "yesterday", ""] {
        let (code, said, asked) = deployed.at_a_terminal(answer, &[]);
        assert!(said.contains("mails sent") && said.contains(QUESTION), "`{answer}`: {said}");
        assert_eq!((code, asked), (Some(2), 0), "`{answer}`: {said}");
        assert!(said.contains("nothing was sent") && said.contains("--yes"), "`{answer}`: {said}");
        assert!(!deployed.home.path().join("out").exists(), "`{answer}`: {said}");
    }
    for answer in ["y", " Yes "] {
        let (code, said, asked) = deployed.at_a_terminal(answer, &[]);
        assert!(
            code == Some(0) && asked > 0 && said.contains(QUESTION),
            "`{answer}`: {code:?} {asked} {said}"
        );
    }
}

#[test]
fn who_agreed_beforehand_or_is_at_no_terminal_is_not_asked() {
    let deployed = Deployed::new();
    let (code, said, asked) = deployed.at_a_terminal("n", &["--yes"]);
    assert!(code == Some(0) && asked > 0 && !said.contains("[y/N]"), "{code:?} {asked} {said}");
    let manifest = std::fs::read_to_string(deployed.home.path().join("callmark.toml")).expect("a file");
    for (more, is_noted) in [(&[][..], true), (&["--yes"], false)] {
        let command = [&["certify", "--out", "out", "--rule", "HUB-85"], more].concat();
        let (code, said) = deployed.home.run(&command, &manifest);
        let is_said = said.contains("note: about") && said.contains("mails sent through `deployed`");
        assert_eq!((code, is_said, said.contains("[y/N]")), (0, is_noted, false), "{more:?}: {said}");
    }
}
