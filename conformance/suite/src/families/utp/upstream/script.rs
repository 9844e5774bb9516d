//! How the upstream answers the calls of one project. A call is known by its token, wherever in a request it stands.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::asked::ReceivedRequest;
use crate::families::utp::token::proof;
use crate::transcript::lock;

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
    /// The answer as a transcript shows it; `None` in place of the status for one that does not come.
    ///
    /// What a search finds differs from time to time, so that a call that is made again shows another result.
    pub(super) fn reply(&self, request: &ReceivedRequest, before: u32) -> Value {
        match self {
            Self::Answers => found(request, before),
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
        }
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
}
