//! Traffic that others cause: how many messages a second are judged, and what the proxy costs beside a reverse proxy that
//! looks at nothing.

mod passing;

use std::io::Cursor;
use std::process::Command;
use std::sync::Arc;

use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::protocol::Scope;
use callmark_suite::engine::recording::judge::Judge;
use callmark_suite::engine::recording::{Input, Judged, judge_files};
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use criterion::{Criterion, Throughput, criterion_group};

/// How often the messages of a run are repeated in a recording.
const RUNS: usize = 4;

fn anyone() -> Manifest {
    Manifest::parse("anyone.toml", families::ANYONE, std::path::Path::new(".")).expect("a sound manifest")
}

fn judge(library: &Arc<Library>) -> Judge {
    let sessions = families::ALL.unopened(&anyone(), Scope::AllParties);
    Judge::new(Arc::clone(library), sessions).expect("a runtime")
}

fn judged(library: &Arc<Library>, recording: &[u8]) -> Judged {
    let bytes = Box::new(Cursor::new(recording.to_vec()));
    let input = Input { name: "transcript.jsonl".to_owned(), bytes, format: None };
    judge_files(judge(library), &|| families::ALL.observers(&anyone()), [input]).expect("a recording")
}

/// The messages of a run with the reference.
fn recording() -> Vec<u8> {
    let out = tempfile::tempdir().expect("a directory");
    let status = Command::new(env!("CARGO_BIN_EXE_callmark"))
        .args(["certify", "--bundled", "--quiet", "--profile", "hub.server", "--out"])
        .arg(out.path())
        .status()
        .expect("the binary runs");
    assert!(status.success(), "the reference is conformant");
    std::fs::read(out.path().join("transcript.jsonl")).expect("its messages").repeat(RUNS)
}

fn judging(criterion: &mut Criterion) {
    let library = Arc::new(Library::load().expect("a sound library"));
    let recording = recording();
    let messages = judged(&library, &recording).tally.messages;
    let mut group = criterion.benchmark_group("judge");
    group.sample_size(10).throughput(Throughput::Elements(messages));
    group.bench_function("messages of a Hub", |bencher| bencher.iter(|| judged(&library, &recording)));
    group.finish();
}

criterion_group!(benches, judging);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    // As criterion does with `--test`: once, and without a measure.
    passing::measure(std::env::args().any(|argument| argument == "--test"));
}
