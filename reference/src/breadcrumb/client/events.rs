//! The events of a store as one stream, whatever becomes of its connections.
//!
//! A stream begins with what happens after it was opened, so a connection that breaks leaves a gap. What fits the
//! watched queries is listed after each opening, and what was not handed out before is handed out then; a listing
//! before the first opening says what is old. A reader who is slow makes the store wait, which ends the connection in
//! time; that is a gap like any other.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::lines::EventLines;
use super::{Breadcrumb, DEADLINE, ListQuery, StoreClient, StoreClientError, accepted, late};

/// A stream says something every five seconds; one that says nothing for this long is dead.
const SILENCE: Duration = Duration::from_secs(20);
/// Between attempts to open it again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How many events wait for their reader before the connection does.
const QUEUE: usize = 64;
/// How many breadcrumbs a page of a listing has, and how many pages are looked at.
const PAGE: u32 = 100;
const PAGES: u32 = 20;
/// How many events are remembered as handed out.
const REMEMBERED: usize = 16 * 1024;

/// A breadcrumb that is new or changed. Its title is empty where it comes from the stream.
pub type Event = Breadcrumb;

impl StoreClient {
    /// Listens, from now on. Returns once the store has opened the stream.
    ///
    /// What fits one of the queries and happened while a connection was down is listed and handed out as well; with
    /// none, it is lost. Each version of a breadcrumb is handed out once.
    ///
    /// # Errors
    ///
    /// When the stream cannot be opened the first time; later it is tried until it can.
    pub async fn events(&self, watched: Vec<ListQuery>) -> Result<Events, StoreClientError> {
        Events::open(self.clone(), watched).await
    }
}

/// What happens in a store. Dropping it closes the stream.
#[derive(Debug)]
pub struct Events {
    events: mpsc::Receiver<Event>,
    listening: JoinHandle<()>,
}

impl Events {
    pub(super) async fn open(client: StoreClient, watched: Vec<ListQuery>) -> Result<Self, StoreClientError> {
        let mut listener = Listener { client, watched, known: Known::default() };
        listener.missed(1).await?;
        let connection = listener.connect().await?;
        let (sender, events) = mpsc::channel(QUEUE);
        let listening = tokio::spawn(listener.listen(connection, sender));
        Ok(Self { events, listening })
    }

    /// The next event; nothing once the stream is closed for good, which it never is by itself.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

struct Listener {
    client: StoreClient,
    watched: Vec<ListQuery>,
    known: Known,
}

impl Listener {
    async fn listen(mut self, mut connection: Response, sender: mpsc::Sender<Event>) {
        let mut pause = FIRST_PAUSE;
        loop {
            let opened = Instant::now();
            // The gap: what happened between the last word and this opening.
            if let Ok(missed) = self.missed(PAGES).await {
                for event in missed {
                    if sender.send(event).await.is_err() {
                        return;
                    }
                }
                if self.read(connection, &sender).await.is_break() {
                    return;
                }
            }
            if opened.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            connection = loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                if let Ok(connection) = self.connect().await {
                    break connection;
                }
            };
        }
    }

    /// Hands out what a connection says until it ends; breaks when the receiver is gone.
    async fn read(
        &mut self,
        mut connection: Response,
        sender: &mpsc::Sender<Event>,
    ) -> std::ops::ControlFlow<()> {
        use std::ops::ControlFlow::{Break, Continue};
        let mut lines = EventLines::default();
        loop {
            let Ok(Ok(Some(chunk))) = tokio::time::timeout(SILENCE, connection.chunk()).await else {
                return Continue(());
            };
            // An event that is too long would be so again; it is passed over with its connection.
            let Ok(events) = lines.take(&chunk) else { return Continue(()) };
            for data in events {
                let Some(event) = updated(&data) else { continue };
                if self.known.is_new(&event) && sender.send(event).await.is_err() {
                    return Break(());
                }
            }
        }
    }

    async fn connect(&self) -> Result<Response, StoreClientError> {
        let request =
            self.client.request(Method::GET, &["events", "stream"], &[]).header(ACCEPT, "text/event-stream");
        tokio::time::timeout(DEADLINE, accepted(request)).await.unwrap_or_else(|_| Err(late()))
    }

    /// What fits the watched queries and was not seen before, oldest first.
    async fn missed(&mut self, pages: u32) -> Result<Vec<Event>, StoreClientError> {
        let mut listed = Vec::new();
        for watched in &self.watched {
            let mut query = ListQuery { limit: Some(PAGE), ..watched.clone() };
            for _page in 0..pages {
                let page = self.client.list(&query).await?;
                query.offset += u32::try_from(page.len()).unwrap_or(u32::MAX);
                let length = page.len();
                // Newest come first, so behind one that was seen there are only older ones.
                let new: Vec<_> = page.into_iter().take_while(|event| !self.known.has(event)).collect();
                let ended = length == 0 || new.len() < length;
                listed.extend(new);
                if ended {
                    break;
                }
            }
        }
        // Remembered only now, so that a listing that broke off is made again.
        let mut missed: Vec<_> = listed.into_iter().filter(|event| self.known.is_new(event)).collect();
        missed.reverse();
        Ok(missed)
    }
}

fn updated(data: &[u8]) -> Option<Event> {
    let value: Value = serde_json::from_slice(data).ok()?;
    let kind = value.get("type")?.as_str()?;
    if kind == "breadcrumb.updated" || kind == "breadcrumb.created" { Breadcrumb::read(value) } else { None }
}

/// The newest version of each breadcrumb that was handed out; the oldest are forgotten.
#[derive(Default)]
struct Known {
    newest: HashMap<String, i64>,
    order: VecDeque<(String, i64)>,
}

impl Known {
    fn has(&self, event: &Event) -> bool {
        self.newest.get(&event.id).is_some_and(|version| *version >= event.version)
    }

    /// A version behind one that was handed out is not new: a listing may be ahead of the stream.
    fn is_new(&mut self, event: &Event) -> bool {
        if self.has(event) {
            return false;
        }
        self.newest.insert(event.id.clone(), event.version);
        self.order.push_back((event.id.clone(), event.version));
        if self.order.len() > REMEMBERED
            && let Some((id, version)) = self.order.pop_front()
            && self.newest.get(&id) == Some(&version)
        {
            self.newest.remove(&id);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Event, Known, REMEMBERED};

    fn event(id: &str, version: i64) -> Event {
        Event::read(json!({"id": id, "version": version, "schema_name": "memo.v1", "tags": [], "title": "t"}))
            .expect("a breadcrumb")
    }

    #[test]
    fn a_version_is_new_once_and_only_when_no_later_one_was() {
        let mut known = Known::default();
        assert!(known.is_new(&event("a", 2)));
        assert!(!known.is_new(&event("a", 2)));
        assert!(!known.is_new(&event("a", 1)), "it is older than what was handed out");
        assert!(known.is_new(&event("a", 3)) && known.is_new(&event("b", 1)));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_newest_stays() {
        let mut known = Known::default();
        known.is_new(&event("a", 1));
        for version in 1..=i64::try_from(REMEMBERED).expect("a number") {
            known.is_new(&event("b", version));
        }
        assert!(known.order.len() <= REMEMBERED && known.newest.len() <= 2);
        assert!(known.has(&event("b", 1)) && !known.has(&event("a", 1)));
    }
}
