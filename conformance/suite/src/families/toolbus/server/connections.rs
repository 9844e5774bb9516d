//! The connections of a server: one, or one with each of its replicas.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::routes::Routes;
use crate::families::toolbus::link::{Headers, Link, Nowhere, Sink};
use crate::transcript::lock;

/// Requests of a server that wait for their answer.
const QUESTIONS: usize = 100;

/// Makes a link, given where its messages go.
pub(in crate::families::toolbus) type Connect = Box<dyn FnOnce(Sink) -> Result<Arc<dyn Link>, String> + Send>;

/// A way to one process, and who waits for what on it.
pub(super) struct Connection {
    pub(super) link: Arc<dyn Link>,
    pub(super) routes: Arc<Routes>,
    /// The number of the replica that it leads to, from 1, where there are several.
    pub(super) replica: Option<String>,
}

impl Connection {
    /// Has requests of the server answered.
    pub(super) fn answer_questions(&self) {
        let (requests, questions) = mpsc::channel(QUESTIONS);
        *lock(&self.routes.requests) = Some(requests);
        tokio::spawn(answer_the_server(questions, Arc::downgrade(&self.link)));
    }
}

/// All connections of a server.
pub(super) struct Connections {
    all: Vec<Connection>,
    next: AtomicUsize,
}

impl Connections {
    /// Opens a connection by each of these.
    ///
    /// # Errors
    /// What cannot be connected.
    pub(super) fn open(connects: Vec<Connect>, writes_asides: bool) -> Result<Self, String> {
        let several = connects.len() > 1;
        let opened = connects.into_iter().enumerate().map(|(place, connect)| {
            let routes = Arc::new(Routes { writes_asides, ..Routes::default() });
            let receiving = Arc::clone(&routes);
            let link = connect(Arc::new(move |incoming| receiving.take(incoming)))?;
            Ok(Connection { link, routes, replica: several.then(|| (place + 1).to_string()) })
        });
        Ok(Self { all: opened.collect::<Result<_, String>>()?, next: AtomicUsize::new(0) })
    }

    /// One that leads to nobody.
    pub(super) fn offline() -> Self {
        let nowhere = Connection { link: Arc::new(Nowhere), routes: Arc::default(), replica: None };
        Self { all: vec![nowhere], next: AtomicUsize::new(0) }
    }

    /// Where a client begins: each at the next one.
    pub(super) fn begin(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The one whose turn it is.
    pub(super) fn at(&self, turn: usize) -> &Connection {
        &self.all[turn % self.all.len()]
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Connection> {
        self.all.iter()
    }

    /// Whether messages have headers.
    pub(super) fn has_headers(&self) -> bool {
        self.all.iter().any(|own| own.link.has_headers())
    }

    /// Why one of them brings no answers any more.
    pub(super) fn why_closed(&self) -> Option<String> {
        self.all.iter().find_map(|own| own.routes.why_closed())
    }

    /// How a process of theirs ended that nobody asked to.
    pub(super) fn exited(&self) -> Option<String> {
        self.all.iter().find_map(|own| own.routes.exited())
    }

    /// Ends all of them.
    pub(super) async fn close(&self) {
        for own in &self.all {
            lock(&own.routes.open).clear();
        }
        futures::future::join_all(self.all.iter().map(|own| own.link.close())).await;
    }
}

/// Servers may ask their client; ours has nothing to offer but an answer to `ping` (MCP, utilities).
async fn answer_the_server(mut questions: mpsc::Receiver<Value>, link: Weak<dyn Link>) {
    while let Some(request) = questions.recv().await {
        let Some(link) = link.upgrade() else { return };
        let answer = match request["method"].as_str() {
            Some("ping") => json!({"jsonrpc": "2.0", "id": request["id"], "result": {}}),
            _ => json!({"jsonrpc": "2.0", "id": request["id"],
                        "error": {"code": -32601, "message": "the client offers nothing"}}),
        };
        let _ = link.send(answer, Headers::new()).await;
    }
}
