//! Members whose values differ from answer to answer, as a manifest names them: they are left out where two answers are
//! compared.

use serde_json::Value;

/// A value without what is at these JSON Pointers. An item of a list becomes null, so that the others keep their places.
#[must_use]
pub(crate) fn without(mut value: Value, pointers: &[String]) -> Value {
    for pointer in pointers {
        take_out(&mut value, pointer);
    }
    value
}

/// As [`without`], of a part of a value that is itself at a pointer: pointers elsewhere say nothing of it.
#[must_use]
pub(crate) fn without_below(part: Value, pointers: &[String], at: &str) -> Value {
    let below = pointers.iter().filter_map(|pointer| pointer.strip_prefix(at));
    let below: Vec<String> = below.filter(|rest| rest.starts_with('/')).map(str::to_owned).collect();
    without(part, &below)
}

fn take_out(value: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.shift_remove(&name.replace("~1", "/").replace("~0", "~"));
        }
        Some(Value::Array(items)) => {
            if let Some(item) = name.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                *item = Value::Null;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_pointer_names_is_left_out_and_nothing_else() {
        let value = json!({"result": {"a/b": 1, "rows": [{"at": 1, "id": 2}, 3], "at": 4}, "at": 5});
        let check = |pointers: &[&str], expect: Value| {
            let pointers: Vec<String> = pointers.iter().map(|&pointer| pointer.to_owned()).collect();
            assert_eq!(without(value.clone(), &pointers), expect, "{pointers:?}");
        };
        check(&[], value.clone());
        check(&["/none", "/at/deeper", "/result/rows/7", ""], value.clone());
        check(
            &["/result/at", "/result/a~1b", "/result/rows/0/at", "/result/rows/1"],
            json!({"result": {"rows": [{"id": 2}, null]}, "at": 5}),
        );
    }

    #[test]
    fn of_a_part_only_what_lies_below_it_is_left_out() {
        let pointers = ["/result/at".to_owned(), "/results/id".to_owned(), "/at".to_owned()];
        let part = json!({"at": 1, "id": 2});
        assert_eq!(without_below(part.clone(), &pointers, "/result"), json!({"id": 2}));
        assert_eq!(without_below(part, &pointers, ""), json!({"id": 2}));
    }
}
