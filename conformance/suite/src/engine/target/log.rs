//! The log of what the suite starts: without secrets, and bounded, however much a target writes.
//!
//! Output arrives through a pipe. Whoever reads the log first takes in what the pipe holds, so nothing that a target
//! wrote before it answered is missed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use tokio::net::unix::pipe::Receiver;

use crate::engine::secrets::Redactor;
use crate::transcript::lock;

/// Bytes of a log on disk.
pub(crate) const MAX_LOG: u64 = 16 * 1024 * 1024;
/// What stays of it when it has become longer.
const KEPT: u64 = MAX_LOG / 2;
/// Bytes of a line; what is longer is written in parts.
const MAX_LINE: usize = 64 * 1024;
/// Bytes that are read at a time.
const CHUNK: usize = 16 * 1024;
/// Bytes at the end that a message is made of.
const TAIL: u64 = 64 * 1024;
/// Lines with a secret that are remembered as they were, of each secret.
const EXPOSED: usize = 8;

/// A log, shared by everything that writes to it.
#[derive(Clone, Debug)]
pub struct Log {
    path: PathBuf,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    secrets: Vec<String>,
    redactor: Redactor,
    sources: Vec<Source>,
    /// Number of the next source. None is used twice: who reads for one that has ended would read another's.
    next: u64,
    file: Option<File>,
    length: u64,
    /// Lines that hold a secret, by what stands in its place. They never leave this process as they are.
    exposed: BTreeMap<String, Vec<String>>,
}

/// The output of one process.
#[derive(Debug)]
struct Source {
    number: u64,
    pipe: Arc<Receiver>,
    /// The beginning of a line.
    line: Vec<u8>,
}

impl From<PathBuf> for Log {
    fn from(path: PathBuf) -> Self {
        Self { path, inner: Arc::default() }
    }
}

impl Log {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Has these kept out of it from now on.
    pub(crate) fn hide(&self, secrets: impl IntoIterator<Item = String>) {
        let mut inner = lock(&self.inner);
        inner.secrets.extend(secrets);
        inner.redactor = Redactor::numbered(&inner.secrets);
    }

    /// Removes what an earlier run left there: it says nothing about this one.
    pub(crate) fn clear(&self) {
        let mut inner = lock(&self.inner);
        inner.file = None;
        inner.length = 0;
        let _ = std::fs::remove_file(&self.path);
    }

    /// Ways for the standard output and error of a process.
    pub(super) fn writers(&self) -> io::Result<(Stdio, Stdio)> {
        lock(&self.inner).open(&self.path)?;
        let (reader, writer) = io::pipe()?;
        let pipe = Arc::new(Receiver::from_owned_fd(reader.into())?);
        let number = {
            let mut inner = lock(&self.inner);
            let number = inner.next;
            inner.next += 1;
            inner.sources.push(Source { number, pipe: Arc::clone(&pipe), line: Vec::new() });
            number
        };
        let log = self.clone();
        tokio::spawn(async move {
            while pipe.readable().await.is_ok() {
                if !lock(&log.inner).take(number, &log.path) {
                    return;
                }
            }
        });
        Ok((Stdio::from(writer.try_clone()?), Stdio::from(writer)))
    }

    /// Takes in what has been written up to now.
    fn settle(&self) {
        let mut inner = lock(&self.inner);
        let numbers: Vec<u64> = inner.sources.iter().map(|source| source.number).collect();
        for number in numbers {
            inner.take(number, &self.path);
        }
    }

    /// Its last lines that are not blank, oldest first, each shortened.
    pub(super) fn last_lines(&self, count: usize) -> Vec<String> {
        self.settle();
        let text = read_end(&self.path, 0, TAIL).unwrap_or_default();
        let lines: Vec<&str> =
            text.lines().rev().filter(|line| !line.trim().is_empty()).take(count).collect();
        lines.into_iter().rev().map(crate::transcript::shorten_text).collect()
    }

    /// The text of it, with the lines that hold a secret as they were written: a judgement looks for secrets in them.
    pub(crate) fn exposed(&self) -> Option<String> {
        self.settle();
        let text = read_end(&self.path, 0, MAX_LOG)?;
        let inner = lock(&self.inner);
        let exposed: Vec<&str> = inner.exposed.values().flatten().map(String::as_str).collect();
        Some(format!("{text}\n{}", exposed.join("\n")))
    }
}

impl Inner {
    fn open(&mut self, path: &Path) -> io::Result<()> {
        if self.file.is_some() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        // A link in its place leads to somebody else's file.
        let flags = nix::libc::O_NOFOLLOW;
        let file = OpenOptions::new().create(true).append(true).custom_flags(flags).open(path)?;
        self.length = file.metadata()?.len();
        self.file = Some(file);
        Ok(())
    }

    /// Takes in what a process has written; answers whether more can come.
    fn take(&mut self, number: u64, path: &Path) -> bool {
        let Some(at) = self.sources.iter().position(|source| source.number == number) else { return false };
        let mut chunk = [0; CHUNK];
        // What a process writes faster than this is left for the next time, so that others get their turn.
        for _ in 0..64 {
            let read = self.sources[at].pipe.try_read(&mut chunk);
            match read {
                Ok(0) => {
                    let source = self.sources.remove(at);
                    self.write(&source.line, path);
                    return false;
                }
                Ok(read) => self.feed(at, &chunk[..read], path),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.sources.remove(at);
                    return false;
                }
            }
        }
        true
    }

    /// Writes what is whole: lines, and of a line that is too long all but what may be the beginning of a secret.
    fn feed(&mut self, at: usize, bytes: &[u8], path: &Path) {
        let mut line = std::mem::take(&mut self.sources[at].line);
        line.extend_from_slice(bytes);
        let mut whole = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if line.len() - whole > MAX_LINE {
            whole = self.part(&line);
        }
        let rest = line.split_off(whole);
        self.write(&line, path);
        self.sources[at].line = rest;
    }

    /// How much of a text can be written although it goes on: no secret begins before its end and ends behind it.
    fn part(&self, text: &[u8]) -> usize {
        let until = text.len().saturating_sub(self.redactor.longest());
        self.redactor.parts().after(text, until)
    }

    fn write(&mut self, bytes: &[u8], path: &Path) {
        if bytes.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let clean = if self.redactor.may_stand_in(text.as_bytes()) {
            text.split_inclusive('\n').map(|line| self.clean(line)).collect()
        } else {
            text.into_owned()
        };
        // A disk that is full costs lines of a log, and no verdict.
        if let Some(file) = &mut self.file {
            let _ = file.write_all(clean.as_bytes());
            self.length += u64::try_from(clean.len()).unwrap_or_default();
        }
        if self.length > MAX_LOG {
            self.shorten(path);
        }
    }

    fn clean(&mut self, line: &str) -> String {
        let clean = self.redactor.text(line);
        if clean != line {
            for name in self.redactor.parts().names_in(line) {
                let lines = self.exposed.entry(name).or_default();
                if lines.len() < EXPOSED {
                    lines.push(line.trim_end().to_owned());
                }
            }
        }
        clean
    }

    /// Drops the older part.
    fn shorten(&mut self, path: &Path) {
        let shorten = || -> io::Result<(File, u64)> {
            let mut old = File::open(path)?;
            let length = old.metadata()?.len();
            old.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
            let directory = path.parent().unwrap_or(Path::new("."));
            let mut new = tempfile::Builder::new().prefix(".callmark-").tempfile_in(directory)?;
            new.write_all(b"(what came before is not kept)\n")?;
            let copied = io::copy(&mut old.take(KEPT), &mut new)?;
            new.persist(path).map_err(|error| error.error)?;
            Ok((OpenOptions::new().append(true).custom_flags(nix::libc::O_NOFOLLOW).open(path)?, copied))
        };
        match shorten() {
            Ok((file, length)) => (self.file, self.length) = (Some(file), length),
            // Better none than one that fills the disk.
            Err(_) => self.file = None,
        }
    }
}

/// The end of a file, from its first `from` bytes on; of all of it where it has become shorter.
pub(crate) fn read_end(path: &Path, from: u64, limit: u64) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let from = if length >= from { from } else { 0 };
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(limit)))).ok()?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::target::{Launch, Pipes};

    /// The log of a script, once all that it wrote is in it.
    ///
    /// That is later than its end: a process that another test starts at this moment holds the pipe until it is
    /// replaced by its program, and a line without an end is written when the pipe is closed.
    async fn logged(script: &str, secrets: &[&str]) -> (tempfile::TempDir, Log) {
        let (home, log, _) = ended(script, secrets).await;
        let closed = async {
            while !lock(&log.inner).sources.is_empty() {
                log.settle();
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), closed).await.expect("the end of the log");
        (home, log)
    }

    /// The log of a script that has ended, and what is said of the end.
    async fn ended(script: &str, secrets: &[&str]) -> (tempfile::TempDir, Log, String) {
        let home = tempfile::tempdir().expect("a directory");
        let log = Log::from(home.path().join("a.log"));
        log.hide(secrets.iter().map(|&secret| secret.to_owned()));
        let launch = Launch {
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            directory: home.path().to_owned(),
            environment: BTreeMap::new(),
            removed: Vec::new(),
            log: log.clone(),
        };
        let mut process = launch.spawn(&[], Pipes::None).expect("a process");
        process.wait().await;
        let end = process.ended().expect("it has ended");
        (home, log, end)
    }

    #[tokio::test]
    async fn a_process_that_wrote_nothing_is_said_to_have_an_empty_log() {
        for script in ["exit 3", "echo; printf '  \\n\\n'; exit 3"] {
            let (_home, log, end) = ended(script, &[]).await;
            assert_eq!(log.last_lines(40), Vec::<String>::new(), "{script}");
            assert!(end.contains("` ended with exit status: 3; its log `"), "{end}");
            assert!(end.ends_with("a.log` is empty"), "{end}");
        }
        let (_home, _, end) = ended("echo the end; exit 3", &[]).await;
        assert!(end.ends_with("a.log` ends: the end"), "{end}");
    }

    #[tokio::test]
    async fn a_secret_does_not_get_into_a_log_in_however_many_parts_it_is_written() {
        let script =
            "printf 'hush-'; printf '0123\\nhush-0'; printf '123 said\\n' >&2; printf 'end hush-0123'";
        let (_home, log) = logged(script, &["hush-0123"]).await;
        assert_eq!(log.last_lines(3), ["***0001***", "***0001*** said", "end ***0001***"]);
        assert!(log.exposed().is_some_and(|text| text.contains("\nhush-0123 said")));
    }

    #[tokio::test]
    async fn who_read_for_a_process_that_has_ended_reads_for_no_other() {
        let (_home, log) = logged("echo first", &[]).await;
        let _second = log.writers().expect("a pipe");
        assert!(!lock(&log.inner).take(0, log.path()), "the first has nothing more to come");
        assert!(lock(&log.inner).take(1, log.path()));
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_written_in_parts_and_without_secrets() {
        let script = "i=0; while [ $i -lt 12000 ]; do printf 'aaaaaahush-0123bbbbbbbb'; i=$((i+1)); done";
        let (_home, log) = logged(script, &["hush-0123"]).await;
        let text = std::fs::read_to_string(log.path()).expect("a log");
        assert_eq!(text.matches("aaaaaa***0001***bbbbbbbb").count(), 12_000, "{} bytes", text.len());
        assert_eq!(text.len(), 12_000 * 24);
    }

    #[tokio::test]
    async fn a_log_is_bounded_and_keeps_its_end() {
        let script = "yes 0123456789012345678901234567890123456789 | head -c 40000000; echo the end";
        let (_home, log) = logged(script, &["hush-0123"]).await;
        // `head` ends in the middle of a line.
        assert!(log.last_lines(1).iter().any(|line| line.ends_with("the end")), "{:?}", log.last_lines(1));
        let length = std::fs::metadata(log.path()).expect("a log").len();
        assert!(length <= MAX_LOG, "{length}");
    }
}
