//! The writing side of a connection: many messages in one write, and a deadline on each.
//!
//! Neighbours: [`super::connection`] runs it next to the reading side, in one task.
//! Deliberately absent: what is written, which [`super::outbound`] has encoded.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::WriteHalf;
use tokio::time::timeout;

use super::client::Client;

/// The most chunks that one write carries.
const WRITE_SLICES: usize = 16;

/// The writing side of a connection.
pub(super) struct Writer<'w> {
    pub(super) socket: WriteHalf<'w>,
    client: &'w Client,
    deadline: Duration,
    /// Taken from the queue and not yet written; kept here so that `run` can be cancelled.
    batch: VecDeque<Bytes>,
}

impl<'w> Writer<'w> {
    pub(super) fn new(socket: WriteHalf<'w>, client: &'w Client, deadline: Duration) -> Self {
        Self { socket, client, deadline, batch: VecDeque::new() }
    }

    /// Writes whatever waits, forever.
    ///
    /// # Errors
    ///
    /// The socket's, or `TimedOut` when the client did not read a byte within the deadline.
    pub(super) async fn run(&mut self) -> io::Result<()> {
        loop {
            self.flush().await?;
            self.client.writable.notified().await;
        }
    }

    /// Writes until nothing waits.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        loop {
            if self.batch.is_empty() {
                self.client.outbound().take(&mut self.batch);
            }
            if self.batch.is_empty() {
                return Ok(());
            }
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES];
            let filled = slices.len().min(self.batch.len());
            for (slice, chunk) in slices.iter_mut().zip(&self.batch) {
                *slice = IoSlice::new(chunk);
            }
            let write = self.socket.write_vectored(&slices[..filled]);
            let written = timeout(self.deadline, write).await??;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.advance(written);
            self.client.outbound().written(written);
        }
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(chunk) = self.batch.front_mut() {
            if chunk.len() > written {
                chunk.advance(written);
                return;
            }
            written -= chunk.len();
            self.batch.pop_front();
        }
    }
}
