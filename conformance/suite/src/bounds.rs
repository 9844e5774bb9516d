//! How much of a target's text is kept.
//!
//! Everything that a target sends is bounded before it is stored: what is small stays, what is large gives
//! way to its beginning and a digest. What is kept tells two values apart, and still mentions the tokens of
//! the suite. Shortening for readers is `transcript::shorten`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Bytes of one message that are kept.
pub(crate) const MESSAGE: usize = 64 * 1024;
/// What a value takes up beside its text, about.
const NODE: usize = 64;
/// Smallest share of a member or an item.
const SHARE: usize = 256;
/// What is kept of the beginning of a long text.
const HEAD: usize = 2 * 1024;
/// Tokens that are kept of what is cut.
const TOKENS: usize = 16;

/// What a value takes up in memory, about, in bytes.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => NODE + text.len(),
        Value::Array(items) => NODE + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => {
            NODE + members.iter().map(|(name, member)| NODE + name.len() + weight(member)).sum::<usize>()
        }
        _ => NODE,
    }
}

/// Cuts a value down to about `budget` bytes, its largest parts first.
pub(crate) fn bound(value: &mut Value, budget: usize) {
    if weight(value) <= budget.max(SHARE) {
        return;
    }
    match value {
        Value::String(text) => *text = cut(text, budget),
        Value::Array(items) => {
            let rest = items.split_off(items.len().min((budget / SHARE).max(1)));
            let weights: Vec<usize> = items.iter().map(weight).collect();
            for (item, share) in items.iter_mut().zip(shares(&weights, budget)) {
                bound(item, share);
            }
            if !rest.is_empty() {
                items.push(Value::String(summary(rest.len(), "items", &Value::Array(rest))));
            }
        }
        Value::Object(members) => {
            let all = std::mem::take(members);
            let mut all = all.into_iter();
            let mut kept: Vec<(String, Value)> = all.by_ref().take((budget / SHARE).max(1)).collect();
            let rest: Map<String, Value> = all.collect();
            let weights: Vec<usize> = kept.iter().map(|(name, member)| name.len() + weight(member)).collect();
            for ((name, member), share) in kept.iter_mut().zip(shares(&weights, budget)) {
                if name.len() > share {
                    *name = cut(name, share);
                }
                bound(member, share);
            }
            members.extend(kept);
            if !rest.is_empty() {
                let text = summary(rest.len(), "members", &Value::Object(rest));
                members.insert("…".to_owned(), Value::String(text));
            }
        }
        _ => {}
    }
}

/// What each may keep: the small ones all of theirs, the large ones equal parts of what is left.
fn shares(weights: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|index| weights[*index]);
    let mut shares = vec![0; weights.len()];
    let mut left = budget;
    for (done, index) in order.into_iter().enumerate() {
        let fair = left / (weights.len() - done);
        shares[index] = weights[index].min(fair).max(SHARE);
        left = left.saturating_sub(shares[index]);
    }
    shares
}

/// A text, cut, with what it is told apart and recognised by.
pub(crate) fn cut(text: &str, budget: usize) -> String {
    if text.len() <= budget.max(SHARE) {
        return text.to_owned();
    }
    let end = (0..=HEAD.min(budget / 2)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}… ({} bytes, {})", &text[..end], text.len(), mark(text))
}

fn summary(count: usize, what: &str, rest: &Value) -> String {
    format!("… {count} more {what} ({})", mark(&rest.to_string()))
}

fn mark(text: &str) -> String {
    let digest = crate::library::hex(&Sha256::digest(text.as_bytes()));
    let tokens: BTreeSet<&str> =
        text.match_indices("tok-").filter_map(|(at, _)| text.get(at..at + 16)).collect();
    let tokens: Vec<&str> = tokens.into_iter().take(TOKENS).collect();
    format!("sha256 {digest} {}", tokens.join(" ")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(value: &Value, tail: &str) -> Value {
        let mut value = json!({
            "card": {"content": {"status": "success", "result": value, "tail": format!("tok-0123456789ab{tail}")}},
        });
        bound(&mut value, MESSAGE);
        assert!(value.to_string().len() < MESSAGE, "{} bytes", value.to_string().len());
        assert_eq!(value["card"]["content"]["status"], "success");
        value
    }

    #[test]
    fn what_is_large_gives_way_to_what_is_small() {
        for large in [
            json!("é".repeat(500_000)),
            json!(vec!["y".repeat(1_000); 1_000]),
            json!((0..300_000).collect::<Vec<_>>()),
            Value::Object((0..100_000).map(|index| (format!("member_{index}"), json!(index))).collect()),
            json!(vec![vec![vec![0; 100]; 100]; 30]),
        ] {
            check(&large, "");
        }
    }

    #[test]
    fn two_large_values_stay_apart_and_keep_their_tokens() {
        let large = |tail: &str| {
            let mut value = json!(vec![format!("{} tok-0123456789ab {tail}", "é".repeat(50_000)); 20]);
            bound(&mut value, MESSAGE);
            value.to_string()
        };
        let (one, other) = (large("a"), large("b"));
        assert!(one.contains("tok-0123456789ab"), "{one}");
        assert_ne!(one, other);
    }

    proptest! {
        #[test]
        fn what_fits_stays_as_it_is(text in ".{0,200}", numbers in prop::collection::vec(any::<i32>(), 0..50)) {
            let value = json!({"text": text, "numbers": numbers});
            let mut kept = value.clone();
            bound(&mut kept, MESSAGE);
            prop_assert_eq!(kept, value);
        }

        #[test]
        fn shares_never_exceed_the_budget_by_more_than_the_smallest(
            weights in prop::collection::vec(0_usize..100_000, 1..40), budget in 1_000_usize..100_000,
        ) {
            let sum: usize = shares(&weights, budget).iter().sum();
            prop_assert!(sum <= budget + SHARE * weights.len());
        }
    }
}
