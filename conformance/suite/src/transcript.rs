//! The transcript: every message between the suite and a target, in order.
//!
//! Drivers write it, `Then` steps read it; nothing else connects the two. So the same judgement
//! runs live and over a file. Recording never judges: a message that makes no sense is recorded too.

pub(crate) mod bounds;
mod excerpt;
mod frame;
mod kind;
mod observations;
mod packing;
mod recording;
mod waiting;

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use callmark_reports::record::Direction;
use serde_json::Value;
use tokio::sync::watch;

pub use self::excerpt::{shorten, shorten_text, texts};
pub(crate) use self::frame::lock;
pub use self::frame::{Frame, Message, member_at};
use self::frame::{LATE_MESSAGE, MAX_TEXT};
pub use self::kind::Kind;
use self::observations::Recorder;
pub use self::observations::{Observations, StepContext, again, by_steps, sleep_unless_replaying};
use self::packing::{Packed, Share};

/// Frames that one transcript keeps; a target that floods is counted beyond that, not stored.
pub const MAX_FRAMES: usize = 2_000;
/// Bytes of bodies that one transcript keeps.
const MAX_WEIGHT: usize = 4 * 1024 * 1024;
/// From these bytes on a transcript keeps less of each document.
const FULL_WEIGHT: usize = 2 * 1024 * 1024;
/// From these bytes on it keeps less of each other message: of twenty calls with results of some ten thousand bytes
/// everything is whole, which is more than any scenario is about. Many transcripts fill at a time where a target floods them.
const FULL_MESSAGES: usize = 2 * 1024 * 1024;
/// Headers of one message that are kept.
const MAX_HEADERS: usize = 64;
/// Copies of one message that are kept when a target sends it again and again without anything in between.
const MAX_COPIES: usize = 8;
/// Deepest nesting of a body that is packed; JSON is read to a depth of 128.
const MAX_DEPTH: usize = 100;
/// Bytes of bodies that come after a transcript was packed, before they are packed too: a target may answer long after its
/// scenario has ended, and a lot.
const LATE_WEIGHT: usize = 16 * 1024;
/// Bytes of bodies that all transcripts together keep unpacked. Beyond them those with many are packed while their scenarios
/// are still under way, which costs time with each look at them and nothing else.
const ALL_WEIGHT: usize = 16 * 1024 * 1024;
/// How many bytes of bodies are many then.
const BUSY_WEIGHT: usize = 256 * 1024;

/// The messages of one scenario, in the order in which the suite saw them.
#[derive(Debug)]
pub struct Transcript {
    began: Instant,
    frames: Mutex<Frames>,
    count: watch::Sender<usize>,
    /// Whether something that had to come did not come in time, or a connection was lost.
    silent: AtomicBool,
    /// Whether the target reported that something had not come in time for it.
    timed_out: AtomicBool,
    /// How often the scenario was run before.
    attempt: u32,
    /// What the steps of the scenario saw of it and when, where the run is to be judged again.
    recorder: Recorder,
}

#[derive(Debug, Default)]
struct Frames {
    /// The first ones, each a line of JSON, compressed, once nobody is expected to look at them soon.
    packed: Vec<Packed>,
    /// How many those are.
    first: usize,
    kept: Vec<Frame>,
    weight: usize,
    /// Of it, that of `kept`.
    kept_weight: Share,
    seen: usize,
}

impl Frames {
    fn len(&self) -> usize {
        self.first + self.kept.len()
    }

    fn all(&self) -> Cow<'_, [Frame]> {
        if self.first == 0 {
            return Cow::Borrowed(&self.kept);
        }
        // What was packed was JSON before, and no deeper than can be read back.
        let first: serde_json::Result<Vec<Frame>> =
            serde_json::Deserializer::from_slice(&self.unpacked()).into_iter().collect();
        let mut all = first.unwrap_or_default();
        all.extend_from_slice(&self.kept);
        Cow::Owned(all)
    }

    fn lines(&self) -> serde_json::Result<Vec<u8>> {
        let mut all = self.unpacked();
        all.append(&mut lines(&self.kept)?);
        Ok(all)
    }

    fn unpacked(&self) -> Vec<u8> {
        match &*self.packed {
            [all] => all.unpacked(),
            parts => parts.iter().map(Packed::unpacked).collect::<Vec<_>>().concat(),
        }
    }

    fn pack(&mut self) {
        self.kept_weight = Share::default();
        let is_deep = self.kept.iter().any(|frame| depth(&frame.body) > MAX_DEPTH);
        if self.kept.is_empty() || is_deep {
            return;
        }
        let Ok(lines) = lines(&self.kept) else { return };
        self.packed.push(Packed::of(&lines));
        self.first += self.kept.len();
        self.kept = Vec::new();
    }

    fn is_to_be_packed(&self) -> bool {
        let kept = self.kept_weight.bytes();
        (self.first > 0 && kept >= LATE_WEIGHT) || (kept >= BUSY_WEIGHT && Share::of_all() >= ALL_WEIGHT)
    }

    fn has_room_for(&self, message: &Message) -> bool {
        self.len() < MAX_FRAMES && self.weight < MAX_WEIGHT && !self.is_flooded_with(message)
    }

    /// Keeps what there is room for.
    fn push(&mut self, n: u32, at_us: u64, message: Cow<'_, Message>) {
        let Message { direction, kind, ref channel, ref headers, .. } = *message;
        let channel = bounds::cut(channel, MAX_TEXT);
        let headers = headers
            .iter()
            .take(MAX_HEADERS)
            .map(|(name, value)| (bounds::cut(name, MAX_TEXT), bounds::cut(value, MAX_TEXT)))
            .collect();
        let full = if kind.is_document() { FULL_WEIGHT } else { FULL_MESSAGES };
        let budget = if self.weight < full { kind.budget() } else { LATE_MESSAGE };
        let body = match message {
            Cow::Owned(mut message) => {
                bounds::bound(&mut message.body, budget);
                message.body
            }
            Cow::Borrowed(message) => bounds::bounded(&message.body, budget),
        };
        let weight = bounds::weight(&body);
        self.weight += weight;
        self.kept_weight.add(weight);
        self.kept.push(Frame { n, at_us, direction, kind, channel, headers, body });
        if self.is_to_be_packed() {
            self.pack();
        }
    }

    /// Whether the last frames are all copies of this message of the target.
    fn is_flooded_with(&self, message: &Message) -> bool {
        message.direction == Direction::FromTarget
            && self.kept.len() >= MAX_COPIES
            && self.kept[self.kept.len() - MAX_COPIES..].iter().all(|frame| {
                frame.kind == message.kind
                    && frame.channel == message.channel
                    && frame.body == message.body
                    && frame.headers == message.headers
            })
    }
}

impl Default for Transcript {
    fn default() -> Self {
        Self::of_attempt(0)
    }
}

impl Transcript {
    /// A transcript of a scenario that was run so often before.
    pub fn of_attempt(attempt: u32) -> Self {
        Self::looked_at(attempt, Recorder::default())
    }

    fn looked_at(attempt: u32, recorder: Recorder) -> Self {
        Self {
            began: Instant::now(),
            frames: Mutex::default(),
            count: watch::Sender::new(0),
            silent: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
            attempt,
            recorder,
        }
    }

    /// How often its scenario was run before. Each time has ids of its own.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When it began.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Appends a message and wakes whoever waits. One that is read again has its messages already.
    pub fn record(&self, message: Message) {
        self.append(Cow::Owned(message));
    }

    /// Appends a copy of a message, of which no more is copied than what is kept.
    pub fn record_copy(&self, message: &Message) {
        self.append(Cow::Borrowed(message));
    }

    fn append(&self, message: Cow<'_, Message>) {
        if self.recorder.is_again() {
            return self.recorder.said(&message);
        }
        if message.kind == Kind::Closed {
            self.note_silence();
        }
        let kept = {
            let mut frames = lock(&self.frames);
            frames.seen += 1;
            if frames.has_room_for(&message) {
                let n = u32::try_from(frames.seen).unwrap_or(u32::MAX);
                let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
                frames.push(n, at_us, message);
            }
            frames.len()
        };
        self.count.send_if_modified(|count| std::mem::replace(count, kept) != kept);
    }

    /// Everything so far.
    pub fn frames(&self) -> Vec<Frame> {
        self.with(<[Frame]>::to_vec)
    }

    /// Number of messages stored.
    pub fn stored(&self) -> usize {
        lock(&self.frames).len()
    }

    /// The frames as JSON, each on a line of its own. What is packed is not even read for that.
    ///
    /// # Errors
    /// A frame that is nested too deep to be written.
    pub fn lines(&self) -> serde_json::Result<Vec<u8>> {
        lock(&self.frames).lines()
    }

    /// Number of messages seen, stored or not.
    pub fn seen(&self) -> usize {
        self.record_external("seen", || lock(&self.frames).seen)
    }

    /// Observations at the frames without copying them.
    pub fn with<T>(&self, look: impl FnOnce(&[Frame]) -> T) -> T {
        let frames = lock(&self.frames);
        let all = frames.all();
        let shown = self.recorder.look(all.len());
        look(&all[..shown])
    }

    /// All messages, for whoever writes them down; no look of a step.
    pub(crate) fn all(&self) -> Vec<Frame> {
        self.peek(<[Frame]>::to_vec)
    }

    /// As [`Transcript::with`], and no look of a step.
    pub(crate) fn peek<T>(&self, look: impl FnOnce(&[Frame]) -> T) -> T {
        look(&lock(&self.frames).all())
    }

    /// When the target sent something last; a connection that it closed is nothing sent.
    pub(crate) fn last_answer(&self) -> Option<Instant> {
        let is_answer =
            |frame: &&Frame| frame.direction == Direction::FromTarget && frame.kind != Kind::Closed;
        let at = self.peek(|frames| frames.iter().rfind(is_answer).map(|frame| frame.at_us))?;
        Some(self.began + Duration::from_micros(at))
    }

    /// Keeps what there is in little room. What comes later is kept as usual until it is much, or this is called again.
    pub fn pack(&self) {
        lock(&self.frames).pack();
    }
}

/// Frames as JSON, each on a line of its own.
pub(crate) fn lines(frames: &[Frame]) -> serde_json::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for frame in frames {
        serde_json::to_writer(&mut lines, frame)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// How deep a value is nested.
fn depth(value: &Value) -> usize {
    let deepest = |depths: &mut dyn Iterator<Item = usize>| 1 + depths.max().unwrap_or_default();
    match value {
        Value::Array(items) => deepest(&mut items.iter().map(depth)),
        Value::Object(members) => deepest(&mut members.values().map(depth)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn message(number: usize) -> Message {
        Message {
            direction: Direction::FromTarget,
            kind: Kind::Report,
            channel: "l0.v1.prj.public.report".to_owned(),
            headers: BTreeMap::new(),
            body: json!({"number": number}),
        }
    }

    #[test]
    fn a_flood_of_copies_leaves_room_for_what_comes_after_it() {
        let transcript = Transcript::default();
        (0..100_000).for_each(|_| transcript.record(message(1)));
        transcript.record(message(2));
        let frames = transcript.frames();
        assert_eq!(frames.len(), MAX_COPIES + 1);
        assert_eq!(transcript.seen(), 100_001);
        assert_eq!(frames.last().map(|frame| frame.n), Some(100_001));
    }

    #[test]
    fn a_flood_of_different_messages_is_bounded() {
        let transcript = Transcript::default();
        (0..10_000).for_each(|number| transcript.record(message(number)));
        assert_eq!(transcript.frames().len(), MAX_FRAMES);
        assert_eq!(transcript.seen(), 10_000);
    }

    #[tokio::test]
    async fn a_waiter_is_woken_by_what_it_waits_for() {
        let transcript = std::sync::Arc::new(Transcript::default());
        let waiter = tokio::spawn({
            let transcript = std::sync::Arc::clone(&transcript);
            async move {
                let third = |frames: &[Frame]| (frames.len() == 3).then_some(());
                transcript.wait(Duration::from_secs(10), third).await
            }
        });
        (0..3).for_each(|number| transcript.record(message(number)));
        assert_eq!(waiter.await.expect("no panic"), Some(()));
        let never = transcript.wait(Duration::ZERO, |_| None::<()>).await;
        assert_eq!(never, None);
    }

    #[test]
    fn a_packed_transcript_shows_the_same() {
        let (packed, plain) = (Transcript::default(), Transcript::default());
        let body =
            json!({"n": [0.1, 1e300, -7, u64::MAX, null], "text": "\u{1f41f}\u{0}", "deep": {"a": [[]]}});
        for transcript in [&packed, &plain] {
            transcript.record(Message { body: body.clone(), ..message(1) });
        }
        packed.pack();
        for transcript in [&packed, &plain] {
            transcript.record(message(2));
        }
        packed.pack();
        for transcript in [&packed, &plain] {
            transcript.record(message(3));
        }
        let bodies = |transcript: &Transcript| {
            transcript.with(|frames| frames.iter().map(|frame| frame.body.clone()).collect::<Vec<_>>())
        };
        assert_eq!(bodies(&packed), bodies(&plain));
        assert_eq!((packed.frames().len(), packed.seen()), (3, 3));
        let lines = String::from_utf8(packed.lines().expect("frames that can be written"));
        assert_eq!(lines.expect("a text").lines().count(), 3);
    }

    #[test]
    fn what_comes_after_the_end_of_a_scenario_is_packed_too() {
        let transcript = Transcript::default();
        transcript.record(message(0));
        transcript.pack();
        for number in 1..=1_000 {
            transcript.record(Message { body: json!(vec![number; 100]), ..message(number) });
        }
        {
            let frames = lock(&transcript.frames);
            let kept: usize = frames.kept.iter().map(|frame| bounds::weight(&frame.body)).sum();
            assert!(kept < LATE_WEIGHT && frames.packed.len() > 10, "{kept} bytes, {}", frames.packed.len());
        }
        let numbers: Vec<u32> = transcript.with(|frames| frames.iter().map(|frame| frame.n).collect());
        assert_eq!(numbers, (1..=1_001).collect::<Vec<_>>());
    }

    #[test]
    fn what_many_transcripts_keep_at_a_time_is_packed_while_they_fill() {
        let transcripts: Vec<Transcript> = (0..20).map(|_| Transcript::default()).collect();
        for number in 0..600 {
            for transcript in &transcripts {
                transcript.record(Message { body: json!(vec![number; 100]), ..message(number) });
            }
        }
        let kept = |transcript: &Transcript| {
            lock(&transcript.frames).kept.iter().map(|frame| bounds::weight(&frame.body)).sum::<usize>()
        };
        let all: usize = transcripts.iter().map(kept).sum();
        assert!(all < ALL_WEIGHT + transcripts.len() * BUSY_WEIGHT, "{all} bytes");
        for transcript in &transcripts {
            assert!(transcript.frames().iter().map(|frame| frame.n).eq(1..=600));
        }
    }

    #[test]
    fn large_messages_are_bounded_together() {
        let transcript = Transcript::default();
        for number in 0..2_000 {
            transcript
                .record(Message { body: json!([number, vec!["y".repeat(1_000); 20]]), ..message(number) });
        }
        let kept: usize = transcript.frames().iter().map(|frame| bounds::weight(&frame.body)).sum();
        assert!(kept <= MAX_WEIGHT + bounds::MESSAGE, "{kept} bytes");
        assert_eq!(transcript.seen(), 2_000);
    }

    #[test]
    fn long_strings_and_large_containers_are_cut() {
        let long = "é".repeat(1_000_000);
        let wide: Vec<u32> = (0..1000).collect();
        let short = shorten(&json!({"text": long, "list": wide}));
        assert!(short.to_string().len() < 4_000, "{} bytes", short.to_string().len());
    }
}
