//! A key of the environment is used, and is in nothing that a run writes (Tool Development Guide §4).

use std::path::Path;
use std::process::Command;

/// What the environment holds, in the variables of `docs/bindings.md`.
const KEYS: [(&str, &str); 4] = [
    ("JINA_API_KEY", "grep-me-default-5f1c0d5e2b7a"),
    ("CALLMARK_ALT_KEY", "grep-me-other-4c66a1d2e3f4"),
    ("CALLMARK_PARAM_KEY", "grep-me-param-05162738aa01"),
    ("CALLMARK_SERVICE_KEY", "grep-me-service-9d0e1f2a3b4c"),
];

/// Every file below a directory, as text.
fn files(directory: &Path) -> Vec<(String, String)> {
    let entries =
        std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                return files(&path);
            }
            let bytes = std::fs::read(&path).expect("a file");
            vec![(path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned())]
        })
        .collect()
}

#[test]
fn a_key_of_the_environment_is_in_nothing_that_a_run_writes() {
    let out = tempfile::tempdir().expect("a directory");
    let keys = tempfile::tempdir().expect("a directory");
    let own = keys.path().join("own.pem");
    let made = Command::new(crate::support::program()).arg("keygen").arg("--out").arg(&own).status();
    assert!(made.expect("the binary runs").success());
    let output = Command::new(crate::support::program())
        .args(["certify", "--bundled", "--timeout-scale", "3", "--out"])
        .arg(out.path())
        .arg("--sign")
        .arg(&own)
        .args(["--profile", "utp.openapi", "--profile", "utp.worker", "--profile", "utp.execution"])
        .envs(KEYS)
        .output()
        .expect("the binary runs");
    let (output_text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{output_text}{errors}");
    let mut written = files(out.path());
    assert!(written.iter().any(|(name, _)| name.ends_with("certificate.json")));
    assert!(written.iter().any(|(name, text)| name.ends_with("transcript.jsonl") && text.contains("jina")));
    written.extend([
        ("stdout".to_owned(), output_text.into_owned()),
        ("stderr".to_owned(), errors.into_owned()),
    ]);
    for (name, key) in KEYS {
        for (file, text) in &written {
            assert!(!text.contains(key), "the value of `{name}` is in {file}");
        }
    }
}
