//! What stays of a call below the context root (contract, Artifacts).
//!
//! `artifacts/runs/<trace>/tool_calls/<span>.context` is text for people, `…/<span>/result.json` the envelope.
//! Both hold what the envelope holds: results that are redacted and bounded. Failed calls leave both as well.
//! A call with the trace and span of an earlier one replaces that one's artifacts: the ids are the caller's, and a
//! reference stays stable as long as its ids are not used again.
//! Artifacts that cannot be written do not fail a call: their uris are null, and the log says why.
//! Deliberately absent: removing old artifacts, and one transaction over both files.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use super::envelope::{CallEnding, Envelope, Trace, Uris};
use super::files::{folder, safe_name, write_whole};
use crate::log::Log;

/// The longest text artifact, in bytes.
const CONTEXT_BYTES: usize = 256 * 1024;
/// What ends a text artifact that was cut.
const CUT: &str = "\n… cut to the size of an artifact\n";

/// Writes artifacts below one root.
pub(crate) struct ArtifactStore {
    root: PathBuf,
    log: Log,
}

impl ArtifactStore {
    pub(crate) fn new(root: PathBuf, log: Log) -> Self {
        Self { root, log }
    }

    /// Writes both artifacts of a call; the uris are those of the files that are there afterwards.
    pub(crate) fn write(&self, envelope: &Envelope, arguments: &Value) -> Uris {
        self.try_write(envelope, arguments).unwrap_or_else(|error| {
            (self.log)(&format!("no artifacts of a call of `{}`: {error}", envelope.tool));
            Uris::default()
        })
    }

    fn try_write(&self, envelope: &Envelope, arguments: &Value) -> io::Result<Uris> {
        let Trace { trace_id, span_id, .. } = &envelope.trace;
        let (trace, span) = (safe_name(trace_id), safe_name(span_id));
        let below = format!("runs/{trace}/tool_calls");
        let uris = Uris {
            context: Some(format!("artifact://{below}/{span}.context")),
            json: Some(format!("artifact://{below}/{span}/result.json")),
        };
        let calls = ["artifacts", "runs", &trace, "tool_calls"];
        let own = folder(&self.root, &[&calls[..], &[&span]].concat())?;
        let context = context(envelope, arguments);
        write_whole(&folder(&self.root, &calls)?, &format!("{span}.context"), context.as_bytes())?;
        let json = serde_json::to_vec(&envelope.to_json(&uris)).map_err(io::Error::from)?;
        write_whole(&own, "result.json", &json)?;
        Ok(uris)
    }
}

/// The text artifact. Ids and the like are shown as JSON strings, so that none of them can break a line.
fn context(envelope: &Envelope, arguments: &Value) -> String {
    let mut text = String::new();
    let line = |text: &mut String, name: &str, value: Option<&str>| {
        let value = value.map_or_else(|| "none".to_owned(), |value| Value::from(value).to_string());
        let _ = writeln!(text, "{name}: {value}");
    };
    text.push_str("[CALL]\n");
    line(&mut text, "tool", Some(&envelope.tool));
    line(&mut text, "action", envelope.action.as_deref());
    line(&mut text, "trace_id", Some(&envelope.trace.trace_id));
    line(&mut text, "span_id", Some(&envelope.trace.span_id));
    line(&mut text, "parent_span_id", envelope.trace.parent_span_id.as_deref());
    let _ = writeln!(text, "duration_ms: {}", envelope.duration_ms);
    section(&mut text, "ARGUMENTS", arguments);
    match &envelope.ending {
        CallEnding::Error(error) => section(&mut text, "ERROR", error),
        CallEnding::Result { result, truncation, next_actions } => {
            section(&mut text, "RESULT", result);
            if let Some(truncation) = truncation {
                section(&mut text, "BOUNDED", &truncation.to_json());
            }
            if let Some(next_actions) = next_actions {
                section(&mut text, "NEXT ACTIONS", next_actions);
            }
        }
    }
    if text.len() > CONTEXT_BYTES {
        let mut end = CONTEXT_BYTES - CUT.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

fn section(text: &mut String, title: &str, value: &Value) {
    let _ = writeln!(text, "\n[{title}]\n{value:#}");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ArtifactStore, CONTEXT_BYTES, context};
    use crate::log::no_log;
    use crate::toolbus::envelope::{CallEnding, Envelope, Trace, Uris};

    fn envelope(result: Value) -> Envelope {
        Envelope {
            tool: "depot_lookup".to_owned(),
            action: Some("find".to_owned()),
            trace: Trace { trace_id: "tr".to_owned(), span_id: "s\n1".to_owned(), parent_span_id: None },
            duration_ms: 5,
            ending: CallEnding::Result { result, truncation: None, next_actions: None },
        }
    }

    #[test]
    fn the_text_is_for_people() {
        let text = context(&envelope(json!({"count": 12})), &json!({"item": "bolt-9"}));
        assert_eq!(
            text,
            "[CALL]\ntool: \"depot_lookup\"\naction: \"find\"\ntrace_id: \"tr\"\nspan_id: \"s\\n1\"\n\
             parent_span_id: none\nduration_ms: 5\n\n[ARGUMENTS]\n{\n  \"item\": \"bolt-9\"\n}\n\n\
             [RESULT]\n{\n  \"count\": 12\n}\n"
        );
    }

    #[test]
    fn the_text_is_bounded() {
        let text = context(&envelope(json!(vec![json!(["é"]); 60_000])), &json!({}));
        assert!(text.len() <= CONTEXT_BYTES && text.ends_with("artifact\n"));
    }

    #[test]
    fn a_root_that_cannot_be_written_leaves_no_uris() -> std::io::Result<()> {
        let file = tempfile::NamedTempFile::new()?;
        let store = ArtifactStore::new(file.path().to_owned(), no_log());
        assert_eq!(store.write(&envelope(json!(1)), &json!({})), Uris::default());
        Ok(())
    }
}
