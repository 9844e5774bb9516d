//! What becomes of the arguments of a model's call: defaults, fixed values, names of variables, templates (Guide §4).
//!
//! Pure. The options are those of the tool's row: `args.defaults`, `args.fixed`, `envs`.
//! The values of variables are deliberately nowhere here: only the tool's executor reads them.

use serde_json::{Map, Value};

/// The ten values that a template can name.
#[derive(Debug, Clone, Default)]
pub(super) struct TemplateValues {
    pub(super) project_id: String,
    pub(super) channel_id: String,
    pub(super) agent_id: String,
    pub(super) agent_turn_id: String,
    pub(super) step_id: String,
    pub(super) tool_call_id: String,
    pub(super) parent_step_id: String,
    pub(super) trace_id: String,
    pub(super) turn_epoch: String,
    /// Absent when the turn has none; its template then stays as it is.
    pub(super) context_box_id: Option<String>,
}

impl TemplateValues {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "project_id" => Some(&self.project_id),
            "channel_id" => Some(&self.channel_id),
            "agent_id" => Some(&self.agent_id),
            "agent_turn_id" => Some(&self.agent_turn_id),
            "step_id" => Some(&self.step_id),
            "tool_call_id" => Some(&self.tool_call_id),
            "parent_step_id" => Some(&self.parent_step_id),
            "trace_id" => Some(&self.trace_id),
            "turn_epoch" => Some(&self.turn_epoch),
            "context_box_id" => self.context_box_id.as_deref(),
            _ => None,
        }
    }

    /// Fills in a text, from left to right and once: what a value holds is never read as a template.
    fn expand(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from_brace) = rest.split_at(open);
            expanded.push_str(before);
            let inside = &from_brace[1..];
            let found = inside
                .find('}')
                .and_then(|close| Some((self.value(&inside[..close])?, &inside[close + 1..])));
            if let Some((value, after)) = found {
                expanded.push_str(value);
                rest = after;
            } else {
                expanded.push('{');
                rest = inside;
            }
        }
        expanded.push_str(rest);
        expanded
    }

    /// Only flat strings are templates (Guide §4 says no more).
    fn expand_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.expand(text)),
            other => other.clone(),
        }
    }
}

/// The arguments as the card records them, and where they came from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Resolved {
    pub(super) arguments: Map<String, Value>,
    pub(super) defaults_applied: Vec<String>,
    pub(super) fixed_applied: Vec<String>,
    /// Parameter to the name of its variable.
    pub(super) envs: Map<String, Value>,
}

/// Resolves what the model gave against the options of the row.
pub(super) fn resolve(options: &Value, mut given: Map<String, Value>, values: &TemplateValues) -> Resolved {
    let envs = environment_names(options);
    // The model has no say in a parameter that the executor fills in.
    given.retain(|name, _| !envs.contains_key(name));
    let mut resolved = Resolved { arguments: given, envs, ..Resolved::default() };
    for (name, value) in members(options, "/args/defaults") {
        // An explicit null was given, so it is there.
        if !resolved.arguments.contains_key(name) && !resolved.envs.contains_key(name) {
            resolved.arguments.insert(name.clone(), values.expand_value(value));
            resolved.defaults_applied.push(name.clone());
        }
    }
    for (name, value) in members(options, "/args/fixed") {
        resolved.defaults_applied.retain(|default| default != name);
        resolved.arguments.insert(name.clone(), values.expand_value(value));
        resolved.fixed_applied.push(name.clone());
    }
    resolved
}

/// The members of `options.envs` that name a variable.
pub(super) fn environment_names(options: &Value) -> Map<String, Value> {
    let named = members(options, "/envs").filter(|(_, variable)| variable.is_string());
    named.map(|(name, variable)| (name.clone(), variable.clone())).collect()
}

/// The members of an object in the options; none where there is no object.
pub(super) fn members<'a>(
    options: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    options.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::{TemplateValues, resolve};

    fn values() -> TemplateValues {
        TemplateValues {
            project_id: "prj".to_owned(),
            channel_id: "ch".to_owned(),
            agent_id: "{step_id}".to_owned(),
            agent_turn_id: "turn".to_owned(),
            step_id: "step".to_owned(),
            tool_call_id: "call".to_owned(),
            parent_step_id: "parent".to_owned(),
            trace_id: "trace".to_owned(),
            turn_epoch: "1".to_owned(),
            context_box_id: Some("box".to_owned()),
        }
    }

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            other => panic!("`{other}` is no object"),
        }
    }

    #[test]
    fn defaults_yield_to_what_is_given_and_fixed_values_to_nothing() {
        #[expect(clippy::needless_pass_by_value, reason = "literals read better")]
        fn check(options: Value, given: Value, expect: Value) {
            let resolved = resolve(&options, object(given.clone()), &values());
            assert_eq!(Value::Object(resolved.arguments), expect, "{options} {given}");
        }
        let defaults = || json!({"args": {"defaults": {"n": 5}}});
        check(defaults(), json!({}), json!({"n": 5}));
        for given in [json!(1), json!(0), json!(""), json!(false), Value::Null] {
            check(defaults(), json!({"n": given}), json!({"n": given}));
        }
        let fixed = || json!({"args": {"fixed": {"n": 9}, "defaults": {"n": 5}}});
        for given in [json!({}), json!({"n": 1}), json!({"n": null})] {
            check(fixed(), given, json!({"n": 9}));
        }
        check(json!({"envs": {"key": "VARIABLE"}}), json!({"key": "mine", "q": 1}), json!({"q": 1}));
        check(json!({"args": [], "envs": 7}), json!({"q": 1}), json!({"q": 1}));
    }

    #[test]
    fn templates_are_the_ten_and_flat() {
        fn check(template: &str, expect: &str) {
            let options = json!({"args": {"fixed": {"z": template}}});
            let resolved = resolve(&options, Map::new(), &values());
            assert_eq!(resolved.arguments["z"], expect, "{template}");
        }
        check("<{project_id}>{channel_id}", "<prj>ch");
        check("{agent_turn_id}-{step_id}-{tool_call_id}", "turn-step-call");
        check("{parent_step_id} {trace_id} {turn_epoch} {context_box_id}", "parent trace 1 box");
        // A value is not read again.
        check("{agent_id}", "{step_id}");
        check("{JINA_API_KEY} {tool_name} {{step_id}}", "{JINA_API_KEY} {tool_name} {step}");
        check("{step_id", "{step_id");
        check("} {} { {step_id}", "} {} { step");
        let nested = json!({"args": {"defaults": {"o": {"z": "{step_id}"}}}});
        let resolved = resolve(&nested, Map::new(), &values());
        assert_eq!(resolved.arguments["o"], json!({"z": "{step_id}"}));
    }

    fn flat_object() -> impl Strategy<Value = Map<String, Value>> {
        let value = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[a-z{}_ ]{0,12}".prop_map(Value::from)
        ];
        proptest::collection::btree_map("[a-e]", value, 0..5)
            .prop_map(|members| members.into_iter().collect())
    }

    proptest! {
        /// The laws of Guide §4 for any options and any arguments without an unambiguous template in them.
        #[test]
        fn arguments_obey_the_laws(
            given in flat_object(), defaults in flat_object(), fixed in flat_object(),
            env in proptest::option::of("[a-e]"),
        ) {
            let envs: Map<String, Value> =
                env.iter().map(|name| (name.clone(), json!("VARIABLE"))).collect();
            let options = json!({"args": {"defaults": defaults, "fixed": fixed}, "envs": envs});
            let resolved = resolve(&options, given.clone(), &values());
            for (name, value) in &resolved.arguments {
                if fixed.contains_key(name) {
                    prop_assert!(resolved.fixed_applied.contains(name));
                } else if let Some(given) = given.get(name) {
                    prop_assert!(!envs.contains_key(name));
                    prop_assert_eq!(value, given);
                } else {
                    prop_assert!(defaults.contains_key(name) && resolved.defaults_applied.contains(name));
                }
            }
            for name in fixed.keys() {
                prop_assert!(resolved.arguments.contains_key(name));
            }
            for name in given.keys().chain(defaults.keys()).filter(|name| !envs.contains_key(*name)) {
                prop_assert!(resolved.arguments.contains_key(name));
            }
            prop_assert_eq!(resolved.envs, envs);
            let text = Value::Object(resolved.arguments).to_string();
            prop_assert!(!text.contains("VARIABLE"));
        }
    }
}
