//! The credentials in the URLs of a broker, which the client library leaves out.

use async_nats::ConnectOptions;
use url::Url;

use super::nats_servers::{self, decoded, login};

/// Options with the credentials of the URLs in a text: `nats://user:password@host`, or `nats://token@host`.
pub fn of_urls(options: ConnectOptions, text: &str) -> ConnectOptions {
    // One user connects to all servers.
    match nats_servers::urls(text).into_iter().find_map(login) {
        Some((user, Some(password))) => options.user_and_password(user, password),
        Some((token, None)) => options.token(token),
        None => options,
    }
}

/// The secrets in the credentials of the URLs in a text, as they stand there and decoded: the password or the token, and a
/// user's name unless `is_public` takes it for an ordinary word.
pub fn words(text: &str, is_public: impl Fn(&str) -> bool) -> Vec<String> {
    let mut all = Vec::new();
    for url in nats_servers::urls(text).into_iter().filter_map(|url| Url::parse(url).ok()) {
        let user = Some(url.username()).filter(|user| url.password().is_none() || !is_public(&decoded(user)));
        let words = [user, url.password()].into_iter().flatten();
        all.extend(words.flat_map(|word| [word.to_owned(), decoded(word)]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_decoded() {
        let words = |url| words(url, |user| user == "user");
        assert_eq!(words("nats://us%20er:p%40ss@host:1"), ["us%20er", "us er", "p%40ss", "p@ss"]);
        assert_eq!(words("nats://user:p%40ss@host:1"), ["p%40ss", "p@ss"]);
        assert_eq!(words("nats://user@host:1"), ["user", "user"]);
        assert_eq!(words("nats://user:p1@host:1,nats://user:p2@host:2"), ["p1", "p1", "p2", "p2"]);
        assert_eq!(decoded("50%, %4+a=b&c"), "50%, %4+a=b&c");
    }
}
