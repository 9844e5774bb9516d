//! How much of a target's text is kept.
//!
//! Everything that a target sends is bounded before it is stored: what is small stays, what is large gives
//! way to its beginning and a digest. What is kept distinguishes two values, and still mentions the tokens of
//! the suite. Shortening for readers is `transcript::shorten`.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Serializer as _;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Bytes of one message that are kept.
pub(crate) const MESSAGE: usize = 64 * 1024;
/// What a value takes up beside its text, about.
const NODE: usize = 64;
/// Smallest share of a member or an item.
const SHARE: usize = 256;
/// Levels that are kept of what has no more than the smallest share: it may be nested a hundred times, and each level
/// costs the text about what is left out.
const LEVELS: usize = 1;
/// What is kept of the beginning of a long text.
const HEAD: usize = 2 * 1024;
/// Tokens that are kept of what is cut.
const TOKENS: usize = 16;
/// Length of a token.
const TOKEN: usize = 16;
/// With what a token begins.
static TOKEN_START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"tok-"));
/// Bytes that are written at a time into a digest.
const CHUNK: usize = 16 * 1024;

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
    if !fits(value, budget) {
        *value = bounded(value, budget);
    }
}

fn fits(value: &Value, budget: usize) -> bool {
    weight(value) <= budget.max(SHARE)
}

/// A copy of a value, cut down like that. What is cut is not copied first, since it may be megabytes.
pub(crate) fn bounded(value: &Value, budget: usize) -> Value {
    cut_down(value, budget, LEVELS)
}

fn cut_down(value: &Value, budget: usize, levels: usize) -> Value {
    if fits(value, budget) {
        return value.clone();
    }
    // With less than two shares there is one part, which gets them all: what is nested would never get less.
    let (count, levels) = match (budget < 2 * SHARE, levels) {
        (true, 0) => (0, 0),
        (true, levels) => (1, levels - 1),
        (false, _) => (budget / SHARE, LEVELS),
    };
    match value {
        Value::String(text) => Value::String(cut(text, budget)),
        Value::Array(items) => {
            let (kept, rest) = items.split_at(items.len().min(count));
            let weights: Vec<usize> = kept.iter().map(weight).collect();
            let shares = shares(&weights, budget);
            let mut all: Vec<Value> =
                kept.iter().zip(shares).map(|(item, share)| cut_down(item, share, levels)).collect();
            if !rest.is_empty() {
                all.push(Value::String(summary(rest.len(), "items", |json| json.collect_seq(rest))));
            }
            Value::Array(all)
        }
        Value::Object(members) => {
            let kept = || members.iter().take(count);
            let weights: Vec<usize> = kept().map(|(name, member)| name.len() + weight(member)).collect();
            let shares = shares(&weights, budget);
            let mut all: Map<String, Value> = kept()
                .zip(shares)
                .map(|((name, member), share)| (cut(name, share), cut_down(member, share, levels)))
                .collect();
            if members.len() > count {
                let rest = || members.iter().skip(count);
                let text = summary(members.len() - count, "members", |json| json.collect_map(rest()));
                all.insert("…".to_owned(), Value::String(text));
            }
            Value::Object(all)
        }
        plain => plain.clone(),
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
        // What is small costs no more than it weighs.
        left = left.saturating_sub(shares[index].min(weights[index]));
    }
    shares
}

/// Whether something of a value was cut.
pub(crate) fn is_cut(value: &Value) -> bool {
    let is_marked = |text: &str| {
        let digest = text.rsplit_once("sha256 ").map(|(_, digest)| digest);
        text.contains('…') && digest.is_some_and(|digest| digest.len() > 64 && digest.ends_with(')'))
    };
    match value {
        Value::String(text) => is_marked(text),
        Value::Array(items) => items.iter().any(is_cut),
        Value::Object(members) => members.iter().any(|(name, member)| is_marked(name) || is_cut(member)),
        _ => false,
    }
}

/// A text, cut, with what distinguishes and identifies it.
pub(crate) fn cut(text: &str, budget: usize) -> String {
    if text.len() <= budget.max(SHARE) {
        return text.to_owned();
    }
    let end = (0..=HEAD.min(budget / 2)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}… ({} bytes, {})", &text[..end], text.len(), mark(text))
}

type Json<'a> = serde_json::Serializer<BufWriter<&'a mut Mark>>;

/// How many more there are. `write` writes them, and nobody keeps what it writes.
fn summary(count: usize, what: &str, write: impl FnOnce(&mut Json<'_>) -> serde_json::Result<()>) -> String {
    let mut mark = Mark::default();
    let mut json = Json::new(BufWriter::with_capacity(CHUNK, &mut mark));
    // Nothing here fails: values are written into a digest.
    let _ = write(&mut json);
    drop(json);
    format!("… {count} more {what} ({})", mark.text())
}

fn mark(text: &str) -> String {
    let mut mark = Mark::default();
    mark.take(text.as_bytes());
    mark.text()
}

/// What distinguishes and identifies a text.
#[derive(Default)]
struct Mark {
    digest: Sha256,
    tokens: BTreeSet<String>,
    /// The end of what was taken, where a token may have begun.
    end: Vec<u8>,
}

impl Mark {
    fn take(&mut self, text: &[u8]) {
        self.digest.update(text);
        let seam = [&self.end, &text[..text.len().min(TOKEN - 1)]].concat();
        self.find(&seam);
        self.find(text);
        let whole = [&self.end, &text[text.len().saturating_sub(TOKEN - 1)..]].concat();
        self.end = whole[whole.len().saturating_sub(TOKEN - 1)..].to_vec();
    }

    fn find(&mut self, text: &[u8]) {
        for at in TOKEN_START.find_iter(text) {
            if let Some(token) = text.get(at..at + TOKEN).and_then(|token| std::str::from_utf8(token).ok()) {
                self.tokens.insert(token.to_owned());
            }
            if self.tokens.len() > TOKENS {
                self.tokens.pop_last();
            }
        }
    }

    fn text(self) -> String {
        let digest = crate::spec::library::hex(&self.digest.finalize());
        let tokens: Vec<String> = self.tokens.into_iter().collect();
        format!("sha256 {digest} {}", tokens.join(" ")).trim_end().to_owned()
    }
}

impl Write for Mark {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::kind::DOCUMENT;
    use super::*;

    fn nested(levels: usize, beside: &Value) -> Value {
        (0..levels).fold(json!([]), |inner, _| json!([inner, beside]))
    }

    fn check(value: &Value, tail: &str, budget: usize) -> Value {
        let mut value = json!({
            "card": {"content": {"status": "success", "result": value, "tail": format!("tok-0123456789ab{tail}")}},
        });
        bound(&mut value, budget);
        assert!(value.to_string().len() < budget, "{} bytes", value.to_string().len());
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
            json!(vec![nested(100, &json!("a text")); 300]),
            json!(vec![nested(100, &json!({"a": ["text"], "b": 1})); 300]),
        ] {
            assert!(is_cut(&check(&large, "", MESSAGE)));
        }
        assert!(!is_cut(&check(&json!("é… (7 bytes)"), "", MESSAGE)));
    }

    #[test]
    fn what_is_nested_stays_within_every_budget() {
        for budget in [4 * 1024, MESSAGE, 200 * 1024, DOCUMENT] {
            for items in [20, 60, 300] {
                check(&json!(vec![nested(100, &json!("a text")); items]), "", budget);
                check(&json!(vec![nested(60, &json!({"a": ["text"], "b": 1})); items]), "", budget);
            }
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

    #[test]
    fn what_is_cut_is_identified_by_its_digest_and_its_tokens() {
        // Longer than what is written at a time, so that a token also lies across two of those.
        let rest: Vec<Value> =
            (0..3_000).map(|n| json!(format!("é{n} tok-{n:012} {}", "z".repeat(n % 7)))).collect();
        let mut value = json!(rest);
        bound(&mut value, SHARE);
        let text = json!(rest[1..]).to_string();
        let tokens: Vec<String> = (1..=TOKENS).map(|n| format!("tok-{n:012}")).collect();
        let digest = crate::spec::library::hex(&Sha256::digest(text.as_bytes()));
        let expect = format!("… 2999 more items (sha256 {digest} {})", tokens.join(" "));
        assert_eq!(value[1], json!(expect));
    }

    proptest! {
        #[test]
        fn a_token_is_found_however_the_text_comes(at in 0_usize..60, cuts in prop::collection::vec(1_usize..20, 1..9)) {
            let text = format!("{}tok-0123456789ab{}", "-".repeat(at), "-".repeat(60 - at));
            let mut mark = Mark::default();
            let mut rest = text.as_bytes();
            for cut in cuts {
                let (one, other) = rest.split_at(cut.min(rest.len()));
                mark.take(one);
                rest = other;
            }
            mark.take(rest);
            prop_assert_eq!(mark.text(), super::mark(&text));
        }

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
