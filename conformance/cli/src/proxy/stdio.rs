//! An MCP client and its server on standard input and output: every byte is passed on, whole lines are judged.
//!
//! Passing on never waits for judging: where the judge is behind, messages are passed on unjudged, and counted.

use std::io::{self, Read, Write, stdin};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use callmark_reports::recording::RecordingVerdict;
use callmark_suite::engine::recording::format::Format as Form;
use callmark_suite::engine::recording::{Input, Judged, MAX_LINE, RecordingError, judge_files};
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::args::ProxyArguments;
use crate::exit::{self, Failure};
use crate::{console, judge, setup};

use super::report::{print_report, write_report};

/// Bytes that are passed on at a time.
const CHUNK: usize = 64 * 1024;
/// Bytes that wait for the judge.
const WAITING: usize = 16 * 1024 * 1024;

/// Runs it.
pub(super) fn run(arguments: &ProxyArguments) -> Result<u8, Failure> {
    let [program, rest @ ..] = arguments.command.as_slice() else {
        return Err(
            Failure::usage("no server is named").hint("callmark proxy --stdio -- my-server --its-flag")
        );
    };
    let library = Arc::new(setup::traffic_library()?);
    let manifest = judge::manifest(&arguments.by)?;
    console::hide(&manifest.secrets());
    let own = judge::judge(&library, &manifest)?;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().map_err(|error| {
        Failure::incomplete(format!("`{}` cannot be started: {error}", program.to_string_lossy()))
    })?;
    let (tap, lines) = Tap::new();
    let observed = Arc::clone(&tap.load);
    let judging = thread::Builder::new().name("proxy".to_owned()).spawn(move || {
        let input = Input {
            name: "standard input and output".to_owned(),
            bytes: Box::new(Lines { from: lines, load: observed, rest: Vec::new(), at: 0, is_over: false }),
            format: Some(Form::McpLines),
        };
        judge_files(own, &|| families::ALL.observers(&manifest), [input])
    });
    let judging = judging.map_err(Failure::incomplete)?;
    pass_signals(&server)?;
    let unjudged = Arc::clone(&tap.load);
    let code = pass_on(&mut server, tap)?;
    let judged = judging.join().map_err(|_| Failure::internal("the judge panicked"))?;
    report(arguments, &library, judged, unjudged.dropped.load(Ordering::Relaxed), code)
}

/// Passes on in both directions until the server has ended; answers its exit code.
fn pass_on(server: &mut Child, tap: Tap) -> Result<u8, Failure> {
    let (Some(mut to_server), Some(mut from_server)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(Failure::internal("the server has no pipes"));
    };
    let mut outgoing = tap.clone();
    // It may wait for a client that has nothing more to say, so nobody waits for it.
    let asking = move || {
        let mut stdin = stdin().lock();
        let _ = copy(&mut stdin, |bytes| {
            // Before the server can answer, so that the judge sees the question first.
            outgoing.take(bytes);
            to_server.write_all(bytes).and_then(|()| to_server.flush())
        });
        outgoing.end();
    };
    thread::Builder::new().name("client".to_owned()).spawn(asking).map_err(Failure::incomplete)?;
    let mut incoming = tap;
    let passed = copy(&mut from_server, |bytes| {
        incoming.take(bytes);
        console::pass(bytes)
    });
    incoming.end();
    incoming.finish();
    passed.map_err(|error| Failure::incomplete(format!("the server cannot be read: {error}")))?;
    let ended = server.wait().map_err(|error| Failure::incomplete(format!("the server is lost: {error}")))?;
    Ok(exit::of_command(ended))
}

/// Reads until the end, and has each piece passed on at once.
fn copy(from: &mut impl Read, mut to: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; CHUNK];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => to(&piece[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Passes a signal on to the server, whose end is the end of this.
fn pass_signals(server: &Child) -> Result<(), Failure> {
    let server = i32::try_from(server.id()).map(Pid::from_raw).map_err(Failure::internal)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::internal)?;
    let waiting = move || {
        runtime.block_on(exit::until_signal());
        // One that has ended needs none.
        let _ = kill(server, Signal::SIGTERM);
    };
    thread::Builder::new().name("signals".to_owned()).spawn(waiting).map(|_| ()).map_err(Failure::incomplete)
}

fn report(
    arguments: &ProxyArguments,
    library: &Library,
    judged: Result<Judged, RecordingError>,
    dropped: u64,
    code: u8,
) -> Result<u8, Failure> {
    let judged = judged.map_err(Failure::internal)?;
    let report = judged.report(library, arguments.by.strict);
    write_report(arguments.report.as_deref(), &report)?;
    print_report(&report);
    if dropped > 0 {
        eprintln!("{dropped} messages were passed on unjudged: the judge was behind");
    }
    let is_violated = report.verdict == RecordingVerdict::Violations;
    Ok(if code == exit::CONFORMANT && is_violated { exit::NONCONFORMANT } else { code })
}

/// How far the judge is behind.
#[derive(Debug, Default)]
struct Load {
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

/// Takes the lines of one direction.
#[derive(Clone)]
struct Tap {
    to: Sender<Vec<u8>>,
    load: Arc<Load>,
    line: Vec<u8>,
    is_long: bool,
}

impl Tap {
    fn new() -> (Self, Receiver<Vec<u8>>) {
        let (to, from) = channel();
        (Self { to, load: Arc::default(), line: Vec::new(), is_long: false }, from)
    }

    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > MAX_LINE {
                self.is_long = true;
                self.line.clear();
            }
            if !self.is_long {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.end();
            }
        }
    }

    /// Nothing more is to be judged.
    fn finish(&self) {
        // A judge that has ended reads nothing.
        let _ = self.to.send(Vec::new());
    }

    /// A line has ended.
    fn end(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_long) {
            self.load.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if line.trim_ascii().is_empty() {
            return;
        }
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        let length = line.len();
        let is_room = self.load.waiting.fetch_add(length, Ordering::Relaxed) + length <= WAITING;
        if !is_room || self.to.send(line).is_err() {
            self.load.waiting.fetch_sub(length, Ordering::Relaxed);
            self.load.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The lines as the judge reads them.
struct Lines {
    from: Receiver<Vec<u8>>,
    load: Arc<Load>,
    rest: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl Read for Lines {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.rest.len() {
            if self.is_over {
                return Ok(0);
            }
            // The client may still have its end of the channel when the server has ended.
            let Some(line) = self.from.recv().ok().filter(|line| !line.is_empty()) else {
                self.is_over = true;
                continue;
            };
            self.load.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            // A server may write other things to its output; what is no JSON is no message.
            if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok() {
                (self.rest, self.at) = (line, 0);
            }
        }
        let length = into.len().min(self.rest.len() - self.at);
        into[..length].copy_from_slice(&self.rest[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}
