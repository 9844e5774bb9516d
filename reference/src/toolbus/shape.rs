//! `output`: the part of a result that the caller wants (contract, Request).
//!
//! `path` goes first, then `pick`, then `omit`, then `map`, which is an `output` for each item of an array.
//! The contract names the four and leaves open what they do when they do not fit; here that is an error which says
//! what is there instead, never the whole result.
//! Paths are keys by dots and items by `[i]`; keys that hold a dot or a bracket cannot be reached by a path.
//! Shaping works on results that are redacted already: a path to a secret would cut off the key that names it.

use serde_json::{Map, Value, json};

use super::failure::{Failure, kind_of, nearest, shown_name};

/// How many keys an error lists.
const KEYS_SHOWN: usize = 16;
/// The members of an output.
const MEMBERS: [&str; 4] = ["path", "pick", "omit", "map"];

/// A shape to bring a result into.
#[derive(Debug, PartialEq)]
pub(crate) struct Output {
    /// Where it stands in the arguments, for errors: `output`, `output.map`, …
    at: String,
    path: Vec<Segment>,
    pick: Option<Vec<String>>,
    omit: Option<Vec<String>>,
    map: Option<Box<Output>>,
}

#[derive(Debug, PartialEq)]
enum Segment {
    Key(String),
    Index(usize),
}

impl Output {
    /// Reads an output that stands at `at`.
    pub(crate) fn parse(value: &Value, at: &str) -> Result<Self, Failure> {
        let members = value.as_object().ok_or_else(|| wrong(at, "an object", value))?;
        if let Some(name) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let failure = Failure::argument(
                at,
                format!("`{at}` has no member `{}`, only path, pick, omit and map", shown_name(name)),
            );
            return Err(match nearest(name, MEMBERS.into_iter()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure,
            });
        }
        let keys = |name: &str| -> Result<Option<Vec<String>>, Failure> {
            members.get(name).map(|keys| strings(keys, &format!("{at}.{name}"))).transpose()
        };
        Ok(Self {
            at: at.to_owned(),
            path: members
                .get("path")
                .map(|path| parse_path(path, &format!("{at}.path")))
                .transpose()?
                .unwrap_or_default(),
            pick: keys("pick")?,
            omit: keys("omit")?,
            map: members
                .get("map")
                .map(|map| Self::parse(map, &format!("{at}.map")).map(Box::new))
                .transpose()?,
        })
    }

    /// Brings a result into the shape.
    pub(crate) fn apply(&self, value: Value) -> Result<Value, Failure> {
        let mut value = self.follow(value)?;
        if let Some(pick) = &self.pick {
            let mut members = self.members(value, "pick")?;
            let picked = pick.iter().filter_map(|key| members.remove_entry(key)).collect();
            value = Value::Object(picked);
        }
        if let Some(omit) = &self.omit {
            let mut members = self.members(value, "omit")?;
            members.retain(|key, _| !omit.contains(key));
            value = Value::Object(members);
        }
        match (&self.map, value) {
            (None, value) => Ok(value),
            (Some(map), Value::Array(items)) => {
                items.into_iter().map(|item| map.apply(item)).collect::<Result<_, _>>().map(Value::Array)
            }
            (Some(_), other) => Err(wrong(&format!("{}.map", self.at), "applied to an array", &other)),
        }
    }

    fn follow(&self, mut value: Value) -> Result<Value, Failure> {
        for (number, segment) in self.path.iter().enumerate() {
            let found = match (segment, &mut value) {
                (Segment::Key(key), Value::Object(members)) => members.get_mut(key).map(Value::take),
                (Segment::Index(index), Value::Array(items)) => items.get_mut(*index).map(Value::take),
                _ => None,
            };
            value = found.ok_or_else(|| self.leads_nowhere(number + 1, &value))?;
        }
        Ok(value)
    }

    fn leads_nowhere(&self, segment: usize, there: &Value) -> Failure {
        let at = format!("{}.path", self.at);
        let failure = Failure::argument(&at, format!("`{at}` leads nowhere at its segment {segment}"))
            .with("found", json!(kind_of(there)));
        match there {
            Value::Object(members) => {
                let keys: Vec<String> = members.keys().take(KEYS_SHOWN).map(|key| shown_name(key)).collect();
                failure.with("keys", json!(keys)).hint("`keys` are the keys that are there")
            }
            Value::Array(items) => {
                failure.with("length", json!(items.len())).hint("items of an array are `[i]`, from 0")
            }
            _ => failure.hint("end the path before this segment"),
        }
    }

    fn members(&self, value: Value, member: &str) -> Result<Map<String, Value>, Failure> {
        match value {
            Value::Object(members) => Ok(members),
            other => {
                let failure = wrong(&format!("{}.{member}", self.at), "applied to an object", &other);
                Err(if other.is_array() {
                    failure.hint("`map` shapes each item of an array")
                } else {
                    failure
                })
            }
        }
    }
}

fn wrong(at: &str, expected: &str, found: &Value) -> Failure {
    Failure::argument(at, format!("`{at}` must be {expected}")).with("found", json!(kind_of(found)))
}

fn strings(value: &Value, at: &str) -> Result<Vec<String>, Failure> {
    let texts = value.as_array().and_then(|items| {
        items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    });
    texts.ok_or_else(|| wrong(at, "an array of strings", value))
}

fn parse_path(value: &Value, at: &str) -> Result<Vec<Segment>, Failure> {
    let path = value.as_str().ok_or_else(|| wrong(at, "a string", value))?;
    segments(path).ok_or_else(|| {
        Failure::argument(at, format!("`{at}` is not a path"))
            .hint("keys by dots, items by `[i]`, as in `rows[0].id`")
    })
}

fn segments(path: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    for (number, part) in path.split('.').enumerate() {
        let (key, mut indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        // Only the result itself can be an array without a key before its index.
        if key.is_empty() && (number > 0 || indices.is_empty()) || key.contains(']') {
            return None;
        }
        if !key.is_empty() {
            segments.push(Segment::Key(key.to_owned()));
        }
        while !indices.is_empty() {
            let (index, rest) = indices.strip_prefix('[')?.split_once(']')?;
            let digits = index.bytes().all(|b| b.is_ascii_digit());
            segments.push(Segment::Index(digits.then(|| index.parse().ok())??));
            indices = rest;
        }
    }
    Some(segments)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Output;
    use crate::toolbus::failure::INVALID_PARAMS;

    fn stock() -> Value {
        json!({"stock": {"count": 12, "bin": "C4"}, "rows": [{"id": 1, "w": 5}, {"id": 3, "w": 7}]})
    }

    #[test]
    fn the_parts_work_alone_and_together() {
        fn check(output: &Value, expect: &Value) {
            let output = Output::parse(output, "output").expect("an output");
            assert_eq!(output.apply(stock()).expect("it fits"), *expect);
        }
        check(&json!({}), &stock());
        check(&json!({"path": "stock"}), &json!({"count": 12, "bin": "C4"}));
        check(&json!({"path": "stock.bin"}), &json!("C4"));
        check(&json!({"path": "rows[1].id"}), &json!(3));
        check(&json!({"pick": ["stock", "none"]}), &json!({"stock": {"count": 12, "bin": "C4"}}));
        check(&json!({"omit": ["rows", "none"]}), &json!({"stock": {"count": 12, "bin": "C4"}}));
        check(&json!({"path": "stock", "pick": ["count"]}), &json!({"count": 12}));
        check(&json!({"path": "stock", "omit": ["count"]}), &json!({"bin": "C4"}));
        check(&json!({"path": "stock", "pick": ["count", "bin"], "omit": ["bin"]}), &json!({"count": 12}));
        check(&json!({"path": "rows", "map": {"pick": ["id"]}}), &json!([{"id": 1}, {"id": 3}]));
        check(&json!({"path": "rows", "map": {"path": "w"}}), &json!([5, 7]));
    }

    #[test]
    fn an_array_is_reached_from_the_start() {
        let output = Output::parse(&json!({"path": "[1][0].a"}), "output").expect("an output");
        assert_eq!(output.apply(json!([0, [{"a": 5}]])).expect("it fits"), json!(5));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        fn check(output: &Value, argument: &str) {
            let failure = Output::parse(output, "output")
                .and_then(|output| output.apply(stock()))
                .expect_err(&output.to_string());
            assert_eq!(
                (failure.code, &failure.data["argument"]),
                (INVALID_PARAMS, &json!(argument)),
                "{output}"
            );
        }
        for path in ["none", "stock.none", "stock.bin.deeper", "rows[2]", "rows.id", "stock[0]"] {
            check(&json!({"path": path}), "output.path");
        }
        for path in
            ["", ".", "a.", ".a", "a..b", "a.[0]", "a[", "a[]", "a[x]", "a[-1]", "a[+1]", "a[0]b", "a]"]
        {
            check(&json!({"path": path}), "output.path");
        }
        check(&json!({"path": 5}), "output.path");
        check(&json!({"path": "rows", "pick": ["id"]}), "output.pick");
        check(&json!({"path": "stock.bin", "omit": ["id"]}), "output.omit");
        check(&json!({"map": {"pick": ["id"]}}), "output.map");
        check(&json!({"path": "rows", "map": {"path": "none"}}), "output.map.path");
        check(&json!({"pick": "id"}), "output.pick");
        check(&json!({"omit": [1]}), "output.omit");
        check(&json!({"map": []}), "output.map");
        check(&json!({"paths": "x"}), "output");
        check(&json!([]), "output");
    }
}
