//! Files of the user's that are longer than they can be: whichever command reads one says so, and takes no memory for it.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::{forgeries, program, support};

/// Length of such a file, of which nothing is on the disk.
const LENGTH: u64 = 1 << 36;
/// Address space that a command may have, in kilobytes.
const MEMORY: &str = "2000000";
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A file that is too long for everything.
fn lengthen(path: &Path) {
    File::create(path).and_then(|file| file.set_len(LENGTH)).expect("a file without content");
}

/// A command ends with this code and says what may be read at most.
fn check(home: &Path, arguments: &[&str], expect: i32, limit: u64) {
    let output = Command::new("sh")
        .args(["-c", "ulimit -v \"$0\" && exec \"$@\"", MEMORY])
        .arg(support::program())
        .args(arguments)
        .current_dir(home)
        .output()
        .expect("a shell");
    let (code, text) = program::printed(&output);
    let said = program::one_line(&text);
    let is_said = ["longer than", "more than"].iter().any(|words| said.contains(&format!("{words} {limit}")));
    assert!(code == Some(expect) && is_said, "{arguments:?}: {code:?} and {limit}: {text}");
}

#[test]
fn a_file_of_the_command_line_that_is_too_long_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    lengthen(&home.join("long"));
    std::fs::create_dir_all(home.join("features/registry")).expect("a directory");
    lengthen(&home.join("features/registry/utp.toml"));
    std::fs::create_dir(home.join("out")).expect("a directory");
    lengthen(&home.join("out/run.json"));
    let bundled = ["certify", "--bundled", "--rule", "HUB-01"];
    let of_bundled = |more: &[&'static str]| [&bundled[..], more].concat();
    for (arguments, code, limit) in [
        (vec!["certify", "--target", "long"], 2, MIB),
        (vec!["doctor", "--target", "long"], 2, MIB),
        (vec!["load", "--target", "long"], 2, MIB),
        (vec!["judge", "--target", "long", "features"], 2, MIB),
        (vec!["proxy", "--stdio", "--target", "long", "--", "true"], 2, MIB),
        (vec!["serve", "hub", "--mock", "long"], 2, MIB),
        (of_bundled(&["--baseline", "long"]), 2, 16 * MIB),
        (of_bundled(&["--baseline", "long", "--write-baseline"]), 2, 16 * MIB),
        (vec!["certify", "--bundled", "--sign", "long"], 2, 4 * MIB),
        (of_bundled(&["--shard", "1/2", "--timings", "long"]), 2, 64 * MIB),
        (of_bundled(&["--failed", "--out", "out"]), 2, 512 * MIB),
        (vec!["report", "long", "--format", "junit"], 2, 512 * MIB),
        (vec!["diff", "long", "long"], 2, 512 * MIB),
        (vec!["docs", "--out", "site", "--run", "long"], 2, 512 * MIB),
        (vec!["docs", "--out", "site", "--matrix", "long"], 2, 512 * MIB),
        (vec!["--features", "features", "rules"], 2, 16 * MIB),
        (vec!["verify", "long"], 1, 4 * MIB),
        (vec!["verify", "long", "--key", "long"], 2, 4 * MIB),
    ] {
        check(home, &arguments, code, limit);
    }
}

#[test]
fn a_file_of_a_manifest_that_is_too_long_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    lengthen(&home.join("long"));
    let identity = super::deployed::authority::Authority::new("An authority").identity(&["client"], true);
    identity.write(home, "client");
    let hub = "[hub]\nbase_url = \"https://localhost:9\"\nsecret = \"a\"\n\
               [hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n";
    let tls = |lines: &str| format!("[target.tls]\n{lines}\n{hub}");
    let start = "start = [\"true\"]\nfixtures = \"long\"\n";
    for (tables, limit) in [
        (tls("ca = \"long\""), 4 * MIB),
        (tls("certificate = \"long\"\nkey = \"client.key\""), 4 * MIB),
        (tls("certificate = \"client.pem\"\nkey = \"long\""), 4 * MIB),
        (
            "[utp]\nnats = \"nats://127.0.0.1:9\"\ncredentials = \"long\"\n[utp.tool-service.probes.echo]\n\
             tool_name = \"echo\"\n"
                .to_owned(),
            64 * KIB,
        ),
        (format!("[breadcrumb]\n{start}catalog = [\"echo\"]\n[breadcrumb.runner]\n"), 8 * MIB),
        (format!("[breadcrumb.agent]\n{start}"), 8 * MIB),
        ("[utp]\nnats = \"embedded\"\n[utp.schema]\ncapture = \"long\"\n".to_owned(), 256 * MIB),
    ] {
        std::fs::write(home.join("callmark.toml"), format!("[target]\nname = \"a\"\n{tables}"))
            .expect("a file");
        check(home, &["doctor", "--timeout-scale", "0.2"], 3, limit);
    }
}

#[test]
fn a_file_of_a_run_that_is_too_long_is_refused() {
    let home = forgeries::certified();
    let home = home.path();
    for (name, limit) in
        ["run.json", "transcript.jsonl", "account.json", "index.html"].map(|name| (name, 512 * MIB))
    {
        let path = home.join("out").join(name);
        let before = std::fs::read(&path).expect("a file");
        lengthen(&path);
        check(home, &["verify", "out/certificate.json"], 1, limit);
        std::fs::write(&path, before).expect("written");
    }
    lengthen(&home.join("long"));
    for index in ["1", "2"] {
        let shard = format!("{index}/2");
        let certify = ["certify", "--bundled", "--rule", "HUB-01", "--shard", &shard, "--out", index];
        program::done(0, &certify, home);
    }
    for (name, limit) in [
        ("run.json", 512 * MIB),
        ("shard.json", 64 * MIB),
        ("manifest.json", 4 * MIB),
        ("account.json", 512 * MIB),
        ("timings.json", 64 * MIB),
        ("transcript.jsonl", 64 * MIB),
    ] {
        let path = home.join("2").join(name);
        let before = std::fs::read(&path).expect("a file");
        lengthen(&path);
        check(home, &["merge", "1", "2", "--out", "merged"], 2, limit);
        std::fs::write(&path, before).expect("written");
    }
    check(home, &["merge", "1", "2", "--out", "merged", "--baseline", "long"], 2, 16 * MIB);
    program::done(0, &["merge", "1", "2", "--out", "merged"], home);
}
