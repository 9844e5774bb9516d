//! `[target]`: who the target is, and what all of its addresses ask of a client: TLS, headers, a token.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::manifest::headers;

/// Hosts of this machine, to which a secret may go in the clear.
const LOCAL: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// `[target]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetTable {
    /// Name in reports.
    pub name: String,
    /// Version in reports.
    #[serde(default)]
    pub version: String,
    /// Whether the suite is the proxy of what it starts, and plays hosts that this has compiled in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub intercept: bool,
    /// Whether the addresses of the suite that a started target is given have TLS.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serve_tls: bool,
    /// For every address with TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsTable>,
    /// For every request over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpTable>,
    /// For what others use too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manners: Option<MannersTable>,
}

/// `[target.manners]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MannersTable {
    /// At most so many requests leave in a second.
    #[serde(default)]
    pub requests_per_second: Option<f64>,
    /// At most so many requests are on their way at a time.
    #[serde(default)]
    pub in_flight: Option<usize>,
    /// What ids, titles and subjects begin with that the suite makes up.
    #[serde(default)]
    pub prefix: String,
    /// Whether what was made is deleted, as far as the protocol can.
    #[serde(default)]
    pub clean_up: bool,
}

/// `[target.tls]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsTable {
    /// PEM file of issuers that are trusted beside those of the system.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate, and those of its issuers.
    #[serde(default)]
    pub certificate: Option<PathBuf>,
    /// PEM file of its key.
    #[serde(default)]
    pub key: Option<PathBuf>,
    /// The environment variable that holds the key, as PEM.
    #[serde(default)]
    pub key_env: Option<String>,
    /// The name that the target's certificate is for, where that is not the host of its address.
    #[serde(default)]
    pub server_name: Option<String>,
}

/// `[target.http]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTable {
    /// Headers of every request. Values are secrets and never stored.
    #[serde(default)]
    pub headers: BTreeMap<String, HeaderText>,
    /// The environment variable that holds a bearer token.
    #[serde(default)]
    pub bearer_env: Option<String>,
    /// Where bearer tokens come from.
    #[serde(default)]
    pub oauth: Option<OAuthTable>,
}

/// `[target.http.oauth]`: client credentials (RFC 6749, section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuthTable {
    /// Where tokens are issued; found by what the target says of itself when absent (RFC 9728, RFC 8414).
    #[serde(default)]
    pub token_url: Option<String>,
    /// The environment variable that holds the client's id.
    pub client_id_env: String,
    /// The environment variable that holds its secret.
    pub client_secret_env: String,
    /// What is asked for.
    #[serde(default)]
    pub scope: Option<String>,
}

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum HeaderText {
    /// As it is sent.
    Plain(String),
    /// The environment variable that holds it.
    Named(String),
}

impl TryFrom<Value> for HeaderText {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match (&value, value.get("env")) {
            (Value::String(text), _) => Ok(Self::Plain(text.clone())),
            (_, Some(Value::String(name))) => Ok(Self::Named(name.clone())),
            _ => Err("a header's value is a text or `{ env = \"NAME\" }`".to_owned()),
        }
    }
}

impl From<HeaderText> for Value {
    fn from(text: HeaderText) -> Self {
        match text {
            HeaderText::Plain(text) => text.into(),
            HeaderText::Named(name) => serde_json::json!({ "env": name }),
        }
    }
}

impl HeaderText {
    /// The value.
    ///
    /// # Errors
    /// The name of a variable that is not set.
    pub(crate) fn resolved(&self) -> Result<String, String> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Named(name) => variable(name).ok_or_else(|| name.clone()),
        }
    }
}

/// The value of an environment variable that holds something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl TargetTable {
    /// What ids, titles and subjects begin with that the suite makes up; mostly nothing.
    pub fn prefix(&self) -> &str {
        self.manners.as_ref().map_or("", |manners| &manners.prefix)
    }

    /// Whether what was made is deleted at the end of a run.
    pub fn cleans_up(&self) -> bool {
        self.manners.as_ref().is_some_and(|manners| manners.clean_up)
    }

    /// Whether requests carry a bearer token of the target.
    pub fn has_token(&self) -> bool {
        self.http.as_ref().is_some_and(|http| http.bearer_env.is_some() || http.oauth.is_some())
    }

    /// Values that must not be stored, as far as they are there.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let http = self.http.iter().flat_map(|http| {
            let headers = http.headers.values().filter_map(|text| text.resolved().ok());
            let oauth = http.oauth.iter().flat_map(|oauth| [&oauth.client_id_env, &oauth.client_secret_env]);
            headers.chain(http.bearer_env.iter().chain(oauth).filter_map(|name| variable(name)))
        });
        let key = self.tls.iter().filter_map(|tls| variable(tls.key_env.as_deref()?));
        http.chain(key).collect()
    }

    /// What the schema cannot say.
    pub(crate) fn contradictions(&self, starts_something: bool) -> Vec<String> {
        let mut faults = Vec::new();
        for (key, is_set) in [("intercept", self.intercept), ("serve_tls", self.serve_tls)] {
            if is_set && !starts_something {
                faults.push(format!(
                    "`target.{key}` is for what the suite starts, and the manifest starts nothing: only that can be \
                     given the certificate of the run; add a command line, or leave it out"
                ));
            }
        }
        if let Some(tls) = &self.tls {
            let has_key = tls.key.is_some() || tls.key_env.is_some();
            if tls.key.is_some() && tls.key_env.is_some() {
                faults.push("`target.tls` has both `key` and `key_env`: leave one out".to_owned());
            }
            if tls.certificate.is_some() != has_key {
                let missing = if has_key { "`certificate`" } else { "`key` or `key_env`" };
                faults.push(format!("`target.tls` has no {missing}: a client's certificate needs its key"));
            }
        }
        if let Some(http) = &self.http {
            if http.bearer_env.is_some() && http.oauth.is_some() {
                faults.push("`target.http` has both `bearer_env` and `oauth`: leave one out".to_owned());
            }
            if self.has_token() && http.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
            {
                faults.push(
                    "`target.http.headers` has `Authorization`, which `bearer_env` and `oauth` fill in: leave it out"
                        .to_owned(),
                );
            }
            faults.extend(headers::faults("target.http.headers", http.headers.keys()));
            let token_url = http.oauth.as_ref().and_then(|oauth| oauth.token_url.as_deref());
            if let Some(rest) = token_url.and_then(|url| url.strip_prefix("http://")) {
                let host = rest.split('/').next().unwrap_or_default();
                let is_local = LOCAL.iter().any(|local| {
                    host.strip_prefix(local).is_some_and(|port| port.is_empty() || port.starts_with(':'))
                });
                if !is_local {
                    faults.push(
                        "`target.http.oauth.token_url` is `http://`, and the client's secret would go there in the clear: \
                         use `https://`"
                            .to_owned(),
                    );
                }
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::engine::manifest::Manifest;

    fn check(text: &str, expect: &[&str]) {
        let text = format!("[target]\nname = \"a\"\n{text}");
        let faults = Manifest::parse("callmark.toml", &text, Path::new("."))
            .err()
            .map(|error| error.faults)
            .unwrap_or_default();
        assert_eq!(faults.len(), expect.len(), "{faults:?}");
        for (fault, expect) in faults.iter().zip(expect) {
            assert!(fault.contains(expect), "{fault}");
        }
    }

    #[test]
    fn what_a_client_cannot_do_is_a_fault() {
        check(
            "[target.tls]\nca = \"ca.pem\"\n[target.http]\nheaders = { X-A = \"b\", X-C = { env = \"D\" } }\n",
            &[],
        );
        check("[target.tls]\ncertificate = \"c.pem\"\n", &["no `key` or `key_env`"]);
        check("[target.tls]\nkey = \"k.pem\"\n", &["no `certificate`"]);
        check(
            "[target.tls]\ncertificate = \"c\"\nkey = \"k\"\nkey_env = \"K\"\n",
            &["both `key` and `key_env`"],
        );
        check("[target.http]\nheaders = { \"X A\" = \"b\" }\n", &["no name of a header"]);
        check(
            "[target.http]\nheaders = { content-length = \"3\" }\n",
            &["`content-length` in `target.http.headers`"],
        );
        check("[target.http]\nbearer_env = \"T\"\nheaders = { authorization = \"b\" }\n", &["leave it out"]);
        let oauth = |url: &str| {
            format!(
                "[target.http.oauth]\ntoken_url = \"{url}\"\nclient_id_env = \"I\"\nclient_secret_env = \"S\"\n"
            )
        };
        check(&oauth("https://id.example/token"), &[]);
        check(&oauth("http://127.0.0.1:9000/token"), &[]);
        check(&oauth("http://127.0.0.1.example/token"), &["in the clear"]);
        check(
            &format!("[target.http]\nbearer_env = \"T\"\n{}", oauth("https://id.example/token")),
            &["both"],
        );
    }

    #[test]
    fn only_what_is_started_can_be_intercepted() {
        let hub = "secret = \"hush\"\nbase_url = \"http://127.0.0.1:1\"\n";
        check(&format!("intercept = true\n[hub]\nstart = [\"hub\"]\n{hub}"), &[]);
        check(
            &format!("intercept = true\nserve_tls = true\n[hub]\n{hub}"),
            &["`target.intercept`", "`target.serve_tls`"],
        );
        check(&format!("intercept = false\n[hub]\n{hub}"), &[]);
    }

    #[test]
    fn verification_cannot_be_turned_off() {
        check("[target.tls]\ninsecure = true\n", &["unknown key `target.tls.insecure`"]);
        check("[target.tls]\nverify = false\n", &["unknown key `target.tls.verify`"]);
    }
}
