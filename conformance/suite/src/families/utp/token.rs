//! Tokens: a word in the card of a call that only who read the card can repeat.

use sha2::{Digest, Sha256};

use crate::spec::library::hex;

/// What a token begins with.
const TOKEN: &str = "tok-";
/// Characters of a token.
const TOKEN_LENGTH: usize = 16;

/// What the upstream says to who asks for `token`: the sign that it was asked.
pub(super) fn proof(token: &str) -> String {
    format!("{TOKEN}{}", &hex(&Sha256::digest(format!("found/{token}").as_bytes()))[..TOKEN_LENGTH - 4])
}

/// Every token in a text.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    text.match_indices(TOKEN).filter_map(|(at, _)| {
        let token = text.get(at..at + TOKEN_LENGTH)?;
        token[TOKEN.len()..].bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| token.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_any_text() {
        let found: Vec<String> =
            tokens("/a/tok-0123456789ab?q=xtok-ba9876543210&tok-nothex tok-0123").collect();
        assert_eq!(found, ["tok-0123456789ab", "tok-ba9876543210"]);
    }

    #[test]
    fn what_is_found_is_not_what_was_asked_for() {
        let word = proof("tok-0123456789ab");
        assert_ne!(word, "tok-0123456789ab");
        assert_eq!(tokens(&word).collect::<Vec<_>>(), std::slice::from_ref(&word));
    }
}
