//! Choices, their errors, and what is never shown; starting is tested in `tests/broker_contract.rs`.

use super::*;

fn check(given: &str, expect: Result<BrokerChoice, &str>) {
    let expect = expect.map_err(|given| ParseBrokerError { given: given.to_owned() });
    assert_eq!(given.parse(), expect, "{given}");
}

#[test]
fn a_choice_is_one_of_four() {
    check("embedded", Ok(BrokerChoice::Embedded));
    check("server", Ok(BrokerChoice::Server));
    check("container", Ok(BrokerChoice::Container));
    check("nats://127.0.0.1:4222", Ok(BrokerChoice::Url("nats://127.0.0.1:4222".into())));
    check("Embedded", Err("Embedded"));
    check("", Err(""));
    check("http://127.0.0.1", Err("http://127.0.0.1"));
    check("tls://user:secret@host", Ok(BrokerChoice::Url("tls://user:secret@host".into())));
    check("wss://user:secret@host", Ok(BrokerChoice::Url("wss://user:secret@host".into())));
    check("nats://a:1,nats://b:2", Ok(BrokerChoice::Url("nats://a:1,nats://b:2".into())));
    check("nats://u:secret@a:1,http://v:secret@b:2", Err("nats://a:1,http://b:2"));
}

#[test]
fn credentials_are_never_shown() {
    let choice: BrokerChoice = "nats://user:s@cret@host:4222".parse().unwrap_or_default();
    for shown in [choice.to_string(), format!("{choice:?}")] {
        assert!(!shown.contains("cret") && !shown.contains("user"), "{shown}");
    }
    let running = RunningBroker { url: "nats://user:secret@host".into(), process: Process::External };
    assert_eq!(format!("{running:?}"), "RunningBroker(nats://host)");
}

#[test]
fn a_missing_binary_is_named() {
    let named = server_in(Some("/nowhere/nats-server".into()), None).expect_err("no such file");
    assert!(named.to_string().contains("`/nowhere/nats-server`"), "{named}");
    let folder = tempfile::tempdir().expect("a temporary directory");
    server_in(None, Some(folder.path().into())).expect_err("the folder is empty");
    let binary = folder.path().join("nats-server");
    std::fs::write(&binary, "").expect("the folder is writable");
    let found = server_in(None, Some(folder.path().into())).expect("it is there now");
    assert_eq!(found, binary);
}

#[tokio::test]
async fn a_binary_that_ends_at_once_is_quoted() {
    // Any program that knows no `--addr` will do, and every system has this one.
    let error = start_server(Path::new("/bin/ls")).await.expect_err("`ls` is no broker");
    let BrokerStartError::ServerEnded { status, log, .. } = error else {
        panic!("unexpected error: {error}");
    };
    assert!(!status.success());
    assert!(log.contains("addr"), "{log}");
}

#[tokio::test]
async fn nobody_at_the_url_is_an_error_without_credentials() {
    // Bound and dropped at once, so that nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free loopback port")
        .port();
    let choice = BrokerChoice::Url(format!("nats://user:secret@127.0.0.1:{port}"));
    let error = start(&choice).await.expect_err("nobody listens");
    let expect = format!("cannot connect to the broker at `nats://127.0.0.1:{port}`: ");
    assert!(error.to_string().starts_with(&expect), "{error}");
    assert!(!format!("{error:?}").contains("secret"));
}
