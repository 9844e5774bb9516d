//! How the upstream answers the calls of one project. A call is known by its token, wherever in a request it stands.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::asked::ReceivedRequest;
use crate::families::utp::token::proof;
use crate::transcript::lock;

/// Values of a reply's member `sent`.
pub(super) const IN_PIECES: &str = "in chunks";
/// See [`IN_PIECES`].
pub(super) const BROKEN_OFF: &str = "not to the end";
/// See [`IN_PIECES`].
pub(super) const STOPPED: &str = "in part, and then nothing";
/// See [`IN_PIECES`].
pub(super) const LATE: &str = "after a while";

/// What the upstream does with the requests of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResponseMode {
    /// Answers, with a word that nobody else knows.
    #[default]
    Answers,
    /// Answers with this status and an error.
    Refuses(u16),
    /// Sends elsewhere with this status: a URL, in which `{upstream}` stands for the upstream's own.
    Redirects(u16, String),
    /// Sends on to the first URL with this status, and whoever comes from there to the second.
    RedirectsOn(u16, String, String),
    /// Does not answer.
    Hangs,
    /// Closes the connection.
    Closes,
    /// Answers with status 200, in a way that is less usual.
    AnswersAs(AnswerForm),
    /// Does this with the first request, and answers all others.
    AtFirst(Box<Self>),
}

/// How an answer with status 200 is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// In chunks, each of a few bytes.
    Pieces,
    /// Without a body.
    Nothing,
    /// As JSON that ends too early.
    HalfJson,
    /// After the first bytes nothing comes, and the connection stays open.
    Stopped,
    /// It takes a while.
    Late,
    /// The connection is closed before as many bytes came as the header announces.
    BrokenOff,
}

/// The calls of one project, and what the upstream does with their requests.
#[derive(Debug, Default)]
pub struct Script {
    calls: Mutex<Vec<ExpectedCall>>,
    hosts: Mutex<Vec<String>>,
}

#[derive(Clone, Debug)]
struct ExpectedCall {
    token: String,
    call_id: String,
    mode: ResponseMode,
    attempts: u32,
}

impl Script {
    /// A call of the project may ask.
    pub fn expect(&self, token: &str, call_id: &str) {
        let (token, call_id) = (token.to_owned(), call_id.to_owned());
        let known = ExpectedCall { token, call_id, mode: ResponseMode::Answers, attempts: 0 };
        lock(&self.calls).push(known);
    }

    /// What becomes of a call's requests from now on.
    pub fn answer(&self, token: &str, mode: &ResponseMode) {
        for known in lock(&self.calls).iter_mut().filter(|known| known.token == token) {
            mode.clone_into(&mut known.mode);
        }
    }

    /// What becomes of one call's requests becomes of another's.
    pub fn answer_alike(&self, earlier: &str, token: &str) {
        let found =
            lock(&self.calls).iter().find(|known| known.token == earlier).map(|known| known.mode.clone());
        if let Some(mode) = found {
            self.answer(token, &mode);
        }
    }

    /// Requests for this host are the project's also when they name no call.
    pub fn watch(&self, host: &str) {
        lock(&self.hosts).push(host.to_owned());
    }

    /// Whether requests for a host are the project's.
    pub(super) fn watches(&self, host: &str) -> bool {
        lock(&self.hosts).iter().any(|own| own == host)
    }

    /// The call that a request is for, what becomes of it, and how many came before it.
    pub(super) fn find(&self, tokens: &[String]) -> Option<(String, ResponseMode, u32)> {
        let mut calls = lock(&self.calls);
        let known = calls.iter_mut().find(|known| tokens.contains(&known.token))?;
        let before = known.attempts;
        known.attempts += 1;
        Some((known.call_id.clone(), known.mode.clone(), before))
    }
}

impl ResponseMode {
    /// Whether the upstream has a result for whoever asks once.
    pub fn is_a_result(&self) -> bool {
        matches!(self, Self::Answers | Self::AnswersAs(AnswerForm::Pieces | AnswerForm::Late))
    }

    /// Whether it does not answer, or not to the end.
    pub fn hangs(&self) -> bool {
        match self {
            Self::AtFirst(mode) => mode.hangs(),
            mode => matches!(mode, Self::Hangs | Self::AnswersAs(AnswerForm::Stopped)),
        }
    }

    /// With `change` done to each URL in it.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn with_urls<E>(self, change: &mut impl FnMut(&str) -> Result<String, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Redirects(status, to) => Self::Redirects(status, change(&to)?),
            Self::RedirectsOn(status, to, on) => Self::RedirectsOn(status, change(&to)?, change(&on)?),
            Self::AtFirst(mode) => Self::AtFirst(Box::new(mode.with_urls(change)?)),
            other => other,
        })
    }

    /// The answer as a transcript shows it; `None` in place of the status for one that does not come.
    ///
    /// What a search finds differs from time to time, so that a call that is made again shows another result.
    pub(super) fn reply(&self, request: &ReceivedRequest, before: u32) -> Value {
        match self {
            Self::AtFirst(mode) if before == 0 => mode.reply(request, before),
            Self::Answers | Self::AtFirst(_) => found(request, before),
            Self::Refuses(status) => json!({
                "status": status, "content_type": "application/json",
                "body": json!({"code": status, "name": "Refused", "message": "the upstream refuses"}).to_string(),
            }),
            Self::Redirects(status, to) => redirect(*status, to),
            Self::RedirectsOn(status, to, on) if before == 0 => {
                let mut reply = redirect(*status, to);
                reply["leads_on_to"] = Value::from(on.as_str());
                reply
            }
            Self::RedirectsOn(status, _, on) => redirect(*status, on),
            Self::Hangs => json!({"status": null, "event": "no answer"}),
            Self::Closes => json!({"status": null, "event": "connection closed"}),
            Self::AnswersAs(form) => form.reply(found(request, before)),
        }
    }
}

impl AnswerForm {
    fn reply(self, mut usual: Value) -> Value {
        match self {
            Self::Pieces => usual["sent"] = Value::from(IN_PIECES),
            Self::Nothing => usual["body"] = Value::from(""),
            Self::HalfJson => {
                usual["content_type"] = Value::from("application/json");
                usual["body"] = Value::from("{\"code\": 200, \"data\": [{\"title\": ");
            }
            Self::Stopped => usual["sent"] = Value::from(STOPPED),
            Self::Late => usual["sent"] = Value::from(LATE),
            Self::BrokenOff => usual["sent"] = Value::from(BROKEN_OFF),
        }
        usual
    }
}

fn redirect(status: u16, to: &str) -> Value {
    json!({"status": status, "content_type": "text/plain", "location": to, "body": ""})
}

/// What was asked for, with the words that only who asked can have. Nothing else of the request is repeated.
fn found(request: &ReceivedRequest, before: u32) -> Value {
    let words: Vec<String> = request.subjects().iter().map(|token| proof(token)).collect();
    let again = if before == 0 { String::new() } else { format!(" Asked for {before} times before.") };
    let text = format!("Found: {}.{again}", words.join(", "));
    let page = json!({"title": "A page", "url": "https://example.org/page", "content": text});
    if request.wants_json() {
        let data = if request.host == "r.jina.ai" { page } else { json!([page]) };
        let body = json!({"code": 200, "status": 20000, "data": data}).to_string();
        return json!({"status": 200, "content_type": "application/json", "body": body});
    }
    let body = format!("Title: A page\n\nURL Source: https://example.org/page\n\n{text}\n");
    json!({"status": 200, "content_type": "text/plain; charset=utf-8", "body": body})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_answered_in_its_own_manner() {
        let script = Script::default();
        script.expect("tok-0123456789ab", "call_1");
        script.expect("tok-ba9876543210", "call_2");
        script.answer("tok-ba9876543210", &ResponseMode::Refuses(503));
        let find = |token: &str| script.find(&[token.to_owned()]);
        assert_eq!(find("tok-0123456789ab"), Some(("call_1".to_owned(), ResponseMode::Answers, 0)));
        assert_eq!(find("tok-0123456789ab"), Some(("call_1".to_owned(), ResponseMode::Answers, 1)));
        assert_eq!(find("tok-ba9876543210"), Some(("call_2".to_owned(), ResponseMode::Refuses(503), 0)));
        assert_eq!(find("tok-ffffffffffff"), None);
    }

    #[test]
    fn what_is_done_at_first_is_done_once() {
        let (parts, ()) =
            axum::http::Request::get("/s?q=tok-0123456789ab").body(()).expect("a request").into_parts();
        let request = ReceivedRequest::of(&parts, b"");
        let mode = ResponseMode::AtFirst(Box::new(ResponseMode::Refuses(503)));
        let statuses = [0, 1, 2].map(|before| mode.reply(&request, before)["status"].clone());
        assert_eq!(statuses, [503, 200, 200]);
    }
}
