//! The other addresses of a manifest behind TLS: registry, store, an agent's hook, a runtime.

use std::sync::Arc;

use callmark_cli::broker::{self, BrokerChoice};
use callmark_cli::bundled::Reference;
use callmark_reports::record::Verdict;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::Quiet;
use callmark_suite::families::utp::revision::Revision;
use callmark_suite::families::utp::target::{LaunchEnv, Target};
use futures::future::BoxFuture;

use super::{Gateway, Home};
use crate::pages::served::Served;
use crate::{port, support};

const TLS: &str = "[target]\nname = \"deployed\"\n[target.tls]\nca = \"staging-ca.pem\"\n";

/// Where a gateway with TLS stands before this address.
fn behind_tls(home: &Home, address: &str) -> (Gateway, String) {
    let gateway = Gateway::open(home.server(), address);
    let url = format!("https://localhost:{}", gateway.port());
    (gateway, url)
}

/// Certified with TLS; without the issuer's certificate the doctor says what is missing.
fn check(home: &Home, tables: &str) {
    let manifest = format!("{TLS}{tables}");
    let (code, said) = home.certify(&manifest);
    assert_eq!(code, 0, "{said}");
    let untrusting = manifest.replace("[target.tls]\nca = \"staging-ca.pem\"\n", "");
    home.doctor_says(&untrusting, &["its certificate is of an issuer that is not trusted"]);
}

#[test]
fn a_registry_behind_tls_is_certified() {
    let home = Home::new();
    let served = Served::start(&["utp", "--protocol-version", "v1r3"], "platform  http://");
    let (_gateway, url) = behind_tls(&home, &served.address);
    check(&home, &format!("[utp]\nprotocol_version = \"v1r3\"\n[utp.registry]\nbase_url = \"{url}\"\n"));
}

#[test]
fn a_store_behind_tls_is_certified() {
    let home = Home::new();
    let served = Served::start(&["breadcrumb"], "store     http://");
    let (_gateway, url) = behind_tls(&home, &served.address);
    let tables = format!(
        "[breadcrumb]\nstore = \"{url}\"\ncatalog = [\"echo\", \"calculator\", \"timer\", \"breadcrumb-create\"]\n\
         [breadcrumb.runner]\n"
    );
    check(&home, &tables);
}

/// A program that listens some time after the gateway before it, which closes connections until then.
fn late<'a>(command: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["sh", "-c", "sleep 1; exec \"$0\" \"$@\""];
    words.extend(command);
    words
}

#[test]
fn an_agent_whose_hook_is_behind_tls_is_certified() {
    let home = Home::new();
    let address = port::reserved().to_string();
    let (_gateway, url) = behind_tls(&home, &address);
    let program = support::program().display().to_string();
    let start = late(&[&program, "serve", "hub", "--agent", "--listen", &address]);
    let tables = format!("[hub.agent]\nstart = {start:?}\n[hub.agent.drive]\nhttp = \"{url}/drive\"\n");
    check(&home, &tables);
}

#[test]
fn a_breadcrumb_agent_whose_hook_is_behind_tls_is_certified() {
    let home = Home::new();
    let address = port::reserved().to_string();
    let (_gateway, url) = behind_tls(&home, &address);
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let hooked = here.join("tests/it/deployed/hooked.py").display().to_string();
    let example = here.join("../../examples/python-agent").display().to_string();
    let start = late(&["python3", &hooked, &example, &address]);
    let tables = format!(
        "[breadcrumb.agent]\nstart = {start:?}\nenv = {{ PYTHONDONTWRITEBYTECODE = \"1\" }}\n\
         [breadcrumb.agent.drive]\nhttp = \"{url}/hear\"\n"
    );
    check(&home, &tables);
}

/// The reference's runtime, at an address that was known before.
struct On {
    listen: String,
    reference: Reference,
}

impl Target for On {
    fn start<'a>(&'a mut self, around: &'a LaunchEnv) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            let mut around = around.clone();
            around.environment.insert("CALLMARK_LISTEN".to_owned(), self.listen.clone());
            self.reference.start(&around).await
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<String>> {
        self.reference.ended()
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        self.reference.stop()
    }
}

#[test]
fn a_runtime_behind_tls_is_certified() {
    let home = Home::new();
    let listen = port::reserved().to_string();
    let (_gateway, url) = behind_tls(&home, &listen);
    let text = format!(
        "{TLS}[utp]\nprotocol_version = \"v1r3\"\nplatform = \"http\"\n[utp.worker]\n[utp.runtime]\nurl = \"{url}\"\n"
    );
    std::fs::write(home.path().join("callmark.toml"), text).expect("a file");
    let manifest = Manifest::read(&home.path().join("callmark.toml")).expect("a sound manifest");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let record = runtime.block_on(async {
        let broker = broker::start(&BrokerChoice::Embedded).await.expect("a broker");
        let reference = Reference::of(Revision::V1r3, &["utp.worker".to_owned()]);
        let target = Box::new(On { listen, reference });
        support::certify(&manifest, &["utp.worker"], broker.url(), target, Arc::new(Quiet)).await.record
    });
    let unhappy: Vec<_> = record.rules.iter().map(|rule| (&rule.id, rule.outcome, &rule.reason)).collect();
    assert_eq!(record.verdict, Verdict::Conformant, "{unhappy:?}");
}
