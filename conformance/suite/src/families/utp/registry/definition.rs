//! What is uploaded: a tool definition with all six members, and what a scenario makes of it (Guide §3.2).

use serde_json::{Value, json};

use super::yaml::{Writing, write};

/// What stands for the word in the texts of the features.
const WORD: &str = "<word>";

/// What the word stands between in the schema of every definition.
const AROUND_THE_WORD: (&str, &str) = ("What to look up for ", "; ");

/// The six members of an upload.
pub const MEMBERS: [&str; 6] =
    ["tool_name", "target_subject", "after_execution", "parameters", "options", "description"];

/// A tool definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Stands in all its texts but the name: a row that mentions it cannot have been made from a path.
    pub word: String,
    /// The members.
    pub body: Value,
    /// How it is written.
    pub writing: Writing,
    /// What is special about it, in the words of the feature; for those who read the frames.
    pub form: String,
}

impl Definition {
    /// A definition without a fault.
    ///
    /// Its schema and options hold what is easily lost on the way: null, false, zero and the empty text, lists and
    /// objects within each other, large numbers, other alphabets, and placeholders that are none of a registry's
    /// business.
    pub fn full(version: &str, name: &str, word: &str) -> Self {
        let (before, after) = AROUND_THE_WORD;
        let body = json!({
            "tool_name": name,
            "target_subject": subject(version, "cmd.tool.<word>.lookup", word),
            "after_execution": "suspend",
            "description": format!("Wasserstände – 潮 – of station {word}: \"spring\" and 'neap' tides,\nas the chart has them."),
            "parameters": {
                "type": "object",
                "description": format!("{before}{word}{after}{{channel_id}} is a text here."),
                "properties": {
                    "harbour": {"type": "string", "minLength": 1, "description": "A harbour – 港 –\nas the chart has it."},
                    "days": {"type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64, "default": 0},
                    "height": {"type": ["number", "null"], "multipleOf": 0.25, "default": null},
                    "step": {"type": "number", "enum": [0, 1, 2.5, 10], "exclusiveMinimum": -0.5},
                    "unit": {"type": "string", "enum": ["", "m", "ft"], "default": ""},
                    "detailed": {"type": "boolean", "default": false},
                    "marks": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"at": {"type": "array", "items": {"type": "number"}, "maxItems": 9}},
                            "required": ["at"],
                        },
                        "default": [],
                    },
                    "session": {"type": "string"},
                    "tenant": {"type": "string"},
                    "api_key": {"type": "string"},
                },
                "required": ["tenant", "harbour"],
                "additionalProperties": false,
            },
            "options": {
                "args": {
                    "defaults": {
                        "days": 0, "unit": "", "height": null, "detailed": false, "step": 2.5,
                        "marks": [{"at": [0.5, 2]}, {"at": [], "note": null}],
                        "session": format!("{{agent_turn_id}}-{word}"),
                    },
                    "fixed": {"tenant": "{project_id}"},
                },
                "envs": {"api_key": "TIDES_API_KEY"},
                "jina": {
                    "mode": "search", "base_url": "https://s.jina.ai", "path": "/tides", "method": "GET",
                    "auth_env": "TIDES_API_KEY",
                },
            },
        });
        Self { word: word.to_owned(), body, writing: Writing::default(), form: String::new() }
    }

    /// The definition that was uploaded as this text; nothing where it is none of ours.
    pub fn read(text: &str) -> Option<Self> {
        let body: Value = serde_yaml_ng::from_str(text).ok()?;
        let (before, after) = AROUND_THE_WORD;
        let (word, _) =
            body.pointer("/parameters/description")?.as_str()?.strip_prefix(before)?.split_once(after)?;
        let word = word.to_owned();
        Some(Self { word, body, writing: Writing::default(), form: String::new() })
    }

    /// A new version of it, different in every member but the name.
    #[must_use]
    pub fn revised(&self, version: &str, word: &str) -> Self {
        let mut revised = Self::full(version, self.name(), word);
        revised.set("after_execution", "terminate".into());
        revised
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        self.body.get("tool_name").and_then(Value::as_str).unwrap_or_default()
    }

    /// The version token of its subject.
    pub fn version(&self) -> Option<&str> {
        self.body.get("target_subject").and_then(Value::as_str).and_then(|subject| subject.split('.').nth(1))
    }

    /// Sets a member.
    pub fn set(&mut self, name: &str, value: Value) {
        self.body[name] = value;
    }

    /// Takes a member away.
    pub fn remove(&mut self, name: &str) {
        if let Some(members) = self.body.as_object_mut() {
            members.shift_remove(name);
        }
    }

    /// Sets the subject to one of this family.
    pub fn set_subject(&mut self, version: &str, rest: &str) {
        self.set("target_subject", subject(version, rest, &self.word).into());
    }

    /// As it is sent.
    pub fn text(&self) -> String {
        write(&self.body, self.writing)
    }
}

/// A full subject with its placeholders.
fn subject(version: &str, rest: &str, word: &str) -> String {
    format!("cg.{version}.{{project_id}}.{{channel_id}}.{}", rest.replace(WORD, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_the_same_however_it_is_written() {
        let mut definition = Definition::full("v1r3", "tide_1", "wabc");
        for writing in Writing::ALL {
            definition.writing = writing;
            let read: Value = serde_yaml_ng::from_str(&definition.text()).expect("sound YAML");
            assert_eq!(read, definition.body, "{writing:?}");
        }
    }

    #[test]
    fn its_schema_is_one() {
        let definition = Definition::full("v1r3", "tide_1", "wabc");
        assert!(MEMBERS.iter().all(|name| definition.body.get(name).is_some()));
        let parameters = &definition.body["parameters"];
        let options = &definition.body["options"];
        for group in [&options["args"]["defaults"], &options["args"]["fixed"], &options["envs"]] {
            let names = group.as_object().expect("an object").keys();
            names.for_each(|name| assert!(parameters["properties"].get(name).is_some(), "{name}"));
        }
    }

    #[test]
    fn a_new_version_differs_in_every_member() {
        let first = Definition::full("v1r3", "tide_1", "wabc");
        let second = first.revised("v1r3", "wdef");
        for name in MEMBERS.into_iter().filter(|name| *name != "tool_name") {
            assert_ne!(first.body[name], second.body[name], "{name}");
        }
        assert_eq!(first.name(), second.name());
    }
}
