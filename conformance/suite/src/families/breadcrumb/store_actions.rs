//! Changes that real stores take as actions of their own, beside PATCH: what each comes to.

use serde_json::{Map, Value, json};

use super::crumb::Crumb;
use super::in_memory_store::Refused;

/// Levels of objects that are merged.
const MAX_DEPTH: usize = 64;

/// What a request below `POST /breadcrumbs/{id}` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// `approve`: the tag `approved` in place of `rejected`, `draft` and `pending`.
    Approve,
    /// `reject`: the tag `rejected` in place of `approved`.
    Reject,
    /// `context/merge`: `context` of the body, member by member.
    MergeContext,
    /// `tags/add`.
    AddTags,
    /// `tags/remove`.
    RemoveTags,
}

impl Action {
    /// The action that the rest of a path names.
    pub(super) fn of(path: &[&str]) -> Option<Self> {
        match path {
            ["approve"] => Some(Self::Approve),
            ["reject"] => Some(Self::Reject),
            ["context", "merge"] => Some(Self::MergeContext),
            ["tags", "add"] => Some(Self::AddTags),
            ["tags", "remove"] => Some(Self::RemoveTags),
            _ => None,
        }
    }

    /// The members of a breadcrumb that change, as PATCH would have them.
    ///
    /// # Errors
    /// The body has another shape.
    pub(super) fn changes(self, asked: &Value, crumb: &Crumb) -> Result<Value, Refused> {
        let list = || {
            let tags = asked.get("tags").and_then(Value::as_array);
            let tags = tags.map(|tags| tags.iter().map(|tag| tag.as_str().map(str::to_owned)).collect());
            tags.and_then(|tags: Option<Vec<String>>| tags)
                .ok_or(Refused::Shape("`tags` must be an array of strings"))
        };
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        match self {
            Self::Approve => {
                Ok(tags(crumb, &words(&["approved"]), &words(&["rejected", "draft", "pending"])))
            }
            Self::Reject => Ok(tags(crumb, &words(&["rejected"]), &words(&["approved"]))),
            Self::AddTags => Ok(tags(crumb, &list()?, &[])),
            Self::RemoveTags => Ok(tags(crumb, &[], &list()?)),
            Self::MergeContext => {
                let further = asked.get("context").and_then(Value::as_object);
                let further = further.ok_or(Refused::Shape("`context` must be an object"))?;
                let mut context = crumb.members.get("context").cloned().unwrap_or_else(|| json!({}));
                merge(&mut context, further, MAX_DEPTH);
                Ok(json!({"context": context}))
            }
        }
    }
}

/// The tags of a breadcrumb with some more and some less, each once and in their order.
fn tags(crumb: &Crumb, more: &[String], less: &[String]) -> Value {
    let mut tags: Vec<&str> = crumb.tags().filter(|tag| !less.iter().any(|own| own == tag)).collect();
    for tag in more {
        if !tags.contains(&tag.as_str()) {
            tags.push(tag);
        }
    }
    json!({"tags": tags})
}

/// Objects are merged member by member; anything else takes the place of what was there.
fn merge(value: &mut Value, further: &Map<String, Value>, depth: usize) {
    let Some(members) = value.as_object_mut() else {
        *value = Value::Object(further.clone());
        return;
    };
    for (name, new) in further {
        match (members.get_mut(name), new) {
            (Some(own @ Value::Object(_)), Value::Object(new)) if depth > 0 => merge(own, new, depth - 1),
            _ => drop(members.insert(name.clone(), new.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crumb() -> Crumb {
        let members = json!({
            "title": "Tool", "tags": ["tool", "draft", "approved"], "context": {"limits": {"ms": 5, "kb": 1}, "code": "x"},
        });
        let Value::Object(members) = members else { unreachable!("it is an object") };
        Crumb { id: "one".to_owned(), version: 1, updated_at: String::new(), members }
    }

    #[test]
    fn an_action_changes_what_it_is_about_and_nothing_else() {
        let check = |path: &[&str], asked: Value, expect: Value| {
            let action = Action::of(path).expect("an action");
            assert_eq!(action.changes(&asked, &crumb()), Ok(expect), "{path:?}");
        };
        check(&["approve"], json!({"reason": "safe"}), json!({"tags": ["tool", "approved"]}));
        check(&["reject"], json!({}), json!({"tags": ["tool", "draft", "rejected"]}));
        check(
            &["tags", "add"],
            json!({"tags": ["tool", "new"]}),
            json!({"tags": ["tool", "draft", "approved", "new"]}),
        );
        check(&["tags", "remove"], json!({"tags": ["draft", "none"]}), json!({"tags": ["tool", "approved"]}));
        check(
            &["context", "merge"],
            json!({"context": {"limits": {"ms": 9}, "more": [1]}}),
            json!({"context": {"limits": {"ms": 9, "kb": 1}, "code": "x", "more": [1]}}),
        );
        assert_eq!(Action::of(&["approve", "twice"]), None);
    }

    #[test]
    fn a_body_of_another_shape_is_refused() {
        for (path, asked) in [
            (["tags", "add"], json!({"tags": "one"})),
            (["tags", "remove"], json!({"tags": [1]})),
            (["context", "merge"], json!({})),
        ] {
            let action = Action::of(&path).expect("an action");
            assert!(matches!(action.changes(&asked, &crumb()), Err(Refused::Shape(_))), "{path:?}");
        }
    }
}
