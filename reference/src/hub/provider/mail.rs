//! Gmail v1: messages and threads of the mailbox that the token belongs to.

use axum::Json;
use axum::extract::{self, Path, RawQuery};
use axum::http::HeaderMap;
use jiff::Timestamp;
use mail_parser::MessageParser;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::letters::{Format, StoredMessage};
use super::problem::{JsonResult, Problem};
use super::search;
use super::state::{Access, Account, ENTRIES, MAILBOX_BYTES, SharedState};
use crate::hub::mime;

/// A page of a listing holds no more.
const PAGE: usize = 500;

/// The parameters of a query, which may be repeated.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn read(RawQuery(query): RawQuery) -> Self {
        Self(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _value)| key == name).map(|(_key, value)| value.clone()).collect()
    }

    fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _value)| key == name).map(|(_key, value)| value.as_str())
    }

    /// Calls back with the format, since it borrows from the parameters.
    fn with_format<T>(&self, show: impl FnOnce(Format<'_>) -> T) -> Result<T, Problem> {
        let headers = self.all("metadataHeaders");
        let format = match self.one("format") {
            None | Some("full") => Format::Full,
            Some("metadata") => Format::Metadata(&headers),
            Some("minimal") => Format::Minimal,
            Some(_) => return Err(Problem::invalid("Invalid format.")),
        };
        Ok(show(format))
    }
}

pub(super) async fn list(
    extract::State(state): SharedState,
    headers: HeaderMap,
    query: RawQuery,
) -> JsonResult {
    let parameters = Parameters::read(query);
    let wanted = parameters.one("q").unwrap_or_default();
    let most = parameters.one("maxResults").map_or(Ok(100), str::parse::<usize>);
    let most = most.map_err(|_error| Problem::invalid("Invalid maxResults."))?.min(PAGE);
    state.with_account(&headers, Access::Read, |account| {
        let mut found: Vec<&StoredMessage> =
            account.messages.iter().filter(|message| search::matches(wanted, message)).collect();
        found.sort_by_key(|message| std::cmp::Reverse(message.date));
        let mut answer = json!({"resultSizeEstimate": found.len()});
        if !found.is_empty() {
            let ids = found.iter().take(most);
            answer["messages"] =
                ids.map(|message| json!({"id": message.id, "threadId": message.thread_id})).collect();
        }
        Ok(Json(answer))
    })
}

pub(super) async fn get(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Path(id): Path<String>,
    query: RawQuery,
) -> JsonResult {
    let parameters = Parameters::read(query);
    state.with_account(&headers, Access::Read, |account| {
        let message = find(account, &id)?;
        parameters.with_format(|format| Json(message.show(format)))
    })
}

pub(super) async fn attachment(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Path((id, attachment)): Path<(String, String)>,
) -> JsonResult {
    state.with_account(&headers, Access::Read, |account| {
        let content = find(account, &id)?.attachment(&attachment);
        content.cloned().map(Json).ok_or_else(Problem::not_found)
    })
}

pub(super) async fn thread(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Path(id): Path<String>,
    query: RawQuery,
) -> JsonResult {
    let parameters = Parameters::read(query);
    state.with_account(&headers, Access::Read, |account| {
        let mut messages: Vec<&StoredMessage> =
            account.messages.iter().filter(|message| message.thread_id == id).collect();
        if messages.is_empty() {
            return Err(Problem::not_found());
        }
        messages.sort_by_key(|message| message.date);
        parameters.with_format(|format| {
            let messages: Vec<Value> = messages.iter().map(|message| message.show(format)).collect();
            Json(json!({"id": id, "messages": messages}))
        })
    })
}

pub(super) async fn modify(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Path(id): Path<String>,
    Json(sent): Json<Value>,
) -> JsonResult {
    let labels = |name: &str| {
        let labels = sent.get(name).and_then(Value::as_array).into_iter().flatten();
        labels.filter_map(Value::as_str).take(100).map(str::to_owned).collect::<Vec<String>>()
    };
    let (added, removed) = (labels("addLabelIds"), labels("removeLabelIds"));
    state.with_account(&headers, Access::Write, |account| {
        let message =
            account.messages.iter_mut().find(|message| message.id == id).ok_or_else(Problem::not_found)?;
        message.labels.retain(|label| !removed.contains(label) && !added.contains(label));
        message.labels.extend(added);
        Ok(Json(message.show(Format::Minimal)))
    })
}

pub(super) async fn send(
    extract::State(state): SharedState,
    headers: HeaderMap,
    Json(sent): Json<Value>,
) -> JsonResult {
    let raw = sent.get("raw").and_then(Value::as_str).and_then(mime::decode);
    let raw = raw.ok_or(Problem::invalid("'raw' RFC822 payload message string is required."))?;
    let parsed = MessageParser::default().parse(&raw).ok_or(Problem::invalid("Invalid message."))?;
    let recipients = [parsed.to(), parsed.cc(), parsed.bcc()];
    if recipients.into_iter().flatten().all(|addresses| addresses.iter().next().is_none()) {
        return Err(Problem::invalid("Recipient address required."));
    }
    let number = state.next();
    let id = format!("msg-sent-{number}");
    let thread_id = sent.get("threadId").and_then(Value::as_str);
    state.with_account(&headers, Access::Write, |account| {
        let kept: usize = account.messages.iter().map(|message| message.size).sum();
        if account.messages.len() >= ENTRIES || kept + raw.len() > MAILBOX_BYTES {
            return Err(Problem::full());
        }
        let thread_id = match thread_id {
            None => format!("thread-sent-{number}"),
            Some(known) if account.messages.iter().any(|message| message.thread_id == known) => {
                known.to_owned()
            }
            Some(_) => return Err(Problem::not_found()),
        };
        let now = Timestamp::now().as_millisecond();
        let message = StoredMessage::from_raw(&id, &thread_id, &["SENT"], now, &raw)
            .ok_or(Problem::invalid("Invalid message."))?;
        account.messages.push(message);
        Ok(Json(json!({"id": id, "threadId": thread_id, "labelIds": ["SENT"]})))
    })
}

fn find<'a>(account: &'a Account, id: &str) -> Result<&'a StoredMessage, Problem> {
    account.messages.iter().find(|message| message.id == id).ok_or_else(Problem::not_found)
}
