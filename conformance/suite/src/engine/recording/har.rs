//! HTTP archives (HAR 1.2): entries are read one by one, however large the archive is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::error::RecordingError;
use super::observer::{HttpExchange, Seen, Traffic};
use super::sink::Gathering;
use super::{At, MAX_WINDOW};

/// The longest entry that is read, for example with a file that somebody downloaded; those over [`MAX_WINDOW`] are counted.
const MAX_ENTRY: usize = 64 * 1024 * 1024;

/// An entry, as far as it matters.
#[derive(Deserialize)]
struct Entry {
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default)]
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct Response {
    status: i64,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default)]
    content: Content,
}

#[derive(Default, Deserialize)]
struct Content {
    #[serde(default)]
    size: i64,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

/// Counts bytes, and ends where one entry has too many.
struct Counted<'c, R> {
    from: R,
    all: &'c Cell<u64>,
    since: &'c Cell<usize>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(into)?;
        self.all.set(self.all.get() + length as u64);
        self.since.set(self.since.get() + length);
        if self.since.get() > MAX_ENTRY + into.len() {
            return Err(io::Error::other(format!("it is longer than {MAX_ENTRY} bytes")));
        }
        Ok(length)
    }
}

/// Reads an archive.
pub(super) fn read(
    from: impl BufRead,
    file: usize,
    gathering: &mut Gathering<'_, '_>,
) -> Result<(), RecordingError> {
    let (all, since) = (Cell::new(0), Cell::new(0));
    let number = Cell::new(0);
    let gathering = RefCell::new(gathering);
    let on_entry = |entry: Entry| {
        number.set(number.get() + 1);
        let at = At { file, line: number.get() };
        let bytes = since.replace(0);
        let mut gathering = gathering.borrow_mut();
        if bytes > MAX_WINDOW {
            gathering.sink.too_long();
        } else if let Some(exchange) = exchange(entry) {
            gathering.take(&Seen { at, traffic: Traffic::Http(exchange) }, bytes);
        } else {
            gathering.sink.message();
            gathering.sink.unattributed(1);
        }
    };
    let counted = io::BufReader::with_capacity(64 * 1024, Counted { from, all: &all, since: &since });
    let mut json = serde_json::Deserializer::from_reader(counted);
    let read = Archive(&on_entry).deserialize(&mut json);
    let at = At { file, line: number.get() + 1 };
    read.map_err(|error| match error.classify() {
        serde_json::error::Category::Io => RecordingError::Parse {
            at,
            message: format!("entry {} cannot be read: {}", at.line, io::Error::from(error)),
        },
        serde_json::error::Category::Eof => {
            RecordingError::Parse { at, message: format!("the archive breaks off in its entry {}", at.line) }
        }
        _ => RecordingError::Parse { at, message: format!("entry {}: {error}", at.line) },
    })?;
    json.end().map_err(|error| RecordingError::Parse { at, message: error.to_string() })?;
    gathering.borrow_mut().sink.bytes(all.get());
    Ok(())
}

/// What was sent and received; nothing where the archive does not have it.
fn exchange(entry: Entry) -> Option<HttpExchange> {
    let Entry { request, response } = entry;
    let status = u16::try_from(response.status).ok().filter(|status| *status >= 100)?;
    let content = response.content;
    let body = match (content.text, content.encoding.as_deref()) {
        (Some(text), Some("base64")) => STANDARD.decode(text).ok()?,
        (Some(text), _) => text.into_bytes(),
        // Recorders leave out bodies that they have no room for.
        (None, _) if content.size > 0 => return None,
        (None, _) => Vec::new(),
    };
    let url = url::Url::parse(&request.url).ok()?;
    Some(HttpExchange {
        method: request.method.to_ascii_uppercase(),
        path: url.path().to_owned(),
        request_headers: lowered(request.headers),
        request: request.post_data.and_then(|data| data.text).unwrap_or_default().into_bytes(),
        status,
        response_headers: lowered(response.headers),
        response: body,
    })
}

fn lowered(headers: Vec<Header>) -> BTreeMap<String, String> {
    headers.into_iter().map(|Header { name, value }| (name.to_ascii_lowercase(), value)).collect()
}

/// `{"log": {"entries": […]}}`.
struct Archive<'a>(&'a dyn Fn(Entry));
/// `{"entries": […]}`.
struct Log<'a>(&'a dyn Fn(Entry));
/// `[…]`.
struct Entries<'a>(&'a dyn Fn(Entry));

impl<'de> DeserializeSeed<'de> for Archive<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Archive<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an archive with `log`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        only(map, "log", || Log(self.0))
    }
}

impl<'de> DeserializeSeed<'de> for Log<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Log<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a log with `entries`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        only(map, "entries", || Entries(self.0))
    }
}

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_element::<Entry>()? {
            (self.0)(entry);
        }
        Ok(())
    }
}

/// Reads one member of an object, and passes over the others.
fn only<'de, A: MapAccess<'de>, S: DeserializeSeed<'de, Value = ()>>(
    mut map: A,
    wanted: &'static str,
    seed: impl Fn() -> S,
) -> Result<(), A::Error> {
    let mut is_there = false;
    while let Some(name) = map.next_key::<String>()? {
        if name == wanted {
            map.next_value_seed(seed())?;
            is_there = true;
        } else {
            map.next_value::<IgnoredAny>()?;
        }
    }
    if is_there { Ok(()) } else { Err(A::Error::missing_field(wanted)) }
}
