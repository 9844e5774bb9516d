//! An agent over lines of JSON: breadcrumbs come in, invocations go out.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::Mutex;

use super::config::{AgentConfig, AgentError};
use super::session_manager::{OutputSink, SessionManager};
use super::utterance::Utterance;
use crate::breadcrumb::client::{Breadcrumb, StoreClient};

/// No line may be longer.
const LINE_BYTES: u64 = 4 * 1024 * 1024;
/// How long is waited at the end of the input for what is being thought about.
const END_DEADLINE: Duration = Duration::from_secs(90);

/// Runs an agent until the input ends and what follows from it is said.
///
/// Lines that are no breadcrumbs are logged and passed over.
///
/// # Errors
///
/// When the configuration cannot be used, a line is too long, or the input cannot be read.
pub async fn run_lines<R, W>(config: AgentConfig, reader: R, writer: W) -> Result<(), AgentError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let log = config.log.clone();
    let store = store(&config)?;
    let sessions = SessionManager::new(config, store, Arc::new(Printer(Mutex::new(writer))))?;
    let mut reader = BufReader::new(reader);
    let mut started = FuturesUnordered::new();
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(LINE_BYTES).read_until(b'\n', &mut line).await;
        if read.map_err(AgentError::Lines)? == 0 {
            break;
        }
        if line.len() as u64 == LINE_BYTES && line.last() != Some(&b'\n') {
            let reason = format!("a line is longer than {LINE_BYTES} bytes");
            return Err(AgentError::Lines(std::io::Error::new(std::io::ErrorKind::InvalidData, reason)));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line).ok().and_then(read_breadcrumb) {
            Some(breadcrumb) => started.extend(sessions.receive(&breadcrumb).map(|started| started.done)),
            None => log("a line that is no breadcrumb was passed over"),
        }
        while let Some(Some(_)) = futures::FutureExt::now_or_never(started.next()) {}
    }
    let settled = async { while started.next().await.is_some() {} };
    // What is still open then waits for answers that cannot come any more.
    let _ = tokio::time::timeout(END_DEADLINE, settled).await;
    sessions.shutdown().await;
    Ok(())
}

/// The store of the configuration, where there is one.
pub(super) fn store(config: &AgentConfig) -> Result<Option<StoreClient>, AgentError> {
    let client = |url: &String| StoreClient::new(url, config.store_token.as_ref());
    Ok(config.store_url.as_ref().map(client).transpose()?)
}

/// A breadcrumb from a client of the agent; one without an id gets one.
pub(super) fn read_breadcrumb(mut value: Value) -> Option<Breadcrumb> {
    let members = value.as_object_mut()?;
    if !members.contains_key("id") && !members.contains_key("breadcrumb_id") {
        members.insert("id".to_owned(), uuid::Uuid::new_v4().to_string().into());
    }
    Breadcrumb::read(value)
}

struct Printer<W>(Mutex<W>);

impl<W: AsyncWrite + Send + Unpin> OutputSink for Printer<W> {
    fn send<'a>(&'a self, utterance: &'a Utterance) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            let line = format!("{}\n", utterance.envelope());
            let mut writer = self.0.lock().await;
            let written = async {
                writer.write_all(line.as_bytes()).await?;
                writer.flush().await
            };
            written.await.map_err(|error| error.to_string())
        })
    }
}
