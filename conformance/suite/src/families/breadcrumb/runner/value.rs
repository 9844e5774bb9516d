//! Whether a value stands somewhere, in whatever form.

use serde_json::Value;

/// Whether a body holds a word or a number, as JSON or as text; of a list, whether it holds one of them.
pub fn holds(body: &Value, sign: &Value) -> bool {
    if let Value::Array(signs) = sign {
        return signs.iter().any(|sign| holds(body, sign));
    }
    match body {
        Value::Array(items) => items.iter().any(|item| holds(item, sign)),
        Value::Object(members) => members.values().any(|member| holds(member, sign)),
        Value::Number(number) => sign.as_f64().is_some_and(|sign| is_near(number.as_f64(), sign)),
        Value::String(text) => match sign {
            Value::String(word) => text.contains(word.as_str()),
            number => {
                number.as_u64().is_some_and(|number| text_holds(text, number))
                    || number.as_f64().is_some_and(|number| holds_power(text, number))
            }
        },
        _ => false,
    }
}

fn is_near(number: Option<f64>, sign: f64) -> bool {
    number.is_some_and(|number| (number - sign).abs() <= sign.abs() * 1e-9)
}

/// Whether a text has a number in the form with an exponent.
fn holds_power(text: &str, number: f64) -> bool {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '+' | '-');
    text.split(|sign| !is_part(sign))
        .filter(|token| token.contains(['e', 'E']) && token.starts_with(|sign: char| sign.is_ascii_digit()))
        .any(|token| is_near(token.trim_end_matches('.').parse().ok(), number))
}

/// Whether a text has a number, with or without separators between its thousands, and maybe with decimals.
fn text_holds(text: &str, number: u64) -> bool {
    let digits = number.to_string();
    let is_separator =
        |sign: char| matches!(sign, ',' | '.' | '\'' | '’' | '_' | ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}');
    let signs: Vec<char> = text.chars().collect();
    (0..signs.len()).any(|start| {
        let begins = start == 0 || !signs[start - 1].is_alphanumeric();
        if !begins {
            return false;
        }
        let mut at = start;
        for (index, digit) in digits.chars().enumerate() {
            let is_thousand = index > 0 && (digits.len() - index).is_multiple_of(3);
            if is_thousand && signs.get(at).copied().is_some_and(is_separator) {
                at += 1;
            }
            if signs.get(at) != Some(&digit) {
                return false;
            }
            at += 1;
        }
        signs.get(at).is_none_or(|next| !next.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_found_in_many_forms() {
        for body in [
            json!({"output": {"result": 77437}}),
            json!({"message": "211 * 367 = 77437"}),
            json!("{\"result\":77437}"),
            json!("It is 77,437."),
            json!("77 437,00"),
            json!(["77437.0"]),
            json!("{\"result\":7.7437E+04}"),
            json!("It is 7.7437e4."),
        ] {
            assert!(holds(&body, &json!(77437)), "{body}");
            assert!(holds(&body, &json!(["another", 77437])), "{body}");
        }
        for body in [
            json!({"expression": "211 * 367"}),
            json!(774_370),
            json!("a77437"),
            json!("177437"),
            json!("774371"),
            json!("7.7437E+05"),
            json!("a7.7437E+04"),
        ] {
            assert!(!holds(&body, &json!(77437)), "{body}");
            assert!(!holds(&body, &json!(["another", 77437])), "{body}");
        }
    }
}
