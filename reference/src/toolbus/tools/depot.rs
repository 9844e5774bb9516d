//! `depot_lookup`: what is in the depot's stock, an ordinary tool with actions.

use serde_json::{Value, json};

use super::tool::{BusTool, Call, Definition, Output};
use crate::toolbus::arguments::{Argument, Kind};
use crate::toolbus::failure::{Failure, NextAction};

/// Item, count, bin.
const STOCK: [(&str, u32, &str); 6] = [
    ("anchor-4", 3, "A1"),
    ("bolt-9", 12, "C4"),
    ("cable-20", 40, "B2"),
    ("hinge-2", 0, "C1"),
    ("nut-9", 310, "C5"),
    ("washer-9", 95, "C6"),
];

const DEFINITION: Definition = Definition {
    name: "depot_lookup",
    description: "Finds an item in the depot's stock, or lists what there is.",
    arguments: &[
        Argument::required("action", Kind::OneOf(&["find", "list"]), "What to do.").in_header("Action"),
        Argument::optional("item", Kind::Name(64), "The item to find, such as `bolt-9`.").in_header("Item"),
    ],
    break_glass: None,
};

const LIST: NextAction = NextAction {
    tool: "depot_lookup",
    action: Some("list"),
    args: Value::Null,
    reason: "names the items there are",
};

pub(crate) struct Depot;

impl BusTool for Depot {
    fn definition(&self) -> &'static Definition {
        &DEFINITION
    }

    fn run(&self, call: &Call<'_>) -> Result<Output, Failure> {
        if call.text("action") == Some("list") {
            return Ok(json!({"items": STOCK.map(row), "total": STOCK.len()}).into());
        }
        let wanted = call
            .text("item")
            .ok_or_else(|| Failure::argument("item", "`item` is required for `find`").next(&list()))?;
        Ok(match STOCK.into_iter().find(|(item, ..)| *item == wanted) {
            Some(found) => json!({"found": true, "stock": row(found)}).into(),
            None => Output {
                result: json!({"found": false, "stock": null, "hint": "`action` `list` names the items there are"}),
                next_actions: vec![list()],
            },
        })
    }
}

fn list() -> NextAction {
    NextAction { args: json!({"action": "list"}), ..LIST }
}

/// An item of the stock as JSON.
fn row((item, count, bin): (&str, u32, &str)) -> Value {
    json!({"item": item, "count": count, "bin": bin})
}

/// The first items, for the probe that returns less than there is.
pub(super) fn first(count: usize) -> (Vec<Value>, usize) {
    (STOCK.into_iter().take(count).map(row).collect(), STOCK.len())
}
