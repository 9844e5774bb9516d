//! The runner over JSON lines: a breadcrumb a line in, a breadcrumb to be stored a line out (`docs/breadcrumbs.md`,
//! "JSON lines").
//!
//! The first line that it writes is its catalogue. A line that is no breadcrumb is logged and passed over. Tools and
//! configurations still use the store.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::config::RunnerConfig;
use super::engine::{Engine, Open, Outlet};
use super::{RunnerError, catalog_breadcrumb};
use crate::breadcrumb::client::{Breadcrumb, StoreClient};

/// No line may be longer.
const LINE_BYTES: u64 = 2 * 1024 * 1024;
/// How many answers wait to be written.
const QUEUE: usize = 64;

/// Serves until there are no more lines, and until all calls are answered then.
///
/// # Errors
///
/// When the store's address cannot be used, or lines cannot be read or written.
pub async fn run_lines(
    config: RunnerConfig,
    reader: impl AsyncBufRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> Result<(), RunnerError> {
    let store = StoreClient::new(&config.store_url, config.store_token.as_ref())
        .map_err(|source| RunnerError::Store { what: "use the store", source })?;
    let (answers, answered) = mpsc::channel(QUEUE);
    let catalog = catalog_breadcrumb(&config).to_string();
    // There is room for the first of them.
    let _ = answers.try_send(catalog);
    let engine = Arc::new(Engine::new(&config, store, Outlet::Lines(answers)));
    let tools: Vec<_> = config.catalog.tools().cloned().collect();
    let outcome = tokio::try_join!(read(engine, reader), write(answered, writer)).map(drop);
    for tool in tools {
        if tokio::time::timeout(config.patience, tool.shutdown()).await.is_err() {
            (config.log)(&format!("`{}` did not end in time", tool.definition().name));
        }
    }
    outcome
}

async fn read(engine: Arc<Engine>, mut reader: impl AsyncBufRead + Unpin) -> Result<(), RunnerError> {
    let mut open = Open::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = {
            let mut bounded = (&mut reader).take(LINE_BYTES);
            let mut reading = std::pin::pin!(bounded.read_until(b'\n', &mut line));
            loop {
                tokio::select! {
                    count = &mut reading => break count,
                    () = open.ended(), if !open.is_empty() => {}
                }
            }
        };
        let count = count.map_err(|source| RunnerError::Lines { what: "read", source })?;
        if count == 0 {
            break;
        }
        if line.last() != Some(&b'\n') && line.len() as u64 == LINE_BYTES {
            engine.log("a line is too long, and is passed over");
            skip(&mut reader).await.map_err(|source| RunnerError::Lines { what: "read", source })?;
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(&line).ok().and_then(Breadcrumb::read) {
            Some(message) => open.admit(&engine, message).await,
            None => engine.log("a line is no breadcrumb, and is passed over"),
        }
    }
    open.all_ended().await;
    Ok(())
}

/// Reads the rest of a line that is too long.
async fn skip(reader: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<()> {
    loop {
        let bytes = reader.fill_buf().await?;
        if bytes.is_empty() {
            return Ok(());
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(bytes.len(), |end| end + 1);
        reader.consume(count);
        if end.is_some() {
            return Ok(());
        }
    }
}

async fn write(
    mut answered: mpsc::Receiver<String>,
    mut writer: impl AsyncWrite + Unpin,
) -> Result<(), RunnerError> {
    let failed = |source| RunnerError::Lines { what: "write", source };
    while let Some(mut answer) = answered.recv().await {
        answer.push('\n');
        writer.write_all(answer.as_bytes()).await.map_err(failed)?;
        writer.flush().await.map_err(failed)?;
    }
    Ok(())
}
