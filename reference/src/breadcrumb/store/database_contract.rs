//! What every database of breadcrumbs must do, for the tests of each of them.

use serde_json::{Map, Value, json};

use super::database::Database;
use super::query::{Query, WriteError};
use super::record::{Parts, Record};

/// The body of a request.
pub(super) fn members(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).expect("an object")
}

/// A breadcrumb with one tag, a text and a schema.
pub(super) fn parts(title: &str, tag: &str, text: &str) -> Parts {
    let body =
        json!({"title": title, "tags": [tag], "context": {"text": text}, "schema_name": "note.v1", "ttl": 3});
    Parts::read(members(body)).expect("parts")
}

/// Titles of what a query finds.
pub(super) fn titles(database: &Database, query: Query) -> Vec<String> {
    let query = Query { limit: query.limit.max(1), bytes: 1 << 20, ..query };
    let found = database.list(&query).expect("no error");
    found.into_iter().map(|record| record.parts.title).collect()
}

/// A query for up to ten.
pub(super) fn ten() -> Query {
    Query { limit: 10, ..Query::default() }
}

fn create(database: &Database, id: &str, parts: Parts, key: Option<&str>) -> Result<(), WriteError> {
    database.create(id.to_owned(), parts, key, |_record| {})
}

fn change(database: &Database, id: &str, body: Value, version: Option<i64>) -> Result<(), WriteError> {
    database.change(id, members(body), version, |_record| {})
}

/// What every database must do, beginning with an empty one that takes 100,000 bytes.
pub(super) fn check_database(database: &Database) {
    assert!(titles(database, ten()).is_empty());
    create(database, "a", parts("first", "sea", "The tide of Dover, rising"), Some("key")).expect("no error");
    let again = create(database, "x", parts("again", "sea", ""), Some("key"));
    assert!(matches!(again, Err(WriteError::KeyUsed)), "{again:?}");
    assert!(database.find("x").expect("no error").is_none());
    create(database, "b", parts("second", "land", "the tide and the TIDE again"), None).expect("no error");
    create(database, "c", parts("third", "sea\0\\", "nul \0 and \\0"), None).expect("no error");

    let found: Record = database.find("c").expect("no error").expect("a record");
    assert_eq!((found.version, found.parts), (1, parts("third", "sea\0\\", "nul \0 and \\0")));

    // The newest first, and what is changed is new.
    assert_eq!(titles(database, ten()), ["third", "second", "first"]);
    change(database, "a", json!({"title": "changed", "tags": ["sea", "sky"]}), Some(1)).expect("no error");
    assert_eq!(titles(database, ten()), ["changed", "third", "second"]);
    assert_eq!(titles(database, Query { limit: 1, offset: 1, ..Query::default() }), ["third"]);
    let late = change(database, "a", json!({"title": "late"}), Some(1));
    assert!(matches!(late, Err(WriteError::Version { actual: 2 })), "{late:?}");
    let wrong = change(database, "a", json!({"title": 5}), None);
    assert!(matches!(wrong, Err(WriteError::Members(_))), "{wrong:?}");
    let unknown = change(database, "z", json!({}), None);
    assert!(matches!(unknown, Err(WriteError::Unknown)), "{unknown:?}");
    let long = "long ".repeat(30_000);
    let too_long = create(database, "d", parts("long", "sea", &long), None);
    assert!(matches!(too_long, Err(WriteError::TooLong { .. })), "{too_long:?}");
    let too_long = change(database, "a", json!({"context": {"text": long}}), None);
    assert!(matches!(too_long, Err(WriteError::TooLong { .. })), "{too_long:?}");

    let tagged = |tag: &str| titles(database, Query { tag: Some(tag.to_owned()), ..ten() });
    assert_eq!(tagged("sea"), ["changed"]);
    assert_eq!(tagged("sky"), ["changed"]);
    assert_eq!(tagged("sea\0\\"), ["third"]);
    assert!(tagged("first").is_empty());
    let schema = |name: &str| titles(database, Query { schema_name: Some(name.to_owned()), ..ten() }).len();
    assert_eq!((schema("note.v1"), schema("note.v2")), (3, 0));

    let worded = |words: &str| titles(database, Query { words: Some(words.to_owned()), ..ten() });
    assert_eq!(worded("Tide"), ["second", "changed"], "what has it more often comes first");
    assert_eq!(worded("dover' OR \"rising"), ["changed"], "signs mean nothing");
    assert!(worded("first").is_empty(), "it was changed");
    assert_eq!(worded("..."), ["changed", "third", "second"], "no words are no condition");
}
