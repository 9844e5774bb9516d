//! Headers that a manifest gives for every request: which names they cannot have.

/// Headers that no manifest can have the same for all messages (RFC 9110 §7.6.1, RFC 9112 §6): with another length than its
/// own no request would arrive, and the target would be said not to answer.
const OF_EACH_MESSAGE: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What is wrong with the names of the headers under a key, for example `target.http.headers`.
pub(crate) fn faults<'a>(key: &str, names: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    names.into_iter().filter_map(|name| fault(key, name)).collect()
}

fn fault(key: &str, name: &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Some(format!("`{name}` in `{key}` is no name of a header"));
    }
    let is_own = OF_EACH_MESSAGE.iter().any(|own| name.eq_ignore_ascii_case(own));
    is_own.then(|| {
        format!("`{name}` in `{key}` is about a single message or connection, and set for each: leave it out")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_for_each_message_is_a_fault() {
        let names = ["X-Api-Key", "content-type", "Content-Length", "TE", "X A", ""].map(str::to_owned);
        assert_eq!(
            faults("toolbus.headers", &names),
            [
                "`Content-Length` in `toolbus.headers` is about a single message or connection, and set for each: leave \
                 it out",
                "`TE` in `toolbus.headers` is about a single message or connection, and set for each: leave it out",
                "`X A` in `toolbus.headers` is no name of a header",
                "`` in `toolbus.headers` is no name of a header",
            ]
        );
    }
}
