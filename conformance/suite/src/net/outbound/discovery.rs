//! Who issues tokens for a target, as the target itself says: protected resource metadata (RFC 9728), and the metadata of
//! the authorization server that it names (RFC 8414, or OpenID Connect Discovery).

use reqwest::Url;
use serde_json::Value;

use super::oauth::{Server, document};
use super::tls::TlsSource;

/// Where a resource publishes its metadata.
const RESOURCE: &str = "oauth-protected-resource";
/// Where an authorization server does.
const SERVERS: [&str; 2] = ["oauth-authorization-server", "openid-configuration"];

/// Who issues tokens for the target at `url`, which refused a request with this `WWW-Authenticate`.
///
/// # Errors
/// Where that could not be found out.
pub(super) async fn issuer(tls: &TlsSource, url: &Url, challenge: &str) -> Result<Server, String> {
    let named = parameter(challenge, "resource_metadata").and_then(|at| Url::parse(&at).ok());
    // Where it is not named, it is at one of two places (RFC 9728, section 3.1).
    let places = match named {
        Some(named) => vec![named],
        None => well_known(url, RESOURCE),
    };
    let hint = "name where tokens are issued by `token_url` under `[target.http.oauth]`";
    let (place, resource) = first(tls, &places).await.map_err(|why| {
        format!("the target asks for a token and does not say who issues it ({why}): {hint}")
    })?;
    let servers = resource.get("authorization_servers").and_then(Value::as_array);
    let server = servers.and_then(|all| all.first()?.as_str()).and_then(|server| Url::parse(server).ok());
    let server = server.ok_or_else(|| format!("`{place}` names none of `authorization_servers`: {hint}"))?;
    let places: Vec<Url> = SERVERS.into_iter().flat_map(|suffix| well_known(&server, suffix)).collect();
    let (place, metadata) = first(tls, &places).await.map_err(|why| {
        format!("the authorization server `{server}` says nothing of itself ({why}): {hint}")
    })?;
    let token_url =
        metadata.get("token_endpoint").and_then(Value::as_str).filter(|url| Url::parse(url).is_ok());
    let token_url = token_url.ok_or_else(|| format!("`{place}` has no `token_endpoint`: {hint}"))?;
    let resource = resource.get("resource").and_then(Value::as_str).map(str::to_owned);
    Ok(Server { token_url: token_url.to_owned(), resource })
}

/// The first of these documents that there is, and where.
async fn first(tls: &TlsSource, places: &[Url]) -> Result<(String, Value), String> {
    let mut whys = Vec::new();
    for place in places {
        match document(tls, place).await {
            Ok(document) => return Ok((place.to_string(), document)),
            Err(why) => whys.push(format!("`{place}`: {why}")),
        }
    }
    Err(whys.join("; "))
}

/// Where metadata of a URL may be: with its path, then without it.
fn well_known(url: &Url, suffix: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let mut paths = vec![format!("/.well-known/{suffix}{path}")];
    if !path.is_empty() {
        paths.push(format!("/.well-known/{suffix}"));
    }
    let at = |path: String| {
        let mut own = url.clone();
        own.set_path(&path);
        own.set_query(None);
        own.set_fragment(None);
        own
    };
    paths.into_iter().map(at).collect()
}

/// A parameter of a challenge.
pub(super) fn parameter(challenge: &str, name: &str) -> Option<String> {
    let begins = |at: &usize| {
        let before = challenge[..*at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || c == ',')
    };
    let at = challenge.match_indices(name).map(|(at, _)| at).filter(begins);
    let mut values = at.filter_map(|at| challenge[at + name.len()..].trim_start().strip_prefix('='));
    let value = values.next()?.trim_start();
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split([',', ' ']).next(),
    };
    value.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_among_others() {
        let check = |challenge: &str, expect: Option<&str>| {
            assert_eq!(parameter(challenge, "resource_metadata").as_deref(), expect, "{challenge}");
        };
        check("Bearer resource_metadata=\"https://a/b\"", Some("https://a/b"));
        check(
            "Bearer error=\"invalid_token\", resource_metadata = \"https://a/b\", scope=x",
            Some("https://a/b"),
        );
        check("Bearer resource_metadata=https://a/b,scope=x", Some("https://a/b"));
        check("Bearer x_resource_metadata=\"https://a/b\"", None);
        check("Bearer", None);
    }

    #[test]
    fn metadata_is_looked_for_below_the_host() {
        let check = |url: &str, expect: &[&str]| {
            let url = Url::parse(url).expect("a URL");
            let places: Vec<String> = well_known(&url, RESOURCE).iter().map(Url::to_string).collect();
            assert_eq!(places, expect);
        };
        check(
            "https://a.test/mcp?x=1",
            &[
                "https://a.test/.well-known/oauth-protected-resource/mcp",
                "https://a.test/.well-known/oauth-protected-resource",
            ],
        );
        check("https://a.test/", &["https://a.test/.well-known/oauth-protected-resource"]);
    }
}
