//! A small Hub with a calendar and a mailbox of its own, without provider and without declared fixtures: conformant as it
//! is, and never with a fault in what it lists.

use std::sync::{Arc, Mutex};

use crate::support::{self, Part};
use callmark_reports::record::{Outcome, RuleEntry, Verdict};
use callmark_suite::engine::run::{Quiet, RunOutput};
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families::hub::contract;
use callmark_suite::families::hub::manifest::{Customer, HubTable};
use callmark_suite::families::utp::target::Running;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

const SECRET: &str = "s3cr3t-for-tests";
const CUSTOMER: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001";
const STATUS: &str = "/api/internal/integrations/status/";

/// What the Hub gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// Busy periods end before they start.
    Swapped,
    /// Nothing is ever busy.
    Free,
    /// Whatever is asked, the same hour is busy.
    SameHour,
    /// Busy periods begin and end two hours late.
    TwoHoursLate,
    /// Busy periods are numbers of seconds.
    Seconds,
    /// Busy periods are two hours late, and name no calendar.
    LateOnNoCalendar,
    /// A score is no number.
    NaNAsScore,
    /// The recipients of a mail in a list are one string.
    TextAsRecipients,
    /// No search finds anything.
    FindsNothing,
    /// Every search finds the same mail.
    FindsTheSame,
    /// Every tool fails.
    Raises,
    /// It has these tools alone.
    Has(&'static [&'static str]),
}

#[derive(Default)]
struct Holdings {
    events: Vec<Value>,
    mails: Vec<Value>,
    made: u64,
}

struct SmallHub {
    fault: Fault,
    holdings: Mutex<Holdings>,
}

type Answer = Result<Value, (u16, &'static str)>;

const MISFIT: (u16, &str) = (400, "INVALID_INPUT");
const UNKNOWN: (u16, &str) = (404, "UNKNOWN");

impl SmallHub {
    fn run(&self, tool: &str, inputs: &Value) -> Answer {
        let mut held = self.holdings.lock().expect("no test panics here");
        held.made += 1;
        let text = |name: &str| inputs[name].as_str();
        let place = |list: &[Value], name: &str, key: &str| {
            let id = inputs[name].as_str().ok_or(MISFIT)?;
            list.iter().position(|item| item[key] == id).ok_or(UNKNOWN)
        };
        match tool {
            "calendar_get_availability" => self.availability(&held, inputs),
            "calendar_create_event" => {
                let id = format!("event-{}", held.made);
                let guests = inputs["attendees"].as_array().into_iter().flatten();
                let attendees: Vec<Value> =
                    guests.map(|guest| json!({"email": guest, "response_status": "needsAction"})).collect();
                held.events.push(json!({"event_id": id, "start": inputs["start"], "end": inputs["end"]}));
                Ok(
                    json!({"event_id": id, "html_link": format!("https://hub.example/{id}"), "status": "confirmed",
                          "attendees": attendees}),
                )
            }
            "calendar_update_event" => {
                let place = place(&held.events, "event_id", "event_id")?;
                for name in ["start", "end"] {
                    if let Some(value) = inputs["updates"].get(name) {
                        held.events[place][name] = value.clone();
                    }
                }
                Ok(json!({}))
            }
            "calendar_delete_event" => {
                let place = place(&held.events, "event_id", "event_id")?;
                held.events.remove(place);
                Ok(json!({}))
            }
            "calendar_find_optimal_times" => {
                // The last day is no Monday, whatever the suite asks.
                let day = inputs["date_range"]["end"].as_str().ok_or(MISFIT)?;
                let from = inputs["preferences"]["preferred_hours"]["start"].as_str().unwrap_or("09:00");
                let start: Timestamp = format!("{day}T{from}:00Z").parse().map_err(|_| MISFIT)?;
                let end = start + inputs["duration_minutes"].as_i64().ok_or(MISFIT)?.minutes();
                Ok(
                    json!({"suggestions": [{"start": start.to_string(), "end": end.to_string(), "score": 1.0, "conflicts": []}]}),
                )
            }
            "email_send" => {
                let id = format!("mail-{}", held.made);
                let answered =
                    held.mails.iter().find(|mail| mail["message_id"] == inputs["reply_to_message_id"]);
                let thread =
                    answered.map_or_else(|| json!(format!("thread-{id}")), |mail| mail["thread_id"].clone());
                held.mails.push(json!({
                    "message_id": id, "thread_id": thread, "from": "me@hub.example", "to": inputs["to"],
                    "subject": inputs["subject"], "body": inputs["body"], "date": Timestamp::now().to_string(),
                    "attachments": [],
                }));
                Ok(json!({"message_id": id, "thread_id": thread, "status": "sent"}))
            }
            "email_search" => Ok(self.search(&held.mails, inputs)),
            "email_read" => Ok(held.mails[place(&held.mails, "message_id", "message_id")?].clone()),
            "email_check_replies" => {
                place(&held.mails, "thread_id", "thread_id")?;
                Ok(json!({"has_new_replies": false, "replies": []}))
            }
            _ if text("anything").is_none() => Err((404, "TOOL_NOT_FOUND")),
            _ => Err(UNKNOWN),
        }
    }

    fn availability(&self, held: &Holdings, inputs: &Value) -> Answer {
        let zone = TimeZone::get(inputs["timezone"].as_str().ok_or(MISFIT)?).map_err(|_| MISFIT)?;
        let day = |name: &str| -> Result<Timestamp, (u16, &str)> {
            let day: Date = inputs[name].as_str().ok_or(MISFIT)?.parse().map_err(|_| MISFIT)?;
            Ok(day.to_zoned(zone.clone()).map_err(|_| MISFIT)?.timestamp())
        };
        let (from, to) = (day("start_date")?, day("end_date")?);
        let at = |value: &Value| {
            value.as_str().and_then(|text| text.parse::<Timestamp>().ok()).unwrap_or_default()
        };
        let mut busy: Vec<(Timestamp, Timestamp)> = held
            .events
            .iter()
            .map(|event| (at(&event["start"]), at(&event["end"])))
            .filter(|(start, end)| *start < to && from < *end)
            .collect();
        match self.fault {
            Fault::Swapped => busy.iter_mut().for_each(|(start, end)| std::mem::swap(start, end)),
            Fault::Free => busy.clear(),
            Fault::SameHour => busy = vec![(from + 8.hours(), from + 9.hours())],
            Fault::TwoHoursLate | Fault::LateOnNoCalendar => {
                for (start, end) in &mut busy {
                    (*start, *end) = (*start + 2.hours(), *end + 2.hours());
                }
            }
            _ => {}
        }
        let written = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
        let listed = |(start, end): (Timestamp, Timestamp)| match self.fault {
            Fault::Seconds => {
                json!({"start": start.as_second(), "end": end.as_second(), "calendar": "primary"})
            }
            Fault::LateOnNoCalendar => json!({"start": written(start), "end": written(end)}),
            _ => json!({"start": written(start), "end": written(end), "calendar": "primary"}),
        };
        let busy: Vec<Value> = busy.into_iter().map(listed).collect();
        let hours = json!({"start": "09:00", "end": "17:00", "days": ["monday", "tuesday"]});
        Ok(json!({"busy_periods": busy, "working_hours": hours}))
    }

    fn search(&self, mails: &[Value], inputs: &Value) -> Value {
        let query = inputs["query"].as_str().unwrap_or_default();
        let (operator, word) = query.split_once(':').unwrap_or(("", query));
        let word = word.trim_matches('"');
        let holds = |value: &Value| value.as_str().is_some_and(|text| text.contains(word));
        let matches = |mail: &&Value| match operator {
            "from" => holds(&mail["from"]),
            "subject" => holds(&mail["subject"]),
            _ => holds(&mail["subject"]) || holds(&mail["body"]),
        };
        let mut found: Vec<Value> = mails.iter().filter(matches).cloned().collect();
        match self.fault {
            Fault::FindsNothing => found.clear(),
            Fault::FindsTheSame => found = mails.iter().take(1).cloned().collect(),
            _ => {}
        }
        let total = found.len();
        found.truncate(usize::try_from(inputs["max_results"].as_u64().unwrap_or(10)).unwrap_or(10));
        for mail in &mut found {
            mail["snippet"] = json!("…");
            mail["has_attachments"] = json!(false);
            if self.fault == Fault::TextAsRecipients {
                let recipients = mail["to"].as_array().into_iter().flatten();
                mail["to"] = json!(recipients.filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
            }
            if inputs["include_body"] != true {
                mail.as_object_mut().expect("a mail").remove("body");
            }
        }
        json!({"messages": found, "total_results": total})
    }

    fn execute(&self, request: &Value) -> Answer {
        let is_id = |name: &str| {
            let groups = request[name].as_str().map(|id| id.split('-').map(str::len).collect::<Vec<_>>());
            let is_hex = |id: &str| id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
            groups.is_some_and(|groups| groups == [8, 4, 4, 4, 12])
                && request[name].as_str().is_some_and(is_hex)
        };
        let tool = request["tool"].as_str().ok_or(MISFIT)?;
        if !is_id("agent_id") || !is_id("customer_id") || !request["inputs"].is_object() {
            return Err(MISFIT);
        }
        if self.fault == Fault::Raises {
            return Err((500, "INTERNAL_ERROR"));
        }
        if let Fault::Has(tools) = self.fault
            && !tools.contains(&tool)
        {
            return Err((404, "TOOL_NOT_FOUND"));
        }
        if request["customer_id"] != CUSTOMER {
            return Err(UNKNOWN);
        }
        self.run(tool, &request["inputs"])
    }
}

impl Respond for SmallHub {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let given = request.headers.get("authorization").and_then(|value| value.to_str().ok());
        if given != Some(format!("ServiceSecret {SECRET}").as_str()) {
            return ResponseTemplate::new(403).set_body_string("no");
        }
        if let Some(customer) = request.url.path().strip_prefix(STATUS) {
            let customer = customer.trim_end_matches('/');
            if customer != CUSTOMER {
                return ResponseTemplate::new(404);
            }
            let entry = json!({"connected": true, "scopes": ["all"], "email": "me@hub.example",
                               "expires_at": "2031-04-01T00:00:00Z"});
            return ResponseTemplate::new(200).set_body_json(json!({
                "customer_id": customer, "integrations": {"google_calendar": entry, "google_gmail": entry},
            }));
        }
        if request.method.as_str() != "POST" {
            return ResponseTemplate::new(405);
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match self.execute(&body) {
            Ok(result) => {
                let answer = json!({
                    "success": true, "tool": body["tool"], "result": result,
                    "metadata": {"execution_time_ms": 1, "api_calls": 0},
                });
                let mut text = answer.to_string();
                if self.fault == Fault::NaNAsScore {
                    text = text.replace("\"score\":1.0", "\"score\":NaN");
                }
                ResponseTemplate::new(200).set_body_raw(text, "application/json")
            }
            Err((status, code)) => ResponseTemplate::new(status).set_body_json(json!({
                "success": false, "tool": body["tool"], "error": {"code": code, "message": "this did not work"},
            })),
        }
    }
}

async fn certify(fault: Fault, declared: bool) -> RunOutput {
    let server = MockServer::start().await;
    let hub = SmallHub { fault, holdings: Mutex::default() };
    Mock::given(any()).respond_with(hub).mount(&server).await;
    let mut manifest = support::manifest();
    let table = manifest.get_mut::<HubTable>().expect("the bundled manifest has a Hub");
    (table.launch.start, table.provider) = (None, None);
    table.customers.clear();
    if declared {
        table.customers.insert(Customer::Connected, CUSTOMER.to_owned());
    }
    table.base_url = Some(server.uri());
    table.secret = Some(SECRET.to_owned());
    // A Hub that works must not be taken for a silent one on a busy machine.
    let patient = Part { jobs: 8, limits: TimeoutLimits::default(), ..Part::default() };
    support::certify_part(&manifest, &["hub.server"], "", Box::new(Running), Arc::new(Quiet), patient).await
}

fn of<'a>(output: &'a RunOutput, id: &str) -> &'a RuleEntry {
    output.record.rules.iter().find(|rule| rule.id == id).expect("a rule of the profile")
}

/// The Hub with this fault is not conformant; the rules named have one of the outcomes beside them.
async fn check(fault: Fault, expect: &[(&str, Outcome)]) {
    let output = certify(fault, true).await;
    assert_ne!(output.record.verdict, Verdict::Conformant, "{fault:?}");
    for (rule, outcome) in expect {
        assert_eq!(of(&output, rule).outcome, *outcome, "{fault:?} and {rule}");
    }
}

#[tokio::test]
async fn a_small_hub_without_faults_is_conformant() {
    let output = certify(Fault::Nothing, true).await;
    let odd: Vec<_> = output
        .record
        .rules
        .iter()
        .filter(|rule| !matches!(rule.outcome, Outcome::Passed | Outcome::Noted | Outcome::NotApplicable))
        .map(|rule| (rule.id.as_str(), rule.outcome, rule.reason.as_deref()))
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert_eq!(output.record.verdict, Verdict::Conformant);
}

#[tokio::test]
async fn busy_periods_that_end_before_they_start() {
    check(Fault::Swapped, &[("HUB-64", Outcome::Failed)]).await;
}

/// The rules that the Hub with this fault breaks.
async fn broken(fault: Fault) -> Vec<String> {
    let output = certify(fault, true).await;
    assert_eq!(output.record.verdict, Verdict::Nonconformant, "{fault:?}");
    let broken = output.record.rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
    broken.map(|rule| rule.id.clone()).collect()
}

#[tokio::test]
async fn busy_periods_of_another_form_in_place_of_the_event() {
    check(Fault::Seconds, &[("HUB-63", Outcome::Failed)]).await;
    check(Fault::LateOnNoCalendar, &[("HUB-63", Outcome::Failed)]).await;
}

#[tokio::test]
async fn a_score_that_is_no_number_is_no_fault_of_its_neighbours() {
    assert_eq!(broken(Fault::NaNAsScore).await, ["HUB-14", "HUB-79", "HUB-82"]);
}

#[tokio::test]
async fn recipients_as_a_string_are_no_fault_of_their_neighbours() {
    assert_eq!(broken(Fault::TextAsRecipients).await, ["HUB-92"]);
}

#[tokio::test]
async fn nothing_is_ever_busy() {
    check(Fault::Free, &[("HUB-63", Outcome::Warned), ("HUB-64", Outcome::NotObserved)]).await;
}

#[tokio::test]
async fn the_same_hour_is_always_busy() {
    check(Fault::SameHour, &[("HUB-64", Outcome::NotObserved)]).await;
}

#[tokio::test]
async fn busy_periods_are_two_hours_late() {
    check(Fault::TwoHoursLate, &[("HUB-64", Outcome::NotObserved)]).await;
}

#[tokio::test]
async fn searches_that_find_nothing() {
    check(Fault::FindsNothing, &[("HUB-92", Outcome::NotObserved), ("HUB-93", Outcome::NotObserved)]).await;
}

#[tokio::test]
async fn searches_that_always_find_the_same_mail() {
    check(Fault::FindsTheSame, &[("HUB-93", Outcome::NotObserved), ("HUB-95", Outcome::Warned)]).await;
}

#[tokio::test]
async fn a_hub_whose_tools_all_fail() {
    let output = certify(Fault::Raises, true).await;
    assert_eq!(output.record.verdict, Verdict::Nonconformant);
    // Nothing was declared: what the Hub does may be right for a customer that it does not know.
    let output = certify(Fault::Raises, false).await;
    assert_ne!(output.record.verdict, Verdict::Conformant);
    for rule in ["HUB-06", "HUB-08", "HUB-10", "HUB-11", "HUB-16"] {
        assert_eq!(of(&output, rule).outcome, Outcome::NotObserved, "{rule}");
    }
}

#[tokio::test]
async fn a_hub_with_three_of_nine_tools_breaks_one_rule() {
    for tools in [
        ["calendar_get_availability", "email_search", "email_send"],
        ["calendar_create_event", "calendar_update_event", "calendar_delete_event"],
        ["email_send", "email_read", "email_check_replies"],
    ] {
        let tools: &'static [&'static str] = Box::leak(Box::new(tools));
        let output = certify(Fault::Has(tools), true).await;
        assert_eq!(output.record.verdict, Verdict::Nonconformant, "{tools:?}");
        let broken: Vec<_> = output
            .record
            .rules
            .iter()
            .filter(|rule| !matches!(rule.outcome, Outcome::Passed | Outcome::Noted | Outcome::NotApplicable))
            .filter(|rule| rule.id != "HUB-05")
            .filter(|rule| {
                let reason = rule.reason.as_deref().unwrap_or_default();
                rule.outcome != Outcome::NotObserved || !reason.contains("HUB-05")
            })
            .map(|rule| (rule.id.as_str(), rule.outcome, rule.reason.as_deref()))
            .collect();
        assert!(broken.is_empty(), "{tools:?}: {broken:#?}");
        let known = of(&output, "HUB-05");
        assert_eq!(known.outcome, Outcome::Failed);
        let findings: Vec<_> =
            known.scenarios.iter().filter_map(|scenario| scenario.evidence.as_ref()).collect();
        let text = serde_json::to_string(&findings).expect("JSON");
        for tool in contract::TOOLS {
            let is_named = findings.iter().any(|finding| finding.hint.contains(&format!("`{tool}`")));
            assert_eq!(is_named, !tools.contains(&tool), "{tool}: {text}");
        }
        // What the Hub has is judged as usual.
        let passed = output.record.rules.iter().filter(|rule| rule.outcome == Outcome::Passed).count();
        assert!(passed >= 20, "{tools:?}: {passed}");
    }
}
