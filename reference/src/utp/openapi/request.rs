//! What is asked of the upstream: arguments and injected values become an address and a body (Guide §4).
//!
//! Pure; `options` has checked the address, `upstream` sends it.

use hyper::Method;
use serde_json::{Map, Value, json};
use url::Url;
use url::form_urlencoded::byte_serialize;

use crate::secret::Secret;
use crate::utp::message::ErrorCode;
use crate::utp::tool_service::{Arguments, ToolFailure};

use super::options::{JinaOptions, Mode};

/// Arguments that are called like a credential are not sent: keys come from the environment alone.
const CREDENTIALS: [&str; 5] = ["api_key", "apikey", "authorization", "auth_token", "access_token"];

/// One request, on an allowed address; it has no `Debug`, since a value of `options.envs` may stand in the address.
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) address: Url,
    pub(super) body: Option<Value>,
    pub(super) key: Option<Secret>,
}

/// Puts a request together; `injected` are the values of `options.envs`, which win over arguments of their names.
pub(super) fn ask(
    options: &JinaOptions,
    arguments: Arguments,
    injected: Vec<(String, Secret)>,
    key: Option<Secret>,
) -> Result<Ask, ToolFailure> {
    let mut parameters: Map<String, Value> =
        arguments.into_iter().filter(|(name, _)| !is_credential(name)).collect();
    let mut address = options.address.clone();
    match options.mode {
        Mode::Search => {
            let query = needed(&mut parameters, "query").or_else(|failure| {
                // The upstream's own name for it does as well.
                needed(&mut parameters, "q").map_err(|_| failure)
            })?;
            parameters.insert("q".to_owned(), Value::String(query));
        }
        Mode::Reader => {
            let page = needed(&mut parameters, "url")?;
            check_page(&page)?;
            let path = format!("{}/{}", address.path().trim_end_matches('/'), percent_encoded(&page));
            address.set_path(&path);
        }
    }
    for (name, secret) in injected {
        parameters.insert(name, Value::String(secret.expose().to_owned()));
    }
    let mut body = None;
    if options.method == Method::GET {
        add_query(&mut address, &parameters);
    } else {
        body = Some(Value::Object(parameters));
    }
    Ok(Ask { method: options.method.clone(), address, body, key })
}

/// Takes a text out of the parameters.
fn needed(parameters: &mut Map<String, Value>, name: &str) -> Result<String, ToolFailure> {
    match parameters.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => {
            let text = text.trim().to_owned();
            parameters.shift_remove(name);
            Ok(text)
        }
        _ => Err(invalid(name, format!("there is no text `{name}`"))),
    }
}

fn check_page(page: &str) -> Result<(), ToolFailure> {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    match Url::parse(page) {
        Ok(url) if is_web(&url) => Ok(()),
        _ => Err(invalid("url", "`url` is no address of the web".to_owned())),
    }
}

fn add_query(address: &mut Url, parameters: &Map<String, Value>) {
    let given: Vec<(&String, String)> = parameters
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| {
            // Numbers and flags as they are, lists and objects as JSON.
            (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        })
        .collect();
    if !given.is_empty() {
        address.query_pairs_mut().extend_pairs(given);
    }
}

/// Encodes everything that could mean something in a path.
pub(super) fn percent_encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    CREDENTIALS.contains(&name.as_str())
}

fn invalid(field: &str, message: String) -> ToolFailure {
    ToolFailure::new(ErrorCode::BadRequest, message).with_detail(json!({"field": field}))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ask;
    use crate::utp::openapi::options::JinaOptions;
    use crate::utp::openapi::redact::tests::secret;

    /// The address and the body of the request; or the field at fault.
    fn check(jina: &Value, arguments: &Value, expect: Result<(&str, &Value), &str>) {
        let options = JinaOptions::read(&json!({"jina": jina})).expect("options");
        let arguments = arguments.as_object().expect("an object").clone();
        let injected = vec![("num".to_owned(), secret("7 7"))];
        let found = ask(&options, arguments, injected, None)
            .map(|ask| (ask.address.to_string(), ask.body.unwrap_or_default()))
            .map_err(|failure| failure.detail.expect("a detail")["field"].as_str().unwrap_or("-").to_owned());
        let expect = expect.map(|(address, body)| (address.to_owned(), body.clone())).map_err(str::to_owned);
        assert_eq!(found, expect);
    }

    #[test]
    fn arguments_become_a_query_or_a_body() {
        let get = json!({"mode": "search", "path": "/search"});
        let post = json!({"mode": "search", "method": "POST"});
        check(
            &get,
            &json!({"query": "a & b", "n": 3, "none": null, "list": [1], "num": "model's", "Api-Key": "literal"}),
            Ok(("https://s.jina.ai/search?n=3&list=%5B1%5D&num=7+7&q=a+%26+b", &Value::Null)),
        );
        check(&get, &json!({"q": "x"}), Ok(("https://s.jina.ai/search?q=x&num=7+7", &Value::Null)));
        check(
            &post,
            &json!({"query": "x", "none": null}),
            Ok(("https://s.jina.ai/", &json!({"none": null, "q": "x", "num": "7 7"}))),
        );
        check(&get, &json!({}), Err("query"));
        check(&get, &json!({"query": "  "}), Err("query"));
        check(&get, &json!({"query": 7}), Err("query"));
    }

    #[test]
    fn a_page_is_one_encoded_segment() {
        let reader = json!({"mode": "reader", "path": "/v1"});
        check(
            &reader,
            &json!({"url": "https://x.test/a?b=c d#e"}),
            Ok(("https://r.jina.ai/v1/https%3A%2F%2Fx.test%2Fa%3Fb%3Dc%20d%23e?num=7+7", &Value::Null)),
        );
        for page in [json!("../../etc"), json!("file:///etc/passwd"), json!("x.test"), json!(""), json!(7)] {
            check(&reader, &json!({ "url": page }), Err("url"));
        }
    }
}
