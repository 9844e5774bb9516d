//! Where what a target asks of its clients comes from: a key and headers of the environment, issuers of the system.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::authority::Authority;
use super::gateway::{Decision, Gateway};
use super::{Home, TENANT, has, hub, toolbus};
use crate::pages::served::Served;

/// Lets in who has the header, and counts who has it not.
fn with_tenant(home: &Home, target: &str) -> (Gateway, Arc<AtomicUsize>) {
    let without = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&without);
    let gateway = Gateway::start(Some(home.server()), target, move |asked| {
        if has(asked, "x-tenant", TENANT) {
            return Decision::Pass;
        }
        count.fetch_add(1, Ordering::Relaxed);
        Decision::Answer(403, ("content-type", "text/html".to_owned()), "no tenant".to_owned())
    });
    (gateway, without)
}

/// Certified with the header, and not reached without it.
fn check_headers(home: &Home, without: &AtomicUsize, tables: &str) {
    let manifest = |headers: &str| {
        format!("[target]\nname = \"deployed\"\n[target.tls]\nca = \"staging-ca.pem\"\n{headers}{tables}")
    };
    let with_header = manifest("[target.http]\nheaders = { X-Tenant = { env = \"TENANT\" } }\n");
    let (code, said) = home.certify(&with_header);
    assert_eq!((code, without.load(Ordering::Relaxed)), (0, 0), "{said}");
    let (code, said) = home.run(&["doctor", "--timeout-scale", "0.2"], &manifest(""));
    assert!(code == 3 && without.load(Ordering::Relaxed) > 0, "{code} {said}");
}

#[test]
fn a_registry_that_asks_for_a_header_is_certified() {
    let home = Home::new();
    let served = Served::start(&["utp", "--protocol-version", "v1r3"], "platform  http://");
    let (gateway, without) = with_tenant(&home, &served.address);
    let url = format!("https://localhost:{}", gateway.port());
    let tables = format!("[utp]\nprotocol_version = \"v1r3\"\n[utp.registry]\nbase_url = \"{url}\"\n");
    check_headers(&home, &without, &tables);
}

#[test]
fn a_store_that_asks_for_a_header_is_certified() {
    let home = Home::new();
    let served = Served::start(&["breadcrumb"], "store     http://");
    let (gateway, without) = with_tenant(&home, &served.address);
    let url = format!("https://localhost:{}", gateway.port());
    let tables = format!(
        "[breadcrumb]\nstore = \"{url}\"\ncatalog = [\"echo\", \"calculator\", \"timer\", \"breadcrumb-create\"]\n\
         [breadcrumb.runner]\n"
    );
    check_headers(&home, &without, &tables);
}

#[test]
fn a_key_of_the_environment_is_used_and_not_written() {
    let home = Home::new();
    let served = Served::start(&["toolbus"], "http://");
    let target = served.address.split_once('/').map_or(served.address.as_str(), |(address, _)| address);
    let identity = home.authority.identity(&["localhost"], true).server(Some(&home.authority));
    let gateway = Gateway::open(identity, target);
    home.authority.identity(&["client"], true).write(home.path(), "client");
    Authority::new("Another").identity(&["stranger"], true).write(home.path(), "stranger");
    let key = |name: &str| std::fs::read_to_string(home.path().join(name)).expect("a key");
    let (own, other) = (key("client.key"), key("stranger.key"));
    let lines = "[target.tls]\nca = \"staging-ca.pem\"\ncertificate = \"client.pem\"\nkey_env = \"CLIENT_KEY\"\n[toolbus]\n";
    let manifest =
        toolbus(&format!("https://localhost:{}/mcp", gateway.port())).replace("[toolbus]\n", lines);
    let with_key = |key: &str| home.run_with(&["certify", "--out", "out"], &manifest, &[("CLIENT_KEY", key)]);
    let (code, said) = with_key(&own);
    assert_eq!(code, 0, "{said}");
    // The lines of the key are among those that are looked for.
    home.hides_all(&said);
    for (key, expect) in [
        (other.as_str(), "the key of `[target.tls]` is not that of its `certificate`"),
        ("what is no key", "`target.tls.key_env` names `CLIENT_KEY`, and no key in PEM is there"),
    ] {
        let (code, said) = with_key(key);
        assert_eq!((code, home.failed()), (3, 0), "{said}");
        assert!(super::unwrapped(&said).contains(expect), "`{expect}` is not in\n{said}");
        home.hides_all(&said);
    }
}

#[test]
fn issuers_that_the_system_trusts_need_no_line() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let gateway = Gateway::open(home.server(), &served.address);
    let base = format!("https://localhost:{}", gateway.port());
    let system = home.path().join("staging-ca.pem").display().to_string();
    let another = home.path().join("another-ca.pem");
    Authority::new("Another").write(&another);
    let another = another.display().to_string();
    let certify = ["certify", "--out", "out", "--rule", "HUB-06"];
    let named = "[target.tls]\nca = \"staging-ca.pem\"\n[hub]\n";
    for (lines, issuers, expect) in [
        ("[hub]\n", &system, 0),
        ("[hub]\n", &another, 3),
        // What is named is trusted beside the system's.
        (named, &another, 0),
        ("[target.tls]\nca = \"another-ca.pem\"\n[hub]\n", &system, 0),
    ] {
        let manifest = hub(&base).replace("[hub]\n", lines);
        let (code, said) = home.run_with(&certify, &manifest, &[("SSL_CERT_FILE", issuers)]);
        assert_eq!(code, expect, "{lines:?} {issuers}: {said}");
    }
}
