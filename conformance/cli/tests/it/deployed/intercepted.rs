//! Targets that have compiled in whom they ask, and those whose parties are served over TLS.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Home;

/// What no run may write, whatever it is given.
const KEY: &str = "PRIVATE KEY";

impl Home {
    /// A copy of an example.
    fn example(&self, name: &str) -> String {
        let from = examples().join(name);
        for entry in std::fs::read_dir(&from).expect("an example").map(|entry| entry.expect("an entry")) {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), self.path().join(entry.file_name())).expect("a copy");
            }
        }
        std::fs::read_to_string(from.join("callmark.toml")).expect("a manifest")
    }

    /// Replaces something that is there in a file of the example.
    fn replace(&self, name: &str, from: &str, to: &str) {
        let file = self.path().join(name);
        let text = std::fs::read_to_string(&file).expect("the example");
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replace(from, to)).expect("a file");
    }

    /// What became of each rule, by its id.
    fn outcomes(&self) -> Vec<(String, String)> {
        let record = std::fs::read(self.path().join("out/run.json")).expect("a record");
        let record: Value = serde_json::from_slice(&record).expect("JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rules = record["rules"].as_array().expect("rules");
        rules.iter().map(|rule| (text(&rule["id"]), text(&rule["outcome"]))).collect()
    }

    fn transcript(&self) -> String {
        std::fs::read_to_string(self.path().join("out/transcript.jsonl")).expect("a transcript")
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Nothing is remarked of the way to the suite.
fn reaches_all(said: &str) {
    for words in ["does not play", "the CA of the run", "was no TLS", "another by TLS"] {
        assert!(!said.contains(words), "{said}");
    }
}

/// A manifest with a further key of `[target]`.
fn with(key: &str, manifest: &str) -> String {
    let changed = manifest.replacen("[target]\n", &format!("[target]\n{key} = true\n"), 1);
    assert_ne!(changed, manifest);
    changed
}

/// The command line of the binary under test.
fn program(arguments: &str) -> String {
    let program = crate::support::program().display().to_string();
    let words: Vec<String> = std::iter::once(program.as_str())
        .chain(arguments.split(' '))
        .map(|word| format!("{word:?}"))
        .collect();
    words.join(", ")
}

/// The same command line behind `gateway.py`.
fn behind_a_gateway(variables: &[&str], arguments: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/deployed/gateway.py");
    let variables: Vec<String> = variables.iter().map(|variable| format!("{variable:?}, ")).collect();
    let variables = variables.concat();
    format!(
        "start = [\"python3\", {:?}, {variables}\"--\", {}]",
        script.display().to_string(),
        program(arguments)
    )
}

#[test]
fn an_executor_that_asks_the_real_hosts_is_certified() {
    let home = Home::new();
    let manifest = format!(
        "[target]\nname = \"executor\"\n[utp]\nnats = \"embedded\"\nprotocol_version = \"v1r3\"\nstart = [{}]\n\
         [utp.openapi]\ntarget_subject = \"cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.jina.call\"\n",
        program("serve utp --openapi")
    );
    let (code, said) = home.certify(&manifest);
    assert_eq!(code, 0, "{said}");
    let directly = home.outcomes();
    // Without an address of the suite's own, it asks those that it has compiled in.
    let manifest = with("intercept", &manifest)
        .replace("[utp.openapi]\n", "env = { CALLMARK_UPSTREAM_URL = \"\" }\n[utp.openapi]\n");
    let (code, said) = home.certify(&manifest);
    assert_eq!(code, 0, "{said}");
    reaches_all(&said);
    assert_eq!(home.outcomes(), directly);
    assert!(directly.iter().filter(|(_, outcome)| outcome == "passed").count() > 20, "{directly:?}");
    let log = std::fs::read_to_string(home.path().join("out/target.log")).expect("a log");
    assert!(log.contains("upstream  the real one, through the proxy"), "{log}");
    home.hides(&said, &[KEY]);
    // A run that was intercepted is judged again like any other.
    let transcript = home.transcript();
    assert!(transcript.contains("\"host\":\"s.jina.ai\"") && transcript.contains("\"host\":\"r.jina.ai\""));
}

/// Has the executor in Python connect through the proxy of the environment; `http.client` does not read it.
fn tunnelled(home: &Home) {
    let connecting = "    return http.client.HTTPSConnection(host, timeout=SECONDS)\n";
    home.replace(
        "jina.py",
        connecting,
        "    proxy = urlsplit(os.environ[\"HTTPS_PROXY\"])\n    \
         connection = http.client.HTTPSConnection(proxy.hostname, proxy.port, timeout=SECONDS)\n    \
         connection.set_tunnel(host, 443)\n    return connection\n",
    );
}

#[test]
fn an_executor_in_python_is_certified_through_the_proxy() {
    let home = Home::new();
    let manifest = with("intercept", &home.example("python-openapi"))
        .replace("[utp.openapi]\n", "env = { CALLMARK_UPSTREAM_URL = \"\" }\n[utp.openapi]\n");
    tunnelled(&home);
    // What becomes of arguments, for both hosts; that the example keeps all rules is the gate's.
    let (code, said) = home.run(&["certify", "--out", "out", "--rule", "TDG-1-02"], &manifest);
    assert_eq!(code, 0, "{said}");
    reaches_all(&said);
    let transcript = home.transcript();
    assert!(transcript.contains("\"host\":\"s.jina.ai\"") && transcript.contains("\"host\":\"r.jina.ai\""));
    // It writes the path of a row behind the host, which may make another host of it.
    home.replace(
        "jina.py",
        "    connection = connection_to(host)\n",
        "    address = urlsplit(f\"https://{host}{path}\")\n    \
         host = headers[\"Host\"] = address.hostname\n    \
         path = address._replace(scheme=\"\", netloc=\"\").geturl()\n    \
         connection = connection_to(host)\n",
    );
    let (code, said) = home.run(&["certify", "--rule", "TDG-4-13"], &manifest);
    assert!(code == 1 && said.contains("s.jina.ai.suffix.test"), "{code} {said}");
}

#[test]
fn a_hub_that_asks_its_real_provider_is_certified() {
    let home = Home::new();
    let manifest = format!(
        "[target]\nname = \"hub\"\nintercept = true\n[hub]\n{}\nbase_url = \"http://{{listen}}\"\n\
         [hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n\
         not_connected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0002\"\n[hub.provider]\n",
        behind_a_gateway(&["CALLMARK_PROVIDER_URL=https://www.googleapis.com"], "serve hub")
    );
    // Each request to the provider is a handshake in Python, and the Hub waits for seconds only.
    let (code, said) = home.run(&["certify", "--out", "out", "--jobs", "4"], &manifest);
    assert_eq!(code, 0, "{said}");
    reaches_all(&said);
    assert!(home.transcript().contains("/calendar/v3/"), "{said}");
    home.hides(&said, &[KEY]);
}

#[test]
fn a_runner_that_asks_its_real_models_is_certified() {
    let home = Home::new();
    let manifest = format!(
        "[target]\nname = \"runner\"\nintercept = true\n[breadcrumb]\n{}\n\
         catalog = [\"echo\", \"calculator\", \"openrouter\", \"venice\"]\n[breadcrumb.runner]\n[breadcrumb.tools]\n",
        behind_a_gateway(
            &[
                "CALLMARK_OPENROUTER_URL=https://openrouter.ai/api/v1",
                "CALLMARK_VENICE_URL=https://api.venice.ai/api/v1"
            ],
            "serve breadcrumb --runner"
        )
    );
    let (code, said) = home.certify(&manifest);
    assert_eq!(code, 0, "{said}");
    reaches_all(&said);
    let transcript = home.transcript();
    assert!(transcript.contains("POST /openrouter/api/v1/chat/completions"), "{said}");
    assert!(transcript.contains("POST /venice/api/v1/chat/completions"), "{said}");
}

#[test]
fn what_a_target_asks_for_elsewhere_is_remarked() {
    let home = Home::new();
    let manifest = with("intercept", &home.example("python-hub"));
    let asking = "import urllib.request\ntry:\n    urllib.request.urlopen(\"https://telemetry.example/ping\", timeout=9)\n\
                  except OSError:\n    pass\n";
    let file = home.path().join("hub.py");
    let own = std::fs::read_to_string(&file).expect("the example");
    std::fs::write(&file, own.replacen("\nimport hmac\n", &format!("\nimport hmac\n{asking}"), 1))
        .expect("a file");
    let remark = "`telemetry.example`, which the suite does not play";
    let (code, said) = home.certify(&manifest);
    assert_eq!(code, 0, "{said}");
    assert!(super::unwrapped(&said).contains(remark), "{said}");
    let timings = std::fs::read_to_string(home.path().join("out/timings.json")).expect("timings");
    assert!(timings.contains(remark), "{timings}");
    let (code, said) = home.run(&["doctor"], &manifest);
    assert!(code == 0 && said.contains(remark), "{code} {said}");
}

#[test]
fn a_hub_that_does_not_trust_the_run_is_told_apart() {
    let home = Home::new();
    let manifest = format!(
        "[target]\nname = \"hub\"\nintercept = true\n[hub]\n{}\nbase_url = \"http://{{listen}}\"\n\
         env = {{ SSL_CERT_FILE = \"{}\" }}\n\
         [hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n[hub.provider]\n",
        behind_a_gateway(&["CALLMARK_PROVIDER_URL=https://www.googleapis.com"], "serve hub"),
        home.path().join("staging-ca.pem").display(),
    );
    let (_, said) = home.run(&["doctor", "--timeout-scale", "0.2"], &manifest);
    let remark = "the target did not trust the CA of the run for `www.googleapis.com`";
    assert!(super::unwrapped(&said).contains(remark), "{said}");
}

#[test]
fn the_parties_of_examples_can_have_tls() {
    // A rule each; that the examples keep all of them is the gate's.
    for (example, party, rule) in [
        ("python-hub-agent", "hub.agent", "HUB-07"),
        ("python-runtime", "utp.worker", "TDG-4.1-01"),
        ("python-agent", "breadcrumb.agent", "BRD-83"),
    ] {
        let home = Home::new();
        let manifest = with("serve_tls", &home.example(example));
        let run = ["certify", "--out", "out", "--profile", party, "--rule", rule];
        let (code, said) = home.run(&run, &manifest);
        assert_eq!(code, 0, "{example}: {said}");
        reaches_all(&said);
        home.hides(&said, &[KEY]);
    }
}
