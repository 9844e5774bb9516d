//! What a scene sees of its own: what the store holds, the file of an image; and what stands for it in reports.

use callmark_reports::record::Direction;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::answer::Answer;
use super::judge::browser::form;
use super::scene::Scene;
use super::upstream::Speech;
use crate::transcript::{Kind, Message};

/// Bytes by which an image is known.
const SIGNATURE: u64 = 16;

impl Scene {
    /// What this run made up, and the stable name that stands for it in reports.
    pub fn names(&self) -> Vec<(String, String)> {
        let pages = self.session.pages.as_ref().map(|pages| (pages.host(), "<pages>".to_owned()));
        let nowhere = self.fixtures.nowhere.clone().map(|address| (address, "<nowhere>".to_owned()));
        let unique = (self.unique.clone(), "<unique>".to_owned());
        let number = self.fixtures.number.clone().map(|number| (number, "<number>".to_owned()));
        std::iter::once(unique).chain(pages).chain(nowhere).chain(number).collect()
    }

    /// A text of a feature, with the scenario's mark in its place, the id of what was stored for it, and the tokens that
    /// its model takes.
    pub fn in_words(&self, text: &str) -> String {
        let stored = self.fixtures.stored.first().map(String::as_str).unwrap_or_default();
        let tokens = Speech::of(&self.unique).total().to_string();
        text.replace("{mark}", &self.unique).replace("{stored}", stored).replace("{tokens}", &tokens)
    }

    /// Makes the calls one by one, each when the one before is answered.
    ///
    /// # Errors
    /// One does not get there.
    pub async fn make_in_turn(&mut self) -> Result<(), String> {
        let all = std::mem::take(&mut self.calls);
        let mut made = Vec::new();
        for call in all {
            self.calls = vec![call];
            let sent = self.make().await;
            self.wait().await;
            made.append(&mut self.calls);
            sent?;
        }
        self.calls = made;
        Ok(())
    }

    /// Looks up what a call says that it has stored.
    pub async fn look_up_created(&self) {
        let frames = self.frames();
        let answers = self.calls.iter().filter_map(|call| Answer::of(&frames, call));
        let ids: Vec<&str> =
            answers.filter_map(|answer| answer.at("/id")).filter_map(Value::as_str).collect();
        for id in ids {
            self.look_up(id).await;
        }
    }

    /// Looks up what was stored for the scenario.
    pub async fn look_up_stored(&self) {
        for id in &self.fixtures.stored {
            self.look_up(id).await;
        }
    }

    /// Looks at the file that a screenshot left, where the suite can see it.
    pub async fn look_at_image(&self) {
        if !self.session.tools.shared_files {
            return;
        }
        let frames = self.frames();
        let answers = self.calls.iter().filter_map(|call| Answer::of(&frames, call));
        let paths = answers.filter_map(|answer| answer.at("/path")).filter_map(Value::as_str);
        for path in paths {
            let looking = async {
                let bytes = beginning(&self.session.directory.join(path)).await;
                json!({"path": path, "form": bytes.as_deref().and_then(form)})
            };
            let seen = self.scenario_channel.transcript.record_external_async("file", looking).await;
            self.note("file", seen);
        }
    }

    /// Looks up a breadcrumb in the store, and writes down what it finds.
    pub async fn look_up(&self, id: &str) {
        let looking = async {
            let mut found = self.session.store_access.find(id).await;
            if found.is_none() {
                found = self.session.store_access.find(&id.to_lowercase()).await;
            }
            found.unwrap_or_else(|| json!({"id": id, "missing": true}))
        };
        let found = self.scenario_channel.transcript.record_external_async("crumb", looking).await;
        self.note(&format!("GET /breadcrumbs/{id}/full"), found);
    }

    /// Writes down what the suite itself saw. It crosses nothing.
    pub fn note(&self, channel: &str, body: Value) {
        let message = Message {
            direction: Direction::ToTarget,
            kind: Kind::Stored,
            channel: channel.to_owned(),
            headers: std::collections::BTreeMap::new(),
            body,
        };
        self.scenario_channel.transcript.record(message);
    }
}

/// The first bytes of a file.
async fn beginning(path: &std::path::Path) -> Option<Vec<u8>> {
    // A pipe or a device would be waited for.
    if !tokio::fs::metadata(path).await.ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = tokio::fs::File::open(path).await.ok()?;
    file.take(SIGNATURE).read_to_end(&mut bytes).await.ok()?;
    Some(bytes)
}
