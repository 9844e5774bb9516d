//! The artifact store as a black box: files below a context root, found by what their paths or contents name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callmark_reports::record::Direction;
use serde_json::Value;

use super::answer;
use super::answer::Answer;
use super::replicas;
use super::scene::{Made, Scene};
use super::server::{ROOT, measured};
use crate::engine::files as bounded;
use crate::net::wire::Wire;
use crate::net::wire::{CALL, REPLICA, SCENARIO, TOOL};
use crate::transcript::{Frame, Kind, Message};

/// Largest file that is read.
const MAX_FILE: u64 = 32 * 1024 * 1024;
/// Most files that are looked at below one root.
const MAX_FILES: usize = 20_000;

/// The two artifacts of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `…/<span>.context`, for people.
    Context,
    /// `…/<span>/result.json`, for machines.
    Json,
}

impl Form {
    /// The name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context => "`.context`",
            Self::Json => "`result.json`",
        }
    }

    /// Whether a path is one of this form.
    pub fn is(self, path: &str) -> bool {
        // A file may have no name but its ending.
        let ending = path.rsplit_once('.').map(|(_, ending)| ending);
        match self {
            Self::Context => ending == Some("context"),
            Self::Json => ending == Some("json"),
        }
    }

    /// Where the contract's uri form puts it.
    pub fn tail(self, trace: &str, span: &str) -> String {
        match self {
            Self::Context => format!("runs/{trace}/tool_calls/{span}.context"),
            Self::Json => format!("runs/{trace}/tool_calls/{span}/result.json"),
        }
    }
}

/// Looks for the artifacts of a call, and writes them down as what the target stored.
pub fn record(scene: &Scene, made: &Made, wire: &dyn Wire) -> Vec<Frame> {
    let Some(root) = &scene.root else { return Vec::new() };
    let before = stored(scene);
    let answer = scene.client.transcript.with(|frames| answer::of(frames, made.id));
    let uris = uris(&answer);
    let given: Option<&str> =
        ["span_id", "trace_id"].iter().find_map(|name| made.call.arguments.get(*name)?.as_str());
    let in_trace = |name: &str| {
        let arguments = &made.call.arguments;
        answer::correlation_id(arguments, &answer, &scene.session.table.trace_pointer, name)
    };
    let (trace, span) = (in_trace("trace_id"), in_trace("span_id"));
    let named_paths = named(root, &uris);
    // Who names both artifacts spares us the search.
    let paths = if [Form::Context, Form::Json].iter().all(|form| named_paths.iter().any(|path| form.is(path)))
    {
        named_paths
    } else {
        let below = |path: PathBuf| path.strip_prefix(root).ok().map(|path| path.display().to_string());
        files(root).into_iter().filter_map(below).collect()
    };
    for form in [Form::Context, Form::Json] {
        let mut found = Vec::new();
        for path in paths.iter().filter(|path| form.is(path)) {
            let by_uri = uris.iter().any(|uri| path.ends_with(uri.as_str()));
            let by_path = given.is_some_and(|id| path.contains(id));
            // Several endings of a uri may lead to the same file.
            if (by_uri || by_path) && !found.contains(path) {
                found.push(path.clone());
            }
        }
        // A server makes a span for a call that has none, which need not be unlike all other names.
        if let (true, Some(span)) = (found.is_empty(), &span) {
            found = of_span(&paths, form, span, trace.as_deref());
        }
        if found.is_empty() {
            // A store that names its files otherwise still says in them which call it was.
            let ids: Vec<&str> = match (given, &trace, &span) {
                (Some(given), ..) => vec![given],
                (None, Some(trace), Some(span)) => vec![trace.as_str(), span.as_str()],
                _ => Vec::new(),
            };
            let named = |path: &&String| {
                let text = read(&root.join(path.as_str()));
                let has_all = |text: &str| !ids.is_empty() && ids.iter().all(|id| text.contains(id));
                text.as_str().is_some_and(has_all)
            };
            found = paths.iter().filter(|path| form.is(path)).filter(named).cloned().collect();
        }
        for path in found.into_iter().take(8) {
            let body = read(&root.join(&path));
            write_down(scene, made, path, body, wire);
        }
    }
    scene.client.transcript.with(|frames| frames.get(before..).unwrap_or_default().to_vec())
}

/// The files of a form with the span as a part of their paths: those that have the trace as well, or else the only one.
fn of_span(paths: &[String], form: Form, span: &str, trace: Option<&str>) -> Vec<String> {
    let own = paths.iter().filter(|path| form.is(path) && has_part(path, span));
    let own: Vec<String> = own.cloned().collect();
    let traced: Vec<String> =
        own.iter().filter(|path| trace.is_some_and(|trace| has_part(path, trace))).cloned().collect();
    match (traced.is_empty(), own.len()) {
        (false, _) => traced,
        (true, 1) => own,
        (true, _) => Vec::new(),
    }
}

/// Whether a folder of the path, or the file without the ending of its form, has this name.
pub fn has_part(path: &str, name: &str) -> bool {
    path.split('/').any(|part| part == name || part.strip_suffix(".context").is_some_and(|own| own == name))
}

/// How many messages there are.
fn stored(scene: &Scene) -> usize {
    scene.client.transcript.with(<[Frame]>::len)
}

/// Files that the uris name, in the root itself or in one of its folders.
fn named(root: &Path, uris: &[String]) -> Vec<String> {
    let folders = std::fs::read_dir(root).into_iter().flatten().flatten();
    let folders = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let places: Vec<PathBuf> = std::iter::once(PathBuf::new()).chain(folders.map(PathBuf::from)).collect();
    let inside = |tail: &&String| !tail.split('/').any(|part| part == "..");
    let paths = uris.iter().filter(inside).flat_map(|tail| places.iter().map(move |place| place.join(tail)));
    paths.filter(|path| root.join(path).is_file()).map(|path| path.display().to_string()).collect()
}

/// Paths that the envelope's uris end with. What comes first in a uri may be the name of a store, and no folder.
fn uris(answer: &Answer) -> Vec<String> {
    let envelope = answer.readable().unwrap_or_default();
    let members = envelope.as_object().into_iter().flatten();
    let tails = members.filter_map(|(_, value)| value.as_str()?.strip_prefix("artifact://"));
    let mut tails: Vec<&str> = tails.filter(|tail| !tail.is_empty()).collect();
    let paths = tails.iter().filter_map(|tail| tail.split_once('/')).map(|(_, path)| path);
    // A name alone may be that of any file.
    let paths: Vec<&str> = paths.filter(|path| path.contains('/')).collect();
    tails.extend(paths);
    // The text of a call lies beside the folder with its JSON, as the contract has them.
    let texts = tails
        .iter()
        .filter_map(|tail| tail.strip_suffix("/result.json"))
        .map(|folder| format!("{folder}.context"));
    let texts: Vec<String> = texts.collect();
    tails.into_iter().map(str::to_owned).chain(texts).collect()
}

/// Files below a directory, by path.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut open = vec![directory.to_owned()];
    let mut found = Vec::new();
    while let Some(next) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                open.push(entry.path());
            } else if found.len() < MAX_FILES {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// A file's text; a list of one number where it is not UTF-8, its length.
fn read(path: &Path) -> Value {
    // A server can leave a pipe, a device, or a file that is all holes.
    if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
        return Value::Null;
    }
    match bounded::read(path, MAX_FILE).map(String::from_utf8) {
        Ok(Ok(text)) => Value::from(text),
        Ok(Err(error)) => Value::from(vec![error.as_bytes().len()]),
        Err(_) => Value::Null,
    }
}

/// Writes down every file of the scenario, wherever it lies, and gives the places of those outside the root.
pub fn escaped(scene: &Scene, made: &Made, wire: &dyn Wire) -> Vec<String> {
    let Some(root) = &scene.root else { return Vec::new() };
    let outside = scene.session.outside();
    let inside = root.strip_prefix(outside).unwrap_or(root).display().to_string();
    let before = stored(scene);
    let ours = files(outside)
        .into_iter()
        .filter_map(|path| path.strip_prefix(outside).ok().map(|path| path.display().to_string()))
        .filter(|path| path.contains(&scene.unique));
    for path in ours {
        write_down(scene, made, path, Value::Null, wire);
    }
    let found = scene.frames().split_off(before);
    let below = format!("{inside}/");
    let outside = found.into_iter().map(|frame| frame.channel).filter(|path| !path.starts_with(&below));
    // Which of the started servers it was says nothing.
    outside.map(|path| path.split_once('/').map_or(path.clone(), |(_, rest)| format!("…/{rest}"))).collect()
}

fn write_down(scene: &Scene, made: &Made, path: String, body: Value, wire: &dyn Wire) {
    let mut headers = BTreeMap::from([
        (SCENARIO.to_owned(), scene.client.scenario.clone()),
        (CALL.to_owned(), made.id.to_string()),
        (TOOL.to_owned(), made.call.tool.clone()),
        (ROOT.to_owned(), scene.kind.name().to_owned()),
    ]);
    let replica = scene.client.transcript.peek(|frames| replicas::asked(frames, made.id));
    headers.extend(replica.map(|replica| (REPLICA.to_owned(), (replica + 1).to_string())));
    let message =
        Message { direction: Direction::FromTarget, kind: Kind::Artifact, channel: path, headers, body };
    for message in wire.incoming(message) {
        scene.client.transcript.record(measured(message));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_may_have_no_name_but_its_ending() {
        assert!(Form::Context.is("runs/t/tool_calls/s/.context") && Form::Context.is("s.context"));
        assert!(!Form::Context.is("runs/t/context") && !Form::Json.is("s.context"));
    }

    #[test]
    fn a_uri_may_begin_with_the_name_of_a_store() {
        let text = json!({"artifact_uri_json": "artifact://store-7/runs/t/s/result.json", "other": "artifact://x/a.json"});
        let content = json!([{"type": "text", "text": text.to_string()}]);
        let found = uris(&Answer::Success(json!({"content": content})));
        assert!(found.contains(&"store-7/runs/t/s/result.json".to_owned()), "{found:?}");
        assert!(found.contains(&"runs/t/s/result.json".to_owned()), "{found:?}");
        // A name alone may be that of any file.
        assert!(!found.contains(&"a.json".to_owned()), "{found:?}");
    }

    #[test]
    fn a_span_names_the_files_that_have_it_as_a_part_of_their_path() {
        let paths =
            ["runs/t1/tool_calls/1.context", "runs/t2/tool_calls/1.context", "runs/t1/tool_calls/11.context"];
        let paths = paths.map(str::to_owned);
        let check = |span: &str, trace: Option<&str>, expect: &[&str]| {
            assert_eq!(of_span(&paths, Form::Context, span, trace), expect, "{span} {trace:?}");
        };
        check("1", Some("t2"), &[&paths[1]]);
        check("1", None, &[]);
        check("11", None, &[&paths[2]]);
        check("11", Some("t9"), &[&paths[2]]);
        check("2", Some("t1"), &[]);
        assert!(of_span(&paths, Form::Json, "11", None).is_empty());
    }
}
