//! What becomes of a provider's answer: the output of the tool, or a sentence about what went wrong.
//!
//! What a provider says of an error is repeated in one line and without the key, in case that it says the key back.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::exchange::ProviderResponse;
use super::provider::{Price, Provider};
use crate::breadcrumb::tool::{ToolFailure, shorten};
use crate::secret::Secret;

/// Shorter keys would be found in ordinary words.
const SHORTEST_SCRUBBED: usize = 8;

/// The output of the tool.
pub(super) fn output(
    provider: Provider,
    answer: &ProviderResponse,
    asked: &str,
    key: Option<&Secret>,
    prices: &BTreeMap<String, Price>,
) -> Result<Value, ToolFailure> {
    let tool = provider.tool();
    let scrub = |text: &str| match key {
        Some(key) if key.expose().len() >= SHORTEST_SCRUBBED => text.replace(key.expose(), "[key]"),
        _ => text.to_owned(),
    };
    let body = answer.body.as_ref().unwrap_or(&Value::Null);
    let said = reason(body).map(|text| format!(": {}", scrub(&text))).unwrap_or_default();
    if !(200..300).contains(&answer.status) {
        return Err(ToolFailure::new(format!(
            "the provider of `{tool}` {} with status {}{said}",
            refusal(answer.status),
            answer.status
        )));
    }
    // OpenRouter reports what failed behind it with status 200.
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(ToolFailure::new(format!("the provider of `{tool}` reported an error{said}")));
    }
    let message = match provider {
        Provider::OpenRouter | Provider::Venice => body.pointer("/choices/0/message/content"),
        Provider::Ollama => body.pointer("/message/content"),
    };
    let content = message.and_then(text).ok_or_else(|| {
        ToolFailure::new(format!(
            "the answer of `{tool}` holds no message: it is not what the provider's API says"
        ))
    })?;
    let model = body["model"].as_str().filter(|model| !model.is_empty()).unwrap_or(asked);
    let usage = Usage::read(provider, body);
    let estimate = body
        .pointer("/usage/cost")
        .and_then(Value::as_f64)
        .filter(|cost| cost.is_finite() && *cost >= 0.0)
        .unwrap_or_else(|| usage.cost(prices.get(model).or_else(|| prices.get(asked))));
    Ok(json!({
        "content": scrub(&content),
        "model": scrub(model),
        "usage": {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "total_tokens": usage.total,
        },
        "cost_estimate": estimate,
    }))
}

fn refusal(status: u16) -> &'static str {
    match status {
        401 | 403 => "did not accept the key",
        402 => "wants to be paid",
        404 => "does not know what it was asked for",
        408 | 504 => "took too long",
        429 => "was asked too often",
        500.. => "failed",
        _ => "refused the request",
    }
}

/// What the body of an error says, in one line; nothing where it says it only in JSON.
fn reason(body: &Value) -> Option<String> {
    let found = body
        .pointer("/error/message")
        .or_else(|| body.get("error"))
        .or_else(|| body.get("message"))
        .and_then(Value::as_str)?;
    let line = found.lines().next().unwrap_or_default().trim();
    let readable = !line.is_empty() && !line.starts_with(['{', '[']);
    readable.then(|| shorten(line))
}

/// A text, or the texts of its parts.
fn text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        _ => None,
    }
}

struct Usage {
    prompt: u64,
    completion: u64,
    total: u64,
}

impl Usage {
    fn read(provider: Provider, body: &Value) -> Self {
        let (prompt, completion, total) = match provider {
            Provider::OpenRouter | Provider::Venice => (
                count(body.pointer("/usage/prompt_tokens")),
                count(body.pointer("/usage/completion_tokens")),
                count(body.pointer("/usage/total_tokens")),
            ),
            Provider::Ollama => (count(body.get("prompt_eval_count")), count(body.get("eval_count")), None),
        };
        let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
        Self { prompt, completion, total: total.unwrap_or_else(|| prompt.saturating_add(completion)) }
    }

    fn cost(&self, price: Option<&Price>) -> f64 {
        // Counts of tokens are far below what a double holds exactly.
        #[expect(clippy::cast_precision_loss, reason = "an estimate in USD")]
        let cost = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        let estimate = price
            .map_or(0.0, |price| cost(self.prompt, price.prompt) + cost(self.completion, price.completion));
        if estimate.is_finite() { estimate.max(0.0) } else { 0.0 }
    }
}

/// A number of tokens; some write it as `37.0`.
fn count(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are checked")]
    let whole = |number: f64| {
        (number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number)).then_some(number as u64)
    };
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::output;
    use crate::breadcrumb::llm::exchange::ProviderResponse;
    use crate::breadcrumb::llm::{Price, Provider};
    use crate::secret::Secret;

    fn read(provider: Provider, status: u16, body: Value) -> Result<Value, String> {
        let prices = BTreeMap::from([("m-priced".to_owned(), Price { prompt: 1.0, completion: 2.0 })]);
        let answer = ProviderResponse { status, body: Some(body) };
        output(provider, &answer, "m-asked", Some(&Secret::from("k-1234567")), &prices)
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn outputs_have_what_the_standard_names() {
        fn check(provider: Provider, body: Value, expect: (&str, u64, f64)) {
            let output = read(provider, 200, body).expect("an output");
            assert_eq!(output["content"], "Black");
            let (model, total, cost) = expect;
            assert_eq!(
                (output["model"].as_str(), output["usage"]["total_tokens"].as_u64()),
                (Some(model), Some(total))
            );
            let difference = output["cost_estimate"].as_f64().expect("a number") - cost;
            assert!(difference.abs() < 1e-12, "{output}");
        }
        let choice = json!([{"message": {"role": "assistant", "content": "Black"}}]);
        check(
            Provider::OpenRouter,
            json!({"model": "m-quartz", "choices": choice, "usage": {"total_tokens": 37, "cost": 0.002}}),
            ("m-quartz", 37, 0.002),
        );
        check(
            Provider::Venice,
            json!({"model": "m-priced", "choices": choice,
                   "usage": {"prompt_tokens": 10, "completion_tokens": 5.0, "cost": "much"}}),
            ("m-priced", 15, 0.000_02),
        );
        check(
            Provider::Venice,
            json!({"choices": choice, "usage": {"total_tokens": -3}}),
            ("m-asked", 0, 0.0),
        );
        let parts = json!([{"message": {"content": [{"type": "text", "text": "Bla"}, {"text": "ck"}]}}]);
        check(Provider::Venice, json!({"choices": parts}), ("m-asked", 0, 0.0));
        check(
            Provider::Ollama,
            json!({"model": "m-local", "message": {"content": "Black"}, "prompt_eval_count": 4, "eval_count": 3}),
            ("m-local", 7, 0.0),
        );
    }

    #[test]
    fn what_is_no_answer_is_a_sentence() {
        fn check(status: u16, body: Value, expect: &str) {
            let text = read(Provider::OpenRouter, status, body).expect_err("a failure");
            assert!(text.contains(expect), "{text}");
            assert!(!text.contains("k-1234567") && !text.contains('\n') && !text.contains('{'), "{text}");
        }
        check(
            500,
            json!({"error": {"message": "overloaded\n    at line 3"}}),
            "failed with status 500: overloaded",
        );
        check(401, json!({"error": "bad key k-1234567"}), "status 401: bad key [key]");
        check(429, json!({"error": {"message": "{\"code\": 1}"}}), "was asked too often with status 429");
        check(302, json!(null), "status 302");
        check(
            200,
            json!({"error": {"message": "the model is gone"}}),
            "reported an error: the model is gone",
        );
        check(200, json!({"choices": []}), "holds no message");
        check(200, json!({"choices": [{"message": {"content": null}}]}), "holds no message");
        check(200, json!(null), "holds no message");
    }
}
