//! The README and `docs/`, followed as a reader would: every console block is run, every link leads somewhere, and
//! what a page shows of a file stands in it.
//!
//! What a line answers may hold more than a page shows, and other times. Some lines are run elsewhere, see
//! [`ELSEWHERE`]; what cannot be run at all is no `console` block.

#[path = "pages/page.rs"]
mod page;
#[path = "pages/served.rs"]
pub(crate) mod served;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use page::{Page, Typed, links, root};
use served::Served;

/// Lines that others run: the gate does what the first builds and runs, has every mutant tried, and types the others.
const ELSEWHERE: [&str; 4] = ["cargo run --release", "callmark sabotage ", "ci/image ", "docker run "];
/// Lines for a server that the text around them starts; a test below types them.
const BY_HAND: [&str; 2] = ["curl ", "nats request "];

/// What a reader has before the first line of a page, or fills in after the line that makes it.
const MANIFESTS: [(&str, &str, &str); 3] = [
    ("README.md", "callmark.toml", HUB),
    ("gate-your-ci.md", "callmark.toml", HUB),
    ("agent.md", "agent.toml", AGENT),
];
const HUB: &str = "[target]\nname = \"mine\"\n[hub]\nstart = [\"callmark\", \"serve\", \"hub\"]\n[hub.customers]\n\
                   connected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n";
const AGENT: &str = "[target]\nname = \"mine\"\n[hub.agent]\nstart = [\"callmark\", \"serve\", \"hub\", \"--agent\"]\n\
                     [hub.agent.drive]\nhttp = \"http://{listen}/drive\"\n";

/// Runs a line in a shell that finds `callmark`; what it said on both streams.
fn run(line: &str, home: &Path) -> String {
    let program = crate::support::program().parent().expect("its directory").to_owned();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    // The Node.js that `ci/setup` installed.
    let node = std::env::var_os("MCP_CONFORMANCE_BIN").map(std::path::PathBuf::from);
    let paths = std::iter::once(program).chain(node).chain(std::env::split_paths(&paths));
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(home)
        .env("PATH", std::env::join_paths(paths).expect("a path"))
        .env_remove("HUB_SECRET")
        .output()
        .expect("a shell");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.code(), Some(0), "`{line}`: {said}");
    said
}

/// A line in which all times are alike.
fn timeless(line: &str) -> String {
    let is_time = |word: &&str| word.contains('.') && word.starts_with(|first: char| first.is_ascii_digit());
    line.split(' ').map(|word| if is_time(&word) { "N" } else { word }).collect::<Vec<_>>().join(" ")
}

fn shows(typed: &Typed, said: &str) {
    let mut rest = said.lines();
    for line in &typed.shows {
        let wanted = timeless(line.trim());
        assert!(
            rest.any(|said| timeless(said.trim()) == wanted),
            "`{}` does not say `{line}`: {said}",
            typed.line
        );
    }
}

/// Types every line of a page that is typed nowhere else.
fn follow(name: &str) {
    let page = Page::read(name);
    let home = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).expect("written");
    let own = MANIFESTS.into_iter().find(|(owner, _, _)| *owner == page.name());
    if let Some((_, file, text)) = own.filter(|_| !page.text.contains("$ callmark init")) {
        write(file, text);
    }
    for typed in page.typed() {
        if ELSEWHERE.iter().chain(&BY_HAND).any(|begin| typed.line.starts_with(begin)) {
            continue;
        }
        if typed.line == "npm ci" {
            // What the lock file names was installed by `ci/setup`, for the example that is begun with.
            let packages = root().join("examples/typescript-hub/node_modules").canonicalize();
            let packages = packages.expect("ci/setup installs the packages");
            std::os::unix::fs::symlink(packages, home.path().join("node_modules")).expect("a link");
            continue;
        }
        let is_run = ["callmark ", "go build "].iter().any(|begin| typed.line.starts_with(begin));
        assert!(is_run, "{}: nobody runs `{}`", page.name(), typed.line);
        // The run before that a reader has kept.
        if typed.line.contains("last.json") {
            std::fs::copy(home.path().join("reports/out/run.json"), home.path().join("last.json"))
                .expect("a record");
        }
        shows(&typed, &run(&typed.line, home.path()));
        // What is begun with a language needs nothing filled in.
        if typed.line.starts_with("callmark init") && !typed.line.contains("--lang") {
            let (file, text) = own.map_or_else(
                || ("callmark.toml", first_manifest(&page)),
                |(_, file, text)| (file, text.to_owned()),
            );
            assert!(home.path().join(file).is_file(), "{}: `{}` wrote nothing", page.name(), typed.line);
            write(file, &text);
            write("acme-hub", "#!/bin/sh\nexec callmark serve hub\n");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(home.path().join("acme-hub"), executable).expect("a program");
        }
    }
}

/// The manifest that a page shows.
fn first_manifest(page: &Page) -> String {
    page.of("toml").next().expect("a manifest").lines.join("\n")
}

/// One test a page that has console blocks, so that they run side by side.
macro_rules! pages {
    ($($test:ident: $path:literal),* $(,)?) => {
        const FOLLOWED: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $test() {
                follow($path);
            }
        )*
    };
}

pages! {
    the_readme: "README.md",
    certify_your_implementation: "docs/certify-your-implementation.md",
    gate_your_ci: "docs/gate-your-ci.md",
    read_the_specification: "docs/read-the-specification.md",
    extend_the_suite: "docs/extend-the-suite.md",
    agent: "docs/agent.md",
    judge_a_recording: "docs/judge-a-recording.md",
    load: "docs/load.md",
    many_machines: "docs/many-machines.md",
    editions: "docs/editions.md",
    python: "docs/python.md",
    typescript: "docs/typescript.md",
    go: "docs/go.md",
}

#[test]
fn every_page_with_console_blocks_is_followed() {
    for page in Page::all() {
        let is_followed = FOLLOWED.iter().any(|path| path.ends_with(&page.name()));
        assert!(is_followed || page.typed().is_empty(), "nobody follows {}", page.name());
    }
}

#[test]
fn every_link_leads_somewhere() {
    for page in Page::all() {
        for link in links(&page.text) {
            let file = link.split('#').next().unwrap_or_default();
            let target = page.path.parent().expect("a directory").join(file);
            assert!(target.exists(), "{}: `{link}` leads nowhere", page.name());
        }
    }
}

#[test]
fn what_a_guide_shows_of_a_file_stands_in_it() {
    let page = Page::read("docs/extend-the-suite.md");
    let mut quotes = 0;
    for block in page.blocks.iter().filter(|block| ["rust", "toml", "gherkin"].contains(&&*block.language)) {
        let file = links(&block.above).last().expect("a file above the block");
        let text = std::fs::read_to_string(root().join("docs").join(file)).expect("the file");
        let mut lines = text.lines().map(str::trim);
        let mut wanted = block
            .lines
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty() && *line != "[[rule]]" && *line != "[[mutant]]");
        assert!(wanted.all(|wanted| lines.any(|line| line == wanted)), "{file} has not: {:#?}", block.lines);
        quotes += 1;
    }
    assert!(quotes >= 6, "{quotes} quotes");
}

#[test]
fn what_a_newcomer_sends_by_hand_is_answered() {
    let page = Page::read("docs/read-the-specification.md");
    let lines = page.typed();
    let by_hand = |word: &str| {
        let found: Vec<&str> =
            lines.iter().map(|typed| &*typed.line).filter(|line| line.contains(word)).collect();
        assert!(!found.is_empty(), "no line with `{word}`");
        found
    };

    let hub = Served::start(&["hub", "--listen", "127.0.0.1:0"], "http://");
    let answer = hub.curl(by_hand("127.0.0.1:8080/")[0]);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"success\":true") && answer.contains("harvest"), "{answer}");

    let store = Served::start(&["breadcrumb", "--listen", "127.0.0.1:0"], "store     http://");
    let [put, read] = by_hand("127.0.0.1:8081/")[..] else { panic!("one line to store, one to read") };
    let answer = store.curl(put);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let until = Instant::now() + Duration::from_secs(30);
    while !store.curl(read).contains("\"result\":42") {
        assert!(Instant::now() < until, "the answer does not come: {}", store.curl(read));
    }

    let platform = Served::start(&["utp", "--watch"], "nats://");
    let answer = platform.nats(by_hand("nats request ")[0]);
    assert!(answer.contains("turn"), "{answer}");
}
