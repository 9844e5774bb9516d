//! The whole run of a profile against the bundled reference, as a whole process: what a user waits for.
//!
//! `cargo bench -p callmark` also needs the release binary, which cargo builds for it.

use std::process::Command;

use criterion::{Criterion, criterion_group, criterion_main};

fn certify(profile: &str, out: &std::path::Path) {
    let status = Command::new(env!("CARGO_BIN_EXE_callmark"))
        .args(["certify", "--bundled", "--quiet", "--profile", profile, "--out"])
        .arg(out)
        .status()
        .expect("the binary runs");
    assert!(status.success(), "the reference is conformant");
}

fn profiles(criterion: &mut Criterion) {
    let out = tempfile::tempdir().expect("a directory");
    let mut group = criterion.benchmark_group("certify");
    group.sample_size(10);
    for profile in ["utp.tool-service", "utp.schema"] {
        group.bench_function(profile, |bencher| bencher.iter(|| certify(profile, out.path())));
    }
    group.finish();
}

criterion_group!(benches, profiles);
criterion_main!(benches);
