//! Laws and examples of the subscription index, with a client's number as the client.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

type Index = SubscriptionIndex<()>;

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// An index with these `(subject, queue)` subscriptions of client 1; sids count from 0.
fn index(subscriptions: &[(&str, Option<&str>)]) -> Index {
    let mut index = Index::new();
    for (sid, (subject, queue)) in subscriptions.iter().enumerate() {
        index.subscribe((), 1, text(&sid.to_string()), text(subject), queue.map(text));
    }
    index
}

/// The sids that get a message, sorted.
fn recipients(index: &Index, subject: &str, pick: u64) -> Vec<String> {
    let mut sids = Vec::new();
    index.route(subject.as_bytes(), pick, |subscription| {
        sids.push(String::from_utf8_lossy(&subscription.sid).into_owned());
        true
    });
    sids.sort();
    sids
}

fn check(pattern: &str, subject: &str, expect: bool) {
    let found = recipients(&index(&[(pattern, None)]), subject, 0);
    assert_eq!(!found.is_empty(), expect, "`{pattern}` against `{subject}`");
}

#[test]
fn patterns_match_as_documented() {
    check("a.b", "a.b", true);
    check("a.b", "a.c", false);
    check("a.b", "a.b.c", false);
    check("a.*", "a.b", true);
    check("a.*", "a", false);
    check("a.*", "a.b.c", false);
    check("*.b", "a.b", true);
    check("a.*.c", "a.b.c", true);
    check("a.>", "a.b.c", true);
    check("a.>", "a", false);
    check(">", "a", true);
    check("*.>", "a", false);
    check("*.>", "a.b", true);
    check("a>", "a.b", false);
    check(">", "a.*", true);
}

#[test]
fn overlapping_subscriptions_each_get_the_message() {
    let all = index(&[("a.b", None), ("a.*", None), (">", None), ("a.>", None), ("*.b", None)]);
    assert_eq!(recipients(&all, "a.b", 0), ["0", "1", "2", "3", "4"]);
    assert_eq!(recipients(&all, "a", 0), ["2"]);
}

#[test]
fn a_queue_group_gets_a_message_once_over_all_its_subjects() {
    let group = index(&[("a", Some("q")), ("a", Some("q")), ("*", Some("q")), ("a", Some("p"))]);
    let mut seen = BTreeSet::new();
    for pick in 0..6 {
        let sids = recipients(&group, "a", pick);
        assert_eq!(sids.len(), 2, "one of `q` and one of `p`, not {sids:?}");
        assert_eq!(sids[1], "3");
        seen.insert(sids[0].clone());
    }
    assert_eq!(seen.len(), 3, "every member has its turn");
}

#[test]
fn a_queue_member_that_declines_is_passed_over() {
    let group = index(&[("a", Some("q")), ("a", Some("q"))]);
    for pick in 0..4 {
        let taken = group.route(b"a", pick, |subscription| subscription.sid == "1");
        assert_eq!(taken, 1);
    }
    assert_eq!(group.route(b"a", 0, |_| false), 0);
}

#[test]
fn a_sid_in_use_keeps_its_first_subscription() {
    let mut index = index(&[("a", None)]);
    index.subscribe((), 1, text("0"), text("b"), None);
    assert_eq!(recipients(&index, "a", 0), ["0"]);
    assert!(recipients(&index, "b", 0).is_empty());
    // Another client may use the same sid.
    index.subscribe((), 2, text("0"), text("b"), None);
    assert_eq!(recipients(&index, "b", 0), ["0"]);
}

/// Routes once, claiming as a connection does.
fn deliver(index: &mut Index, subject: &str) -> usize {
    let mut last = Vec::new();
    let taken = index.route(subject.as_bytes(), 0, |subscription| match subscription.claim() {
        Claim::Granted => true,
        Claim::Last => {
            last.push(Arc::clone(subscription));
            true
        }
        Claim::Exhausted => false,
    });
    for subscription in &last {
        index.remove(subscription);
    }
    taken
}

#[test]
fn a_maximum_counts_from_the_beginning_of_the_subscription() {
    let mut counted = index(&[("a", None)]);
    assert_eq!(deliver(&mut counted, "a"), 1);
    counted.unsubscribe(1, b"0", Some(3));
    let taken: Vec<usize> = (0..4).map(|_| deliver(&mut counted, "a")).collect();
    assert_eq!(taken, [1, 1, 0, 0]);
    assert!(counted.literal.is_empty(), "an exhausted subscription leaves nothing behind");
}

#[test]
fn a_maximum_that_is_reached_already_ends_the_subscription_now() {
    let mut counted = index(&[("a", None)]);
    assert_eq!(deliver(&mut counted, "a"), 1);
    counted.unsubscribe(1, b"0", Some(1));
    assert!(counted.literal.is_empty());
}

/// The definition of a match, written as plainly as possible.
fn matches(pattern: &str, subject: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    let subject: Vec<&str> = subject.split('.').collect();
    match pattern.strip_suffix(&[">"]) {
        Some(head) => subject.len() > head.len() && agree(head, &subject[..head.len()]),
        None => subject.len() == pattern.len() && agree(&pattern, &subject),
    }
}

fn agree(pattern: &[&str], subject: &[&str]) -> bool {
    pattern.iter().zip(subject).all(|(want, have)| *want == "*" || want == have)
}

proptest! {
    #[test]
    fn the_index_agrees_with_the_definition(
        patterns in vec(r"([ab*]\.){0,3}([ab*]|>)", 0..12),
        subject in r"[ab](\.[ab]){0,3}",
        removed in vec(any::<bool>(), 12),
    ) {
        let mut index = Index::new();
        let mut model = BTreeMap::new();
        for (sid, pattern) in patterns.iter().enumerate() {
            let sid = sid.to_string();
            index.subscribe((), 1, text(&sid), text(pattern), None);
            model.insert(sid, pattern);
        }
        for (sid, gone) in removed.iter().enumerate().filter(|(_, gone)| **gone) {
            prop_assert!(gone);
            index.unsubscribe(1, sid.to_string().as_bytes(), None);
            model.remove(&sid.to_string());
        }
        let mut expect: Vec<String> = model
            .iter()
            .filter(|(_, pattern)| matches(pattern, &subject))
            .map(|(sid, _)| sid.clone())
            .collect();
        expect.sort();
        prop_assert_eq!(recipients(&index, &subject, 0), expect);

        index.remove_client(1);
        prop_assert!(index.literal.is_empty() && index.wildcard.is_empty());
        prop_assert!(index.by_client.is_empty());
    }
}
