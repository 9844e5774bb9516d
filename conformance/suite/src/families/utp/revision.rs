//! The revisions of UTP, and how each writes a call on the wire.
//!
//! `v1r3` puts the identity of a call (who calls, in which turn, which call) into payloads, `v1r4` into headers of the
//! same message. Scenarios and judgements name a member of the identity; where it stands is said here alone.
//!
//! Sans I/O. Neighbours: `call` is encoded by it, `judge::seen` finds the messages of a call with it, `platform` reads
//! whom a report is for.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::spec::revision::split;
use crate::transcript::Frame;

/// A revision of UTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// The one that the five documents describe.
    #[default]
    V1r3,
    /// The last one of the `v1` line.
    V1r4,
}

/// The version token of [`Revision::V1r4`].
pub const V1R4: &str = "v1r4";

/// Members of an identity, each with the header that takes its place (Context §3.2).
const HEADERS: [(&str, &str); 11] = [
    ("project_id", "CG-Project-Id"),
    ("channel_id", "CG-Channel-Id"),
    ("agent_id", "CG-Agent-Id"),
    ("agent_turn_id", "CG-Turn-Id"),
    ("turn_epoch", "CG-Turn-Epoch"),
    ("step_id", "CG-Step-Id"),
    ("tool_call_id", "CG-Tool-Call-Id"),
    ("parent_agent_id", "CG-Parent-Agent-Id"),
    ("parent_agent_turn_id", "CG-Parent-Turn-Id"),
    ("parent_step_id", "CG-Parent-Step-Id"),
    ("recursion_depth", "CG-Recursion-Depth"),
];

/// Members that no payload of a command or a report has in `v1r4` (Migration §1.3).
pub const CONTROL_MEMBERS: [&str; 16] = [
    "project_id",
    "channel_id",
    "channel",
    "agent_id",
    "agent_turn_id",
    "turn_epoch",
    "step_id",
    "tool_call_id",
    "trace_id",
    "traceparent",
    "tracestate",
    "parent_agent_id",
    "parent_agent_turn_id",
    "parent_step_id",
    "parent_traceparent",
    "recursion_depth",
];

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 2] = [Self::V1r3, Self::V1r4];

    /// The revision of a version token. Any other token than `v1r4` is one of a deployment that speaks as `v1r3` does.
    pub fn of(version: &str) -> Self {
        if version == V1R4 { Self::V1r4 } else { Self::V1r3 }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1r3 => "v1r3",
            Self::V1r4 => V1R4,
        }
    }

    /// The revision that a profile is certified for.
    pub fn of_profile(profile: &str) -> Self {
        split(profile).1.map_or(Self::V1r3, Self::of)
    }

    /// The id of a profile, given that of `v1r3`.
    pub fn profile(self, base: &str) -> String {
        match self {
            Self::V1r3 => base.to_owned(),
            Self::V1r4 => format!("{base}@{V1R4}"),
        }
    }

    /// Headers and payload of a command, from all its members and the headers that it has in any revision.
    ///
    /// A member that is null has no header: no text says null.
    pub fn encode(
        self,
        members: &Map<String, Value>,
        headers: &BTreeMap<String, String>,
    ) -> (BTreeMap<String, String>, Map<String, Value>) {
        let (mut headers, mut payload) = (headers.clone(), Map::new());
        for (member, value) in members {
            match (self.header(member), value) {
                (None, _) => drop(payload.insert(member.clone(), value.clone())),
                (Some(_), Value::Null) => {}
                (Some(header), value) => drop(headers.insert(header.to_owned(), in_header(value))),
            }
        }
        (headers, payload)
    }

    /// All members of a command, given its message.
    pub fn decode(self, command: &Frame) -> Map<String, Value> {
        let mut members = command.body.as_object().cloned().unwrap_or_default();
        for (member, _) in HEADERS {
            if let Some(text) = self.header(member).and_then(|name| header(&command.headers, name)) {
                members.insert(member.to_owned(), Value::from(text));
            }
        }
        members
    }

    /// The revision of a message whose subject has no version: `v1r4` has an identity in headers.
    pub fn shown(headers: &BTreeMap<String, String>) -> Self {
        // The depth is a header in both.
        let mut own = HEADERS.iter().filter(|(member, _)| *member != "recursion_depth");
        if own.any(|(_, name)| header(headers, name).is_some()) { Self::V1r4 } else { Self::V1r3 }
    }

    /// The header in which a member travels, if it travels in one.
    pub fn header(self, member: &str) -> Option<&'static str> {
        let own = HEADERS.iter().find(|(name, _)| *name == member);
        own.filter(|_| self == Self::V1r4).map(|(_, header)| *header)
    }

    /// The member that travels in a header, if one does, however the name is spelt.
    pub fn member(self, header: &str) -> Option<&'static str> {
        let own = HEADERS.iter().find(|(_, name)| name.eq_ignore_ascii_case(header));
        own.filter(|_| self == Self::V1r4).map(|(member, _)| *member)
    }

    /// A text of a command, whether it stands in its payload or in a header.
    pub fn sent<'a>(self, command: &'a Frame, member: &str) -> Option<&'a str> {
        match self.header(member) {
            Some(name) => header(&command.headers, name),
            None => command.body.get(member).and_then(Value::as_str),
        }
    }

    /// A member of a command, whether it stands in its payload or in a header, which holds a text.
    pub fn sent_value(self, command: &Frame, member: &str) -> Option<Value> {
        match self.header(member) {
            Some(name) => header(&command.headers, name).map(Value::from),
            None => command.body.get(member).cloned(),
        }
    }

    /// A text of a report, whether it stands in its callback or in a header.
    pub fn reported<'a>(self, report: &'a Frame, member: &str) -> Option<&'a str> {
        self.reported_in(&report.headers, &report.body, member)
    }

    /// As [`Revision::reported`], of a report that is taken in.
    pub fn reported_in<'a>(
        self,
        headers: &'a BTreeMap<String, String>,
        body: &'a Value,
        member: &str,
    ) -> Option<&'a str> {
        match self.header(member) {
            Some(name) => header(headers, name),
            None => body.get("payload")?.get(member)?.as_str(),
        }
    }

    /// A member of a report, whether it stands in its callback or in a header.
    pub fn reported_value(self, report: &Frame, member: &str) -> Option<Value> {
        match self.header(member) {
            Some(name) => header(&report.headers, name).map(Value::from),
            None => report.body.get("payload")?.get(member).cloned(),
        }
    }

    /// All members of a report's callback, wherever they stand; nothing where its payload is no object.
    pub fn callback(self, report: &Frame) -> Option<Map<String, Value>> {
        let mut members = report.body.get("payload")?.as_object()?.clone();
        for (member, _) in HEADERS {
            if let Some(text) = self.header(member).and_then(|name| header(&report.headers, name)) {
                members.insert(member.to_owned(), Value::from(text));
            }
        }
        Some(members)
    }

    /// Where in a report a member stands, for findings.
    pub fn place(self, member: &str) -> String {
        match self.header(member) {
            Some(name) => format!("header {name}"),
            None => format!("/payload/{member}"),
        }
    }

    /// A member of a command as its answer should repeat it; nothing where there is no header to repeat.
    pub fn repeated(self, member: &str, value: Option<&Value>) -> Option<Value> {
        match self.header(member) {
            Some(_) => value.filter(|value| !value.is_null()).map(|value| Value::from(in_header(value))),
            None => Some(value.cloned().unwrap_or(Value::Null)),
        }
    }
}

impl Revision {
    /// What to change in a report. Where it has its call as another revision does, the manifest may be what is wrong.
    pub fn hint(self, report: &Frame, hint: String) -> String {
        let Some(other) = self.form_of_another(report) else { return hint };
        let name = other.name();
        format!(
            "the report says where {name} does which call it answers: if the target speaks that, write \
             `protocol_version = \"{name}\"` under `[utp]`; else {hint}"
        )
    }

    /// The revision in whose form a report names its call, where that is not this one.
    fn form_of_another(self, report: &Frame) -> Option<Self> {
        let names_call = |revision: &Self| match revision {
            Self::V1r3 => report.body.pointer("/payload/tool_call_id").is_some_and(|id| !id.is_null()),
            Self::V1r4 => header(&report.headers, "CG-Tool-Call-Id").is_some(),
        };
        Self::ALL.into_iter().find(names_call).filter(|other| *other != self && !names_call(&self))
    }
}

/// The value of a header, however its name is spelt: what arrives is kept with names in lower case.
pub fn header<'a>(headers: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    let in_lower_case = |own: &str| own.bytes().eq(name.bytes().map(|byte| byte.to_ascii_lowercase()));
    let lower = || headers.iter().find(|(own, _)| in_lower_case(own)).map(|(_, value)| value);
    headers.get(name).or_else(lower).map(String::as_str)
}

/// The number that a header says, in digits alone.
pub fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A value as the text of a header.
fn in_header(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::transcript::Kind;

    fn members() -> Map<String, Value> {
        let all = json!({"agent_id": "ag", "turn_epoch": 6, "step_id": null, "tool_name": "probe", "x": [1]});
        all.as_object().cloned().expect("an object")
    }

    #[test]
    fn v1r3_sends_everything_in_the_payload() {
        let traced = BTreeMap::from([("traceparent".to_owned(), "t".to_owned())]);
        assert_eq!(Revision::V1r3.encode(&members(), &traced), (traced, members()));
    }

    #[test]
    fn v1r4_sends_the_identity_in_headers() {
        let (headers, payload) = Revision::V1r4.encode(&members(), &BTreeMap::new());
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, [("CG-Agent-Id", "ag"), ("CG-Turn-Epoch", "6")]);
        assert_eq!(Value::Object(payload), json!({"tool_name": "probe", "x": [1]}));
    }

    #[test]
    fn the_identity_of_a_report_stands_where_its_revision_says() {
        let headers = BTreeMap::from([("cg-tool-call-id".to_owned(), "in header".to_owned())]);
        let body = json!({"payload": {"tool_call_id": "in payload", "status": "success"}});
        let (direction, kind, channel) = (Direction::FromTarget, Kind::Report, "c".to_owned());
        let report = Frame { n: 1, at_us: 0, direction, kind, channel, headers, body };
        for (revision, id, place) in [
            (Revision::V1r3, "in payload", "/payload/tool_call_id"),
            (Revision::V1r4, "in header", "header CG-Tool-Call-Id"),
        ] {
            assert_eq!(revision.reported(&report, "tool_call_id"), Some(id));
            assert_eq!(revision.place("tool_call_id"), place);
            assert_eq!(revision.reported(&report, "status"), Some("success"));
        }
    }

    #[test]
    fn a_report_in_the_form_of_another_revision_says_what_to_write_in_the_manifest() {
        let report = |has_header: bool, has_member: bool| {
            let headers = has_header.then(|| ("cg-tool-call-id".to_owned(), "call".to_owned()));
            let body = if has_member {
                json!({"payload": {"tool_call_id": "call"}})
            } else {
                json!({"payload": {}})
            };
            let (direction, kind, channel) = (Direction::FromTarget, Kind::Report, "c".to_owned());
            Frame { n: 1, at_us: 0, direction, kind, channel, headers: headers.into_iter().collect(), body }
        };
        let hint = |revision: Revision, (has_header, has_member): (bool, bool)| {
            revision.hint(&report(has_header, has_member), "mend it".to_owned())
        };
        assert!(hint(Revision::V1r3, (true, false)).contains("`protocol_version = \"v1r4\"`"));
        assert!(
            hint(Revision::V1r4, (false, true))
                .ends_with("`protocol_version = \"v1r3\"` under `[utp]`; else mend it")
        );
        for revision in Revision::ALL {
            assert_eq!(hint(revision, (true, true)), "mend it");
            assert_eq!(hint(revision, (false, false)), "mend it");
        }
    }

    #[test]
    fn profiles_name_their_revision() {
        for revision in Revision::ALL {
            assert_eq!(Revision::of_profile(&revision.profile("utp.pmo")), revision);
        }
        assert_eq!(Revision::of("v7"), Revision::V1r3);
    }
}
