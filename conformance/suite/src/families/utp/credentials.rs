//! The URL of a broker: its scheme, and its credentials, which the client library leaves out.

use async_nats::ConnectOptions;
use url::Url;

/// Schemes of a server's URL: without TLS unless the server asks for it, and with.
pub const SCHEMES: [&str; 2] = ["nats://", TLS];
/// The scheme with TLS.
pub(super) const TLS: &str = "tls://";

/// Options with the credentials of a URL: `nats://user:password@host`, or `nats://token@host`.
pub fn of_url(options: ConnectOptions, url: &str) -> ConnectOptions {
    let Ok(url) = Url::parse(url) else { return options };
    let (user, password) = (decoded(url.username()), url.password().map(decoded));
    match (user, password) {
        (user, Some(password)) => options.user_and_password(user, password),
        (token, None) if !token.is_empty() => options.token(token),
        _ => options,
    }
}

/// The secrets in the credentials of a URL, as they stand there and decoded: the password or the token, and a user's name
/// unless `is_public` takes it for an ordinary word.
pub fn words(url: &str, is_public: impl Fn(&str) -> bool) -> Vec<String> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let user = Some(url.username()).filter(|user| url.password().is_none() || !is_public(&decoded(user)));
    let words = [user, url.password()].into_iter().flatten();
    words.flat_map(|word| [word.to_owned(), decoded(word)]).collect()
}

/// A text of a URL, percent-decoded. Unlike in a form, `+` is no blank.
fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    url::form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
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
        assert_eq!(decoded("50%, %4+a=b&c"), "50%, %4+a=b&c");
    }
}
