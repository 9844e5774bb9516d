//! Tides: a realistic family of two tools, from a small harmonic model of five constituents.
//!
//! `tide_table` lists high and low waters, `tide_wait` ends with the next high water.
//! The model is deterministic and good enough to be plausible; it is not for navigation.

use std::f64::consts::TAU;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};

use crate::utp::ident::{civil_date, parse_date};
use crate::utp::message::{AfterExecution, ErrorCode};

use super::failure::ToolFailure;
use super::tool::{Arguments, Tool, ToolCall, ToolDefinition, ToolOutput};

const AUTHOR: &str = "tool.tides";

/// The most days that may be asked for.
const MAX_DAYS: u64 = 60;
/// The days that a table covers; who asks for more gets these.
const COVERED_DAYS: u64 = 30;
/// The first day of a table unless the caller names one: a fixed day, so that the same call has the same answer.
const FIRST_DAY: &str = "2031-04-02";
/// The grid on which turning points are looked for, in minutes; no tide turns twice within it.
const STEP_MINUTES: i64 = 20;
const MINUTES_A_DAY: i64 = 1440;

/// Angular speeds of M2, S2, N2, K1 and O1, in degrees an hour.
const SPEEDS: [f64; 5] = [28.984_104, 30.0, 28.439_73, 15.041_069, 13.943_036];

/// A harbour: mean level and amplitudes in metres, phases in degrees.
struct Harbour {
    name: &'static str,
    mean: f64,
    amplitudes: [f64; 5],
    phases: [f64; 5],
}

const HARBOURS: [Harbour; 3] = [
    Harbour {
        name: "Brest",
        mean: 4.13,
        amplitudes: [2.05, 0.75, 0.42, 0.06, 0.07],
        phases: [99.0, 139.0, 81.0, 70.0, 322.0],
    },
    Harbour {
        name: "Dover",
        mean: 3.75,
        amplitudes: [2.26, 0.71, 0.41, 0.05, 0.06],
        phases: [332.0, 23.0, 309.0, 48.0, 182.0],
    },
    Harbour {
        name: "Saint-Malo",
        mean: 6.82,
        amplitudes: [3.81, 1.50, 0.74, 0.09, 0.09],
        phases: [178.0, 227.0, 158.0, 97.0, 351.0],
    },
];

/// A turn of the tide.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Water {
    /// Minutes since 1970-01-01, UTC.
    minute: i64,
    height: f64,
    high: bool,
}

impl Harbour {
    fn named(arguments: &Arguments) -> Result<&'static Self, ToolFailure> {
        let known = json!(HARBOURS.map(|harbour| harbour.name));
        let Some(name) = arguments.get("harbour").and_then(Value::as_str) else {
            return Err(ToolFailure::bad_argument("harbour", "`harbour` is not a name", &known));
        };
        HARBOURS
            .iter()
            .find(|harbour| harbour.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| ToolFailure::bad_argument("harbour", format!("no harbour `{name}` here"), &known))
    }

    #[expect(clippy::cast_precision_loss, reason = "minutes since 1970 are far below 2^52")]
    fn height(&self, minute: i64) -> f64 {
        let hours = minute as f64 / 60.0;
        let constituents = SPEEDS.iter().zip(self.amplitudes).zip(self.phases);
        self.mean
            + constituents
                .map(|((speed, amplitude), phase)| amplitude * ((speed * hours - phase) / 360.0 * TAU).cos())
                .sum::<f64>()
    }

    /// The turns of the tide in a span of minutes, in order.
    fn turns(&self, from: i64, to: i64) -> Vec<Water> {
        let mut turns = Vec::new();
        let mut middle = from;
        while middle < to {
            let (before, here, after) =
                (self.height(middle - STEP_MINUTES), self.height(middle), self.height(middle + STEP_MINUTES));
            let high = here >= before && here > after;
            let low = here <= before && here < after;
            if high || low {
                let sharpest = (middle - STEP_MINUTES..=middle + STEP_MINUTES)
                    .max_by(|one, other| {
                        let (one, other) = (self.height(*one), self.height(*other));
                        if high { one.total_cmp(&other) } else { other.total_cmp(&one) }
                    })
                    .unwrap_or(middle);
                turns.push(Water { minute: sharpest, height: self.height(sharpest), high });
            }
            middle += STEP_MINUTES;
        }
        turns
    }
}

/// Lists the high and low waters of some days.
pub(crate) struct TideTable;

impl Tool for TideTable {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            tool_name: "tide_table",
            target: "cmd.tool.tides.table",
            author: AUTHOR,
            description: "High and low water for a harbour.",
            parameters: json!({
                "type": "object",
                "properties": {
                    "harbour": {"type": "string"},
                    "days": {"type": "integer", "minimum": 1, "maximum": MAX_DAYS, "default": 1},
                    "date": {"type": "string", "format": "date", "default": FIRST_DAY}
                },
                "required": ["harbour"]
            }),
            after_execution: AfterExecution::Suspend,
        }
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        ready(table(&call.arguments)).boxed()
    }
}

fn table(arguments: &Arguments) -> Result<ToolOutput, ToolFailure> {
    let harbour = Harbour::named(arguments)?;
    let days = match arguments.get("days") {
        None => Some(1),
        Some(days) => days.as_u64().filter(|days| (1..=MAX_DAYS).contains(days)),
    };
    let Some(days) = days else {
        let allowed = json!({"minimum": 1, "maximum": MAX_DAYS});
        return Err(ToolFailure::bad_argument("days", "`days` is not a number of days", &allowed));
    };
    let date = arguments.get("date").map_or(Some(FIRST_DAY), Value::as_str);
    let Some(first_day) = date.and_then(parse_date) else {
        return Err(ToolFailure::bad_argument("date", "`date` is not a day", &json!("YYYY-MM-DD")));
    };
    let covered = days.min(COVERED_DAYS);
    let table: Vec<Value> = (first_day..).zip(0..covered).map(|(day, _)| day_entry(harbour, day)).collect();
    let result = json!({"harbour": harbour.name, "unit": "m", "days": table});
    if covered == days {
        return Ok(ToolOutput::Complete(result));
    }
    let message = format!("the table covers {covered} of {days} days");
    let missing = ToolFailure::new(ErrorCode::IncompleteResult, message)
        .with_detail(json!({"asked_days": days, "covered_days": covered}));
    Ok(ToolOutput::Partial { result, missing })
}

fn day_entry(harbour: &Harbour, day: i64) -> Value {
    let midnight = day * MINUTES_A_DAY;
    // One step more on either side: a turn just before midnight may lie next to a grid point of the next day.
    let turns = harbour.turns(midnight - STEP_MINUTES, midnight + MINUTES_A_DAY + STEP_MINUTES);
    let list = |high: bool| -> Vec<Value> {
        turns
            .iter()
            .filter(|water| water.high == high && water.minute.div_euclid(MINUTES_A_DAY) == day)
            .map(|water| json!({"time": clock_time(water.minute), "height": metres(water.height)}))
            .collect()
    };
    json!({"date": civil_date(day), "high_water": list(true), "low_water": list(false)})
}

/// Ends with the next high water, unless the time limit or a shutdown comes first.
pub(crate) struct TideWait;

impl Tool for TideWait {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            tool_name: "tide_wait",
            target: "cmd.tool.tides.wait",
            author: AUTHOR,
            description: "Waits for the next high water of a harbour.",
            parameters: json!({
                "type": "object",
                "properties": {"harbour": {"type": "string"}},
                "required": ["harbour"]
            }),
            after_execution: AfterExecution::Suspend,
        }
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async move {
            let harbour = Harbour::named(&call.arguments)?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let (water, wait) = next_high_water(harbour, now)?;
            tokio::time::sleep(wait).await;
            Ok(ToolOutput::Complete(json!({
                "harbour": harbour.name,
                "time": clock_time(water.minute),
                "height": metres(water.height)
            })))
        }
        .boxed()
    }
}

/// The next high water and the time until then.
///
/// A tide that turns within the minute counts as the present one, so that every wait is a wait.
fn next_high_water(harbour: &Harbour, now: Duration) -> Result<(Water, Duration), ToolFailure> {
    let minute = i64::try_from(now.as_secs() / 60).unwrap_or(i64::MAX / 2);
    let turns = harbour.turns(minute - STEP_MINUTES, minute + MINUTES_A_DAY);
    let next = turns.into_iter().find(|water| water.high && water.minute > minute + 1);
    let water = next.ok_or_else(|| {
        ToolFailure::new(ErrorCode::InternalError, "the model has no high water within a day")
    })?;
    let at = Duration::from_secs(u64::try_from(water.minute * 60).unwrap_or_default());
    Ok((water, at.saturating_sub(now)))
}

fn clock_time(minute: i64) -> String {
    let minute = minute.rem_euclid(MINUTES_A_DAY);
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn metres(height: f64) -> f64 {
    (height * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{HARBOURS, next_high_water, table};
    use crate::utp::tool_service::failure::ToolFailure;
    use crate::utp::tool_service::tool::{Arguments, ToolOutput};

    fn run(arguments: &Value) -> Result<ToolOutput, ToolFailure> {
        let arguments: Arguments = arguments.as_object().expect("an object").clone();
        table(&arguments)
    }

    #[test]
    fn arguments_are_checked_and_the_field_is_named() {
        fn check(arguments: &Value, field: &str) {
            let failure = run(arguments).expect_err("a failure");
            assert_eq!(failure.detail.expect("a detail")["field"], field, "{arguments}");
        }
        check(&json!({}), "harbour");
        check(&json!({"harbour": "Atlantis"}), "harbour");
        check(&json!({"harbour": 7}), "harbour");
        check(&json!({"harbour": "Brest", "days": 0}), "days");
        check(&json!({"harbour": "Brest", "days": 61}), "days");
        check(&json!({"harbour": "Brest", "days": "three"}), "days");
        check(&json!({"harbour": "Brest", "date": "2031-02-30"}), "date");
        check(&json!({"harbour": "Brest", "date": null}), "date");
    }

    #[test]
    fn a_table_is_complete_up_to_thirty_days() {
        fn check(days: u64, expect: usize, complete: bool) {
            let (result, whole) = match run(&json!({"harbour": "brest", "days": days})) {
                Ok(ToolOutput::Complete(result)) => (result, true),
                Ok(ToolOutput::Partial { result, .. }) => (result, false),
                other => panic!("unexpected {other:?}"),
            };
            assert_eq!(result["days"].as_array().map(Vec::len), Some(expect));
            assert_eq!(whole, complete);
        }
        check(1, 1, true);
        check(30, 30, true);
        check(31, 30, false);
        check(60, 30, false);
    }

    #[test]
    fn the_tide_turns_about_four_times_a_day() {
        for harbour in &HARBOURS {
            let turns = harbour.turns(0, 29 * 1440);
            // 29 days hold 56 semi-diurnal tides, each with a high and a low water.
            assert!((111..=113).contains(&turns.len()), "{}: {}", harbour.name, turns.len());
            assert!(turns.windows(2).all(|pair| pair[0].high != pair[1].high), "{}", harbour.name);
        }
    }

    #[test]
    fn a_wait_is_never_shorter_than_a_minute_and_never_longer_than_a_day() {
        for harbour in &HARBOURS {
            for hour in 0..48 {
                let now = Duration::from_secs(1_900_000_000 + hour * 3600);
                let (_, wait) = next_high_water(harbour, now).expect("a high water");
                assert!((60..86_400).contains(&wait.as_secs()), "{} {wait:?}", harbour.name);
            }
        }
    }
}
