use serde_json::json;

use super::*;

fn periods(answer: &Value, id: &str) -> Vec<[String; 2]> {
    let busy = answer["calendars"][id]["busy"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    busy.iter().map(|period| [text(&period["start"]), text(&period["end"])]).collect()
}

async fn busy(fixture: &ProviderFixture, zone: Option<&str>, ids: &[&str]) -> Value {
    let items: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    let mut query = json!({
        "timeMin": "2031-03-04T00:00:00+01:00", "timeMax": "2031-03-07T00:00:00+01:00", "items": items,
    });
    if let Some(zone) = zone {
        query["timeZone"] = json!(zone);
    }
    let (status, body) = fixture.post("/calendar/v3/freeBusy", query).await;
    assert_eq!(status, 200, "{body}");
    body
}

#[tokio::test]
async fn busy_times_have_the_offset_of_the_zone() {
    let fixture = ProviderFixture::start().await;
    let there = busy(&fixture, Some("Europe/Madrid"), &["primary"]).await;
    let walk = ["2031-03-04T09:00:00+01:00", "2031-03-04T10:00:00+01:00"];
    let dentist = ["2031-03-05T11:00:00+01:00", "2031-03-05T11:45:00+01:00"];
    assert_eq!(periods(&there, "primary"), [walk, dentist].map(|pair| pair.map(str::to_owned)));
    for (zone, start) in [
        (None, "2031-03-04T08:00:00Z"),
        (Some("UTC"), "2031-03-04T08:00:00Z"),
        (Some("America/New_York"), "2031-03-04T03:00:00-05:00"),
        (Some("Asia/Kolkata"), "2031-03-04T13:30:00+05:30"),
    ] {
        assert_eq!(periods(&busy(&fixture, zone, &["primary"]).await, "primary")[0][0], start);
    }
    assert_eq!(there["timeMin"], "2031-03-04T00:00:00+01:00");
}

#[tokio::test]
async fn others_are_busy_once_or_never() {
    let fixture = ProviderFixture::start().await;
    let own = fixture.good("/gmail/v1/users/me/profile").await["emailAddress"].clone();
    let own = own.as_str().expect("an address");
    let answer =
        busy(&fixture, Some("Europe/Madrid"), &[own, "ana@orchid.example", "bo@orchid.example"]).await;
    assert_eq!(periods(&answer, own).len(), 2);
    let ana = ["2031-03-05T10:00:00+01:00", "2031-03-05T10:30:00+01:00"].map(str::to_owned);
    assert_eq!(periods(&answer, "ana@orchid.example"), [ana]);
    assert_eq!(answer["calendars"]["bo@orchid.example"], json!({"busy": []}));
}

#[tokio::test]
async fn periods_that_meet_are_one_and_lie_in_the_range() {
    let fixture = ProviderFixture::start().await;
    for (start, end) in [("09:30", "10:15"), ("10:15", "10:30"), ("12:00", "13:00")] {
        let day = "2031-03-04T";
        let event = json!({
            "summary": "x", "start": {"dateTime": format!("{day}{start}:00+01:00")},
            "end": {"dateTime": format!("{day}{end}:00+01:00")},
        });
        assert_eq!(fixture.post(EVENTS, event).await.0, 200);
    }
    let query = json!({
        "timeMin": "2031-03-04T08:30:00Z", "timeMax": "2031-03-04T11:30:00Z", "items": [{"id": "primary"}],
    });
    let (_, body) = fixture.post("/calendar/v3/freeBusy", query).await;
    let expected =
        [["2031-03-04T08:30:00Z", "2031-03-04T09:30:00Z"], ["2031-03-04T11:00:00Z", "2031-03-04T11:30:00Z"]];
    assert_eq!(periods(&body, "primary"), expected.map(|pair| pair.map(str::to_owned)));
}

#[tokio::test]
async fn free_busy_refuses_what_makes_no_sense() {
    let fixture = ProviderFixture::start().await;
    for (query, expected) in [
        (json!({"timeMax": "2031-03-04T00:00:00Z"}), "required"),
        (json!({"timeMin": "2031-03-04", "timeMax": "2031-03-05"}), "badRequest"),
        (json!({"timeMin": "2031-03-05T00:00:00Z", "timeMax": "2031-03-04T00:00:00Z"}), "timeRangeEmpty"),
        (
            json!({"timeMin": "2031-03-04T00:00:00Z", "timeMax": "2031-03-05T00:00:00Z", "timeZone": "Mars/Base"}),
            "invalid",
        ),
    ] {
        let (status, body) = fixture.post("/calendar/v3/freeBusy", query).await;
        assert_eq!((status, reason(&body)), (400, expected));
    }
}

#[tokio::test]
async fn events_are_listed() {
    let fixture = ProviderFixture::start().await;
    let summaries = |body: Value| -> Vec<String> {
        let items = body["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["summary"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let range = "timeMin=2031-03-04T00:00:00Z&timeMax=2031-03-06T00:00:00%2B01:00";
    let listed = fixture.good(&format!("{EVENTS}?{range}&singleEvents=true&orderBy=startTime")).await;
    assert_eq!(listed["timeZone"], "Europe/Madrid");
    assert_eq!(summaries(listed), ["Walk through the rows", "Dentist"]);
    assert_eq!(summaries(fixture.good(&format!("{EVENTS}?q=DENTIST")).await), ["Dentist"]);
    let first = fixture.good(&format!("{EVENTS}?maxResults=2")).await;
    let token = first["nextPageToken"].as_str().expect("more");
    let second = fixture.good(&format!("{EVENTS}?maxResults=2&pageToken={token}")).await;
    assert_eq!(second["items"].as_array().map(Vec::len), Some(1));
    assert!(second["nextSyncToken"].is_string());
    assert_eq!(fixture.get(&format!("{EVENTS}?orderBy=startTime")).await.0, 400);
    assert_eq!(fixture.get(&format!("{EVENTS}?timeMin=yesterday")).await.0, 400);
}

#[tokio::test]
async fn a_calendar_says_what_it_is() {
    let fixture = ProviderFixture::start().await;
    let own = fixture.good("/calendar/v3/calendars/primary").await;
    assert_eq!(own["timeZone"], "Europe/Madrid");
    let list = fixture.good("/calendar/v3/users/me/calendarList").await;
    assert_eq!(list["items"][0]["primary"], true);
    assert_eq!(list["items"][0]["id"], own["id"]);
    assert_eq!(fixture.good("/calendar/v3/users/me/settings/timezone").await["value"], "Europe/Madrid");
    assert_eq!(fixture.get("/calendar/v3/users/me/settings/nothing").await.0, 404);
}
