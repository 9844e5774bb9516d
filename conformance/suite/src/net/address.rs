//! Addresses of a manifest, and whether a target was reached at them.

/// Whether an address can be the one that a manifest gives, in which `{listen}` stands for where a started target was
/// asked to listen.
fn is_at(pattern: &str, address: &str) -> bool {
    match pattern.split_once("{listen}") {
        None => pattern == address,
        Some((before, after)) => {
            let listen = address.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            listen.is_some_and(|listen| listen.parse::<std::net::SocketAddr>().is_ok())
        }
    }
}

/// That a target was somewhere else than its manifest says.
pub(crate) fn elsewhere(key: &str, pattern: &str, address: &str) -> Option<String> {
    (!is_at(pattern, address)).then(|| format!("it was reached at `{address}`, and `{key}` is `{pattern}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_the_manifest_or_another() {
        assert!(is_at("http://hub.example:80/v1", "http://hub.example:80/v1"));
        assert!(!is_at("http://hub.example:80/v1", "http://hub.example:80/v2"));
        assert!(is_at("http://{listen}/v1", "http://127.0.0.1:4711/v1"));
        assert!(!is_at("http://{listen}/v1", "http://127.0.0.1:4711/v2"));
        assert!(!is_at("http://{listen}", "http://other.example/"));
        assert!(!is_at("http://{listen}", "http://"));
    }
}
