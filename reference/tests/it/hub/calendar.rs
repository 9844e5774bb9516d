//! The calendar tools, against the stand-in.

use callmark_reference::hub::fixtures;
use serde_json::{Value, json};

use super::support::{TestHub, availability};

#[tokio::test]
async fn busy_times_are_given_by_the_clocks_of_the_zone() {
    let test_hub = TestHub::new().await;
    let answer = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await;
    let expect = json!([
        {"start": "2031-03-04T10:00:00+01:00", "end": "2031-03-04T11:00:00+01:00", "calendar": "primary"},
        {"start": "2031-03-05T11:00:00+01:00", "end": "2031-03-05T11:45:00+01:00", "calendar": "primary"},
        {"start": "2031-03-06T15:00:00+01:00", "end": "2031-03-06T15:30:00+01:00", "calendar": "primary"},
    ]);
    assert_eq!(answer.result()["busy_periods"], expect);
    assert_eq!(
        answer.result()["working_hours"],
        json!({
            "start": "09:00", "end": "17:00",
            "days": ["monday", "tuesday", "wednesday", "thursday", "friday"],
        })
    );
    let abroad =
        json!({"start_date": "2031-03-05", "end_date": "2031-03-05", "timezone": "America/New_York"});
    let answer = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, abroad).await;
    assert_eq!(
        answer.result()["busy_periods"],
        json!([{
            "start": "2031-03-05T05:00:00-05:00", "end": "2031-03-05T05:45:00-05:00", "calendar": "primary",
        }])
    );
}

#[tokio::test]
async fn calendars_and_zone_have_defaults_and_an_unknown_calendar_is_not_a_free_one() {
    let test_hub = TestHub::new().await;
    let mut inputs = availability();
    inputs.as_object_mut().expect("an object").retain(|name, _| name != "calendars" && name != "timezone");
    let reduced = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, inputs).await;
    let full = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await;
    assert_eq!(reduced.result(), full.result());
    let mut inputs = availability();
    inputs["calendars"] = json!(["ana@orchid.example", "primary", "primary"]);
    let several = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, inputs.clone()).await;
    assert_eq!(several.result()["busy_periods"].as_array().expect("an array").len(), 4);
    inputs["calendars"] = json!(["nobody@orchid.example"]);
    let unknown = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, inputs).await;
    assert_eq!(unknown.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn an_event_is_made_changed_and_taken_away() {
    let test_hub = TestHub::new().await;
    let run = async |tool: &str, inputs: Value| test_hub.execute(tool, fixtures::CONNECTED, inputs).await;
    let event = json!({
        "title": "Review", "start": "2031-05-05T15:00:00+02:00", "end": "2031-05-05T15:30:00+02:00",
        "attendees": ["ana@orchid.example", "bo@orchid.example"], "send_notifications": true,
    });
    let made = run("calendar_create_event", event).await;
    let id = made.result()["event_id"].as_str().expect("an id").to_owned();
    assert_eq!(made.result()["status"], "confirmed");
    assert!(made.result()["html_link"].as_str().is_some_and(|link| link.starts_with("https://")));
    assert_eq!(
        made.result()["attendees"],
        json!([
            {"email": "ana@orchid.example", "response_status": "needsAction"},
            {"email": "bo@orchid.example", "response_status": "needsAction"},
        ])
    );
    let may = json!({"start_date": "2031-05-05", "end_date": "2031-05-05", "timezone": "Europe/Madrid"});
    let moved = json!({"start": "2031-05-05T16:00:00+02:00", "end": "2031-05-05T16:30:00+02:00"});
    run("calendar_update_event", json!({"event_id": id, "updates": moved})).await.result();
    let busy = run("calendar_get_availability", may.clone()).await;
    assert_eq!(busy.result()["busy_periods"][0]["start"], "2031-05-05T16:00:00+02:00");
    run("calendar_update_event", json!({"event_id": id, "updates": {"title": "Later"}})).await.result();
    run("calendar_delete_event", json!({"event_id": id})).await.result();
    assert_eq!(run("calendar_get_availability", may).await.result()["busy_periods"], json!([]));
    for (tool, inputs) in [
        ("calendar_update_event", json!({"event_id": id, "updates": {"title": "Gone"}})),
        ("calendar_delete_event", json!({"event_id": id})),
        ("calendar_delete_event", json!({"event_id": "no/such?event"})),
    ] {
        assert_eq!(run(tool, inputs).await.code(), (404, "NOT_FOUND"), "{tool}");
    }
}

#[tokio::test]
async fn times_suit_everybody_or_say_whom_not() {
    let test_hub = TestHub::new().await;
    let mut inputs = json!({
        "duration_minutes": 30,
        "attendees": ["ana@orchid.example", "bo@orchid.example"],
        "date_range": {"start": "2031-03-03", "end": "2031-03-09"},
        "preferences": {"preferred_hours": {"start": "09:00", "end": "12:00"}, "avoid_mondays": true},
    });
    let answer = test_hub.execute("calendar_find_optimal_times", fixtures::CONNECTED, inputs.clone()).await;
    let suggestions = answer.result()["suggestions"].as_array().expect("an array");
    let days: Vec<&str> =
        suggestions.iter().filter_map(|suggestion| suggestion["start"].as_str()?.get(..10)).collect();
    // Thursday and Friday are free, the weekend is no time for work, and on the other days someone is always busy.
    assert_eq!(
        days,
        ["2031-03-06", "2031-03-07", "2031-03-08", "2031-03-09", "2031-03-04"],
        "{suggestions:?}"
    );
    assert_eq!(suggestions[0]["conflicts"], json!([]));
    assert_eq!(suggestions[4]["conflicts"], json!([{"attendee": "bo@orchid.example", "type": "busy"}]));
    inputs["attendees"] = json!(["nobody@orchid.example"]);
    let answer = test_hub.execute("calendar_find_optimal_times", fixtures::CONNECTED, inputs).await;
    for suggestion in answer.result()["suggestions"].as_array().expect("an array") {
        assert_eq!(
            suggestion["conflicts"],
            json!([{"attendee": "nobody@orchid.example", "type": "unknown"}])
        );
    }
}
