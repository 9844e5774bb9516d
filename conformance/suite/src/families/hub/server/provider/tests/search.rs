use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::families::hub::server::provider::mailbox::Mailbox;
use crate::families::hub::server::provider::search::Query;
use crate::families::hub::server::provider::seed;

fn now() -> Timestamp {
    "2026-03-04T00:00:00Z".parse().expect("a time")
}

/// Subjects of the seeds that a query finds, the newest first; of each the first word that is not `Re`.
fn found(mailbox: &Mailbox, query: &str) -> Vec<String> {
    let query = Query::parse(query, now());
    let fits = mailbox.newest_first().into_iter().filter(|mail| query.fits(mail));
    fits.map(|mail| {
        let subject = mail.mime_message.subject.trim_start_matches("Re: ");
        subject.split(' ').next().unwrap_or_default().to_lowercase()
    })
    .collect()
}

#[test]
fn queries_find_what_they_say() {
    let mailbox = seed::account(Customer::Connected).mailbox;
    let everything = found(&mailbox, "").len();
    assert_eq!(everything, 11);
    for (query, expected) in [
        ("from:ana@orchid.example", "the numbers first"),
        ("FROM:Ana", "the numbers first"),
        ("from:orchid.example subject:harvest", "the numbers first"),
        ("from:me", ""),
        ("subject:harvest", "the numbers first"),
        ("subject:\"last harvest\"", "numbers"),
        ("subject:(harvest plan)", "the"),
        ("subject:(plan OR numbers)", "the numbers"),
        ("subject:{plan numbers}", "the numbers"),
        ("\"harvest last\"", ""),
        ("crates", "numbers"),
        ("HARVEST -plan", "numbers first"),
        ("harvest -(plan OR numbers)", "first"),
        ("harvest -from:ana", ""),
        ("moss OR lunch", "moss lunch"),
        ("moss|lunch", "moss lunch"),
        ("from:cleo moss OR lunch", "lunch"),
        ("has:attachment", "the"),
        ("filename:plan.ods", ""),
        ("plan.ods", "the"),
        ("is:unread from:orchid.example", "heating the"),
        ("is:read from:orchid.example", "heating numbers first"),
        ("in:sent", "who delivery heating"),
        ("label:inbox category:promotions", "moss"),
        ("to:bo", "who heating"),
        ("cc:bo", ""),
        ("after:2026/03/01", "moss lunch"),
        ("after:2026-03-01 before:2026/03/02", "lunch"),
        ("before:2026/2/11", "first"),
        ("newer_than:2d", "moss"),
        ("older_than:19d", "numbers first"),
        ("after:1772409600", "moss"),
        ("frobnicate:harvest", ""),
        ("harvest:plan", ""),
        ("from:", "moss lunch who delivery delivery heating heating heating the numbers first"),
        ("nothinglikeit", ""),
    ] {
        assert_eq!(found(&mailbox, query).join(" "), expected, "{query}");
    }
    let id = mailbox.newest_first()[0].mime_message.message_id.clone().expect("an id");
    assert_eq!(found(&mailbox, &format!("rfc822msgid:<{id}>")), ["moss"]);
    assert_eq!(found(&mailbox, &format!("rfc822msgid:{id}")), ["moss"]);
}

proptest! {
    #[test]
    fn every_text_is_a_query(text in r#"([a-z(){}"| :-]|OR |from:|subject:\(|-|\PC){0,80}"#) {
        let mailbox = seed::account(Customer::Connected).mailbox;
        let negated = found(&mailbox, &format!("-({text})")).len();
        prop_assert!(negated <= 11);
    }
}

#[test]
fn deep_and_long_queries_end() {
    for piece in ["(", "-", "{", "subject:(", "a OR ", "\""] {
        let query = Query::parse(&piece.repeat(10_000), now());
        for mail in seed::account(Customer::Connected).mailbox.newest_first() {
            query.fits(mail);
        }
    }
}
