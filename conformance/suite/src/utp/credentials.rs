//! Credentials in the URL of a broker: the client library leaves them out.

use async_nats::ConnectOptions;
use url::Url;

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

/// The words in the credentials of a URL, as they stand there and decoded.
pub fn words(url: &str) -> Vec<String> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let words = [Some(url.username()), url.password()].into_iter().flatten();
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
        assert_eq!(words("nats://us%20er:p%40ss@host:1"), ["us%20er", "us er", "p%40ss", "p@ss"]);
        assert_eq!(words("nats://t0ken@host:1"), ["t0ken", "t0ken"]);
        assert_eq!(decoded("50%, %4+a=b&c"), "50%, %4+a=b&c");
    }
}
