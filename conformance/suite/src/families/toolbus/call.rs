//! Calls of the probes: which tool, which arguments, and what the placeholders of the manifest stand for.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::manifest::{CallTable, PathSyntax, SetUpTable, StateTable, ToolbusTable};

/// A tool of the target that lets the suite see inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Probe {
    /// Returns the value that it is given.
    Echo,
    /// Reads `mcp_state`.
    State,
    /// The nth harmless call of another tool, from 0.
    Other(usize),
    /// Has invalid arguments.
    Invalid,
    /// Fails when it is run.
    Fail,
    /// Returns much.
    Large,
    /// Returns secrets.
    Secret,
    /// Returns a result that calls for a further call.
    Partial,
    /// Shows secrets where a flag is set.
    BreakGlass,
}

impl Probe {
    /// All probes that features use.
    pub const ALL: [Self; 11] = [
        Self::Echo,
        Self::State,
        Self::Other(0),
        Self::Other(1),
        Self::Other(2),
        Self::Invalid,
        Self::Fail,
        Self::Large,
        Self::Secret,
        Self::Partial,
        Self::BreakGlass,
    ];

    /// The name in steps and capabilities.
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::State => "state",
            Self::Other(0) => "first other",
            Self::Other(1) => "second other",
            Self::Other(_) => "third other",
            Self::Invalid => "invalid",
            Self::Fail => "fail",
            Self::Large => "large",
            Self::Secret => "secret",
            Self::Partial => "partial",
            Self::BreakGlass => "break-glass",
        }
    }

    /// What a target declares when it has the probe, as `@cap:` tags name it.
    pub fn capability(self) -> String {
        format!("probe.{}", self.name().replace(' ', "-"))
    }

    /// The key of the manifest.
    pub fn key(self) -> String {
        match self {
            Self::Other(index) => format!("toolbus.probes.other[{index}]"),
            Self::BreakGlass => "toolbus.probes.break_glass".to_owned(),
            plain => format!("toolbus.probes.{}", plain.name()),
        }
    }

    /// How the manifest describes the call; nothing when it does not.
    pub fn table(self, table: &ToolbusTable) -> Option<CallTable> {
        let probes = &table.probes;
        let call =
            |tool: &str, arguments: &Option<Value>, before: &[SetUpTable], volatile: &[String]| CallTable {
                tool: tool.to_owned(),
                arguments: arguments.clone(),
                before: before.to_vec(),
                volatile: volatile.to_vec(),
            };
        match self {
            Self::Echo => probes.echo.clone(),
            Self::State => {
                let of = |own: &StateTable| {
                    call(&own.tool, &Some(own.arguments.clone()), &own.before, &own.volatile)
                };
                probes.state.as_ref().map(of)
            }
            Self::Other(index) => probes.other.get(index).cloned(),
            Self::Invalid => {
                probes.invalid.as_ref().map(|own| call(&own.tool, &own.arguments, &own.before, &own.volatile))
            }
            Self::Fail => probes.fail.clone(),
            Self::Large => probes.large.clone(),
            Self::Secret => probes.secret.clone(),
            Self::Partial => {
                probes.partial.as_ref().map(|own| call(&own.tool, &own.arguments, &own.before, &own.volatile))
            }
            Self::BreakGlass => probes
                .break_glass
                .as_ref()
                .map(|own| call(&own.tool, &own.arguments, &own.before, &own.volatile)),
        }
    }
}

/// A tool that no server has.
pub const NO_TOOL: &str = "callmark_no_such_tool";

/// What placeholders stand for in one call.
#[derive(Clone, Debug, Default)]
pub struct Filling {
    /// `{value}`.
    pub value: Value,
    /// `{key}`.
    pub key: String,
    /// `{scope}`.
    pub scope: String,
    /// `{bytes}`.
    pub bytes: usize,
    /// `{marker}`, `{password}`, `{api_key}`, `{authorization}` and `{nested}`.
    pub markers: Markers,
}

/// Values under keys of secrets. None may be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    nonce: String,
}

impl Markers {
    /// Markers of one scenario.
    pub fn new(nonce: &str) -> Self {
        Self { nonce: nonce.to_owned() }
    }

    /// The marker for one place. A call that knows only `{marker}` has that everywhere.
    pub fn at(&self, place: &str) -> String {
        format!("hush{place}{}", self.nonce).replace('_', "")
    }
}

/// Places of secrets, as placeholders name them.
pub const SECRET_PLACES: [&str; 4] = ["password", "api_key", "authorization", "nested"];

/// What stands beside a secret in a value for the echo probe: a key, and what is no secret.
pub const BESIDE: (&str, &str) = ("user", "pilot");

/// The arguments of a call, filled.
pub fn arguments(probe: Probe, table: &CallTable, mut filling: Filling) -> Map<String, Value> {
    let standard = match probe {
        Probe::Echo => json!({"value": "{value}"}),
        Probe::Large => json!({"bytes": "{bytes}"}),
        Probe::Secret | Probe::BreakGlass => json!({"marker": "{marker}"}),
        _ => json!({}),
    };
    let template = table.arguments.as_ref().unwrap_or(&standard);
    let mut values = placeholders(template, "{value}");
    match filled(template, &mut filling, &mut values) {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    }
}

/// The calls that are made before that of a probe: tools with their arguments.
pub fn set_up(table: &CallTable, filling: &Filling) -> Vec<(String, Map<String, Value>)> {
    let call = |own: &SetUpTable| {
        let template = own.arguments.as_ref().map_or_else(|| json!({}), Clone::clone);
        let mut values = placeholders(&template, "{value}");
        let arguments = match filled(&template, &mut filling.clone(), &mut values) {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        (own.tool.clone(), arguments)
    };
    table.before.iter().map(call).collect()
}

/// How often a placeholder stands in a template.
fn placeholders(template: &Value, placeholder: &str) -> usize {
    match template {
        Value::String(text) => text.matches(placeholder).count(),
        Value::Array(items) => items.iter().map(|item| placeholders(item, placeholder)).sum(),
        Value::Object(members) => members.values().map(|member| placeholders(member, placeholder)).sum(),
        _ => 0,
    }
}

/// Fills a template in which `{value}` stands so many times more. The last one takes the value, which may be megabytes.
fn filled(template: &Value, filling: &mut Filling, values: &mut usize) -> Value {
    match template {
        Value::String(text) => {
            *values -= text.matches("{value}").count();
            match text.as_str() {
                // A placeholder that stands alone keeps its type.
                "{value}" if *values == 0 => filling.value.take(),
                "{value}" => filling.value.clone(),
                "{bytes}" => Value::from(filling.bytes),
                text => Value::from(filled_text(text, filling)),
            }
        }
        Value::Array(items) => items.iter().map(|item| filled(item, filling, values)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), filled(member, filling, values))).collect()
        }
        plain => plain.clone(),
    }
}

fn filled_text(text: &str, filling: &Filling) -> String {
    let mut text = text
        .replace("{key}", &filling.key)
        .replace("{scope}", &filling.scope)
        .replace("{bytes}", &filling.bytes.to_string())
        .replace("{marker}", &filling.markers.at("marker"));
    if text.contains("{value}") {
        text = text.replace("{value}", &filling.value.to_string());
    }
    for place in SECRET_PLACES {
        text = text.replace(&format!("{{{place}}}"), &filling.markers.at(place));
    }
    text
}

/// Whether the arguments of a call hold a placeholder.
pub fn holds(table: &CallTable, placeholder: &str) -> bool {
    table.arguments.as_ref().is_none_or(|arguments| arguments.to_string().contains(placeholder))
}

/// What a path to a key of the echoed value begins with, in dots, in whichever of its forms the manifest has it.
pub fn base(table: &ToolbusTable) -> String {
    let own = table.path_base.as_str();
    let dots = match table.path_syntax {
        PathSyntax::Pointer => own.trim_matches('/').replace('/', "."),
        PathSyntax::Jsonpath => own.trim_start_matches('$').trim_start_matches('.').to_owned(),
        PathSyntax::Dots => own.to_owned(),
    };
    dots.trim_end_matches('.').to_owned()
}

/// A path to a key of a result, as the target writes paths; nothing where it is not known where they begin. The echoed
/// value lies below the result at `value_base`.
pub fn path_in_result(key: &str, table: &ToolbusTable, value_base: &str) -> Option<String> {
    let base = pointer(&base(table));
    let above = base.strip_suffix(value_base)?;
    let dots = format!("{above}/{key}").trim_start_matches('/').replace('/', ".");
    Some(written(&dots, table.path_syntax))
}

/// A path in dots, as the target writes paths, below its base.
pub fn path(dots: &str, table: &ToolbusTable) -> String {
    let base = base(table);
    let whole = if base.is_empty() { dots.to_owned() } else { format!("{base}.{dots}") };
    written(&whole.trim_end_matches('.').replace(".[", "["), table.path_syntax)
}

fn written(dots: &str, syntax: PathSyntax) -> String {
    match syntax {
        PathSyntax::Dots => dots.to_owned(),
        PathSyntax::Jsonpath if dots.starts_with('[') => format!("${dots}"),
        PathSyntax::Jsonpath => format!("$.{dots}"),
        PathSyntax::Pointer => pointer(dots),
    }
}

/// A path in dots as a JSON Pointer.
pub fn pointer(dots: &str) -> String {
    let parts = dots.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts.fold(String::new(), |pointer, part| pointer + "/" + part)
}

/// The `output` of a step as the target understands it: paths below the base, and one where it has none.
pub fn output(spec: &Value, table: &ToolbusTable) -> Value {
    let Value::Object(members) = spec else { return spec.clone() };
    let mut members = members.clone();
    if let Some(dots) = members.get("path").and_then(Value::as_str).map(str::to_owned) {
        members.insert("path".to_owned(), Value::from(path(&dots, table)));
    } else if !base(table).is_empty() {
        members.insert("path".to_owned(), Value::from(path("", table)));
    }
    if let Some(Value::Object(each)) = members.get_mut("map")
        && let Some(dots) = each.get("path").and_then(Value::as_str).map(str::to_owned)
    {
        // Within an element there is no base.
        each.insert("path".to_owned(), Value::from(written(&dots, table.path_syntax)));
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> ToolbusTable {
        toml::from_str(text).expect("a sound table")
    }

    #[test]
    fn paths_follow_the_target() {
        let check = |text: &str, dots: &str, expect: &str| assert_eq!(path(dots, &table(text)), expect);
        check("", "alpha[0].beta", "alpha[0].beta");
        check("path_base = 'value.'", "alpha", "value.alpha");
        check("path_base = 'value.'", "", "value");
        check("path_base = 'value'", "alpha", "value.alpha");
        check("path_base = 'value.'\npath_syntax = 'pointer'", "rows[1].id", "/value/rows/1/id");
        check("path_base = '/value/'\npath_syntax = 'pointer'", "rows[1].id", "/value/rows/1/id");
        check("path_base = '/value'\npath_syntax = 'pointer'", "", "/value");
        check("path_base = '$.value.'\npath_syntax = 'jsonpath'", "alpha", "$.value.alpha");
        check("path_syntax = 'jsonpath'", "alpha", "$.alpha");
    }

    #[test]
    fn a_path_in_a_result_begins_where_paths_do() {
        let check = |text: &str, value_base: &str, expect: Option<&str>| {
            assert_eq!(path_in_result("alpha", &table(text), value_base).as_deref(), expect);
        };
        check("", "", Some("alpha"));
        check("path_base = 'value.'", "/value", Some("alpha"));
        check("path_base = 'result.value.'", "/value", Some("result.alpha"));
        check("path_base = 'result'", "", Some("result.alpha"));
        check("path_base = '/value'\npath_syntax = 'pointer'", "/value", Some("/alpha"));
        check("path_base = 'other'", "/value", None);
    }

    #[test]
    fn an_output_without_a_path_gets_the_base() {
        let spec = json!({"pick": ["gamma"]});
        assert_eq!(output(&spec, &table("")), spec);
        assert_eq!(
            output(&spec, &table("path_base = 'value.'")),
            json!({"pick": ["gamma"], "path": "value"})
        );
    }

    #[test]
    fn a_placeholder_that_stands_alone_keeps_its_type() {
        let call = CallTable {
            tool: "t".to_owned(),
            arguments: Some(json!({"a": "{value}", "b": "x {value}", "c": ["{value}"], "n": "{bytes}"})),
            ..CallTable::default()
        };
        let filling = Filling { value: json!([1]), bytes: 5, ..Filling::default() };
        let filled = arguments(Probe::Echo, &call, filling);
        assert_eq!(Value::Object(filled), json!({"a": [1], "b": "x [1]", "c": [[1]], "n": 5}));
    }
}
