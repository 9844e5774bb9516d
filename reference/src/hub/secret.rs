//! The service secret (contract, "Endpoint"): who shows it is an agent of ours, everyone else executes nothing.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

const SCHEME: &str = "ServiceSecret";

/// The digest of the secret: of equal length whatever was sent, so that the duration of a comparison reveals nothing.
pub(super) struct SecretDigest {
    digest: [u8; 32],
}

impl SecretDigest {
    pub(super) fn new(secret: &str) -> Self {
        Self { digest: Sha256::digest(secret.as_bytes()).into() }
    }

    /// Whether the one `Authorization` header of the request shows the secret.
    pub(super) fn is_shown_in(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, shown)) = value.as_bytes().split_at_checked(SCHEME.len()) else { return false };
        let Some(shown) = shown.strip_prefix(b" ") else { return false };
        let shown: [u8; 32] = Sha256::digest(shown).into();
        scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) && bool::from(shown.ct_eq(&self.digest))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::AUTHORIZATION;
    use axum::http::{HeaderMap, HeaderValue};

    use super::SecretDigest;

    #[test]
    fn only_the_secret_itself_is_accepted() {
        fn check(values: &[&str], expect: bool) {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_str(value).expect("a header"));
            }
            assert_eq!(SecretDigest::new("s3cr3t").is_shown_in(&headers), expect, "{values:?}");
        }
        check(&["ServiceSecret s3cr3t"], true);
        check(&[], false);
        check(&[""], false);
        check(&["ServiceSecret"], false);
        check(&["ServiceSecret "], false);
        check(&["ServiceSecret s3cr3"], false);
        check(&["ServiceSecret s3cr3tx"], false);
        check(&["ServiceSecret  s3cr3t"], false);
        check(&["ServiceSecrets3cr3t"], false);
        check(&["Bearer s3cr3t"], false);
        check(&["s3cr3t"], false);
        check(&["ServiceSecret s3cr3t", "ServiceSecret s3cr3t"], false);
        check(&["ServiceSecret wrong", "ServiceSecret s3cr3t"], false);
    }
}
