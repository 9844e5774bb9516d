//! Which broker a manifest names: `[utp] nats` is a word for one that the suite starts, or the URLs of the servers of one
//! that runs. Several URLs are one text, separated by commas, as other NATS clients take them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize as _, Serializer};
use url::Url;

use crate::spec::registry::nearest;

/// Schemes of a server's URL: without TLS unless the server asks for it, and with; then the same over WebSocket.
pub const SCHEMES: [&str; 4] = ["nats://", "tls://", "ws://", "wss://"];
/// Those with TLS.
const ENCRYPTED: [&str; 2] = ["tls://", "wss://"];
/// Those over WebSocket.
const WEB: [&str; 2] = ["ws://", "wss://"];
/// Brokers that the suite starts.
const WORDS: [&str; 3] = ["embedded", "server", "container"];

/// The URLs in a text. A comma that no scheme follows belongs to a password.
pub fn urls(text: &str) -> Vec<&str> {
    let (mut all, mut from) = (Vec::new(), 0);
    for (at, _) in text.match_indices(',') {
        let scheme = text[at + 1..].trim_start().split_once("://").map(|(scheme, _)| scheme);
        if scheme.is_some_and(is_scheme) {
            all.push(text[from..at].trim());
            from = at + 1;
        }
    }
    all.push(text[from..].trim());
    all
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// The first URL in a text: that of the server which a started target is given.
pub fn first(text: &str) -> &str {
    urls(text).first().copied().unwrap_or_default()
}

/// Whether a text names servers that run already.
pub(super) fn are_named(text: &str) -> bool {
    text.contains("://")
}

/// Whether one of the URLs in a text asks for TLS.
pub(super) fn are_encrypted(text: &str) -> bool {
    urls(text).iter().any(|url| ENCRYPTED.iter().any(|scheme| url.starts_with(scheme)))
}

/// The URLs of a text without user and password.
pub fn redacted(text: &str) -> String {
    let without = |url: &str| {
        let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
        let separator = if scheme.is_empty() { "" } else { "://" };
        // Up to the last `@`, wherever it is: to hide too much is the safe mistake.
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        format!("{scheme}{separator}{host}")
    };
    urls(text).into_iter().map(without).collect::<Vec<_>>().join(",")
}

/// What is wrong with a text that names no broker, or servers that do not go together.
pub(super) fn faults(text: &str) -> Vec<String> {
    let urls = urls(text);
    let mut faults: Vec<String> = urls.iter().filter_map(|url| unknown(url, urls.len() > 1)).collect();
    if !faults.is_empty() {
        return faults;
    }
    let is_web = |url: &&&str| WEB.iter().any(|scheme| url.starts_with(scheme));
    if ![0, urls.len()].contains(&urls.iter().filter(is_web).count()) {
        faults
            .push("`utp.nats` names servers over WebSocket beside others: name those of one kind".to_owned());
    }
    let mut logins: Vec<_> = urls.iter().filter_map(|url| login(url)).collect();
    logins.sort();
    logins.dedup();
    if logins.len() > 1 {
        faults.push(
            "the URLs of `utp.nats` have different credentials: the suite is one user, so name it once"
                .to_owned(),
        );
    }
    faults
}

/// What is wrong with one text of those that stand in `utp.nats`.
fn unknown(nats: &str, has_others: bool) -> Option<String> {
    let address = SCHEMES.iter().find_map(|scheme| nats.strip_prefix(scheme));
    if address.is_some_and(|address| !address.is_empty()) || (WORDS.contains(&nats) && !has_others) {
        return None;
    }
    let shown = redacted(nats);
    let advice = match shown.split_once("://") {
        Some((_, address)) if !address.is_empty() => {
            format!(
                "the suite speaks NATS, plain or with TLS: did you mean `nats://{address}` or `tls://{address}`?"
            )
        }
        _ if WORDS.contains(&nats) => "beside others there are only URLs of servers".to_owned(),
        _ => match nearest(nats, WORDS.into_iter()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "known are `embedded`, `server`, `container`, `nats://host:port` and `tls://host:port`"
                .to_owned(),
        },
    };
    Some(format!("`utp.nats` is `{shown}`; {advice}"))
}

/// As it stands in a manifest.
#[derive(serde::Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    One(String),
    Several(Vec<String>),
}

/// Writes a text with one URL, or a list.
pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let written = match urls(text).as_slice() {
        [_] => Written::One(text.to_owned()),
        several => Written::Several(several.iter().map(|&url| url.to_owned()).collect()),
    };
    written.serialize(serializer)
}

/// Reads a text, or a list of URLs.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Written::deserialize(deserializer) {
        Ok(Written::One(text)) => Ok(text),
        Ok(Written::Several(urls)) => Ok(urls.join(",")),
        Err(_) => Err(D::Error::custom("`nats` is a text, or a list of URLs")),
    }
}

/// The credentials of a URL, decoded: a user and a password, or a token alone.
pub(super) fn login(url: &str) -> Option<(String, Option<String>)> {
    let url = Url::parse(url).ok()?;
    let (user, password) = (decoded(url.username()), url.password().map(decoded));
    (!user.is_empty() || password.is_some()).then_some((user, password))
}

/// A text of a URL, percent-decoded. Unlike in a form, `+` is no blank.
pub(super) fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    url::form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_separates_urls_and_nothing_else() {
        let check = |text: &str, expect: &[&str]| assert_eq!(urls(text), expect, "{text}");
        check("embedded", &["embedded"]);
        check("nats://a:1,tls://b:2", &["nats://a:1", "tls://b:2"]);
        check("nats://a:1, nats://b:2", &["nats://a:1", "nats://b:2"]);
        check("nats://u:p,w@a:1,nats://b:2", &["nats://u:p,w@a:1", "nats://b:2"]);
        check("nats://u:a,b@h", &["nats://u:a,b@h"]);
    }

    #[test]
    fn credentials_are_never_shown() {
        let check = |text: &str, expect: &str| assert_eq!(redacted(text), expect, "{text}");
        check("nats://u:s@cret@a:1,tls://t0ken@b:2", "nats://a:1,tls://b:2");
        check("nats://u:s,cret@a:1,nats://b:2", "nats://a:1,nats://b:2");
        check("u:secret@host", "host");
        check("embedded", "embedded");
    }

    #[test]
    fn servers_have_to_go_together() {
        let check = |text: &str, expect: &[&str]| {
            let faults = faults(text);
            assert_eq!(faults.len(), expect.len(), "{faults:?}");
            for (fault, expect) in faults.iter().zip(expect) {
                assert!(fault.contains(expect) && !fault.contains("secret"), "{fault}");
            }
        };
        check("nats://a:1,tls://b:1", &[]);
        check("nats://u:secret@a:1,nats://b:1,nats://u:secret@c:1", &[]);
        check("nats://u:secret@a:1,nats://v:secret@b:1", &["different credentials"]);
        check("wss://a:1,wss://b:1", &[]);
        check("wss://a:1,tls://b:1", &["over WebSocket beside others"]);
        check("embedded,nats://b:1", &["only URLs of servers"]);
        check("http://u:secret@a:1,nats://b:1", &["did you mean `nats://a:1`"]);
        check("nats://,nats://b:1", &["`utp.nats` is `nats://`"]);
    }
}
