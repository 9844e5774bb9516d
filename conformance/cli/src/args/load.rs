//! Flags of `load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::choices::{Format, TransportChoice};
use crate::broker::BrokerChoice;

/// Below the flags of `load`.
pub(super) const LOAD_HELP: &str = "\
Calls are due at fixed times, and are sent then whether or not those before were answered. A latency counts from when
its call was due, so a target that stands still for a moment shows it in each call that should have been made meanwhile:
  callmark load --bundled --profile utp.tool-service --rate 500 --for 30s
  callmark load --target callmark.toml --profile hub.server --rate 20 --find --p99 50ms --for 10s

What is called: the echo probe of a Tool Service or an MCP server, a harmless availability request of a Hub's connected
customer. Every exchange is judged by each rule that holds in every exchange, as `callmark watch` does.
Load only what is yours: a target that others use feels it, too.

Exit codes: 0 the rate was held and no rule broken; 1 a rule was broken, or calls failed, were never answered or could
not be sent because too many were open; with --find, 1 if no rate was held; 2 usage error; 3 the target cannot be
reached, or this machine did not send the calls that were due; 70 bug";

/// Calls a second at most: more is more than this program can make.
const MOST: f64 = 100_000.0;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct LoadArguments {
    /// Manifest of the target
    #[arg(long, value_name = "FILE", required_unless_present = "bundled")]
    pub(crate) target: Option<PathBuf>,
    /// The target is the bundled reference
    #[arg(long, conflicts_with = "target")]
    pub(crate) bundled: bool,
    /// The role that is called: utp.tool-service, hub.server or toolbus.server, with `@` and a revision where there are
    /// several. Default: the manifest's only one
    #[arg(long, value_name = "P")]
    pub(crate) profile: Option<String>,
    /// Calls a second; with --find the rate that is tried first
    #[arg(long, value_name = "N", default_value = "50", value_parser = rate)]
    pub(crate) rate: f64,
    /// How long calls are due, e.g. 30s or 2m; with --find for each rate
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) duration: Duration,
    /// Search the highest rate whose p99 is within --p99, with every call answered and no rule broken
    #[arg(long, requires = "p99")]
    pub(crate) find: bool,
    /// With --find: the bound of the 99th percentile of latencies, e.g. 50ms
    #[arg(long, value_name = "TIME", requires = "find", value_parser = duration)]
    pub(crate) p99: Option<Duration>,
    /// After this time a call counts as never answered
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) deadline: Duration,
    /// Calls that may be open at a time; what is due beyond is not sent, and counted
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) most_open: u32,
    /// Broker: embedded, server, container, or nats:// and tls:// URLs, separated by commas. Default: the manifest's
    #[arg(long, value_name = "BROKER")]
    pub(crate) broker: Option<BrokerChoice>,
    /// toolbus: the MCP transport. Default: the manifest's
    #[arg(long, value_name = "T", value_enum)]
    pub(crate) transport: Option<TransportChoice>,
    /// Take warnings (SHOULD rules) for violations
    #[arg(long)]
    pub(crate) strict: bool,
    /// What is printed on stdout; `json` prints the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Write load.json and index.html here: a new or empty directory, or one that holds those of an earlier load
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// No progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "is no number".to_owned())?;
    let is_sound = (0.1..=MOST).contains(&rate);
    if is_sound { Ok(rate) } else { Err(format!("is not between 0.1 and {MOST} calls a second")) }
}

/// A number with a unit: `250ms`, `30s`, `2m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("needs a unit: ms, s, m or h, e.g. 30s".to_owned()),
    };
    let seconds = number.parse::<f64>().map_err(|_| "is no time, e.g. 30s or 250ms".to_owned())? * unit;
    let is_sound = (0.001..=86_400.0).contains(&seconds);
    if is_sound { Ok(Duration::from_secs_f64(seconds)) } else { Err("is not between 1ms and 24h".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["30", "s", "-1s", "0s", "3d", "25h", "NaNs", "infs"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_are_bounded() {
        assert_eq!(rate("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "NaN", "1e9", "fast"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
