//! `random`, `echo` and `timer`.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Number, Value, json};

use super::parts::{definition, ready};
use crate::breadcrumb::tool::{Tool, ToolCall, ToolDefinition, ToolFailure};

/// How many numbers one call may draw.
const MOST_NUMBERS: u64 = 1000;
/// How long a timer may run.
const LONGEST_SECONDS: f64 = 300.0;

/// Draws numbers: whole ones, unless a bound is not.
#[derive(Debug)]
pub struct Random(ToolDefinition);

impl Random {
    /// The tool `random`.
    pub fn new() -> Self {
        let input = json!({
            "type": "object",
            "properties": {
                "min": {"type": "number", "default": 1, "description": "the smallest number that may come"},
                "max": {"type": "number", "default": 100, "description": "the largest number that may come"},
                "count": {
                    "type": "integer", "minimum": 1, "maximum": MOST_NUMBERS, "default": 1,
                    "description": "how many numbers are drawn",
                },
            },
        });
        let output = json!({
            "type": "object",
            "properties": {"numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1}},
            "required": ["numbers"],
        });
        Self(definition(
            "random",
            "utility",
            "Draws random numbers between two bounds, both included.",
            input,
            output,
        ))
    }
}

impl Default for Random {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Random {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        ready(draw(&call.input))
    }
}

fn draw(input: &Map<String, Value>) -> Result<Value, ToolFailure> {
    let bound = |name: &str, default: u32| input.get(name).cloned().unwrap_or_else(|| json!(default));
    let (min, max) = (bound("min", 1), bound("max", 100));
    let count = input.get("count").map_or(Some(1), whole).unwrap_or_default();
    let count = usize::try_from(count).unwrap_or_default();
    let empty = || ToolFailure::new(format!("there is no number from {min} to {max}"));
    let numbers: Vec<Value> = if let (Some(min), Some(max)) = (whole(&min), whole(&max)) {
        if min > max {
            return Err(empty());
        }
        (0..count).map(|_| json!(fastrand::i64(min..=max))).collect()
    } else {
        let (Some(min), Some(max)) = (min.as_f64(), max.as_f64()) else { return Err(empty()) };
        let width = max - min;
        if !width.is_finite() || width < 0.0 {
            return Err(empty());
        }
        (0..count).map(|_| json!((min + fastrand::f64() * width).clamp(min, max))).collect()
    };
    Ok(json!({"numbers": numbers}))
}

/// A whole number, also one that is written with a point.
fn whole(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "within the bounds every whole number fits")]
    let pointed = |number: f64| {
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0).then_some(number as i64)
    };
    value.as_i64().or_else(|| value.as_f64().and_then(pointed))
}

/// Gives back what it gets.
#[derive(Debug)]
pub struct Echo(ToolDefinition);

impl Echo {
    /// The tool `echo`.
    pub fn new() -> Self {
        let input = json!({
            "type": "object",
            "properties": {"message": {"type": "string", "description": "what is given back"}},
            "required": ["message"],
        });
        let output = json!({
            "type": "object",
            "properties": {"echo": {"type": "string"}},
            "required": ["echo"],
        });
        Self(definition("echo", "utility", "Gives back the message, unaltered.", input, output))
    }
}

impl Default for Echo {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn run(&self, mut call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        let message = call.input.remove("message").unwrap_or_default();
        ready(Ok(json!({"echo": message})))
    }
}

/// Waits.
#[derive(Debug)]
pub struct Timer(ToolDefinition);

impl Timer {
    /// The tool `timer`.
    pub fn new() -> Self {
        let input = json!({
            "type": "object",
            "properties": {
                "seconds": {
                    "type": "number", "minimum": 0, "maximum": LONGEST_SECONDS,
                    "description": "how long it waits",
                },
            },
            "required": ["seconds"],
        });
        let output = json!({
            "type": "object",
            "properties": {"waited": {"type": "number", "description": "seconds"}},
            "required": ["waited"],
        });
        Self(definition("timer", "utility", "Waits for some seconds, then answers.", input, output))
    }
}

impl Default for Timer {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Timer {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        Box::pin(async move {
            let seconds: Option<&Number> = call.input.get("seconds").and_then(Value::as_number);
            let duration = seconds
                .and_then(Number::as_f64)
                .filter(|seconds| *seconds <= LONGEST_SECONDS)
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .ok_or_else(|| ToolFailure::new("`seconds` cannot be waited"))?;
            tokio::time::sleep(duration).await;
            Ok(json!({"waited": seconds}))
        })
    }

    fn deadline(&self) -> Option<Duration> {
        Some(Duration::from_secs_f64(LONGEST_SECONDS + 10.0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::draw;

    fn numbers(input: Value) -> Option<Vec<Value>> {
        let input: Map<String, Value> = serde_json::from_value(input).expect("an object");
        draw(&input).ok()?.get("numbers")?.as_array().cloned()
    }

    #[test]
    fn numbers_are_within_their_bounds() {
        #[expect(clippy::needless_pass_by_value, reason = "the table below reads better")]
        fn check(input: Value, count: usize, min: f64, max: f64, whole: bool) {
            for _ in 0..50 {
                let numbers = numbers(input.clone()).expect("numbers");
                assert_eq!(numbers.len(), count);
                for number in numbers {
                    assert_eq!(number.is_i64(), whole, "{number}");
                    let number = number.as_f64().expect("a number");
                    assert!(number >= min && number <= max, "{number}");
                }
            }
        }
        check(json!({}), 1, 1.0, 100.0, true);
        check(json!({"min": 3, "max": 5, "count": 7}), 7, 3.0, 5.0, true);
        check(json!({"min": -2.0, "max": -2}), 1, -2.0, -2.0, true);
        check(json!({"min": 0.5, "max": 2, "count": 3.0}), 3, 0.5, 2.0, false);
        check(json!({"min": i64::MIN, "max": i64::MAX}), 1, f64::MIN, f64::MAX, true);
        assert_eq!(numbers(json!({"min": 5, "max": 3})), None);
        assert_eq!(numbers(json!({"min": 200})), None);
        assert_eq!(numbers(json!({"min": -1.7e308, "max": 1.7e308})), None);
    }
}
