//! Subjects: tokens between dots, `*` for any one token, a final `>` for one or more.
//!
//! Neighbours: [`super::connection`] refuses what is not valid, [`super::subscriptions`] stores
//! and matches what is. Deliberately absent: a limit on length, which the control line gives.

/// The most tokens of a subscription's subject. `nats-server` has no such limit of its own; here
/// it bounds the depth of the trie, which is walked by recursion, against hostile clients.
const MAX_TOKENS: usize = 256;

/// The tokens of a subject, in order.
pub(super) type Tokens<'s> = std::slice::Split<'s, u8, fn(&u8) -> bool>;

/// The subject's tokens; an empty subject has one empty token.
pub(super) fn tokens(subject: &[u8]) -> Tokens<'_> {
    subject.split(|byte| *byte == b'.')
}

/// Whether a message can be routed under this subject: no token is empty.
/// A wildcard is an ordinary token here, as it is to a server whose client is not pedantic.
pub(super) fn is_routable(subject: &[u8]) -> bool {
    tokens(subject).all(|token| !token.is_empty())
}

/// Whether a pedantic client may publish under this subject: routable and without wildcards.
pub(super) fn is_literal(subject: &[u8]) -> bool {
    is_routable(subject) && !has_wildcard(subject)
}

/// Whether a client may subscribe to this subject: routable, `>` only at the end, and no more
/// than 256 tokens.
pub(super) fn is_subscribable(subject: &[u8]) -> bool {
    if tokens(subject).count() > MAX_TOKENS {
        return false;
    }
    let mut rest = tokens(subject);
    while let Some(token) = rest.next() {
        if token.is_empty() || (token == b">" && rest.next().is_some()) {
            return false;
        }
    }
    true
}

/// Whether any token is a wildcard. `a*` and `a>` are literal tokens.
pub(super) fn has_wildcard(subject: &[u8]) -> bool {
    tokens(subject).any(|token| token == b"*" || token == b">")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(subject: &str, expect: (bool, bool, bool)) {
        let bytes = subject.as_bytes();
        let found = (is_subscribable(bytes), is_routable(bytes), is_literal(bytes));
        assert_eq!(found, expect, "(subscribable, routable, literal) of `{subject}`");
    }

    #[test]
    fn the_three_kinds_of_validity() {
        check("a", (true, true, true));
        check("a.b.c", (true, true, true));
        check("a>", (true, true, true));
        check("a*.b", (true, true, true));
        check("a.*.c", (true, true, false));
        check("a.>", (true, true, false));
        check(">", (true, true, false));
        check("a.>.b", (false, true, false));
        check("", (false, false, false));
        check(".a", (false, false, false));
        check("a.", (false, false, false));
        check("a..b", (false, false, false));
        check("a.>.", (false, false, false));
    }

    #[test]
    fn the_depth_of_a_subscription_is_bounded() {
        let deepest = vec!["a"; MAX_TOKENS].join(".");
        check(&deepest, (true, true, true));
        check(&format!("{deepest}.a"), (false, true, true));
    }
}
