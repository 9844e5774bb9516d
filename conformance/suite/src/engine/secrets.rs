//! The secrets of a run: in which forms they are written down, and what stands in their place.
//!
//! Everything that is stored or shown goes through a [`Redactor`]: transcript, record, account, manifest, reports, and
//! the logs of targets as they are written.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

use crate::engine::escapes;
use crate::engine::parts::Parts;
use crate::spec::library::hex;

/// Shortest secret: what is shorter stands in every other text.
pub const SHORTEST: usize = 4;
/// Shortest secret of which texts that are like it are secrets, too.
const LIKE: usize = 8;
/// Shortest form that is not the secret itself.
const SHORTEST_FORM: usize = 6;

/// A way in which a secret is written down.
struct SecretForm {
    /// What the text in its place says.
    name: &'static str,
    of: fn(&str) -> Vec<String>,
}

/// What is as good as the secret: the suite itself sends such texts where one is refused.
const NEAR: [SecretForm; 3] = [
    SecretForm { name: "shortened", of: |secret| vec![shortened(secret).to_owned()] },
    SecretForm {
        name: "recased",
        of: |secret| {
            let flipped = |c: char| -> String {
                if c.is_lowercase() { c.to_uppercase().collect() } else { c.to_lowercase().collect() }
            };
            vec![secret.to_uppercase(), secret.to_lowercase(), secret.chars().map(flipped).collect()]
        },
    },
    SecretForm { name: "reversed", of: |secret| vec![secret.chars().rev().collect()] },
];

/// What says the same in another alphabet.
const ENCODED: [SecretForm; 11] = [
    SecretForm { name: "base64", of: |secret| within(secret, |bytes| STANDARD.encode(bytes)) },
    SecretForm { name: "base64url", of: |secret| within(secret, |bytes| URL_SAFE.encode(bytes)) },
    SecretForm { name: "hex", of: |secret| vec![hex(secret.as_bytes())] },
    SecretForm { name: "HEX", of: |secret| vec![hex(secret.as_bytes()).to_uppercase()] },
    SecretForm {
        name: "percent",
        of: |secret| {
            let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            vec![percent(secret, is_unreserved, false), percent(secret, |_| false, false), form]
        },
    },
    SecretForm {
        name: "percent-lower",
        of: |secret| vec![percent(secret, is_unreserved, true), percent(secret, |_| false, true)],
    },
    SecretForm {
        name: "percent-twice",
        of: |secret| vec![percent(&percent(secret, is_unreserved, false), is_unreserved, false)],
    },
    SecretForm { name: "base64-line", of: wrapped },
    SecretForm {
        name: "html",
        of: |secret| QUOTES.iter().map(|quotes| marked_up(secret, *quotes)).collect(),
    },
    SecretForm { name: "json", of: |secret| escaped(secret).into() },
    SecretForm {
        name: "json-in-json",
        of: |secret| escaped(secret).iter().flat_map(|text| escaped(text)).collect(),
    },
];

/// How writers of HTML spell `"` and `'`: Python, Go, others, PHP, XML; some leave both as they are.
const QUOTES: [[&str; 2]; 6] = [
    ["&quot;", "&#x27;"],
    ["&#34;", "&#39;"],
    ["&quot;", "&#39;"],
    ["&quot;", "&#039;"],
    ["&quot;", "&apos;"],
    ["\"", "'"],
];

/// Characters of a line of Base64 in mails and in PEM files.
const LINES: [usize; 2] = [76, 64];

/// A text within HTML.
fn marked_up(text: &str, [double, single]: [&str; 2]) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', double).replace('\'', single)
}

/// The lines of a long secret in Base64: a log is read line by line.
fn wrapped(secret: &str) -> Vec<String> {
    let encoded: Vec<char> = STANDARD.encode(secret).chars().collect();
    let lines = LINES.into_iter().filter(|length| encoded.len() > *length);
    let lines = lines.flat_map(|length| encoded.chunks(length));
    lines.filter(|line| line.len() >= LIKE).map(|line| line.iter().collect()).collect()
}

/// Without its last character.
pub(crate) fn shortened(secret: &str) -> &str {
    let mut characters = secret.chars();
    characters.next_back();
    characters.as_str()
}

/// What of the encoded text does not depend on what stands before and behind the secret, wherever in a longer text that
/// begins: so credentials with a user's name are covered as well, padded or not.
fn within(secret: &str, encode: fn(&[u8]) -> String) -> Vec<String> {
    let begins = |offset: usize| {
        let text = [&b"xx"[..offset], secret.as_bytes()].concat();
        let (from, to) = ((offset * 8).div_ceil(6), text.len() * 8 / 6);
        encode(&text)[from..to].to_owned()
    };
    (0..3).map(begins).collect()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn percent(secret: &str, stays: fn(u8) -> bool, is_lower: bool) -> String {
    let written = |byte: u8| match (stays(byte), is_lower) {
        (true, _) => char::from(byte).to_string(),
        (_, true) => format!("%{byte:02x}"),
        (_, false) => format!("%{byte:02X}"),
    };
    secret.bytes().map(written).collect()
}

/// A text within a JSON string: as most write it, and with nothing but ASCII.
fn escaped(text: &str) -> [String; 2] {
    let json = Value::from(text).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let mut ascii = String::new();
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            let mut units = [0; 2];
            ascii.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    [json, ascii]
}

/// Every form of a secret, with the name of the form; that of the secret itself is empty.
fn forms(secret: &str) -> Vec<(String, &'static str)> {
    let mut all = vec![(secret.to_owned(), "")];
    let mut add = |form: &SecretForm, of: &str| {
        let is_long = |text: &String| text.len() >= SHORTEST_FORM;
        all.extend((form.of)(of).into_iter().filter(is_long).map(|text| (text, form.name)));
    };
    let is_near = secret.len() >= LIKE;
    if is_near {
        for form in &NEAR {
            add(form, secret);
        }
    }
    for form in &ENCODED {
        add(form, secret);
        if is_near {
            add(form, shortened(secret));
        }
    }
    // Of a key in several lines each line is one: a log is read line by line.
    if secret.trim().contains('\n') {
        let lines = secret.lines().map(str::trim).filter(|line| line.len() >= LIKE);
        all.extend(lines.map(|line| (line.to_owned(), "line")));
    }
    all
}

/// What stands for the secret with this number, from 1.
pub(crate) fn stand_in(number: usize) -> String {
    format!("***{number:04}***")
}

/// What stands for a form of it.
fn stand_in_of(name: &str, number: usize) -> String {
    match name {
        "" => stand_in(number),
        // The suite sends it, and sends it again where a run is judged again.
        "shortened" => shortened(&stand_in(number)).to_owned(),
        name => format!("***{number:04}:{name}***"),
    }
}

/// The number in a text that stands for a secret: a run that is judged again knows no others.
fn number_of(secret: &str) -> Option<usize> {
    secret.strip_prefix("***")?.strip_suffix("***")?.parse().ok()
}

/// Takes secrets out of texts, in all their forms.
#[derive(Debug, Default)]
pub struct Redactor {
    parts: Parts,
    /// The same forms with other names, for texts in which characters of theirs are escaped.
    escaped: Parts,
    /// Bytes of the longest form.
    longest: usize,
}

impl Redactor {
    /// Leaves names that differ from secret to secret, so that a judgement can distinguish them.
    pub fn numbered(secrets: &[String]) -> Self {
        Self::naming(secrets, stand_in_of)
    }

    /// Leaves the same in place of every secret.
    pub fn hiding(secrets: &[String]) -> Self {
        Self::naming(secrets, |_, _| "***".to_owned())
    }

    /// Looks for secrets as they stand in JSON.
    pub(crate) fn in_json(secrets: &[String]) -> Parts {
        let pairs = pairs(secrets, |_, _| String::new()).into_iter();
        Parts::new(pairs.flat_map(|(form, name)| escaped(&form).map(|form| (form, name.clone()))))
    }

    fn naming(secrets: &[String], name: fn(&str, usize) -> String) -> Self {
        let escaped =
            pairs(secrets, |form, number| name(if form.is_empty() { "json" } else { form }, number));
        let pairs = pairs(secrets, name);
        let longest = pairs.iter().map(|(form, _)| form.len()).max().unwrap_or_default();
        Self { parts: Parts::new(pairs), escaped: Parts::new(escaped), longest }
    }

    /// Whether there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes of the longest form of a secret.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The forms themselves.
    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// A text without secrets.
    pub fn text(&self, text: &str) -> String {
        let text = self.parts.replace(text.to_owned());
        if !self.is_empty() && escapes::has_needless(text.as_bytes()) {
            return self.escaped.replace_escaped(text);
        }
        text
    }

    /// Whether a text may hold a secret.
    pub(crate) fn may_stand_in(&self, text: &[u8]) -> bool {
        self.parts.stand_in(text) || (!self.is_empty() && escapes::has_needless(text))
    }
}

/// Forms of all secrets, each once, with what stands in their place.
fn pairs(secrets: &[String], name: impl Fn(&str, usize) -> String) -> Vec<(String, String)> {
    let mut known = BTreeSet::new();
    let mut pairs = Vec::new();
    let mut add = |form: String, name: String| {
        if known.insert(form.clone()) {
            pairs.push((form, name));
        }
    };
    let long = || secrets.iter().zip(1..).filter(|(secret, _)| secret.len() >= SHORTEST);
    // What is a secret itself is not a form of another.
    for (secret, number) in long() {
        add(secret.clone(), name("", number));
    }
    for (secret, number) in long() {
        match number_of(secret) {
            Some(own) => {
                let names = NEAR.iter().chain(&ENCODED).map(|form| form.name).chain(["line"]);
                names.for_each(|form| add(stand_in_of(form, own), name(form, number)));
            }
            None => forms(secret).into_iter().for_each(|(text, form)| add(text, name(form, number))),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "Hush-\"0a\\1b/2c+3d é";

    fn check(written: &str, name: &str) {
        let secrets = ["other-secret".to_owned(), SECRET.to_owned()];
        let text = Redactor::numbered(&secrets).text(&format!("<{written}>"));
        assert!(text.contains(&stand_in_of(name, 2)), "{name}: {written}: {text}");
        assert!(!text.contains(written), "{name}: {text}");
        let shown = Redactor::hiding(&secrets).text(written);
        assert!(shown.contains("***") && !shown.contains("0002"), "{shown}");
        // What stands in its place is hidden like it when the run is judged again.
        let again = Redactor::hiding(&[stand_in(1), stand_in(2)]);
        assert_eq!(again.text(&text), Redactor::hiding(&secrets).text(&format!("<{written}>")), "{name}");
    }

    #[test]
    fn a_secret_is_taken_out_in_every_form() {
        check(SECRET, "");
        check(shortened(SECRET), "shortened");
        check("HUSH-\"0A\\1B/2C+3D É", "recased");
        check("hUSH-\"0A\\1B/2C+3D É", "recased");
        check("é d3+c2/b1\\a0\"-hsuH", "reversed");
        check("487573682d2230615c31622f32632b336420c3a9", "hex");
        check("487573682D2230615C31622F32632B336420C3A9", "HEX");
        check("Hush-%220a%5C1b%2F2c%2B3d%20%C3%A9", "percent");
        check("Hush-%220a%5C1b%2F2c%2B3d+%C3%A9", "percent");
        check("Hush-%220a%5c1b%2f2c%2b3d%20%c3%a9", "percent-lower");
        check("Hush-%25220a%255C1b%252F2c%252B3d%2520%25C3%25A9", "percent-twice");
        check("Hush-&quot;0a\\1b/2c+3d é", "html");
        check("Hush-&#34;0a\\1b/2c+3d é", "html");
        check("Hush-\\\"0a\\\\1b/2c+3d é", "json");
        check("Hush-\\\"0a\\\\1b/2c+3d \\u00e9", "json");
        check("Hush-\\\\\\\"0a\\\\\\\\1b/2c+3d é", "json-in-json");
        // With escapes that need not be there: of PHP, of .NET, and both in a text within a text.
        check("Hush-\\\"0a\\\\1b\\/2c+3d \\u00e9", "json");
        check("Hush-\\u00220a\\\\1b/2c\\u002B3d é", "json");
        check("Hush\\\\u002d\\\\u00220a\\\\\\\\1b\\\\/2c+3d é", "json");
    }

    #[test]
    fn a_secret_is_taken_out_of_base64_wherever_it_begins() {
        let redactor = Redactor::numbered(&["Hush-0a1b2c3d".to_owned()]);
        for before in ["", "a", "ab", "user:", "{\"password\":\""] {
            for behind in ["", "x", "\", \"more\": 1}"] {
                let text = format!("{before}Hush-0a1b2c3d{behind}");
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    for written in [encoded.as_str(), encoded.trim_end_matches('=')] {
                        let shown = redactor.text(written);
                        assert!(shown.contains("***0001:base64"), "{text}: {written}: {shown}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_long_secret_is_taken_out_of_the_lines_of_base64() {
        let secret = (0..40).map(|n| format!("Hush-{n}")).collect::<Vec<_>>().join(" ");
        let redactor = Redactor::numbered(std::slice::from_ref(&secret));
        let encoded = STANDARD.encode(&secret);
        for length in LINES {
            for line in encoded.as_bytes().chunks(length) {
                let shown = redactor.text(&String::from_utf8_lossy(line));
                assert!(shown.starts_with("***0001:base64"), "{shown}");
            }
        }
    }

    #[test]
    fn a_secret_is_taken_out_of_html() {
        let redactor = Redactor::hiding(&["a&b<c>\"d'e".to_owned()]);
        for written in
            ["a&amp;b&lt;c&gt;&quot;d&#x27;e", "a&amp;b&lt;c&gt;&#34;d&#39;e", "a&amp;b&lt;c&gt;\"d'e"]
        {
            assert_eq!(redactor.text(written), "***");
        }
    }

    #[test]
    fn what_is_short_has_no_near_forms() {
        let redactor = Redactor::numbered(&["info".to_owned(), "abc".to_owned()]);
        assert_eq!(redactor.text("information, INFO, inf, abc"), "***0001***rmation, INFO, inf, abc");
    }
}
