//! What a registry must do with a definition: pure judgements over uploads.
//!
//! That something is refused counts only where good definitions were taken and shown on the same path before and after
//! it. What a row holds is looked at only where it is the row of what was uploaded.

use serde_json::Value;

use super::exchange::{Reading, is_made_of};
use super::upload::{Seen, Upload};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::reason::Alternative;

/// Members that a stored row is known by (UTP §2). Whatever else a registry keeps is its own business.
const ROW: [&str; 7] =
    ["project_id", "tool_name", "description", "parameters", "target_subject", "after_execution", "options"];
/// Members of an upload that a row must have. A `description` may be left out of it (Guide §3.2).
const KEPT: [&str; 5] = ["tool_name", "target_subject", "after_execution", "parameters", "options"];
/// The two values of `after_execution`.
pub(super) const VALUES: [&str; 2] = ["suspend", "terminate"];

/// The definition is taken, and can be read back.
pub(super) fn is_accepted(seen: &Seen<'_>) -> Judgement {
    let upload = &seen.upload;
    if upload.stored().is_some() {
        return Ok(());
    }
    let finding = Finding::new(upload.summary(), hint(upload)).expected("2xx, and then the row at GET");
    let finding = upload.post.shown_in(finding);
    Err(match upload.after.filter(|_| upload.post.is_2xx()) {
        Some(read) => read.shown_in(finding).actual(Some(read.body())),
        None => finding.actual(upload.post.status().map(Value::from).as_ref()),
    }
    .into())
}

/// What to change where a good definition is not taken or not shown.
fn hint(upload: &Upload<'_>) -> &'static str {
    match upload.post.status() {
        None => "answer every upload",
        Some(401 | 403) => "let the suite in: `utp.registry.headers` names the headers of every request",
        Some(404) => {
            "serve `POST /projects/{project_id}/tools`; where projects must exist, name one with \
             `utp.registry.project`"
        }
        Some(415) => {
            "take YAML: as the body, or with `utp.registry.encoding = \"multipart\"` as the part `file`; \
             `content-type` in `utp.registry.headers` names another media type"
        }
        Some(200..300) => {
            "keep what is accepted and show it at `GET /projects/{project_id}/tools/{tool_name}`, or with \
             `utp.registry.read = \"list\"` at `GET /projects/{project_id}/tools`"
        }
        Some(_) => "accept it: it is YAML with the six members of an upload and keeps all their constraints",
    }
}

/// A member of the row is what was uploaded.
pub(super) fn is_as_uploaded(seen: &Seen<'_>, name: &str) -> Judgement {
    let upload = &seen.upload;
    if name == "tool_name" && !upload.definition.form.is_empty() && upload.post.is_4xx() {
        return Err(Alternative::RefusesNames.seen_in(upload.post.answer));
    }
    let is_alike = |good: &Upload<'_>| {
        let [own, other] = [upload, good].map(|upload| upload.definition.name());
        own != other && own.eq_ignore_ascii_case(other) && good.stored().is_some()
    };
    if upload.post.is_4xx() && seen.good.iter().any(is_alike) {
        return Err(Alternative::RefusesNames.seen_in(upload.post.answer));
    }
    if upload.post.is_4xx() && seen.old.as_ref().is_some_and(|old| old.stored().is_some()) {
        return Err(Alternative::NoNewVersion.seen_in(upload.post.answer));
    }
    if let (true, Some(good)) = (upload.post.is_2xx() && upload.stored().is_none(), seen.good.first()) {
        was_alive(Some(good), "before")?;
        let (message, hint) = match upload.reading_after() {
            Reading::Row(_) => (
                "under the name that was uploaded there is another definition",
                "keep the last definition of a name that was accepted, in each project its own",
            ),
            _ => (
                "nothing is there under the name that was uploaded",
                "find a tool under the name that its definition spells, or refuse the name",
            ),
        };
        let message = format!("{message}: {}", upload.summary());
        let finding = Finding::new(message, hint).expected(upload.definition.name()).at("/tool_name");
        return Err(read_in(upload, finding).into());
    }
    match (upload.definition.body.get(name), &seen.old) {
        (None, Some(old)) => is_left_out(upload, name, old.definition.body.get(name)),
        (expected, _) => equals(upload, name, expected.unwrap_or(&Value::Null)),
    }
}

/// The row does not have what only an earlier version of the definition said.
fn is_left_out(upload: &Upload<'_>, name: &str, earlier: Option<&Value>) -> Judgement {
    let kept = upload.row()?.get(name).filter(|kept| Some(*kept) == earlier);
    let Some(kept) = kept else { return Ok(()) };
    let finding = Finding::new(
        format!("the row has the `{name}` of the version before, which the new one leaves out"),
        "store a new version as a whole: what it does not say is not there",
    );
    let finding = finding.expected(format!("no `{name}`")).actual(Some(kept)).at(format!("/{name}"));
    Err(read_in(upload, finding).into())
}

/// The row belongs to the project of the path.
pub(super) fn is_of_its_project(seen: &Seen<'_>) -> Judgement {
    let upload = &seen.upload;
    if upload.definition.body.get("project_id").is_some() && upload.post.is_4xx() {
        return Err(Alternative::RefusesMembers.seen_in(upload.post.answer));
    }
    equals(upload, "project_id", &seen.project.into())
}

/// The row is not shown in a project that the tool was not uploaded to.
pub(super) fn is_nowhere_else(seen: &Seen<'_>) -> Judgement {
    let upload = &seen.upload;
    upload.row()?;
    let Some(elsewhere) = seen.elsewhere else {
        return Err(CheckFailure::NotObserved("no other project was looked at".to_owned()));
    };
    match elsewhere.reading(upload.definition) {
        Reading::Row(row) if is_made_of(row, upload.definition) => Err(elsewhere
            .shown_in(upload.post.shown_in(Finding::new(
                "the tool is shown in a project that it was not uploaded to",
                "keep the project of the path with every row, and show a project its own rows only",
            )))
            .expected("no such tool")
            .actual(Some(row))
            .into()),
        // That it is not there counts where the other project shows what is.
        _ => was_alive(seen.good.first(), "in the other project"),
    }
}

/// Everything that a row must have of an upload is there, whatever it is.
pub(super) fn has_all(seen: &Seen<'_>) -> Judgement {
    is_accepted(seen)?;
    row_has_all(seen)
}

/// Everything that a row must have of an upload is there, where there is a row.
pub(super) fn row_has_all(seen: &Seen<'_>) -> Judgement {
    let row = seen.upload.row()?;
    let missing = KEPT.into_iter().find(|name| row.get(*name).is_none_or(Value::is_null));
    match missing {
        Some(name) => Err(lacks(&seen.upload, name, &seen.upload.definition.body[name]).into()),
        None => Ok(()),
    }
}

fn equals(upload: &Upload<'_>, name: &str, expected: &Value) -> Judgement {
    let row = upload.row()?;
    let Some(actual) = row.get(name).filter(|actual| !actual.is_null()) else {
        return Err(lacks(upload, name, expected).into());
    };
    let Some(Difference { pointer, expected, actual }) = difference(expected, actual, format!("/{name}"))
    else {
        return Ok(());
    };
    let what = if pointer == format!("/{name}") { String::new() } else { format!(" at `{pointer}`") };
    let mut finding = Finding::new(
        format!("`{name}` of the row is not as it was uploaded{what}"),
        format!(
            "store `{name}` as it comes: nothing filled in, left out, converted or put into another spelling"
        ),
    )
    .at(pointer)
    .actual(actual);
    finding.expected = Some(expected.cloned().unwrap_or_else(|| "nothing there".into()));
    Err(read_in(upload, finding).into())
}

fn lacks(upload: &Upload<'_>, name: &str, expected: &Value) -> Finding {
    let hint = format!("store `{name}` with every tool, and show it in its row");
    let finding = Finding::new(format!("the row has no `{name}`"), hint).at(format!("/{name}"));
    read_in(upload, finding.expected(expected.clone()))
}

/// The finding, with the upload and what was read after it.
fn read_in(upload: &Upload<'_>, finding: Finding) -> Finding {
    let finding = upload.post.shown_in(finding);
    match upload.after {
        Some(read) => read.shown_in(finding),
        None => finding,
    }
}

/// The definition is refused as the caller's fault, and nothing of it is there afterwards.
pub(super) fn is_rejected(seen: &Seen<'_>) -> Judgement {
    let upload = &seen.upload;
    was_alive(seen.good.first(), "before")?;
    if upload.post.is_2xx() {
        return Err(accepted(upload).into());
    }
    changed(upload)?;
    if !upload.post.is_4xx() {
        let finding = Finding::new(
            format!(
                "the definition is not stored, and the status does not say whose fault it is: {}",
                upload.post.summary()
            ),
            "answer a status of the 400s: the definition is at fault",
        );
        let finding = finding.expected("4xx").actual(upload.post.status().map(Value::from).as_ref());
        return Err(upload.post.shown_in(finding).into());
    }
    was_alive(seen.good.get(1), "after")
}

/// The definition is not accepted, between good ones that are. What is answered and what is stored is not looked at.
pub(super) fn is_not_accepted(seen: &Seen<'_>) -> Judgement {
    was_alive(seen.good.first(), "before")?;
    was_alive(seen.good.get(1), "after")?;
    if seen.upload.post.is_2xx() { Err(accepted(&seen.upload).into()) } else { Ok(()) }
}

fn accepted(upload: &Upload<'_>) -> Finding {
    let finding = Finding::new(
        format!("the definition is accepted: {}", upload.post.summary()),
        "check a definition before anything of it is stored, and answer a status of the 400s",
    );
    let finding = finding.expected("4xx").actual(upload.post.status().map(Value::from).as_ref());
    upload.post.shown_in(finding)
}

/// The definition is refused; or, where a registry puts another version into a subject, the row has one of those that
/// are served.
pub(super) fn is_rejected_or_of_a_served_version(seen: &Seen<'_>, served: &[String]) -> Judgement {
    let upload = &seen.upload;
    if !upload.post.is_2xx() {
        return is_rejected(seen);
    }
    was_alive(seen.good.first(), "before")?;
    let actual = upload.row()?.get("target_subject");
    let version = actual.and_then(Value::as_str).and_then(|subject| subject.split('.').nth(1));
    if version.is_some_and(|version| served.iter().any(|own| own == version)) {
        return was_alive(seen.good.get(1), "after");
    }
    let finding = Finding::new(
        "a tool is registered under a subject of a version that is not served, where no command reaches it",
        "refuse the definition with a status of the 400s, or store its subject with a version that is served",
    );
    let finding = finding.expected(served.join(" or ")).actual(actual).at("/target_subject");
    Err(read_in(upload, finding).into())
}

/// The tool is what it was before its new version was refused.
pub(super) fn is_kept(seen: &Seen<'_>) -> Judgement {
    let upload = &seen.upload;
    let unseen = |why: String| Err(CheckFailure::NotObserved(why));
    match &seen.old {
        Some(old) if old.stored().is_some() => {}
        Some(old) => {
            return unseen(format!("there is no tool whose new version could be refused: {}", old.summary()));
        }
        None => return unseen("there is no tool whose new version could be refused".to_owned()),
    }
    was_alive(seen.good.first(), "before")?;
    if upload.post.is_2xx() {
        return unseen(format!("the bad definition is accepted: {}", upload.post.summary()));
    }
    changed(upload)?;
    was_alive(seen.good.get(1), "after")
}

/// A good definition was taken and shown, so what is refused is refused for its fault.
fn was_alive(good: Option<&Upload<'_>>, when: &str) -> Judgement {
    match good {
        Some(good) if good.stored().is_some() => Ok(()),
        Some(good) => Err(CheckFailure::NotObserved(format!(
            "a good definition {when} it does not get through either, so this shows nothing: {}",
            good.summary()
        ))),
        None => Err(CheckFailure::NotObserved(format!("no good definition was uploaded {when} it"))),
    }
}

/// What is there of the tool after the upload is what was there before.
fn changed(upload: &Upload<'_>) -> Judgement {
    let (before, after) = (upload.reading_before(), upload.reading_after());
    let finding = |message: String| {
        let finding = Finding::new(message, "check the whole definition before anything of it is stored");
        let finding = upload.before.map_or(finding.clone(), |read| read.shown_in(finding));
        read_in(upload, finding)
    };
    let refused = upload.post.summary();
    match (before, after) {
        (Reading::Row(before), Reading::Row(after)) => {
            let found = ROW.into_iter().find_map(|name| {
                let (old, new) = (before.get(name), after.get(name));
                let null = &Value::Null;
                difference(old.unwrap_or(null), new.unwrap_or(null), format!("/{name}"))
            });
            let Some(Difference { pointer, expected, actual }) = found else { return Ok(()) };
            let message = format!("the definition is refused, and yet the tool has changed: {refused}");
            let mut finding = finding(message).actual(actual).at(pointer);
            finding.expected = Some(expected.cloned().unwrap_or_else(|| "nothing there".into()));
            Err(finding.into())
        }
        (_, Reading::Row(after)) => {
            let message = format!("the definition is refused, and yet it is stored: {refused}");
            Err(finding(message).expected("no row").actual(Some(after)).into())
        }
        (Reading::Row(before), Reading::None) => {
            let message =
                format!("the definition is refused, and the tool that was there is gone: {refused}");
            Err(finding(message).expected(before.clone()).into())
        }
        // What could be read before it can be read after it, where nothing was stored.
        (Reading::Row(_) | Reading::None, Reading::Unknown) => {
            let summary = upload.after.map(|read| read.summary()).unwrap_or_default();
            Err(CheckFailure::NotObserved(format!("the tool cannot be read after it: {summary}")))
        }
        (_, Reading::None) | (Reading::Unknown, Reading::Unknown) => Ok(()),
    }
}

/// The first place at which two values differ.
#[derive(Debug, PartialEq)]
struct Difference<'a> {
    pointer: String,
    expected: Option<&'a Value>,
    actual: Option<&'a Value>,
}

/// Keywords of JSON Schema whose lists are sets.
const SETS: [&str; 3] = ["required", "enum", "type"];

/// Whether two lists at this place hold the same in another order, where the order says nothing.
fn is_same_set(expected: &[Value], actual: &[Value], pointer: &str) -> bool {
    let mut path = pointer.rsplit('/');
    let is_keyword = path.next().is_some_and(|name| SETS.contains(&name));
    // Below `properties` it is the name of a parameter.
    if !is_keyword || path.next() == Some("properties") || !pointer.starts_with("/parameters/") {
        return false;
    }
    let mut left: Vec<&Value> = actual.iter().collect();
    let mut is_known = |item: &Value| {
        let at = left.iter().position(|other| difference(item, other, String::new()).is_none());
        at.map(|at| left.swap_remove(at)).is_some()
    };
    expected.len() == actual.len() && expected.iter().all(&mut is_known)
}

/// Compares two values. The order of members does not count, nor whether a number is written with a point.
fn difference<'a>(expected: &'a Value, actual: &'a Value, pointer: String) -> Option<Difference<'a>> {
    let below = |name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
    match (expected, actual) {
        (Value::Object(left), Value::Object(right)) => {
            let known = left.iter().find_map(|(name, expected)| match right.get(name) {
                Some(actual) => difference(expected, actual, below(name)),
                None => Some(Difference { pointer: below(name), expected: Some(expected), actual: None }),
            });
            known.or_else(|| {
                let (name, actual) = right.iter().find(|(name, _)| !left.contains_key(*name))?;
                Some(Difference { pointer: below(name), expected: None, actual: Some(actual) })
            })
        }
        (Value::Array(left), Value::Array(right)) if is_same_set(left, right, &pointer) => None,
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(index, (expected, actual))| {
                difference(expected, actual, below(&index.to_string()))
            })
        }
        _ if same(expected, actual) => None,
        _ => Some(Difference { pointer, expected: Some(expected), actual: Some(actual) }),
    }
}

/// Whether two values of a row say the same.
pub(super) fn is_alike(left: &Value, right: &Value) -> bool {
    difference(left, right, String::new()).is_none()
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(one), Value::Number(other)) if one != other => {
            // Beyond what a float holds exactly, two integers that look alike as floats may differ.
            let is_whole = |number: &serde_json::Number| number.is_i64() || number.is_u64();
            !(is_whole(one) && is_whole(other)) && one.as_f64() == other.as_f64()
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::utp::registry::definition::Definition;
    use crate::families::utp::registry::upload::MadeUpload;
    use crate::net::wire::{EXCHANGE, STATUS};
    use crate::transcript::{Frame, Kind};

    #[test]
    fn lists_of_a_schema_that_are_sets_have_no_order() {
        let check = |pointer: &str, left: Value, right: Value, expect: bool| {
            let is_same = difference(&left, &right, pointer.to_owned()).is_none();
            assert_eq!(is_same, expect, "{pointer} {left} {right}");
        };
        check("/parameters/required", json!(["a", "b"]), json!(["b", "a"]), true);
        check("/parameters/required", json!(["a", "b"]), json!(["b", "b"]), false);
        check("/parameters/required", json!(["a", "b"]), json!(["a"]), false);
        check("/parameters/properties/unit/enum", json!(["", "m"]), json!(["m", ""]), true);
        check("/parameters/properties/required", json!(["a", "b"]), json!(["b", "a"]), false);
        check("/parameters/properties/marks/default", json!([1, 2]), json!([2, 1]), false);
        check("/options/required", json!(["a", "b"]), json!(["b", "a"]), false);
    }

    #[test]
    fn that_nothing_is_stored_takes_a_reading_that_still_works() {
        let made = MadeUpload {
            definition: Definition::full("v1r3", "a_tool", "word"),
            post: 2,
            before: Some(1),
            after: Some(3),
        };
        let check = |before: &str, after: &str, is_seen: bool| {
            let frames: Vec<Frame> = [(1, before), (2, "400"), (3, after)]
                .into_iter()
                .flat_map(|(number, status)| exchange(number, status))
                .collect();
            let upload = Upload::of(&frames, &made).expect("an upload");
            assert_eq!(changed(&upload).is_ok(), is_seen, "{before}, then {after}");
        };
        check("404", "404", true);
        check("404", "500", false);
        check("500", "404", true);
        // One that never finds what is not there in this way shows nothing by it.
        check("500", "500", true);
    }

    fn exchange(number: u32, status: &str) -> [Frame; 2] {
        let frame = |n: u32, direction: Direction, kind: Kind| Frame {
            n,
            at_us: 0,
            direction,
            kind,
            channel: "GET /projects/p/tools/a_tool".to_owned(),
            headers: [(EXCHANGE, number.to_string()), (STATUS, status.to_owned())]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            body: Value::Null,
        };
        [
            frame(number * 2, Direction::ToTarget, Kind::RegistryRequest),
            frame(number * 2 + 1, Direction::FromTarget, Kind::RegistryResponse),
        ]
    }

    #[test]
    fn a_difference_is_found_where_it_is() {
        let check = |left: Value, right: Value, expect: Option<&str>| {
            let found = difference(&left, &right, String::new()).map(|found| found.pointer);
            assert_eq!(found.as_deref(), expect, "{left} {right}");
        };
        check(json!({"a": 1, "b": [true]}), json!({"b": [true], "a": 1.0}), None);
        check(json!({"a": null}), json!({}), Some("/a"));
        check(json!({}), json!({"a/b": 1}), Some("/a~1b"));
        check(json!({"a": [0, {"b": ""}]}), json!({"a": [0, {"b": null}]}), Some("/a/1/b"));
        check(json!([1, 2]), json!([2, 1]), Some("/0"));
        check(json!([1]), json!([1, 2]), Some(""));
        check(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64), Some(""));
        check(json!(false), json!(0), Some(""));
        check(json!("1"), json!(1), Some(""));
    }
}
