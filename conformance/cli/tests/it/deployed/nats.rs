//! NATS as it is run: TLS, a certificate of the client, users and tokens, on a real server.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::authority::Authority;
use base64::Engine as _;

use super::{Home, unwrapped};
use crate::port;

/// As whom the suite connects, and with which password.
pub(crate) const USER: &str = "suite-of-Orchid";
pub(crate) const PASSWORD: &str = "p4ss/of+the-suite";
/// A token in place of both.
pub(crate) const NATS_TOKEN: &str = "t0ken-of.the-bus_42";
/// With whom the service connects, which is not what is tried here.
const SERVICE: &str = "service:its-own-password";

const DEADLINE: Duration = Duration::from_secs(20);

/// The `nats-server` of these tests.
pub(super) fn program() -> PathBuf {
    std::env::var_os("NATS_SERVER_BIN").map_or_else(|| PathBuf::from("nats-server"), PathBuf::from)
}

/// Its major and minor version.
pub(crate) fn version() -> [u32; 2] {
    let output = Command::new(program()).arg("--version").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let numbers = said.trim().rsplit('v').next().expect("a version").split('.');
    let numbers: Vec<u32> = numbers.take(2).map(|number| number.parse().expect("a number")).collect();
    numbers.try_into().expect("two numbers")
}

/// A `nats-server`; it ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    /// Starts it with this configuration beside address and port.
    pub(crate) fn start(home: &Path, config: &str) -> Self {
        let binary = program();
        let (file, ports) = (home.join("nats.conf"), home.join("ports"));
        std::fs::create_dir_all(&ports).expect("a directory");
        let text = format!("listen: \"127.0.0.1:-1\"\nports_file_dir: \"{}\"\n{config}", ports.display());
        std::fs::write(&file, text).expect("a file");
        let log = std::fs::File::create(home.join("nats.log")).expect("a file");
        let child = Command::new(&binary)
            .arg("-c")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{} (`ci/setup` installs it): {error}", binary.display()));
        let port = port(&ports.join(format!("nats-server_{}.ports", child.id())), home);
        Self { child, port }
    }

    /// A Tool Service, as it would run beside the server: the example's, which connects without TLS.
    pub(crate) fn service(&self, login: &str) -> Service {
        self.service_with(&format!("{login}@"), &[])
    }

    /// As [`Server::service`], with further variables.
    fn service_with(&self, login: &str, variables: &[(&str, String)]) -> Service {
        self.python(&[&examples().join("tool_service.py")], login, variables)
    }

    /// A Tool Service that pulls its commands from the stream.
    pub(crate) fn pulling_service(&self) -> Service {
        self.python(&[&pulling(), &examples()], "", &[])
    }

    /// A program in Python that finds the server as a started target does.
    pub(crate) fn python(&self, arguments: &[&Path], login: &str, variables: &[(&str, String)]) -> Service {
        let child = Command::new("python3")
            .args(arguments)
            .env("CALLMARK_NATS_URL", format!("nats://{login}127.0.0.1:{}", self.port))
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Python with `nats-py` (`ci/setup` installs it)");
        Service(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the example of a Tool Service is.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python")
}

/// The program that has it pull its commands.
pub(crate) fn pulling() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/deployed/pulling.py")
}

/// A Tool Service; it ends with the test.
pub(crate) struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The port in the file that a server writes once it listens.
fn port(file: &Path, home: &Path) -> u16 {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let ports: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(url) = ports["nats"][0].as_str() {
            return url.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
        }
        let log = || std::fs::read_to_string(home.join("nats.log")).unwrap_or_default();
        assert!(began.elapsed() < DEADLINE, "nats-server does not listen: {}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn probe(name: &str) -> String {
    format!(
        "[utp.tool-service.probes.{name}]\ntool_name = \"probe.{name}\"\n\
         target_subject = \"cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.tides.probe.{name}\"\n"
    )
}

/// The manifest of a Tool Service that runs already.
pub(crate) fn manifest(tls: &str, utp: &str) -> String {
    format!(
        "[target]\nname = \"deployed\"\n{tls}[utp]\n{utp}{}result_pointer = \"/echo\"\n{}",
        probe("echo"),
        probe("fail")
    )
}

/// TLS for a server, and plain connections for the service, which has no TLS of its own.
fn tls(home: &Home, verify: bool) -> String {
    home.authority.identity(&["localhost"], true).write(home.path(), "server");
    let file = |name: &str| home.path().join(name).display().to_string();
    format!(
        "allow_non_tls: true\ntls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: {verify} }}\n",
        file("server.pem"),
        file("server.key"),
        file("staging-ca.pem")
    )
}

fn users() -> String {
    let (user, password) = SERVICE.split_once(':').expect("a password");
    format!(
        "authorization {{ users: [ {{ user: {USER:?}, password: {PASSWORD:?} }}, {{ user: {user:?}, password: {password:?} }} ] }}\n"
    )
}

const LOGIN: &str = "user_env = \"NATS_USER\"\npassword_env = \"NATS_PASSWORD\"\n";
const TRUST: &str = "[target.tls]\nca = \"staging-ca.pem\"\n";

#[test]
fn a_server_with_tls_and_users_is_reached() {
    let home = Home::new();
    let server = Server::start(home.path(), &format!("{}{}", tls(&home, false), users()));
    let _service = server.service(SERVICE);
    let nats = format!("nats = \"tls://localhost:{}\"\n", server.port);
    let (code, said) = home.certify(&manifest(TRUST, &format!("{nats}{LOGIN}")));
    assert_eq!(code, 0, "{said}");
    assert_eq!(home.failed(), 0, "{said}");
    home.hides(&said, &[PASSWORD]);
    // The certificate is for `localhost`.
    let other = format!("nats = \"tls://127.0.0.1:{}\"\n", server.port);
    home.doctor_says(
        &manifest(TRUST, &format!("{other}{LOGIN}")),
        &["its certificate is for `localhost`, and not for `127.0.0.1`"],
    );
    let named = format!("{TRUST}server_name = \"localhost\"\n");
    let (code, said) = home.run(&["doctor"], &manifest(&named, &format!("{other}{LOGIN}")));
    assert_eq!(code, 0, "{said}");
    home.doctor_says(
        &manifest("", &format!("{nats}{LOGIN}")),
        &["its certificate is of an issuer that is not trusted", "Orchid Staging CA", "`ca` under"],
    );
    home.doctor_says(&manifest(TRUST, &nats), &["it does not let this user in", "`user_env`"]);
    let unset = LOGIN.replace("NATS_PASSWORD", "NO_SUCH_VARIABLE");
    home.doctor_says(
        &manifest(TRUST, &format!("{nats}{unset}")),
        &["`utp.password_env` names the environment variable `NO_SUCH_VARIABLE`, which is not set"],
    );
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_one() {
    let home = Home::new();
    let server = Server::start(home.path(), &format!("{}{}", tls(&home, true), users()));
    let _service = server.service(SERVICE);
    home.authority.identity(&["suite"], true).write(home.path(), "client");
    let utp = format!("nats = \"tls://localhost:{}\"\n{LOGIN}", server.port);
    let own = format!("{TRUST}certificate = \"client.pem\"\nkey = \"client.key\"\n");
    let (code, said) = home.certify(&manifest(&own, &utp));
    assert_eq!(code, 0, "{said}");
    home.hides(&said, &[PASSWORD, "PRIVATE KEY"]);
    home.doctor_says(
        &manifest(TRUST, &utp),
        &["cannot connect to the broker", "it asks for a client's certificate"],
    );
    Authority::new("Somebody Else").identity(&["suite"], true).write(home.path(), "stranger");
    let strange = own.replace("client.", "stranger.");
    home.doctor_says(&manifest(&strange, &utp), &["it refuses the client's certificate"]);
}

#[test]
fn an_expired_certificate_is_named() {
    let home = Home::new();
    let config = tls(&home, false);
    home.authority.identity(&["localhost"], false).write(home.path(), "server");
    let server = Server::start(home.path(), &config);
    let utp = format!("nats = \"tls://localhost:{}\"\n", server.port);
    home.doctor_says(&manifest(TRUST, &utp), &["a certificate of its chain expired at 2021-02-03"]);
}

#[test]
fn a_server_with_a_token_is_reached() {
    let home = Home::new();
    let server = Server::start(home.path(), &format!("authorization {{ token: {NATS_TOKEN:?} }}\n"));
    let _service = server.service(NATS_TOKEN);
    let nats = format!("nats = \"nats://127.0.0.1:{}\"\n", server.port);
    let (code, said) = home.certify(&manifest("", &format!("{nats}token_env = \"NATS_TOKEN\"\n")));
    assert_eq!(code, 0, "{said}");
    home.hides(&said, &[NATS_TOKEN]);
    home.doctor_says(&manifest("", &nats), &["it does not let this user in"]);
    let wrong = "token_env = \"HUB_SECRET\"\n";
    home.doctor_says(&manifest("", &format!("{nats}{wrong}")), &["it does not let this user in"]);
}

#[test]
fn a_login_for_a_broker_of_the_suite_and_half_a_login_are_faults_of_the_manifest() {
    let home = Home::new();
    let says = |utp: &str, expect: &str| {
        let (code, said) = home.run(&["doctor"], &manifest("", utp));
        assert!(code == 2 && unwrapped(&said).contains(expect), "{code} {said}");
    };
    says("nats = \"embedded\"\ntoken_env = \"NATS_TOKEN\"\n", "is for the server of a URL");
    says("nats = \"nats://h:1\"\nuser_env = \"NATS_USER\"\n", "belong together");
    says(&format!("nats = \"nats://h:1\"\n{LOGIN}token_env = \"NATS_TOKEN\"\n"), "exclude each other");
    says("nats = \"https://h:1\"\n", "or `tls://h:1`?");
    says("nats = [\"nats://h:1\", \"wss://h:1\"]\n", "over WebSocket beside others");
    says("nats = [\"nats://u:hush-1@h:1\", \"nats://v:hush-2@h:1\"]\n", "different credentials");
}

/// A JWT of NATS: claims, signed by a key.
fn jwt(signer: &nkeys::KeyPair, subject: &nkeys::KeyPair, claims: &serde_json::Value) -> String {
    let encoded = |bytes: &[u8]| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let header = encoded(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let body = serde_json::json!({
        "jti": subject.public_key(), "iat": 1_700_000_000, "iss": signer.public_key(), "name": "orchid",
        "sub": subject.public_key(), "nats": claims,
    });
    let content = format!("{header}.{}", encoded(body.to_string().as_bytes()));
    let signature = signer.sign(content.as_bytes()).expect("a signature");
    format!("{content}.{}", encoded(&signature))
}

/// A file as `nsc` writes it, and the lines of it that are secret.
fn credentials(account: &nkeys::KeyPair) -> (String, [String; 2]) {
    let user = nkeys::KeyPair::new_user();
    let claims = serde_json::json!({"type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1});
    let (jwt, seed) = (jwt(account, &user, &claims), user.seed().expect("a seed"));
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    (text, [jwt, seed])
}

#[test]
fn a_server_in_operator_mode_is_reached_with_a_file_of_credentials() {
    let home = Home::new();
    let (operator, account, other) =
        (nkeys::KeyPair::new_operator(), nkeys::KeyPair::new_account(), nkeys::KeyPair::new_account());
    let limits = serde_json::json!({"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1});
    let of_account = serde_json::json!({"type": "account", "version": 2, "limits": limits});
    let neighbour = nkeys::KeyPair::new_account();
    let own = jwt(&operator, &operator, &serde_json::json!({"type": "operator", "version": 2}));
    let known = [&account, &neighbour]
        .map(|account| format!("{}: {}", account.public_key(), jwt(&operator, account, &of_account)));
    let config = format!("operator: {own}\nresolver: MEMORY\nresolver_preload {{ {} }}\n", known.join("\n"));
    let server = Server::start(home.path(), &config);
    let file = home.path().join("service.creds");
    std::fs::write(&file, credentials(&account).0).expect("a file");
    let _service = server.service_with("", &[("NATS_CREDS", file.display().to_string())]);
    let (text, secrets) = credentials(&account);
    std::fs::write(home.path().join("suite.creds"), text).expect("a file");
    let utp = format!("nats = \"nats://127.0.0.1:{}\"\ncredentials = \"suite.creds\"\n", server.port);
    let (code, said) = home.certify(&manifest("", &utp));
    assert_eq!(code, 0, "{said}");
    home.hides(&said, &[&secrets[0], &secrets[1]]);
    std::fs::write(home.path().join("suite.creds"), credentials(&other).0).expect("a file");
    home.doctor_says(&manifest("", &utp), &["it does not let this user in"]);
    std::fs::write(home.path().join("suite.creds"), "nothing of the kind").expect("a file");
    home.doctor_says(&manifest("", &utp), &["`utp.credentials` is", "which cannot be used"]);
    // A user of another account is let in, and meets nobody there.
    std::fs::write(home.path().join("suite.creds"), credentials(&neighbour).0).expect("a file");
    let (code, said) = home.certify(&manifest("", &format!("{utp}start_timeout_seconds = 2\n")));
    assert_eq!((code, home.failed()), (3, 0), "{said}");
    assert!(unwrapped(&said).contains("both are users of the same account"), "{said}");
}

#[test]
fn a_server_that_knows_an_nkey_is_reached() {
    let home = Home::new();
    let own = nkeys::KeyPair::new_user();
    let (user, password) = SERVICE.split_once(':').expect("a password");
    let config = format!(
        "authorization {{ users: [ {{ nkey: {} }}, {{ user: {user:?}, password: {password:?} }} ] }}\n",
        own.public_key()
    );
    let server = Server::start(home.path(), &config);
    let _service = server.service(SERVICE);
    let utp = format!("nats = \"nats://127.0.0.1:{}\"\nnkey_env = \"NATS_NKEY\"\n", server.port);
    let seed = own.seed().expect("a seed");
    let certify = ["certify", "--out", "out"];
    let (code, said) = home.run_with(&certify, &manifest("", &utp), &[("NATS_NKEY", &seed)]);
    assert_eq!(code, 0, "{said}");
    home.hides(&said, &[&seed]);
    let (code, said) = home.run_with(&["doctor"], &manifest("", &utp), &[("NATS_NKEY", "SUnothing")]);
    assert!(code == 3 && unwrapped(&said).contains("holds no seed of an nkey"), "{code} {said}");
}

#[test]
fn what_the_broker_does_not_allow_is_no_fault_of_the_target() {
    for (denied, subject) in [
        ("publish: { deny: \"cg.>\" }", "Publish to \"cg.v1r3."),
        ("subscribe: { deny: \"l0.v1.>\" }", "Subscription to \"l0.v1."),
    ] {
        let home = Home::new();
        let (user, password) = SERVICE.split_once(':').expect("a password");
        let config = format!(
            "authorization {{ users: [ {{ user: {USER:?}, password: {PASSWORD:?}, permissions: {{ {denied} }} }}, \
             {{ user: {user:?}, password: {password:?} }} ] }}\n"
        );
        let server = Server::start(home.path(), &config);
        let _service = server.service(SERVICE);
        let utp = format!("nats = \"nats://127.0.0.1:{}\"\n{LOGIN}", server.port);
        let expect = ["does not let the suite's user do what it has to", subject];
        home.doctor_says(&manifest("", &utp), &expect);
        let (code, said) = home.certify(&manifest("", &utp));
        assert_eq!((code, home.failed()), (3, 0), "{said}");
        assert!(unwrapped(&said).contains(expect[0]), "{said}");
    }
}

/// A port of this machine where nobody listens.
pub(crate) fn nobody() -> u16 {
    port::reserved().port()
}

#[test]
fn the_first_server_that_answers_is_used() {
    let home = Home::new();
    let server = Server::start(home.path(), &users());
    let _service = server.service(SERVICE);
    let (gone, port) = (nobody(), server.port);
    let nats = format!("nats = [\"nats://127.0.0.1:{gone}\", \"nats://127.0.0.1:{port}\"]\n");
    let (code, said) = home.run(&["doctor"], &manifest("", &format!("{nats}{LOGIN}")));
    assert_eq!(code, 0, "{said}");
    let expect =
        format!("nats://127.0.0.1:{port} answers, of nats://127.0.0.1:{gone},nats://127.0.0.1:{port}");
    assert!(said.contains(&expect), "{said}");
    let (code, said) = home.certify(&manifest("", &format!("{nats}{LOGIN}")));
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    home.hides(&said, &[PASSWORD]);
    // Why none can be used is said of each.
    let expect =
        [format!("`nats://127.0.0.1:{gone}`: "), format!("`nats://127.0.0.1:{port}`: it does not let")];
    home.doctor_says(&manifest("", &nats), &expect.each_ref().map(String::as_str));
}

#[test]
fn another_server_takes_over() {
    let home = Home::new();
    let (routes, other) = (home.path().join("first"), home.path().join("second"));
    let cluster = nobody();
    let [first_dir, second_dir] = [&routes, &other];
    for directory in [first_dir, second_dir] {
        std::fs::create_dir_all(directory).expect("a directory");
    }
    let of = |name: &str, listen: &str, routes: &str| {
        format!(
            "server_name: {name}\ncluster {{ name: orchid, listen: \"{listen}\", routes: [{routes}] }}\n{}",
            users()
        )
    };
    let stays = Server::start(second_dir, &of("stays", &format!("127.0.0.1:{cluster}"), ""));
    let route = format!("\"nats-route://127.0.0.1:{cluster}\"");
    let goes = Server::start(first_dir, &of("goes", "127.0.0.1:-1", &route));
    let _service = stays.service(SERVICE);
    let nats = format!("nats = [\"nats://127.0.0.1:{}\", \"nats://127.0.0.1:{}\"]\n", goes.port, stays.port);
    // The server ends when so many commands have passed: in the middle of the run.
    let (user, password) = SERVICE.split_once(':').expect("a password");
    let port = stays.port;
    let ending = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let options =
                async_nats::ConnectOptions::with_user_and_password(user.to_owned(), password.to_owned());
            let client = options.connect(format!("nats://127.0.0.1:{port}")).await.expect("a connection");
            let mut commands = client.subscribe("cg.*.*.*.cmd.>").await.expect("a subscription");
            for _ in 0..40 {
                futures::StreamExt::next(&mut commands).await.expect("a command");
            }
        });
        drop(goes);
    });
    let (code, said) = home.certify(&manifest("", &format!("{nats}{LOGIN}")));
    ending.join().expect("forty commands");
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    assert!(said.contains("the connection to the broker was lost"), "{said}");
}

#[test]
fn a_server_behind_websockets_is_reached() {
    let home = Home::new();
    home.authority.identity(&["localhost"], true).write(home.path(), "server");
    let file = |name: &str| home.path().join(name).display().to_string();
    let web = nobody();
    let config = format!(
        "{}websocket {{ listen: \"127.0.0.1:{web}\", tls {{ cert_file: {:?}, key_file: {:?} }} }}\n",
        users(),
        file("server.pem"),
        file("server.key")
    );
    let server = Server::start(home.path(), &config);
    let _service = server.service(SERVICE);
    let utp = format!("nats = \"wss://localhost:{web}\"\n{LOGIN}");
    let (code, said) = home.certify(&manifest(TRUST, &utp));
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    home.hides(&said, &[PASSWORD]);
    home.doctor_says(&manifest("", &utp), &["its certificate is of an issuer that is not trusted"]);
}
