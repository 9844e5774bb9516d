//! Commands in JetStream, as deployments keep them: with streams that are there, that the suite makes, that are full, and
//! that nobody may make.

use super::nats::{Server, examples, manifest, pulling};
use super::{Home, unwrapped};

/// A server that keeps streams.
fn streaming(home: &Home, further: &str) -> Server {
    let store = home.path().join("streams");
    Server::start(
        home.path(),
        &format!("jetstream {{ store_dir: {:?} }}\n{further}", store.display().to_string()),
    )
}

fn at(server: &Server) -> String {
    format!("nats = \"nats://127.0.0.1:{}\"\ncommands = \"jetstream\"\n", server.port)
}

/// Does something with the streams of a server.
fn with_streams<T>(server: &Server, work: impl AsyncFnOnce(async_nats::jetstream::Context) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client =
            async_nats::connect(format!("nats://127.0.0.1:{}", server.port)).await.expect("a connection");
        work(async_nats::jetstream::new(client)).await
    })
}

#[test]
fn a_service_that_pulls_its_commands_is_certified() {
    let home = Home::new();
    let server = streaming(&home, "");
    let _service = server.pulling_service();
    let (code, said) = home.certify(&manifest("", &at(&server)));
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    let kept = with_streams(&server, async |streams| {
        let commands = streams.get_stream("cg_cmd_v1r3").await.expect("the stream of commands");
        let config = commands.cached_info().config.clone();
        assert_eq!(config.subjects, ["cg.v1r3.*.*.cmd.>"]);
        streams.get_stream("cg_evt_v1r3").await.expect("the stream of events");
        commands.cached_info().state.messages
    });
    assert!(kept > 100, "{kept} commands");
    // What is there is used as it is.
    let (code, said) = home.run(&["doctor"], &manifest("", &at(&server)));
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_server_that_the_suite_starts_has_streams() {
    let home = Home::new();
    let start = ["python3".to_owned(), pulling().display().to_string(), examples().display().to_string()];
    let utp = |nats: &str| {
        format!(
            "nats = \"{nats}\"\ncommands = \"jetstream\"\nstart = {start:?}\nenv = {{ PYTHONDONTWRITEBYTECODE = \"1\" }}\n"
        )
    };
    let (code, said) = home.certify(&manifest("", &utp("server")));
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    home.doctor_says(
        &manifest("", &utp("embedded")),
        &["the embedded broker has no JetStream", "`nats = \"server\"`"],
    );
}

#[test]
fn a_stream_of_another_name_is_as_good() {
    let home = Home::new();
    let server = streaming(&home, "");
    with_streams(&server, async |streams| {
        let config = async_nats::jetstream::stream::Config {
            name: "everything".to_owned(),
            subjects: vec!["cg.v1r3.>".to_owned()],
            ..Default::default()
        };
        streams.create_stream(config).await.expect("a stream");
    });
    // This one subscribes: a message of a stream reaches subscribers, too.
    let _service = server.service("service:none");
    let (code, said) = home.certify(&manifest("", &at(&server)));
    assert_eq!((code, home.failed()), (0, 0), "{said}");
}

#[test]
fn a_broker_without_streams_is_no_fault_of_the_target() {
    let home = Home::new();
    let server = Server::start(home.path(), "");
    let _service = server.service("service:none");
    let expect = ["it has no JetStream", "`nats-server -js`"];
    home.doctor_says(&manifest("", &at(&server)), &expect);
    let (code, said) = home.certify(&manifest("", &at(&server)));
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    assert!(unwrapped(&said).contains(expect[0]), "{said}");
}

#[test]
fn a_full_stream_is_no_fault_of_the_target() {
    let home = Home::new();
    let server = streaming(&home, "");
    with_streams(&server, async |streams| {
        let config = async_nats::jetstream::stream::Config {
            name: "cg_cmd_v1r3".to_owned(),
            subjects: vec!["cg.v1r3.*.*.cmd.>".to_owned()],
            max_messages: 60,
            discard: async_nats::jetstream::stream::DiscardPolicy::New,
            ..Default::default()
        };
        streams.create_stream(config).await.expect("a stream");
    });
    let _service = server.pulling_service();
    let (code, said) = home.certify(&manifest("", &at(&server)));
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    assert!(
        unwrapped(&said).contains("the stream `cg_cmd_v1r3` did not take a message of the suite"),
        "{said}"
    );
}

#[test]
fn whoever_may_not_make_streams_is_named() {
    let home = Home::new();
    let server = streaming(
        &home,
        "authorization { default_permissions: { publish: { deny: \"$JS.API.STREAM.>\" } }, users: [ { user: a, password: b } ] }\n\
         no_auth_user: a\n",
    );
    let _service = server.service("a:b");
    home.doctor_says(
        &manifest("", &at(&server)),
        &["does not let the suite's user do what it has to", "$JS.API.STREAM."],
    );
}

#[test]
fn what_passes_through_streams_is_watched_without_a_consumer() {
    use futures::TryStreamExt as _;

    let home = Home::new();
    let server = streaming(&home, "");
    let _service = server.pulling_service();
    std::fs::write(home.path().join("callmark.toml"), manifest("", &at(&server))).expect("a file");
    let program = crate::support::program().display().to_string();
    let traffic = format!("{program} certify --target callmark.toml --out out --quiet >certify.log 2>&1");
    let output = std::process::Command::new(&program)
        .args(["watch", "--target", "callmark.toml", "--report", "report.json", "--", "sh", "-c", &traffic])
        .current_dir(home.path())
        .output()
        .expect("the program");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = std::fs::read(home.path().join("report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    assert!(report["exchanges"].as_u64() > Some(100), "{report}");
    // Those of the service, and nobody else's.
    let consumers: Vec<String> = with_streams(&server, async |streams| {
        let commands = streams.get_stream("cg_cmd_v1r3").await.expect("the stream of commands");
        commands.consumer_names().try_collect().await.expect("names")
    });
    assert!(
        !consumers.is_empty() && consumers.iter().all(|name| name.starts_with("tides-")),
        "{consumers:?}"
    );
}
