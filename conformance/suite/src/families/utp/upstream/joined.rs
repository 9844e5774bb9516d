//! The hosts that an address and the path of a row make together, where an executor puts them together carelessly.

use serde_json::Value;
use url::Url;

use super::asked::ALLOWED;

/// The hosts other than the address's own that a row's `jina.path` leads to: written behind the address as it is, or
/// resolved against it as a link is. Where the row names no address, those of the allowed hosts count (Guide §4).
pub fn hosts(options: &Value) -> Vec<String> {
    let text = |pointer: &str| options.pointer(pointer).and_then(Value::as_str);
    let Some(path) = text("/jina/path") else { return Vec::new() };
    let usual = ALLOWED.map(|host| format!("https://{host}"));
    let bases = text("/jina/base_url").map_or_else(|| usual.to_vec(), |own| vec![own.to_owned()]);
    let lead = |base: &String| {
        let own = Url::parse(base).ok()?;
        let found = [Url::parse(&format!("{base}{path}")).ok(), own.join(path).ok()];
        let others = found.into_iter().flatten().filter(move |url| url.host() != own.host());
        Some(others.filter_map(|url| url.host_str().map(str::to_owned)).collect::<Vec<_>>())
    };
    bases.iter().filter_map(lead).flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_may_lead_to_another_host() {
        let check = |options: Value, expect: &[&str]| assert_eq!(hosts(&options), expect, "{options}");
        check(json!({}), &[]);
        check(json!({"jina": {"path": "/search?page=1"}}), &[]);
        check(json!({"jina": {"path": "search"}}), &["s.jina.aisearch", "r.jina.aisearch"]);
        check(
            json!({"jina": {"path": ".suffix.test/"}}),
            &["s.jina.ai.suffix.test", "r.jina.ai.suffix.test"],
        );
        let at = |path: &str| json!({"jina": {"base_url": "http://127.0.0.1:80", "path": path}});
        check(at("@user.test/?page=1"), &["user.test"]);
        check(at("//joined.test/?page=1"), &["joined.test"]);
        check(at("/tides"), &[]);
    }
}
