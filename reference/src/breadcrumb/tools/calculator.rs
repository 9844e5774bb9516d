//! `calculator`: numbers, operators, brackets and some functions.
//!
//! fend does the arithmetic, exactly where it can, and is interrupted where it would take too long. It knows much more
//! than a calculator should (units, dates, variables, functions of one's own), so only expressions of the signs and
//! names below ever reach it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::parts::{definition, text};
use crate::breadcrumb::tool::{Tool, ToolCall, ToolDefinition, ToolFailure};

/// How long an expression may be.
const LONGEST: usize = 500;
/// How many brackets may be open at once.
const DEEPEST: usize = 50;
/// How long a calculation may take.
const DEADLINE: Duration = Duration::from_millis(300);
/// How often fend asks whether it is to stop before it may be stopped: what is small has its value on a busy machine too.
const SMALL: u32 = 2_000;
/// Enough for the deepest expression; it is used as far as it is needed.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// What may be named.
const NAMES: [&str; 22] = [
    "abs", "acos", "asin", "atan", "cbrt", "ceil", "cos", "cosh", "e", "exp", "floor", "ln", "log10", "log2",
    "mod", "pi", "round", "sin", "sinh", "sqrt", "tan", "tanh",
];

/// Calculates.
#[derive(Debug)]
pub struct Calculator(ToolDefinition);

impl Calculator {
    /// The tool `calculator`.
    pub fn new() -> Self {
        let input = json!({
            "type": "object",
            "properties": {
                "expression": {
                    "type": "string", "minLength": 1, "maxLength": LONGEST,
                    "description": "for instance `(7 + 5) / 3` or `sqrt(2) * 10^3`; angles are in radians",
                },
            },
            "required": ["expression"],
        });
        let output = json!({
            "type": "object",
            "properties": {"result": {"type": "number"}},
            "required": ["result"],
        });
        let description = "Calculates an arithmetic expression of numbers, + - * / % ^ !, brackets, and functions such as \
                           sqrt, ln, sin, round.";
        Self(definition("calculator", "utility", description, input, output))
    }
}

impl Default for Calculator {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Calculator {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        Box::pin(async move {
            let expression = readable(text(&call.input, "expression"))?;
            let (sender, calculated) = oneshot::channel();
            // A thread of its own, since depth costs stack and the calculation does not yield.
            std::thread::Builder::new()
                .name("calculator".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    // The receiver is gone when the call was given up.
                    let _ = sender.send(calculate(&expression));
                })
                .map_err(|_| ToolFailure::new("there is no room for a calculation"))?;
            let result = calculated.await.map_err(|_| ToolFailure::new("the calculation broke down"))??;
            Ok(json!({"result": result}))
        })
    }
}

/// The expression in the signs that fend reads, if it is one of a calculator.
fn readable(expression: &str) -> Result<String, ToolFailure> {
    let failure = |text: String| Err(ToolFailure::new(text));
    if expression.chars().count() > LONGEST {
        return failure(format!("the expression is longer than {LONGEST} signs"));
    }
    let mut readable = String::with_capacity(expression.len());
    let mut signs = expression.chars().peekable();
    let (mut depth, mut after_number) = (0_usize, false);
    while let Some(sign) = signs.next() {
        match sign {
            '0'..='9' | '.' => {
                // fend would take `1 2/3` for a mixed fraction.
                if after_number {
                    return failure(format!("an operator is missing before `{sign}`"));
                }
                readable.push(sign);
                while let Some(next) = signs.next_if(|next| matches!(next, '0'..='9' | '.')) {
                    readable.push(next);
                }
                let mut exponent = signs.clone();
                let marked = exponent.next().is_some_and(|next| matches!(next, 'e' | 'E'));
                let signed = exponent.next_if(|next| matches!(next, '+' | '-'));
                if marked && exponent.peek().is_some_and(char::is_ascii_digit) {
                    readable.push('e');
                    readable.extend(signed);
                    signs = exponent;
                    while let Some(next) = signs.next_if(char::is_ascii_digit) {
                        readable.push(next);
                    }
                }
                after_number = true;
                continue;
            }
            sign if sign.is_ascii_alphabetic() || sign == 'π' => {
                let mut name = sign.to_string();
                while let Some(next) = signs.next_if(char::is_ascii_alphanumeric) {
                    name.push(next);
                }
                let name = if name == "π" { "pi".to_owned() } else { name.to_ascii_lowercase() };
                if !NAMES.contains(&name.as_str()) {
                    return failure(format!("`{name}` is nothing that the calculator knows"));
                }
                // Apart from a number before it, of which an `e` could be taken for a part.
                readable.push(' ');
                readable.push_str(&name);
            }
            '(' => {
                depth += 1;
                if depth > DEEPEST {
                    return failure(format!("more than {DEEPEST} brackets are open at once"));
                }
                readable.push(sign);
            }
            ')' => {
                let Some(rest) = depth.checked_sub(1) else {
                    return failure("a bracket is closed that was not opened".to_owned());
                };
                depth = rest;
                readable.push(sign);
            }
            '+' | '-' | '*' | '/' | '%' | '^' | '!' => readable.push(sign),
            '×' | '·' => readable.push('*'),
            '÷' => readable.push('/'),
            '−' => readable.push('-'),
            sign if sign.is_whitespace() => {
                readable.push(' ');
                continue;
            }
            sign => return failure(format!("`{sign}` is no sign of an expression")),
        }
        after_number = false;
    }
    if depth > 0 {
        return failure("a bracket is not closed".to_owned());
    }
    if readable.trim().is_empty() {
        return failure("the expression is empty".to_owned());
    }
    Ok(readable)
}

/// Stops a calculation that is neither small nor done in time.
struct Limit {
    until: Instant,
    asked: AtomicU32,
}

impl fend_core::Interrupt for Limit {
    fn should_interrupt(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) > SMALL && Instant::now() >= self.until
    }
}

fn calculate(expression: &str) -> Result<Value, ToolFailure> {
    let limit = Limit { until: Instant::now() + DEADLINE, asked: AtomicU32::new(0) };
    // More places than a number of JSON keeps.
    let precise = format!("({expression}) to 20 sf");
    let calculated = fend_core::evaluate_with_interrupt(&precise, &mut fend_core::Context::new(), &limit);
    let result = calculated.map_err(|reason| {
        ToolFailure::new(if fend_core::Interrupt::should_interrupt(&limit) {
            "the calculation takes too long".to_owned()
        } else if reason.contains("expecting") || reason.contains("expected") {
            // fend speaks of the bracket that was put around it.
            "the expression is not complete, or something in it is in the wrong place".to_owned()
        } else {
            reason
        })
    })?;
    let text = result.get_main_result();
    number(text.strip_prefix("approx. ").unwrap_or(text))
}

/// A whole number where it is one, the nearest other one where it is not.
fn number(text: &str) -> Result<Value, ToolFailure> {
    if let Ok(whole) = text.parse::<i64>() {
        return Ok(json!(whole));
    }
    let number: f64 = text.parse().map_err(|_| ToolFailure::new("the result is no real number"))?;
    if !number.is_finite() {
        return Err(ToolFailure::new("the result is too large"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "within the bounds every whole number fits")]
    let whole = (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64);
    Ok(whole.map_or_else(|| json!(number), |whole| json!(whole)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::Calculator;
    use crate::breadcrumb::tool::{Tool as _, ToolCall};

    fn result(expression: &str) -> Result<Value, String> {
        let input = json!({"expression": expression}).as_object().expect("an object").clone();
        let run = async { Calculator::new().run(ToolCall::new(input)).await };
        let output = futures::executor::block_on(run).map_err(|failure| failure.to_string())?;
        Ok(output["result"].clone())
    }

    #[test]
    fn expressions_have_values() {
        fn check(expression: &str, expect: &str) {
            let result = result(expression).unwrap_or_else(|failure| panic!("{expression}: {failure}"));
            assert_eq!(result.to_string(), expect, "{expression}");
        }
        check("25 * 4", "100");
        check("(7 + 5) / 3", "4");
        check("2 - 9", "-7");
        check("1.5 * 4", "6");
        check("33 + 5", "38");
        check("0.1 + 0.2", "0.3");
        check("-2^2", "-4");
        check("2^3^2", "512");
        check("2**10", "1024");
        check("7 % 3", "1");
        check("5!", "120");
        check("170! / 168!", "28730");
        check("1e3 + 1.5e-3", "1000.0015");
        check("2pi - 2 × π", "0");
        check("2e", "5.43656365691809");
        check("10 ÷ 4", "2.5");
        check("9007199254740993", "9007199254740993");
        check("sqrt(16) + abs(-3)", "7");
        check("log10(1000)", "3");
        check(" \t1\n", "1");
    }

    #[test]
    fn what_has_no_value_fails_with_a_text() {
        fn check(expression: &str, expect: &str) {
            let failure = result(expression).expect_err(expression);
            assert!(failure.contains(expect), "{expression}: {failure}");
        }
        check("", "empty");
        check("1 +", "not complete");
        check("* 2", "");
        check("1 / 0", "zero");
        check("7 % 0", "zero");
        check("1e400", "too large");
        check("9^9^9^9", "too long");
        check("9^9^9", "too long");
        check("sqrt(-1)", "no real number");
        check("sqrt", "");
        check("1 2/3", "operator is missing");
        check("x + 1", "`x`");
        check("3 kg", "`kg`");
        check("today", "`today`");
        check("x = 5", "`x`");
        check("5 = 5", "`=`");
        check("1; 2", "`;`");
        check("${a.b}", "`$`");
        check("0x10", "`x10`");
        check("(1", "not closed");
        check("1)", "not opened");
        check(") + (", "not opened");
        check(&"(".repeat(51), "brackets");
        check(&"1".repeat(501), "longer");
        check("1.2.3", "");
    }

    #[test]
    fn the_deepest_expressions_have_a_value_too() {
        let minus = format!("{}1", "-".repeat(498));
        let powers = format!("1{}", "^1".repeat(249));
        let brackets = format!("{}1{}", "(".repeat(50), ")".repeat(50));
        for expression in [minus, powers, brackets] {
            assert_eq!(result(&expression), Ok(json!(1)), "{expression}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn whole_numbers_are_added_exactly(left in -1_000_000_000_000_i64.., right in 0_i64..1_000_000_000_000) {
            let (left, right) = (left / 4, right / 4);
            prop_assert_eq!(result(&format!("{left} + {right}")), Ok(json!(left + right)));
        }

        #[test]
        fn nothing_breaks_it(expression in "[-0-9.e+*/%^!() a-z]{0,24}") {
            if let Err(failure) = result(&expression) {
                prop_assert!(!failure.is_empty() && !failure.contains("broke"), "{} {}", expression, failure);
            }
        }
    }
}
