//! What a row says about its upstream: the `jina` namespace and `envs` of its `options` (Guide §4), and the allow-list.
//!
//! Pure. The allow-list is checked on the address as the URL parser reads it, which is also the one that is asked:
//! there is no second reading of it that could differ.

use std::collections::BTreeMap;

use hyper::Method;
use serde_json::{Map, Value, json};
use url::Url;

use crate::utp::message::ErrorCode;
use crate::utp::tool_service::ToolFailure;

/// The one host of mode `search`.
pub const SEARCH_HOST: &str = "s.jina.ai";
/// The one host of mode `reader`.
pub const READER_HOST: &str = "r.jina.ai";

/// The variable of the key where the row names none.
const DEFAULT_KEY: &str = "JINA_API_KEY";

/// What the upstream is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Search,
    Reader,
}

impl Mode {
    const ALL: [Self; 2] = [Self::Search, Self::Reader];

    fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Reader => "reader",
        }
    }

    fn host(self) -> &'static str {
        match self {
            Self::Search => SEARCH_HOST,
            Self::Reader => READER_HOST,
        }
    }
}

/// Which variable holds the key, and whether the row insists on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyVariable {
    pub(super) name: String,
    pub(super) is_named: bool,
}

/// A row's options, checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JinaOptions {
    pub(super) mode: Mode,
    pub(super) method: Method,
    /// An address on the allow-list, base and path joined.
    pub(super) address: Url,
    pub(super) key: KeyVariable,
    /// Parameter to variable.
    pub(super) envs: BTreeMap<String, String>,
}

impl JinaOptions {
    /// Reads the `options` of a row.
    pub(super) fn read(options: &Value) -> Result<Self, ToolFailure> {
        let Some(Value::Object(jina)) = options.get("jina") else {
            return Err(misconfigured("options.jina", "the tool has no `options.jina`"));
        };
        let base_url = text(jina, "base_url")?;
        let base = base_url.map(allowed).transpose()?;
        let mode = mode(text(jina, "mode")?, base.as_ref())?;
        let base = match base {
            Some(base) if base.host_str() == Some(mode.host()) => base,
            Some(_) => {
                let message = format!("`base_url` is not for mode `{}`", mode.name());
                return Err(misconfigured("options.jina.base_url", message));
            }
            None => allowed(&format!("https://{}", mode.host()))?,
        };
        let key = match text(jina, "auth_env")? {
            Some(name) => KeyVariable { name: name.to_owned(), is_named: true },
            None => KeyVariable { name: DEFAULT_KEY.to_owned(), is_named: false },
        };
        Ok(Self {
            mode,
            method: method(text(jina, "method")?)?,
            address: joined(base, text(jina, "path")?)?,
            key,
            envs: envs(options.get("envs"))?,
        })
    }
}

/// Checks an address against the allow-list: HTTPS, one of the two hosts, nothing around them.
fn allowed(address: &str) -> Result<Url, ToolFailure> {
    let url = Url::parse(address).ok().filter(|url| {
        url.scheme() == "https"
            && Mode::ALL.iter().any(|mode| url.host_str() == Some(mode.host()))
            && url.port().is_none()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    // The address itself is not repeated: it may hold a secret that does not belong there.
    url.ok_or_else(|| {
        misconfigured("options.jina.base_url", "`base_url` is not on the list of allowed hosts")
    })
}

fn mode(named: Option<&str>, base: Option<&Url>) -> Result<Mode, ToolFailure> {
    let found = match (named, base) {
        (Some(name), _) => Mode::ALL.into_iter().find(|mode| mode.name() == name),
        (None, Some(base)) => Mode::ALL.into_iter().find(|mode| base.host_str() == Some(mode.host())),
        (None, None) => None,
    };
    found.ok_or_else(|| misconfigured("options.jina.mode", "`mode` is neither `search` nor `reader`"))
}

fn method(named: Option<&str>) -> Result<Method, ToolFailure> {
    match named.unwrap_or("GET").to_ascii_uppercase().as_str() {
        "GET" => Ok(Method::GET),
        "POST" => Ok(Method::POST),
        "PUT" => Ok(Method::PUT),
        "PATCH" => Ok(Method::PATCH),
        _ => Err(misconfigured("options.jina.method", "`method` is none of GET, POST, PUT and PATCH")),
    }
}

fn joined(base: Url, path: Option<&str>) -> Result<Url, ToolFailure> {
    let mut url = base;
    if let Some(path) = path {
        let whole = format!("{}/{}", url.path().trim_end_matches('/'), path.trim_start_matches('/'));
        url.set_path(&whole);
    }
    // Setting a path leaves the host alone; the list is so short that asking once more costs nothing.
    allowed(url.as_str())
}

fn envs(envs: Option<&Value>) -> Result<BTreeMap<String, String>, ToolFailure> {
    let wrong = || misconfigured("options.envs", "`options.envs` does not map parameters to variables");
    match envs {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(envs)) => envs
            .iter()
            .map(|(parameter, variable)| {
                let variable = variable.as_str().filter(|name| !name.trim().is_empty()).ok_or_else(wrong)?;
                Ok((parameter.clone(), variable.to_owned()))
            })
            .collect(),
        Some(_) => Err(wrong()),
    }
}

/// A text member; blank and `null` are as good as absent.
fn text<'a>(jina: &'a Map<String, Value>, member: &str) -> Result<Option<&'a str>, ToolFailure> {
    match jina.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(_) => Err(misconfigured(&format!("options.jina.{member}"), format!("`{member}` is not a text"))),
    }
}

fn misconfigured(field: &str, message: impl Into<String>) -> ToolFailure {
    ToolFailure::new(ErrorCode::BadRequest, message)
        .with_detail(json!({"field": field, "allowed_hosts": [SEARCH_HOST, READER_HOST]}))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{JinaOptions, allowed};

    #[test]
    fn two_hosts_are_allowed_and_nothing_like_them() {
        fn check(address: &str, expect: bool) {
            assert_eq!(allowed(address).is_ok(), expect, "{address}");
        }
        check("https://s.jina.ai", true);
        check("https://r.jina.ai/", true);
        check("https://S.JINA.AI:443/base", true);
        // A backslash is a slash: what is asked is still the allowed host.
        check("https://s.jina.ai\\@evil.test", true);
        check("http://s.jina.ai", false);
        check("ftp://s.jina.ai", false);
        check("https://s.jina.ai:8443", false);
        check("https://s.jina.ai.", false);
        check("https://s.jina.ai.evil.test", false);
        check("https://s.jina.ai@evil.test", false);
        check("https://user@s.jina.ai", false);
        check("https://:word@s.jina.ai", false);
        check("https://evil.test/s.jina.ai", false);
        check("https://evil.test#s.jina.ai", false);
        check("https://api.jina.ai", false);
        check("https://jina.ai", false);
        check("https://xs.jina.ai", false);
        check("https://ѕ.jina.ai", false);
        check("https://s.jina.ai/?q=x", false);
        check("https://127.0.0.1", false);
        check("s.jina.ai", false);
        check("", false);
    }

    #[test]
    fn options_are_read_or_the_field_is_named() {
        fn check(options: &Value, expect: Result<&str, &str>) {
            let read = JinaOptions::read(options);
            let found = match &read {
                Ok(options) => Ok(format!("{} {}", options.method, options.address)),
                Err(failure) => {
                    Err(failure.detail.as_ref().and_then(|detail| detail["field"].as_str()).unwrap_or("-"))
                }
            };
            assert_eq!(found.as_ref().map(String::as_str).map_err(|field| *field), expect, "{options}");
        }
        check(&json!({"jina": {"mode": "search"}}), Ok("GET https://s.jina.ai/"));
        check(&json!({"jina": {"mode": "reader"}, "envs": null}), Ok("GET https://r.jina.ai/"));
        check(&json!({"jina": {"base_url": "https://r.jina.ai"}}), Ok("GET https://r.jina.ai/"));
        check(
            &json!({"jina": {"mode": "search", "base_url": "https://s.jina.ai/a/", "path": "/v9", "method": "post"}}),
            Ok("POST https://s.jina.ai/a/v9"),
        );
        check(
            &json!({"jina": {"mode": "search", "path": "//evil.test/"}}),
            Ok("GET https://s.jina.ai/evil.test/"),
        );
        check(
            &json!({"jina": {"mode": "search", "path": "@evil.test"}}),
            Ok("GET https://s.jina.ai/@evil.test"),
        );
        check(&json!({}), Err("options.jina"));
        check(&json!({"jina": "search"}), Err("options.jina"));
        check(&json!({"jina": {}}), Err("options.jina.mode"));
        check(&json!({"jina": {"mode": "image"}}), Err("options.jina.mode"));
        check(&json!({"jina": {"mode": 1}}), Err("options.jina.mode"));
        check(&json!({"jina": {"mode": "search", "method": "TRACE"}}), Err("options.jina.method"));
        check(
            &json!({"jina": {"mode": "search", "base_url": "https://r.jina.ai"}}),
            Err("options.jina.base_url"),
        );
        check(&json!({"jina": {"mode": "search"}, "envs": {"key": 7}}), Err("options.envs"));
        check(&json!({"jina": {"mode": "search"}, "envs": ["KEY"]}), Err("options.envs"));
    }

    #[test]
    fn the_key_has_a_default_variable() {
        fn check(jina: &Value, name: &str, is_named: bool) {
            let key = JinaOptions::read(&json!({"jina": jina})).expect("options").key;
            assert_eq!((key.name.as_str(), key.is_named), (name, is_named));
        }
        check(&json!({"mode": "search"}), "JINA_API_KEY", false);
        check(&json!({"mode": "search", "auth_env": " "}), "JINA_API_KEY", false);
        check(&json!({"mode": "search", "auth_env": "ALT"}), "ALT", true);
        // What looks like a key in the options is not one.
        check(&json!({"mode": "search", "api_key": "literal"}), "JINA_API_KEY", false);
    }
}
