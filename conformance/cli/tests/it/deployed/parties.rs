//! Parties of the suite whose addresses are given with TLS (`serve_tls`): a target reaches each of them if it trusts the
//! CA of the run, and none if it trusts the issuers of the system only.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::Home;

/// Who is trusted where nothing else is said.
const SYSTEM: &str = "the system";
/// Variables that name whom to trust, by the programs that read them.
const ISSUERS: [&str; 5] =
    ["CURL_CA_BUNDLE", "DENO_CERT", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"];

/// What became of a request to an address, by whom is trusted.
type Reached = BTreeMap<String, BTreeMap<String, String>>;

/// How a target of these tables, `{start}` in which is how it is started, reaches what it is given.
fn reached(tables: &str) -> Reached {
    let home = Home::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/deployed/reaching.py");
    let start = format!("start = [\"python3\", {:?}, \"reached.json\"]", script.display().to_string());
    let tables = tables.replace("{start}", &start);
    let manifest = format!("[target]\nname = \"reaching\"\nserve_tls = true\n{tables}");
    // It has said all, and ended, before it is asked for anything.
    let (code, said) = home.run(&["doctor"], &manifest);
    assert_eq!(code, 3, "{said}");
    let file = std::fs::read(home.path().join("reached.json")).unwrap_or_else(|_| panic!("{said}"));
    let all: BTreeMap<String, Value> = serde_json::from_slice(&file).expect("an object");
    let with_tls = |(name, own): (String, Value)| match own {
        // The broker has TLS of its own.
        Value::String(url) if url.starts_with("nats://") => None,
        Value::String(url) => panic!("{name} is {url}, without TLS: {tables}"),
        own => Some((name, serde_json::from_value(own).expect("what became of it"))),
    };
    all.into_iter().filter_map(with_tls).collect()
}

/// Of such a target exactly these addresses have TLS.
fn check(tables: &str, expect: &[&str]) {
    let reached = reached(tables);
    let names: Vec<&str> = reached.keys().map(String::as_str).collect();
    assert_eq!(names, expect, "{tables}");
    for (name, by) in &reached {
        let trusting: Vec<&str> = by.keys().map(String::as_str).filter(|who| *who != SYSTEM).collect();
        assert_eq!(trusting, ISSUERS, "{name}: {tables}");
        for (who, what) in by {
            let expect = if who == SYSTEM { "SSLCertVerificationError" } else { "answered" };
            assert_eq!(what, expect, "{name}, by who trusts {who}: {tables}");
        }
    }
}

#[test]
fn each_party_is_reached_with_the_ca_of_the_run_and_not_without() {
    let utp = "[utp]\nnats = \"embedded\"\nprotocol_version = \"v1r3\"\n{start}\n";
    let http = format!("{utp}platform = \"http\"\n");
    check(
        &format!("{utp}[utp.tool-service.probes.echo]\ntool_name = \"echo\"\n"),
        &["CALLMARK_PLATFORM_URL"],
    );
    check(&format!("{http}[utp.pmo]\n"), &["CALLMARK_PLATFORM_URL"]);
    check(
        &format!(
            "{utp}[utp.openapi]\ntarget_subject = \"cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.jina.call\"\n"
        ),
        &["CALLMARK_PLATFORM_URL", "CALLMARK_UPSTREAM_URL"],
    );
    check(&format!("{http}[utp.worker]\n"), &["CALLMARK_MODEL_URL", "CALLMARK_PLATFORM_URL"]);
    check(&format!("{utp}[utp.execution]\n"), &["CALLMARK_MODEL_URL", "CALLMARK_PLATFORM_URL"]);
    check(
        "[hub]\n{start}\nbase_url = \"http://{listen}\"\n\
         [hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n[hub.provider]\n",
        &["CALLMARK_PROVIDER_URL"],
    );
    check(
        "[hub.agent]\n{start}\n[hub.agent.drive]\nhttp = \"http://{listen}/drive\"\n",
        &["CALLMARK_HUB_URL", "CALLMARK_MODEL_URL", "CALLMARK_PROVIDER_URL", "CALLMARK_SEARCH_URL"],
    );
    check(
        "[breadcrumb]\n{start}\ncatalog = [\"echo\", \"openrouter\", \"venice\", \"ollama_local\"]\n[breadcrumb.runner]\n",
        &["CALLMARK_OLLAMA_URL", "CALLMARK_OPENROUTER_URL", "CALLMARK_STORE_URL", "CALLMARK_VENICE_URL"],
    );
    check("[breadcrumb.agent]\n{start}\n", &["CALLMARK_MODEL_URL", "CALLMARK_STORE_URL"]);
}
