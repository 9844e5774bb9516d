//! Commands in JetStream, as deployments keep them: with streams that are there, that the suite makes, that are full, and
//! that nobody may make.

use std::time::{Duration, Instant};

use async_nats::jetstream::stream::Config;

use super::nats::{Server, examples, manifest, nobody, pulling};
use super::{Home, unwrapped};

/// For servers that have found each other to elect who leads a stream.
const ELECTION: Duration = Duration::from_secs(60);

/// A server that keeps streams.
pub(super) fn streaming(home: &Home, further: &str) -> Server {
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
fn the_references_tool_service_alone_is_certified_with_its_ledger_in_jetstream() {
    let home = Home::new();
    let program = crate::support::program().display().to_string();
    let start = [program.as_str(), "serve", "utp", "--service", "--store", "nats"];
    let probe = |name: &str| format!("[utp.tool-service.probes.{name}]\ntool_name = \"probe.{name}\"\n");
    let manifest = format!(
        "[target]\nname = \"fleet\"\n[utp]\nnats = \"server\"\ncommands = \"jetstream\"\nstart = {start:?}\n\
         {}result_pointer = \"/echo\"\n{}result_pointer = \"/count\"\n{}{}",
        probe("echo"),
        probe("count"),
        probe("fail"),
        probe("ctl")
    );
    let (code, said) = home.certify(&manifest);
    if super::nats::version() < [2, 10] {
        assert_eq!((code, home.failed()), (3, 0), "{said}");
        assert!(super::unwrapped(&said).contains("`nats-server` 2.10 or later has"), "{said}");
        return;
    }
    assert_eq!((code, home.failed()), (0, 0), "{said}");
}

#[test]
fn a_stream_of_another_name_is_as_good() {
    let home = Home::new();
    let server = streaming(&home, "");
    with_streams(&server, async |streams| {
        let config = Config {
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
        let config = Config {
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
    let (code, said) = home.certify(&manifest("", &at(&server)));
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    assert!(unwrapped(&said).contains("does not let the suite's user do what it has to"), "{said}");
}

/// Three servers that keep streams together.
struct Cluster {
    servers: Vec<(String, Server)>,
}

impl Cluster {
    fn start(home: &Home) -> Self {
        let ports = [nobody(), nobody(), nobody()];
        let routes = ports.map(|port| format!("\"nats-route://127.0.0.1:{port}\"")).join(", ");
        let start = |(number, port): (usize, &u16)| {
            let (name, directory) = (format!("n{number}"), home.path().join(format!("n{number}")));
            std::fs::create_dir_all(&directory).expect("a directory");
            let config = format!(
                "server_name: {name}\njetstream {{ store_dir: {:?} }}\n\
                 cluster {{ name: orchid, listen: \"127.0.0.1:{port}\", routes: [{routes}] }}\n",
                directory.join("streams").display().to_string()
            );
            let server = Server::start(&directory, &config);
            (name, server)
        };
        Self { servers: ports.iter().enumerate().map(start).collect() }
    }

    /// Makes the streams of commands and events on all three, and returns who leads that of commands.
    fn make_streams(&self) -> String {
        with_streams(&self.servers[0].1, async |streams| {
            let began = Instant::now();
            let mut leader = String::new();
            for kind in ["evt", "cmd"] {
                let config = Config {
                    name: format!("cg_{kind}_v1r3"),
                    subjects: vec![format!("cg.v1r3.*.*.{kind}.>")],
                    num_replicas: 3,
                    ..Default::default()
                };
                // Until the servers have found each other, nobody makes one.
                leader = loop {
                    match streams.get_or_create_stream(config.clone()).await {
                        Ok(stream) => {
                            let cluster = stream.cached_info().cluster.clone();
                            if let Some(leader) = cluster.and_then(|cluster| cluster.leader) {
                                break leader;
                            }
                        }
                        Err(error) => assert!(began.elapsed() < ELECTION, "{error}"),
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                };
            }
            leader
        })
    }

    /// All addresses, as a manifest has them.
    fn addresses(&self) -> String {
        let all: Vec<String> =
            self.servers.iter().map(|(_, server)| format!("\"nats://127.0.0.1:{}\"", server.port)).collect();
        format!("nats = [{}]\ncommands = \"jetstream\"\n", all.join(", "))
    }

    /// Has the server of this name end when commands of so many projects have passed, counted from now on.
    fn end_after(&mut self, name: &str, projects: usize) -> std::thread::JoinHandle<()> {
        let index = self.servers.iter().position(|(own, _)| own == name).expect("one of the three");
        let (_, server) = self.servers.remove(index);
        let port = self.servers[0].1.port;
        let (ready, is_ready) = std::sync::mpsc::channel();
        let ending = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let client =
                    async_nats::connect(format!("nats://127.0.0.1:{port}")).await.expect("a connection");
                let mut passing = client.subscribe("cg.*.*.*.cmd.>").await.expect("a subscription");
                client.flush().await.expect("a connection");
                ready.send(()).expect("who waits for it");
                let mut seen = std::collections::BTreeSet::new();
                while seen.len() < projects {
                    let command = futures::StreamExt::next(&mut passing).await.expect("a command");
                    seen.extend(command.subject.split('.').nth(2).map(str::to_owned));
                }
            });
            drop(server);
        });
        is_ready.recv().expect("a subscription");
        ending
    }
}

#[test]
fn another_server_leads_the_streams() {
    let home = Home::new();
    let mut cluster = Cluster::start(&home);
    let leader = cluster.make_streams();
    // A session is opened with a few projects, and each scenario has its own.
    let ending = cluster.end_after(&leader, 16);
    // Suite and service are connected to the two that stay, so that a stream without a leader is all that they see.
    let _service = cluster.servers[1].1.pulling_service();
    let mut command = vec!["certify", "--out", "out"];
    command.extend(
        ["TDG-1-02", "TDG-1-06", "TDG-1-08", "UTP-3.2-02"].into_iter().flat_map(|rule| ["--rule", rule]),
    );
    let (code, said) = home.run(&command, &manifest("", &cluster.addresses()));
    ending.join().expect("sixteen projects");
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    assert!(unwrapped(&said).contains("a stream of the broker took no message"), "{said}");
    let leads = with_streams(&cluster.servers[0].1, async |streams| {
        let stream = streams.get_stream("cg_cmd_v1r3").await.expect("the stream of commands");
        stream.cached_info().cluster.clone().and_then(|cluster| cluster.leader)
    });
    assert!(leads.as_deref().is_some_and(|own| own != leader), "{leads:?} leads after {leader}");
}

#[test]
fn a_stream_that_goes_in_mid_run_is_no_fault_of_the_target() {
    let home = Home::new();
    let server = streaming(&home, "");
    let port = server.port;
    let _service = server.pulling_service();
    let deleting = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let client = async_nats::connect(format!("nats://127.0.0.1:{port}")).await.expect("a connection");
            let mut passing = client.subscribe("cg.*.*.*.cmd.>").await.expect("a subscription");
            for _ in 0..60 {
                futures::StreamExt::next(&mut passing).await.expect("a command");
            }
            let streams = async_nats::jetstream::new(client);
            streams.delete_stream("cg_cmd_v1r3").await.expect("it was there");
        });
    });
    let (code, said) = home.certify(&manifest("", &at(&server)));
    deleting.join().expect("sixty commands");
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    assert!(unwrapped(&said).contains("no stream of the broker takes what `cg_cmd_v1r3` is for"), "{said}");
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
