//! Replicas that are disturbed while they work, and nodes of their broker: a ledger that they share holds, and each fault of
//! one is found.

use callmark_schemas::{SchemaName, violations};
use serde_json::{Value, json};

use super::Home;
use super::nats::{nobody, program};
use super::replicas::service;
use super::streams::streaming;

/// One rule is enough: it is the rest of the run that is of interest here.
const RUN: [&str; 4] = ["certify", "--rule", "UTP-3.2-06", "--chaos"];
/// Whether a fault shows depends on what is at work when a disturbance comes, and so on the load: others are tried then.
pub(super) const SEEDS: [&str; 4] = ["1", "2", "3", "4"];

/// The record of a run, which is a valid one.
pub(super) fn record(home: &Home) -> Value {
    let record = std::fs::read(home.path().join("out/run.json")).expect("a record");
    let record = serde_json::from_slice(&record).expect("JSON");
    assert_eq!(violations(SchemaName::Run, &record), [], "{record}");
    record
}

fn chaos(home: &Home, manifest: &str) -> (i32, String) {
    home.run(&[&RUN[..], &["--seed", SEEDS[0], "--out", "out"]].concat(), manifest)
}

#[test]
fn replicas_that_share_their_ledger_lose_nothing_and_do_nothing_twice() {
    let home = Home::new();
    let server = streaming(&home, "");
    let at = format!("nats = \"nats://127.0.0.1:{}\"\nreplicas = 3", server.port);
    let (code, said) = chaos(&home, &service(&at, &["--store", "nats"]));
    assert_eq!(code, 0, "{said}");
    let record = record(&home);
    let chaos = &record["chaos"][0];
    assert_eq!(chaos["profile"], "utp.tool-service");
    assert_eq!(
        (&chaos["findings"], chaos["hindered"].as_str()),
        (&Value::Array(Vec::new()), None),
        "{chaos}"
    );
    assert_eq!(chaos["disturbances"].as_array().map(Vec::len), Some(8));
    assert!(said.contains("nothing was lost, and nothing done twice"), "{said}");
    let page = std::fs::read_to_string(home.path().join("out/index.html")).expect("a page");
    assert!(page.contains("Chaos: ") && page.contains("cut off from the network for"));
}

/// Lines of a manifest that has three servers started which keep streams together.
fn three_nodes(home: &Home) -> String {
    let [clients, routes] = [(); 2].map(|()| [nobody(), nobody(), nobody()]);
    let all = routes.map(|port| format!("\"nats://127.0.0.1:{port}\"")).join(", ");
    let node = |(number, (client, route)): (usize, (&u16, &u16))| {
        let (name, store) = (format!("node-{number}"), home.path().join(format!("node-{number}")));
        let config = format!(
            "server_name: {name}\nlisten: \"127.0.0.1:{client}\"\njetstream {{ store_dir: {:?} }}\n\
             cluster {{ name: orchid, listen: \"127.0.0.1:{route}\", no_advertise: true, routes: [{all}] }}\n",
            store.display().to_string()
        );
        std::fs::write(home.path().join(format!("{name}.conf")), config).expect("a file");
        vec![program().display().to_string(), "-c".to_owned(), format!("{name}.conf")]
    };
    let nodes: Vec<Vec<String>> = clients.iter().zip(&routes).enumerate().map(node).collect();
    let urls = clients.map(|port| format!("nats://127.0.0.1:{port}"));
    format!("nats = {urls:?}\nbroker_nodes = {nodes:?}")
}

/// Whether anybody listens on the ports of a manifest's nodes.
fn is_running(lines: &str) -> bool {
    let ports = lines.split("nats://127.0.0.1:").skip(1).map(|rest| rest.split('"').next().expect("a port"));
    let mut connected = ports.map(|port| std::net::TcpStream::connect(format!("127.0.0.1:{port}")));
    connected.any(|connected| connected.is_ok())
}

#[test]
fn a_ledger_on_several_nodes_outlives_the_restart_of_one() {
    let home = Home::new();
    let nodes = three_nodes(&home);
    let (code, said) = chaos(&home, &service(&format!("{nodes}\nreplicas = 3"), &["--store", "nats"]));
    assert_eq!(code, 0, "{said}");
    let record = record(&home);
    let chaos = &record["chaos"][0];
    assert_eq!((&chaos["broker_nodes"], &chaos["replicas"]), (&json!(3), &json!(3)));
    let restarted = |own: &&Value| own["broker_node"].is_u64() && own["fault"] == "kill";
    let disturbances = chaos["disturbances"].as_array().expect("disturbances");
    assert_eq!((disturbances.len(), disturbances.iter().filter(restarted).count()), (10, 2), "{chaos}");
    assert!(said.contains("of 3 replicas and 3 broker nodes (seed 1): nothing was lost"), "{said}");
    assert!((1..=3).all(|number| home.path().join(format!("out/broker-{number}.log")).is_file()));
    assert!(!is_running(&nodes), "the nodes end with the run");
}

#[test]
fn nodes_are_started_without_chaos_and_for_the_doctor_and_said_where_they_do_not_start() {
    let home = Home::new();
    let nodes = three_nodes(&home);
    let manifest = service(&nodes, &["--store", "nats"]);
    let (code, said) = home.run(&["doctor"], &manifest);
    assert_eq!(code, 0, "{said}");
    let (code, said) = home.run(&["certify", "--rule", "UTP-3.2-06", "--out", "out"], &manifest);
    assert_eq!(code, 0, "{said}");
    assert!(!is_running(&nodes), "the nodes end with the run");
    std::fs::write(home.path().join("node-1.conf"), "no_such_option: 1\n").expect("a file");
    let (code, said) = home.run(&["certify", "--rule", "UTP-3.2-06", "--out", "out"], &manifest);
    assert_eq!(code, 3, "{said}");
    let said = super::unwrapped(&said);
    assert!(said.contains("a node of the broker did not start") && said.contains("no_such_option"), "{said}");
    assert!(!is_running(&nodes), "the other nodes end with it");
    let one = manifest.replace("nats = [", "nats = \"nats://127.0.0.1:1\" # [");
    let (code, said) = home.run(&["doctor"], &one);
    assert_eq!(code, 2, "{said}");
    assert!(super::unwrapped(&said).contains("`utp.nats` must name as many URLs"), "{said}");
}

/// Kinds of what is found of the example with this fault, with the first seed that finds anything.
fn found(fault: &str, further: &[&str]) -> Vec<String> {
    first_found(|seed| found_with(&Home::new(), seed, fault, ("", further)))
}

/// What the first seed finds that finds anything.
pub(super) fn first_found(find: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    SEEDS.iter().map(|seed| find(seed)).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Kinds of what is found of the example with a ledger that all replicas share, on the broker that these lines name.
fn found_with(home: &Home, seed: &str, fault: &str, (broker, further): (&str, &[&str])) -> Vec<String> {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let fleet = here.join("tests/it/deployed/fleet.py").display().to_string();
    let mut start = vec!["python3", &fleet];
    let (example, ledger) = (here.join("../../examples/python"), home.path().join("ledger.db"));
    let [example, ledger] = [example, ledger].map(|path| path.display().to_string());
    start.extend([example.as_str(), &ledger]);
    start.extend(Some(fault).filter(|fault| !fault.is_empty()));
    let probe = |name: &str| {
        let subject = format!("cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.tides.probe.{name}");
        format!(
            "[utp.tool-service.probes.{name}]\ntool_name = \"probe.{name}\"\ntarget_subject = \"{subject}\"\n"
        )
    };
    let manifest = format!(
        "[target]\nname = \"fleet\"\n[utp]\nstart = {start:?}\nreplicas = 3\n{broker}\n\
         start_timeout_seconds = 120\n\
         {}result_pointer = \"/echo\"\n{}result_pointer = \"/count\"\n{}{}",
        probe("echo"),
        probe("count"),
        probe("fail"),
        probe("ctl")
    );
    let (code, said) = home.run(&[&RUN[..], &["--seed", seed, "--out", "out"], further].concat(), &manifest);
    kinds(home, (code, &said))
}

/// Kinds of what the chaos of a run found that ended like this.
pub(super) fn kinds(home: &Home, (code, said): (i32, &str)) -> Vec<String> {
    let record = record(home);
    // The rule that was asked for holds: the chaos is an own section.
    assert_eq!(record["verdict"], "conformant", "{said}");
    let chaos = record["chaos"].as_array().expect("chaos");
    // One of which nothing is left is not disturbed further.
    let is_whole = |own: &Value| {
        let has_lost = own["findings"].as_array().is_some_and(|findings| !findings.is_empty());
        let why = own["hindered"].as_str();
        why.is_none_or(|why| has_lost && why.starts_with("no call of the last disturbance was answered"))
    };
    assert!(!chaos.is_empty() && chaos.iter().all(is_whole), "{chaos:?}");
    let findings = chaos.iter().flat_map(|own| own["findings"].as_array().expect("findings"));
    let findings: Vec<&Value> = findings.collect();
    assert_eq!(code, i32::from(!findings.is_empty()), "{said}");
    let kinds = findings.iter().map(|own| own["kind"].as_str().expect("a kind").to_owned());
    kinds.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

#[test]
fn a_ledger_with_claims_that_end_and_one_outcome_holds() {
    assert_eq!(found_with(&Home::new(), SEEDS[0], "", ("", &[])), [""; 0]);
}

#[test]
fn a_connection_that_is_lost_with_a_node_and_not_made_again_loses_what_follows() {
    let check = |fault: &str, further: &[&str], is_lost: bool| {
        let home = Home::new();
        let nodes = three_nodes(&home);
        let kinds = found_with(&home, SEEDS[0], fault, (&nodes, further));
        assert_eq!(kinds.contains(&"lost".to_owned()), is_lost, "{fault}: {kinds:?}");
    };
    check("", &[], false);
    // Each call is waited for a fifth as long.
    check("no-reconnect", &["--timeout-scale", "0.2"], true);
}

#[test]
fn what_is_claimed_for_ever_is_lost_with_who_claimed_it() {
    // Each call is waited for a fifth as long.
    assert_eq!(found("no-lease", &["--timeout-scale", "0.2"]), ["lost"]);
}

#[test]
fn what_is_counted_before_it_is_done_is_counted_twice() {
    assert_eq!(found("counts-first", &[]), ["twice"]);
}

#[test]
fn an_outcome_that_is_stored_over_another_one_is_done_twice() {
    assert_eq!(found("no-fence", &[]), ["twice"]);
}

#[test]
fn one_alone_and_the_reference_in_this_process_are_not_disturbed() {
    let home = Home::new();
    let (code, said) = chaos(&home, &service("", &[]));
    assert_eq!(code, 2, "{said}");
    assert!(super::unwrapped(&said).contains("several replicas that the suite starts"), "{said}");
    assert!(!home.path().join("out").exists());
}
