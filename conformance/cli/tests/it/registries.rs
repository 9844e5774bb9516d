//! The reference's registry, reached in the other ways that a manifest may say; and one that shows late what it took.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::support;
use callmark_cli::bundled::Registry;
use callmark_reports::record::{Outcome, Verdict};
use callmark_suite::engine::run::Quiet;
use callmark_suite::families::utp::manifest::{RegistryEncoding, RegistryRead, RegistryTable, UtpTable};
use callmark_suite::families::utp::target::Running;

async fn check(change: impl FnOnce(&mut RegistryTable)) {
    let mut manifest = support::manifest();
    let registry = Registry::start(&mut manifest).await.expect("the reference's registry");
    let table = manifest.get_mut::<UtpTable>().and_then(|utp| utp.registry.as_mut()).expect("a registry");
    change(table);
    let output = support::certify(&manifest, &["utp.registry"], "", Box::new(Running), Arc::new(Quiet)).await;
    let unhappy: Vec<_> = output
        .record
        .rules
        .iter()
        .filter(|rule| rule.outcome != Outcome::Passed)
        .map(|rule| (&rule.id, rule.outcome, &rule.reason))
        .collect();
    assert!(unhappy.is_empty(), "{unhappy:?}");
    assert_eq!(output.record.verdict, Verdict::Conformant);
    registry.stop().await;
}

#[tokio::test]
async fn the_reference_is_certified_with_forms_and_lists() {
    check(|table| {
        table.encoding = RegistryEncoding::Multipart;
        table.read = RegistryRead::List;
    })
    .await;
}

#[tokio::test]
async fn the_reference_is_certified_in_one_project() {
    check(|table| table.project = Some("prj_demo".to_owned())).await;
}

#[test]
fn a_registry_may_show_late_what_it_took() {
    is_conformant_with(
        "self.rows[project, row[\"tool_name\"]] = data",
        "threading.Timer(0.3, self.rows.__setitem__, ((project, row[\"tool_name\"]), data)).start()",
    );
}

#[test]
fn a_registry_may_refuse_members_that_it_does_not_know() {
    is_conformant_with(
        "    name, subject = definition",
        "    demand(\"project_id\" not in definition, \"project_id\", \"unknown member\")\n    name, subject = definition",
    );
}

#[test]
fn a_registry_may_take_the_blanks_around_a_name_away() {
    is_conformant_with("\"tool_name\": name,", "\"tool_name\": name.strip(),");
}

/// Certifies the example with a change.
fn is_conformant_with(old: &str, new: &str) {
    let home = tempfile::tempdir().expect("a directory");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-registry");
    let read = |name: &str| std::fs::read_to_string(example.join(name)).expect(name);
    let program = read("registry.py").replace(old, new);
    assert!(program.contains(new), "{program}");
    std::fs::write(home.path().join("registry.py"), program).expect("a file");
    std::fs::write(home.path().join("callmark.toml"), read("callmark.toml")).expect("a file");
    let mut command = Command::new(support::program());
    command.args(["certify", "--quiet"]).current_dir(home.path());
    let output = command.output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}
