//! What a Hub answered to one request, as the transcript shows it.

use serde_json::{Map, Value};

use super::client::RETRY;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::hub::contract;
use crate::net::wire::{CALL, STATUS, TOOL};
use crate::transcript::{Frame, Kind};

/// One exchange.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// The request.
    pub request: &'a Frame,
    /// The answer; none where the Hub gave none.
    pub answer: Option<&'a Frame>,
    /// Why there is none.
    pub closed: Option<&'a Frame>,
}

impl<'a> Reply<'a> {
    /// The exchange with this number.
    pub fn of(frames: &'a [Frame], call: u64) -> Option<Self> {
        let call = call.to_string();
        let own = |kind: Kind| {
            frames.iter().find(|frame| frame.kind == kind && frame.headers.get(CALL) == Some(&call))
        };
        Some(Self {
            request: own(Kind::HubRequest)?,
            answer: own(Kind::HubResponse),
            closed: own(Kind::Closed),
        })
    }

    /// HTTP status; none where there is no answer.
    pub fn status(&self) -> Option<u16> {
        self.answer?.headers.get(STATUS)?.parse().ok()
    }

    /// The body: JSON where it is JSON, else a text.
    pub fn body(&self) -> &'a Value {
        self.answer.map_or(&Value::Null, |answer| &answer.body)
    }

    /// The tool that was asked for.
    pub fn tool(&self) -> &'a str {
        self.request.headers.get(TOOL).map(String::as_str).unwrap_or_default()
    }

    /// Whether the status is of the 200s.
    pub fn is_2xx(&self) -> bool {
        self.status().is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether the Hub says that it executed the tool, or as good as says so.
    pub fn is_executed(&self) -> bool {
        let body = self.body();
        match body.get("success") {
            Some(Value::Bool(success)) => *success,
            _ => {
                self.is_2xx() && body.get("error").is_none_or(Value::is_null) && body.get("result").is_some()
            }
        }
    }

    /// `error.code`.
    pub fn code(&self) -> Option<&'a str> {
        self.body().pointer("/error/code").and_then(Value::as_str)
    }

    /// Whether this is a refusal by the customer's limit.
    pub fn is_limited(&self) -> bool {
        self.status() == Some(429) || self.code() == Some("RATE_LIMITED")
    }

    /// Seconds after which the request may be made again, where the Hub says so.
    pub fn retry_after(&self) -> Option<f64> {
        self.answer?.headers.get(RETRY)?.trim().parse().ok().filter(|seconds: &f64| *seconds >= 0.0)
    }

    /// Whether the answer is of the 500s without a code of the contract: the Hub failed, and nothing else can be concluded.
    pub fn is_broken_down(&self) -> bool {
        let is_of_the_contract = self.code().is_some_and(|code| contract::status_of(code).is_some());
        self.status().is_some_and(|status| status >= 500) && !is_of_the_contract
    }

    /// That the Hub did not just fail.
    ///
    /// # Errors
    /// Nothing to judge.
    pub fn is_no_breakdown(&self) -> Judgement {
        if self.is_broken_down() {
            return Err(CheckFailure::NotObserved(format!(
                "`{}` fails altogether: {}",
                self.tool(),
                self.summary()
            )));
        }
        Ok(())
    }

    /// `result`, where the call was executed and it is an object.
    ///
    /// # Errors
    /// Nothing to judge: that the call must succeed is another rule's business.
    pub fn result(&self) -> Result<&'a Map<String, Value>, CheckFailure> {
        let result = self.body().get("result").and_then(Value::as_object);
        match result {
            Some(result) if self.is_executed() => Ok(result),
            _ => {
                Err(CheckFailure::NotObserved(format!("`{}` has no result: {}", self.tool(), self.summary())))
            }
        }
    }

    /// What came, in a few words.
    pub fn summary(&self) -> String {
        let Some(status) = self.status() else {
            let why = self.closed.and_then(|closed| closed.body.as_str());
            return why.unwrap_or("there was no answer").to_owned();
        };
        match self.code() {
            Some(code) => format!("the Hub answers {status} with `{code}`"),
            None if self.body().is_null() => format!("the Hub answers {status} without a body"),
            None if !self.body().is_object() => format!("the Hub answers {status} with no JSON object"),
            None => format!("the Hub answers {status}"),
        }
    }

    /// A finding about this exchange.
    pub fn finding(&self, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        let mut finding = Finding::new(message, hint).about(self.request).frame(self.request);
        if let Some(answer) = self.answer.or(self.closed) {
            finding = finding.frame(answer);
        }
        finding
    }

    /// That there is an answer at all.
    ///
    /// # Errors
    /// A finding.
    pub fn is_answered(&self) -> Judgement {
        match self.answer {
            Some(_) => Ok(()),
            None => Err(self
                .finding(
                    format!("`{}` is not answered: {}", self.tool(), self.summary()),
                    "answer every request, also one that is refused or fails",
                )
                .into()),
        }
    }
}
