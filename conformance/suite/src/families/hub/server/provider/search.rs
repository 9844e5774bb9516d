//! Gmail's search language, as far as it is used: operators, quotes, `-`, `OR`, groups, and plain words.
//!
//! Words match whole words in whatever case, addresses word by word. Operators that are unknown here are plain words.

use jiff::civil::Date;
use jiff::{Span, Timestamp};

use super::index::words;
use super::mailbox::{Mail, OWN_LABEL};
use super::times::{midnight, zone};

/// Characters of a query that are read.
const MAX_QUERY: usize = 4_096;
/// How deep groups lie in groups.
const MAX_DEPTH: usize = 20;
/// Where the day begins for the search (Gmail API guide, "Searching for messages").
const ZONE: &str = "America/Los_Angeles";
const OPERATORS: [&str; 18] = [
    "from",
    "to",
    "cc",
    "bcc",
    "deliveredto",
    "subject",
    "is",
    "has",
    "in",
    "label",
    "category",
    "after",
    "newer",
    "before",
    "older",
    "newer_than",
    "older_than",
    "rfc822msgid",
];

/// What is searched for.
#[derive(Debug)]
pub(super) enum Query {
    All(Vec<Query>),
    Any(Vec<Query>),
    Not(Box<Query>),
    Words(Field, Vec<String>),
    Label(String),
    Read,
    Attachment,
    From(Timestamp),
    Until(Timestamp),
    MessageId(String),
}

/// Where words are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Anywhere,
    From,
    To,
    Cc,
    Bcc,
    Subject,
}

impl Query {
    /// Reads a query. Every text is one.
    pub(super) fn parse(text: &str, now: Timestamp) -> Self {
        let rest: Vec<char> = text.chars().take(MAX_QUERY).collect();
        Reader { rest: &rest, now, depth: 0 }.group(None, None)
    }

    /// Whether a mail fits.
    pub(super) fn fits(&self, mail: &Mail) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.fits(mail)),
            Self::Any(parts) => parts.iter().any(|part| part.fits(mail)),
            Self::Not(part) => !part.fits(mail),
            Self::Words(field, phrase) => {
                let index = &mail.index;
                let is_in = |text: &Vec<String>| has_phrase(text, phrase);
                match field {
                    Field::Anywhere => is_in(&index.all),
                    Field::From => is_in(&index.from),
                    Field::To => is_in(&index.to) || is_in(&index.cc) || is_in(&index.bcc),
                    Field::Cc => is_in(&index.cc),
                    Field::Bcc => is_in(&index.bcc),
                    Field::Subject => is_in(&index.subject),
                }
            }
            Self::Label(label) => mail.has(label),
            Self::Read => !mail.has("UNREAD"),
            Self::Attachment => !mail.mime_message.files.is_empty(),
            Self::From(at) => mail.at >= *at,
            Self::Until(at) => mail.at < *at,
            Self::MessageId(id) => mail.mime_message.message_id.as_deref() == Some(id),
        }
    }
}

/// Whether a query asks for what is otherwise hidden.
pub(super) fn reaches_hidden(text: &str) -> bool {
    let lowered = text.to_lowercase();
    ["in:anywhere", "in:trash", "in:spam", "label:trash", "label:spam"]
        .iter()
        .any(|each| lowered.contains(each))
}

struct Reader<'t> {
    rest: &'t [char],
    now: Timestamp,
    depth: usize,
}

impl Reader<'_> {
    /// Everything up to a bracket, or to the end: all of it must fit, in braces any of it.
    fn group(&mut self, end: Option<char>, operator: Option<&str>) -> Query {
        let mut items: Vec<Query> = Vec::new();
        let mut joins = false;
        self.depth += 1;
        while let Some(next) = self.peek() {
            if next.is_whitespace() || next == '|' || (matches!(next, ')' | '}') && Some(next) != end) {
                joins |= next == '|';
                self.take();
                continue;
            }
            if Some(next) == end {
                self.take();
                break;
            }
            if self.takes_keyword("OR") {
                joins = true;
                continue;
            }
            if self.takes_keyword("AND") {
                continue;
            }
            let item = self.item(operator);
            match items.pop() {
                Some(Query::Any(mut choices)) if joins => {
                    choices.push(item);
                    items.push(Query::Any(choices));
                }
                Some(last) if joins => items.push(Query::Any(vec![last, item])),
                last => items.extend(last.into_iter().chain([item])),
            }
            joins = false;
        }
        self.depth -= 1;
        if end == Some('}') { Query::Any(items) } else { Query::All(items) }
    }

    fn item(&mut self, operator: Option<&str>) -> Query {
        match self.peek() {
            Some('-') if self.depth < MAX_DEPTH => {
                self.take();
                self.depth += 1;
                let negated = self.item(operator);
                self.depth -= 1;
                Query::Not(Box::new(negated))
            }
            Some(bracket @ ('(' | '{')) => {
                self.take();
                let end = if bracket == '(' { ')' } else { '}' };
                if self.depth >= MAX_DEPTH { Query::All(Vec::new()) } else { self.group(Some(end), operator) }
            }
            Some('"') => {
                let phrase = self.quoted();
                self.term(operator, &phrase)
            }
            _ => {
                let word = self.word(operator.is_none());
                let name = word.strip_suffix(':').map(str::to_lowercase);
                match name.filter(|name| OPERATORS.contains(&name.as_str())) {
                    // An operator applies to what stands right behind it.
                    Some(name) if self.peek().is_some_and(|next| !next.is_whitespace()) => {
                        self.item(Some(&name))
                    }
                    Some(_) => Query::All(Vec::new()),
                    None => self.term(operator, &word),
                }
            }
        }
    }

    fn term(&self, operator: Option<&str>, value: &str) -> Query {
        let field = match operator {
            None => Field::Anywhere,
            Some("from") => Field::From,
            Some("to" | "deliveredto") => Field::To,
            Some("cc") => Field::Cc,
            Some("bcc") => Field::Bcc,
            Some("subject") => Field::Subject,
            Some(other) => return self.special(other, value),
        };
        Query::Words(field, words(value))
    }

    fn special(&self, operator: &str, value: &str) -> Query {
        let lowered = value.to_lowercase();
        let everything = || Query::All(Vec::new());
        match (operator, lowered.as_str()) {
            ("is", "read") => Query::Read,
            ("has", "attachment") => Query::Attachment,
            ("in", "anywhere") => everything(),
            ("in" | "label", "draft" | "drafts") => Query::Label("DRAFT".to_owned()),
            ("category", "primary") => Query::Label("CATEGORY_PERSONAL".to_owned()),
            ("category", _) => Query::Label(format!("CATEGORY_{}", lowered.to_uppercase())),
            ("is" | "in" | "label", _) => {
                let is_own = words(OWN_LABEL.1) == words(&lowered);
                Query::Label(if is_own { OWN_LABEL.0.to_owned() } else { lowered.to_uppercase() })
            }
            ("after" | "newer", _) => day(&lowered).map_or_else(everything, Query::From),
            ("before" | "older", _) => day(&lowered).map_or_else(everything, Query::Until),
            ("newer_than", _) => self.ago(&lowered).map_or_else(everything, Query::From),
            ("older_than", _) => self.ago(&lowered).map_or_else(everything, Query::Until),
            ("rfc822msgid", _) => Query::MessageId(value.trim_matches(['<', '>']).to_owned()),
            _ => Query::Words(Field::Anywhere, words(&format!("{operator} {value}"))),
        }
    }

    /// `3d`, `2m`, `1y`; hours too.
    fn ago(&self, text: &str) -> Option<Timestamp> {
        let unit = text.chars().next_back()?;
        let count: i64 = text.strip_suffix(unit)?.parse().ok()?;
        let span = match unit {
            'h' => Span::new().try_hours(count).ok()?,
            'd' => Span::new().try_days(count).ok()?,
            'm' => Span::new().try_months(count).ok()?,
            'y' => Span::new().try_years(count).ok()?,
            _ => return None,
        };
        let there = self.now.to_zoned(jiff::tz::TimeZone::UTC).checked_sub(span).ok()?;
        Some(there.timestamp())
    }

    fn quoted(&mut self) -> String {
        self.take();
        let mut text = String::new();
        while let Some(next) = self.take() {
            if next == '"' {
                break;
            }
            text.push(next);
        }
        text
    }

    /// Up to a space, a bracket or a quote; an operator's name with its colon is a word of its own.
    fn word(&mut self, may_be_operator: bool) -> String {
        let mut text = String::new();
        while let Some(next) = self.peek() {
            if next.is_whitespace() || matches!(next, '(' | ')' | '{' | '}' | '"' | '|') {
                break;
            }
            text.push(next);
            self.take();
            let is_operator = || OPERATORS.contains(&text.trim_end_matches(':').to_lowercase().as_str());
            if may_be_operator && next == ':' && is_operator() {
                break;
            }
        }
        if text.is_empty() {
            self.take();
        }
        text
    }

    fn takes_keyword(&mut self, keyword: &str) -> bool {
        let length = keyword.len();
        let is_there = self.rest.len() >= length
            && keyword.chars().eq(self.rest[..length].iter().copied())
            && self.rest.get(length).is_none_or(|next| next.is_whitespace());
        if is_there {
            self.rest = &self.rest[length..];
        }
        is_there
    }

    fn peek(&self) -> Option<char> {
        self.rest.first().copied()
    }

    fn take(&mut self) -> Option<char> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }
}

/// The beginning of a day, or seconds since 1970.
fn day(text: &str) -> Option<Timestamp> {
    if text.len() >= 9 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Timestamp::from_second(text.parse().ok()?).ok();
    }
    let numbers: Vec<i16> = text.split(['/', '-', '.']).map_while(|part| part.parse().ok()).collect();
    let (year, month, day) = match numbers.as_slice() {
        [year, month, day] if *year >= 1000 => (*year, *month, *day),
        [month, day, year] => (*year, *month, *day),
        _ => return None,
    };
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    midnight(date, &zone(ZONE)?)
}

/// Whether the words follow each other in a text; no words are in every text.
fn has_phrase(text: &[String], phrase: &[String]) -> bool {
    phrase.is_empty() || text.windows(phrase.len()).any(|window| window == phrase)
}
