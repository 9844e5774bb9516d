//! Targets as they are deployed: behind TLS, a certificate of the client, headers and tokens.

pub(crate) mod authority;
mod bus_replicas;
mod chaos;
mod chaos_hub;
mod chaos_toolbus;
mod consent;
mod credentials;
mod gateway;
mod in_flight;
mod intercepted;
mod interrupted;
mod manners;
pub(crate) mod nats;
#[cfg(feature = "postgres")]
mod on_postgres;
mod over_https;
mod parties;
mod prefixed;
mod replicas;
mod secrets;
mod streams;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use authority::Authority;
use gateway::{Asked, Decision, Gateway};

use crate::pages::served::Served;

/// The secret with which `callmark serve hub` is started.
const HUB_SECRET: &str = "try-me";
/// A token that the gateway wants.
const TOKEN: &str = "t0ken-of/Staging+42";
/// A header that a gateway wants.
const TENANT: &str = "orchid-tenant-7";
/// The secret of a client at an authorization server.
const CLIENT_SECRET: &str = "a-Secret/42";

/// The Hub's manifest, as it is for a Hub without TLS.
fn hub(base_url: &str) -> String {
    format!(
        "[target]\nname = \"deployed\"\n[hub]\nbase_url = \"{base_url}\"\nsecret_env = \"HUB_SECRET\"\n\
         [hub.customers]\n\
         connected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n\
         not_connected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0002\"\n"
    )
}

/// The Hub's manifest without a secret of its own.
fn hub_with_token(base_url: &str) -> String {
    hub(base_url).replace("secret_env = \"HUB_SECRET\"\n", "")
}

/// An MCP server that runs already.
fn toolbus(url: &str) -> String {
    format!(
        "[target]\nname = \"deployed\"\n[toolbus]\nurl = \"{url}\"\n[toolbus.probes.echo]\ntool = \"probe_echo\"\n\
         arguments = {{ value = \"{{value}}\" }}\n[toolbus.probes.fail]\ntool = \"probe_fail\"\n"
    )
}

struct Home {
    directory: tempfile::TempDir,
    authority: Authority,
}

impl Home {
    /// A directory with the certificate of an authority.
    fn new() -> Self {
        let home = Self {
            directory: tempfile::tempdir().expect("a directory"),
            authority: Authority::new("Orchid Staging CA"),
        };
        home.authority.write(&home.path().join("staging-ca.pem"));
        home
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// TLS of a server that has a certificate for `localhost`.
    fn server(&self) -> Arc<tokio_rustls::rustls::ServerConfig> {
        self.authority.identity(&["localhost"], true).server(None)
    }

    /// Runs a command with this manifest; its exit code, and what it said.
    fn run(&self, command: &[&str], manifest: &str) -> (i32, String) {
        self.run_with(command, manifest, &[])
    }

    /// As [`Home::run`], with further variables.
    fn run_with(&self, command: &[&str], manifest: &str, variables: &[(&str, &str)]) -> (i32, String) {
        std::fs::write(self.path().join("callmark.toml"), manifest).expect("a file");
        let output = Command::new(crate::support::program())
            .args(command)
            .args(["--target", "callmark.toml"])
            .current_dir(self.path())
            .env("HUB_SECRET", HUB_SECRET)
            .env("STAGING_TOKEN", TOKEN)
            .env("TENANT", TENANT)
            .env("CLIENT_ID", "an-id")
            .env("CLIENT_SECRET", CLIENT_SECRET)
            .env("NATS_USER", nats::USER)
            .env("NATS_PASSWORD", nats::PASSWORD)
            .env("NATS_TOKEN", nats::NATS_TOKEN)
            .env_remove("SSL_CERT_FILE")
            .envs(variables.iter().copied())
            .output()
            .expect("the binary runs");
        let [out, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        // Shown if the test fails: while a run of another test is under way, panics are not printed.
        println!("{}\n{out}{errors}", output.status);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
        (output.status.code().expect("an exit code"), format!("{out}{errors}").lines().map(words).collect())
    }

    /// Certifies; whatever comes of it, no secret of the test is written.
    fn certify(&self, manifest: &str) -> (i32, String) {
        let ran = self.run(&["certify", "--out", "out"], manifest);
        self.hides_all(&ran.1);
        ran
    }

    /// The doctor ends with 3 and says this.
    fn doctor_says(&self, manifest: &str, expect: &[&str]) {
        let (code, said) = self.run(&["doctor", "--timeout-scale", "0.2"], manifest);
        assert_eq!(code, 3, "{said}");
        for part in expect {
            assert!(unwrapped(&said).contains(part), "`{part}` is not in\n{said}");
        }
    }

    /// What `member` of the record counts.
    fn failed(&self) -> usize {
        let record = std::fs::read(self.path().join("out/run.json")).expect("a record");
        let record: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
        let rules = record["rules"].as_array().expect("rules");
        rules
            .iter()
            .filter(|rule| ["failed", "warned"].contains(&rule["outcome"].as_str().unwrap_or("")))
            .count()
    }
}

/// What was said, without the line breaks of messages that are too long for one line.
pub(crate) fn unwrapped(said: &str) -> String {
    said.replace("\n│ ", " ")
}

/// Whether a request has this header with this value.
fn has(asked: &Asked, name: &str, value: &str) -> bool {
    asked.headers.get(name).is_some_and(|own| own == value)
}

/// What a gateway says to whom it does not let in.
fn unauthorized(challenge: &str) -> Decision {
    Decision::Answer(401, ("www-authenticate", challenge.to_owned()), "no entry".to_owned())
}

/// Lets in who has the token, and speaks to the Hub with the Hub's own secret.
fn exchange(asked: &mut Asked, token: &str) -> Decision {
    if !has(asked, "authorization", &format!("Bearer {token}")) {
        return unauthorized("Bearer error=\"invalid_token\"");
    }
    asked.headers.insert("authorization".to_owned(), format!("ServiceSecret {HUB_SECRET}"));
    Decision::Pass
}

#[test]
fn a_hub_behind_tls_and_a_header_is_certified() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let gateway = Gateway::start(Some(home.server()), &served.address, |asked| {
        if has(asked, "x-tenant", "orchid-tenant-7") {
            Decision::Pass
        } else {
            Decision::Answer(403, ("content-type", "text/html".to_owned()), "no tenant".to_owned())
        }
    });
    let plain = hub(&format!("http://{}", served.address));
    let (code, said) = home.certify(&plain);
    assert_eq!(code, 0, "{said}");
    let lines = "[target.tls]\nca = \"staging-ca.pem\"\n[target.http]\nheaders = { X-Tenant = { env = \"TENANT\" } }\n";
    let address = format!("https://localhost:{}", gateway.port());
    let encrypted = hub(&address).replace("[hub]\n", &format!("{lines}[hub]\n"));
    let (code, said) = home.certify(&encrypted);
    assert_eq!(code, 0, "{said}");
    home.hides(&said, &["orchid-tenant-7", HUB_SECRET]);
    // Without a header, TLS takes two lines.
    let without = "[target.tls]\nca = \"staging-ca.pem\"\n";
    home.doctor_says(&hub(&address).replace("[hub]\n", &format!("{without}[hub]\n")), &["!! hub"]);
}

#[test]
fn the_doctor_says_what_is_wrong_with_a_certificate() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let tls =
        |lines: &str, base: &str| hub(base).replace("[hub]\n", &format!("[target.tls]\n{lines}\n[hub]\n"));
    let trusted = "ca = \"staging-ca.pem\"";
    let gateway = Gateway::open(home.server(), &served.address);
    let [localhost, address] =
        ["localhost", "127.0.0.1"].map(|host| format!("https://{host}:{}", gateway.port()));
    let untrusted = "its certificate is of an issuer that is not trusted: `CN=localhost`, issued by `CN=Orchid Staging CA`";
    home.doctor_says(
        &hub(&localhost),
        &["!! hub.server reachability: ", untrusted, "`ca` under `[target.tls]`"],
    );
    home.doctor_says(
        &tls(trusted, &address),
        &["its certificate is for `localhost`, and not for `127.0.0.1`"],
    );
    let (code, said) =
        home.run(&["doctor"], &tls(&format!("{trusted}\nserver_name = \"localhost\""), &address));
    assert!(said.contains("ok hub distinguishes requests"), "{code} {said}");
    let expired = home.authority.identity(&["localhost"], false).server(None);
    let gateway = Gateway::open(expired, &served.address);
    let base = format!("https://localhost:{}", gateway.port());
    home.doctor_says(
        &tls(trusted, &base),
        &["a certificate of its chain expired at 2021-02-03T00:00:00Z: `CN=localhost`, issued by `CN=Orchid Staging CA`"],
    );
    home.doctor_says(
        &tls(trusted, &format!("https://{}", served.address)),
        &["it does not speak TLS at this port"],
    );
    // A run says the same, and calls nothing broken.
    let (code, said) = home.certify(&tls(trusted, &base));
    assert!(code == 3 && said.contains("expired at 2021-02-03"), "{code} {said}");
    assert_eq!(home.failed(), 0);
}

#[test]
fn a_certificate_of_the_client_is_shown() {
    let home = Home::new();
    let served = Served::start(&["toolbus"], "http://");
    let target = served.address.split_once('/').map_or(served.address.as_str(), |(address, _)| address);
    let identity = home.authority.identity(&["localhost"], true).server(Some(&home.authority));
    let gateway = Gateway::start(Some(identity), target, |asked| {
        if has(asked, "authorization", &format!("Bearer {TOKEN}")) {
            Decision::Pass
        } else {
            unauthorized("Bearer error=\"invalid_token\"")
        }
    });
    home.authority.identity(&["client"], true).write(home.path(), "client");
    Authority::new("Another").identity(&["stranger"], true).write(home.path(), "stranger");
    let url = format!("https://localhost:{}/mcp", gateway.port());
    let with = |lines: &str| {
        let lines = format!(
            "[target.tls]\nca = \"staging-ca.pem\"\n{lines}\n[target.http]\nbearer_env = \"STAGING_TOKEN\"\n[toolbus]\n"
        );
        toolbus(&url).replace("[toolbus]\n", &lines)
    };
    let (code, said) = home.certify(&with("certificate = \"client.pem\"\nkey = \"client.key\""));
    assert_eq!(code, 0, "{said}");
    home.hides(&said, &[TOKEN]);
    home.doctor_says(&with(""), &["it asks for a client's certificate (alert `CertificateRequired`)"]);
    home.doctor_says(
        &with("certificate = \"stranger.pem\"\nkey = \"stranger.key\""),
        &["!! toolbus.server reachability: ", "it refuses the client's certificate (alert `UnknownCA`)"],
    );
    home.doctor_says(
        &with("certificate = \"client.pem\"\nkey = \"stranger.key\""),
        &["the key of `[target.tls]` is not that of its `certificate`"],
    );
    home.doctor_says(
        &with("certificate = \"client.pem\"\nkey_env = \"NO_SUCH_KEY\""),
        &["the environment variable `NO_SUCH_KEY`, which `target.tls.key_env` names, is not set"],
    );
}

#[test]
fn a_hub_behind_tls_and_a_token_needs_three_lines_more() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let gateway = Gateway::start(Some(home.server()), &served.address, |asked| exchange(asked, TOKEN));
    let lines = "[target.tls]\nca = \"staging-ca.pem\"\n[target.http]\nbearer_env = \"STAGING_TOKEN\"\n";
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/certify-your-implementation.md");
    assert!(std::fs::read_to_string(page).expect("a page").contains(lines), "the page shows other lines");
    let base = format!("https://localhost:{}", gateway.port());
    let manifest = hub_with_token(&base).replace("[hub]\n", &format!("{lines}[hub]\n"));
    let plain = hub(&format!("http://{}", served.address));
    assert_eq!(manifest.lines().count(), plain.lines().count() + 3);
    let (code, said) = home.certify(&manifest);
    assert_eq!(code, 0, "{said}");
    home.hides(&said, &[TOKEN]);
    let other = manifest.replace("STAGING_TOKEN", "TENANT");
    home.doctor_says(&other, &["the token of `[target.http]` is refused (401, `invalid_token`)"]);
}

/// The authorization server of a test: it issues `token-1`, `token-2`, …, each good for so many requests.
#[derive(Default)]
struct Issuer {
    issued: AtomicUsize,
    used: AtomicUsize,
}

impl Issuer {
    /// Answers a request for a token, from a client with these credentials.
    fn issue(&self, asked: &Asked) -> Decision {
        let json = || ("content-type", "application/json".to_owned());
        // `an-id` and `a-Secret/42`, in base64.
        let is_known = has(asked, "authorization", "Basic YW4taWQ6YS1TZWNyZXQlMkY0Mg==")
            || asked.body.contains("client_id=an-id&client_secret=a-Secret%2F42");
        if !is_known {
            return Decision::Answer(401, json(), r#"{"error": "invalid_client"}"#.to_owned());
        }
        if !asked.body.contains("grant_type=client_credentials") || !asked.body.contains("scope=tools") {
            return Decision::Answer(400, json(), r#"{"error": "invalid_scope"}"#.to_owned());
        }
        self.used.store(0, Ordering::Relaxed);
        let number = self.issued.fetch_add(1, Ordering::Relaxed) + 1;
        let body =
            format!(r#"{{"access_token": "token-{number}", "token_type": "bearer", "expires_in": 3600}}"#);
        Decision::Answer(200, json(), body)
    }

    /// The token that is good now, for one request more.
    fn current(&self, uses: usize) -> String {
        let is_over = self.used.fetch_add(1, Ordering::Relaxed) >= uses;
        let issued = self.issued.load(Ordering::Relaxed);
        if is_over { "none".to_owned() } else { format!("token-{issued}") }
    }
}

const OAUTH: &str = "[target.tls]\nca = \"staging-ca.pem\"\n[target.http.oauth]\nclient_id_env = \"CLIENT_ID\"\n\
                     client_secret_env = \"CLIENT_SECRET\"\nscope = \"tools\"\n";

#[test]
fn a_token_is_got_and_renewed_in_mid_run() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let issuer = Arc::new(Issuer::default());
    let own = Arc::clone(&issuer);
    let issuing = Gateway::start(Some(home.server()), "", move |asked| own.issue(asked));
    let own = Arc::clone(&issuer);
    let gateway = Gateway::start(Some(home.server()), &served.address, move |asked| {
        let current = own.current(50);
        exchange(asked, &current)
    });
    let lines = format!("{OAUTH}token_url = \"https://localhost:{}/token\"\n[hub]\n", issuing.port());
    let base = format!("https://localhost:{}", gateway.port());
    let manifest = hub_with_token(&base).replace("[hub]\n", &lines);
    let (code, said) = home.certify(&manifest);
    assert_eq!(code, 0, "{said}");
    let count = issuer.issued.load(Ordering::Relaxed);
    assert!(count > 2, "{count}");
    home.hides(&said, &["a-Secret/42", "a-Secret%2F42", "token-1", "token-2"]);
    home.doctor_says(
        &manifest.replace("\"CLIENT_SECRET\"", "\"TENANT\""),
        &["/token`: it answers 401, invalid_client; check `client_id_env` and `client_secret_env`"],
    );
    home.doctor_says(
        &manifest.replace("\"tools\"", "\"more\""),
        &["it answers 400, invalid_scope; check `scope`"],
    );
    home.doctor_says(
        &manifest.replace("CLIENT_ID", "NO_SUCH_ID"),
        &["`NO_SUCH_ID`, which `target.http.oauth.client_id_env` names, is not set"],
    );
}

#[test]
fn a_token_that_comes_back_is_not_stored() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let issuer = Arc::new(Issuer::default());
    let own = Arc::clone(&issuer);
    let issuing = Gateway::start(Some(home.server()), "", move |asked| own.issue(asked));
    let (own, count) = (Arc::clone(&issuer), AtomicUsize::new(0));
    let gateway = Gateway::start(Some(home.server()), &served.address, move |asked| {
        let current = own.current(50);
        let is_let_in = has(asked, "authorization", &format!("Bearer {current}"));
        // Every third answer repeats what only the client and the authorization server may know.
        if is_let_in && count.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
            let json = ("content-type", "application/json".to_owned());
            return Decision::Answer(200, json, format!(r#"{{"success": true, "you": "{current}"}}"#));
        }
        exchange(asked, &current)
    });
    let lines = format!("{OAUTH}token_url = \"https://localhost:{}/token\"\n[hub]\n", issuing.port());
    let base = format!("https://localhost:{}", gateway.port());
    let (code, said) = home.certify(&hub_with_token(&base).replace("[hub]\n", &lines));
    assert_ne!(code, 0, "{said}");
    assert!(issuer.issued.load(Ordering::Relaxed) > 2, "{said}");
    home.hides(&said, &["token-1", "token-2", "token-3"]);
    let transcript = std::fs::read_to_string(home.path().join("out/transcript.jsonl")).expect("a transcript");
    assert!(transcript.contains("\"you\":\"***"), "{said}");
}

#[test]
fn an_mcp_server_says_who_issues_its_tokens() {
    let home = Home::new();
    let served = Served::start(&["toolbus"], "http://");
    let target = served.address.split_once('/').map_or(served.address.as_str(), |(address, _)| address);
    let issuer = Arc::new(Issuer::default());
    let json = || ("content-type", "application/json".to_owned());
    let own = Arc::clone(&issuer);
    let issuing = Gateway::start(Some(home.server()), "", move |asked| match asked.path.as_str() {
        "/.well-known/oauth-authorization-server/tenant" => {
            let host = &asked.headers["host"];
            Decision::Answer(200, json(), format!(r#"{{"token_endpoint": "https://{host}/tenant/token"}}"#))
        }
        "/tenant/token" if asked.body.contains("resource=https%3A%2F%2Fmcp.example") => own.issue(asked),
        _ => Decision::Answer(404, json(), "{}".to_owned()),
    });
    let at = format!("https://localhost:{}/tenant", issuing.port());
    let own = Arc::clone(&issuer);
    let gateway = Gateway::start(Some(home.server()), target, move |asked| match asked.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => {
            let body = format!(r#"{{"resource": "https://mcp.example", "authorization_servers": ["{at}"]}}"#);
            Decision::Answer(200, json(), body)
        }
        _ if has(asked, "authorization", &format!("Bearer {}", own.current(100))) => Decision::Pass,
        _ => unauthorized("Bearer"),
    });
    let url = format!("https://localhost:{}/mcp", gateway.port());
    let manifest = toolbus(&url).replace("[toolbus]\n", &format!("{OAUTH}[toolbus]\n"));
    let (code, said) = home.certify(&manifest);
    assert_eq!(code, 0, "{said}");
    assert!(issuer.issued.load(Ordering::Relaxed) > 1);
    home.hides(&said, &["a-Secret/42", "token-1"]);
    let silent = Gateway::start(Some(home.server()), target, |_| unauthorized("Bearer"));
    let url = format!("https://localhost:{}/mcp", silent.port());
    home.doctor_says(
        &toolbus(&url).replace("[toolbus]\n", &format!("{OAUTH}[toolbus]\n")),
        &[
            "the target asks for a token and does not say who issues it",
            "name where tokens are issued by `token_url`",
        ],
    );
}
