//! A question about the status of integrations (Tool Execution Contract L326-334).

use serde_json::Value;

use super::request;
use super::request::Expected;
use crate::engine::judge::{Finding, Judgement};
use crate::families::hub::contract::STATUS_BASE;
use crate::transcript::Frame;

/// Method, path, customer and secret are as documented.
pub fn is_documented(frame: &Frame, expected: &Expected) -> Judgement {
    let (method, path) = request::method_and_path(frame);
    let customer = path.strip_prefix(STATUS_BASE).and_then(|rest| rest.strip_suffix('/'));
    let is_right = |customer: &str| match &expected.customer_id {
        Some(expected) => expected.eq_ignore_ascii_case(customer),
        None => request::is_uuid(customer),
    };
    if method != "GET" || !customer.is_some_and(is_right) {
        let shown = expected.customer_id.as_deref().unwrap_or("{customer_id}");
        return Err(Finding::new(
            "a question about the status does not go to the method and path of the contract",
            format!(
                "ask with `GET {STATUS_BASE}{{customer_id}}/`: the customer that is served, and a final slash"
            ),
        )
        .expected(format!("GET {STATUS_BASE}{shown}/"))
        .actual(Some(&Value::from(frame.channel.clone())))
        .frame(frame)
        .into());
    }
    request::secret(frame, expected.secret.as_deref())
}
