//! What comes between suite and target in the middle of a run: nothing of it is the target's fault.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::gateway::{Decision, Gateway};
use super::{HUB_SECRET, Home, TENANT, TOKEN, exchange, has, hub, hub_with_token, unauthorized, unwrapped};
use crate::pages::served::Served;

/// A token is good for sixty requests; then the gateway answers like this.
fn takes_back(refusal: fn() -> Decision) {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let asked = AtomicUsize::new(0);
    let gateway = Gateway::start(Some(home.server()), &served.address, move |request| {
        if asked.fetch_add(1, Ordering::Relaxed) > 60 { refusal() } else { exchange(request, TOKEN) }
    });
    let lines = "[target.tls]\nca = \"staging-ca.pem\"\n[target.http]\nbearer_env = \"STAGING_TOKEN\"\n";
    let base = format!("https://localhost:{}", gateway.port());
    let (code, said) = home.certify(&hub_with_token(&base).replace("[hub]\n", &format!("{lines}[hub]\n")));
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    let record = std::fs::read_to_string(home.path().join("out/run.json")).expect("a record");
    assert!(record.contains("the token of `[target.http]` is refused"), "{said}");
}

#[test]
fn a_token_that_is_taken_back_in_mid_run_breaks_nothing() {
    takes_back(|| unauthorized("Bearer error=\"invalid_token\""));
}

#[test]
fn a_token_that_is_good_for_less_in_mid_run_breaks_nothing() {
    takes_back(|| Decision::Answer(403, ("content-type", "text/html".to_owned()), "no entry".to_owned()));
}

/// Has the gateway want a header beside the Hub's own secret.
const HEADERS: &str = "[target.http]\nheaders = { X-Tenant = { env = \"TENANT\" } }\n[hub]\n";

/// The answer of a gateway that is no answer of the protocol.
fn page(status: u16) -> Decision {
    let header = match status {
        302 => ("location", "https://login.example.test/authorize?client_id=7".to_owned()),
        _ => ("content-type", "text/html".to_owned()),
    };
    Decision::Answer(status, header, "<h1>no entry</h1>".to_owned())
}

#[test]
fn headers_that_are_good_for_nothing_from_the_middle_on_break_nothing() {
    for (status, shown) in [(401, "401"), (403, "403"), (302, "302, to `login.example.test`")] {
        let home = Home::new();
        let served = Served::start(&["hub"], "http://");
        let asked = AtomicUsize::new(0);
        let gateway = Gateway::start(None, &served.address, move |request| {
            let is_over = asked.fetch_add(1, Ordering::Relaxed) > 60;
            if is_over || !has(request, "x-tenant", TENANT) { page(status) } else { Decision::Pass }
        });
        let base = format!("http://127.0.0.1:{}", gateway.port());
        let (code, said) = home.certify(&hub(&base).replace("[hub]\n", HEADERS));
        assert_eq!((code, home.failed()), (3, 0), "{status}: {said}");
        let record = std::fs::read_to_string(home.path().join("out/run.json")).expect("a record");
        let cause = format!("the headers of `[target.http]` are refused ({shown}) and were not before");
        assert!(record.contains(&cause), "{status}: {said}");
    }
}

#[test]
fn a_hub_that_answers_one_request_like_a_gateway_is_broken() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let gateway = Gateway::start(None, &served.address, |request| {
        // With the right secret, and never before what it lets in.
        let is_wrong = has(request, "authorization", &format!("ServiceSecret {HUB_SECRET}"))
            && request.body.contains("email_check_replies");
        if is_wrong { page(403) } else { Decision::Pass }
    });
    let base = format!("http://127.0.0.1:{}", gateway.port());
    let (code, said) = home.certify(&hub(&base).replace("[hub]\n", HEADERS));
    assert!(code == 1 && home.failed() > 0, "{code}: {said}");
    assert!(!said.contains("the headers of `[target.http]` are refused"), "{said}");
}

#[test]
fn a_gateway_that_cuts_connections_from_the_middle_on_breaks_nothing() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let asked = AtomicUsize::new(0);
    let gateway = Gateway::start(Some(home.server()), &served.address, move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) > 40 { Decision::Cut } else { Decision::Pass }
    });
    let base = format!("https://localhost:{}", gateway.port());
    let manifest = hub(&base).replace("[hub]\n", "[target.tls]\nca = \"staging-ca.pem\"\n[hub]\n");
    let command = ["certify", "--out", "out", "--rule", "HUB-06", "--rule", "HUB-28"];
    let (code, said) = home.run(&command, &manifest);
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    assert!(unwrapped(&said).contains("the target answers nothing any more"), "{said}");
}

#[test]
fn a_gateway_that_cuts_connections_to_a_registry_breaks_nothing() {
    let home = Home::new();
    let served = Served::start(&["utp", "--protocol-version", "v1r3"], "platform  http://");
    let asked = AtomicUsize::new(0);
    let gateway = Gateway::start(None, &served.address, move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) > 40 { Decision::Cut } else { Decision::Pass }
    });
    let base = format!("http://127.0.0.1:{}", gateway.port());
    let tables = format!("[utp]\nprotocol_version = \"v1r3\"\n[utp.registry]\nbase_url = \"{base}\"\n");
    let (code, said) = home.certify(&format!("[target]\nname = \"deployed\"\n{tables}"));
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    assert!(unwrapped(&said).contains("the target answers nothing any more"), "{said}");
}

#[test]
fn a_gateway_that_cuts_every_connection_breaks_nothing() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let gateway = Gateway::start(Some(home.server()), &served.address, |_| Decision::Cut);
    let lines = "[target.tls]\nca = \"staging-ca.pem\"\n";
    let base = format!("https://localhost:{}", gateway.port());
    let manifest = hub(&base).replace("[hub]\n", &format!("{lines}[hub]\nstart_timeout_seconds = 1\n"));
    let (code, said) = home.certify(&manifest);
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    assert!(said.contains("the connection was closed before the answer was complete"), "{said}");
}
