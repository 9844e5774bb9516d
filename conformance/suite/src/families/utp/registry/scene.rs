//! One scenario with a management API: its definitions and uploads.
//!
//! What a scene does is send and wait; what it saw is judged elsewhere, from the transcript.

use std::sync::Arc;
use std::time::Duration;

use super::definition::Definition;
use super::judge;
use super::session::ManagementSession;
use super::upload::{MadeUpload, Upload};
use crate::net::http_client::Caller;
use crate::transcript;
use crate::transcript::Transcript;

/// What stands for the unique part in the texts of the features.
const UNIQUE: &str = "<unique>";

/// After this time whoever refuses a definition and stores it from a queue has stored it.
const A_WHILE: Duration = Duration::from_millis(3_500);

/// How the names of other tools are like that of the definition, `tide_<unique>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimilarNames {
    /// They differ from it in case.
    Case,
    /// They have a letter for its underscore, which stands for any letter in a pattern of SQL.
    Pattern,
    /// They begin with it.
    Beginning,
}

impl SimilarNames {
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Case => ["TIDE_<unique>", "Tide_<unique>"],
            Self::Pattern => ["tideX<unique>", "tideY<unique>"],
            Self::Beginning => ["tide_<unique>_2", "tide_<unique>2"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Case => "case",
            Self::Pattern => "pattern",
            Self::Beginning => "beginning",
        }
    }
}

/// The state of one scenario.
pub struct Scene {
    /// The run's session.
    pub session: Arc<ManagementSession>,
    /// Who asks.
    pub caller: Caller,
    /// Where the tools go.
    pub project: String,
    /// The definition that is being prepared.
    pub draft: Definition,
    /// The upload under test.
    pub made: Option<MadeUpload>,
    /// The upload of an earlier version of the tool.
    pub old: Option<MadeUpload>,
    /// Good definitions, uploaded before and after a bad one.
    pub good: Vec<MadeUpload>,
    /// What was read of the tool in another project.
    pub elsewhere: Option<u64>,
    /// What this run made up, and the stable name that stands for it in reports.
    pub names: Vec<(String, String)>,
    unique: String,
    scenario: String,
}

impl Scene {
    /// A scene with a definition that has no fault.
    pub fn new(session: &Arc<ManagementSession>, scenario: &str, transcript: Arc<Transcript>) -> Self {
        let unique = session.unique(scenario, "name");
        let mut scene = Self {
            caller: Caller { scenario: unique.clone(), transcript },
            project: session.project(&unique),
            draft: Definition::full(&session.versions.own, "", ""),
            session: Arc::clone(session),
            made: None,
            old: None,
            good: Vec::new(),
            elsewhere: None,
            names: vec![(unique.clone(), UNIQUE.to_owned())],
            unique,
            scenario: scenario.to_owned(),
        };
        scene.draft = scene.definition("tide_<unique>", "word");
        scene
    }

    /// A definition without a fault, with texts that no other definition has.
    fn definition(&mut self, name: &str, what: &str) -> Definition {
        let word = self.word(what);
        Definition::full(&self.session.versions.own, &self.filled(name), &word)
    }

    fn word(&mut self, what: &str) -> String {
        let word = self.session.word(&self.session.unique(&self.scenario, what));
        self.names.push((word.clone(), format!("<{what}>")));
        word
    }

    /// A name with its unique part; one without such a part is what the scenario is about, and stays as it is.
    fn filled(&self, text: &str) -> String {
        let prefix = if text.contains(UNIQUE) { self.session.prefix.as_str() } else { "" };
        format!("{prefix}{}", text.replace(UNIQUE, &self.unique))
    }

    /// Gives the definition another name.
    pub fn rename(&mut self, name: &str) {
        let full = self.filled(name);
        self.draft.set("tool_name", full.into());
        name.clone_into(&mut self.draft.form);
    }

    /// Gives the definition a subject of this family.
    pub fn retarget(&mut self, rest: &str) {
        self.draft.set_subject(&self.session.versions.own, rest);
        rest.clone_into(&mut self.draft.form);
    }

    /// Uploads the definition, and goes on with a new version of it.
    pub async fn register(&mut self) {
        let old = self.session.upload(&self.caller, &self.project, &self.draft).await;
        let word = self.word("new word");
        self.draft = old.definition.revised(&self.session.versions.own, &word);
        self.old = Some(old);
    }

    /// Uploads the definition.
    pub async fn upload(&mut self) {
        self.made = Some(self.session.upload(&self.caller, &self.project, &self.draft).await);
    }

    /// Uploads a definition of the same name that the registry has to refuse.
    pub async fn upload_faulty(&mut self) {
        let mut faulty = self.draft.clone();
        faulty.set("after_execution", "pause".into());
        self.session.upload(&self.caller, &self.project, &faulty).await;
        "after a faulty one of its name".clone_into(&mut self.draft.form);
    }

    /// Uploads a version of the definition that has one other member, and then the definition.
    pub async fn upload_after_another(&mut self, member: &str) {
        let word = self.word("old word");
        let mut other = self.draft.clone();
        other.body[member] = self.draft.revised(&self.session.versions.own, &word).body[member].clone();
        self.old = Some(self.session.upload(&self.caller, &self.project, &other).await);
        self.draft.form = format!("after one that differs in its {member} only");
        // The row of before has the words of the definition, too.
        let old = &other.body[member];
        let is_new = |upload: &Upload<'_>| {
            upload.stored().is_some_and(|row| row.get(member).is_none_or(|own| !judge::is_alike(old, own)))
        };
        let made = self.session.upload_until(&self.caller, &self.project, &self.draft, &is_new).await;
        self.made = Some(made);
    }

    /// Uploads the definition so many times between two that have no fault, and looks at its tool before and after that.
    pub async fn upload_between(&mut self, times: usize) {
        self.upload_good("tide_<unique>_before", "word before").await;
        let before = self.session.read(&self.caller, &self.project, &self.draft).await;
        let mut made = self.session.upload(&self.caller, &self.project, &self.draft).await;
        for _ in 1..times {
            made = self.session.upload(&self.caller, &self.project, &self.draft).await;
        }
        self.upload_good("tide_<unique>_after", "word after").await;
        made.before = Some(before);
        made.after = Some(self.session.read(&self.caller, &self.project, &self.draft).await);
        self.made = Some(made);
    }

    /// As [`Scene::upload_between`] once, and looks at the tool after some time only.
    pub async fn upload_between_and_look_later(&mut self) {
        self.upload_between(1).await;
        transcript::sleep_unless_replaying(A_WHILE).await;
        let after = self.session.read(&self.caller, &self.project, &self.draft).await;
        if let Some(made) = &mut self.made {
            made.after = Some(after);
        }
    }

    /// Uploads the definition once more, perhaps after a new version of it.
    pub async fn upload_again(&mut self, after_a_new_version: bool) {
        self.old = Some(self.session.upload(&self.caller, &self.project, &self.draft).await);
        if after_a_new_version {
            let word = self.word("new word");
            let revised = self.draft.revised(&self.session.versions.own, &word);
            let made = self.session.upload(&self.caller, &self.project, &revised).await;
            self.good.push(made);
        }
        self.upload().await;
    }

    /// Uploads the definition, then another one of its name to another project, and looks at the first again; and
    /// whether the other project shows it before it has one of its own.
    pub async fn upload_beside_a_namesake(&mut self) {
        let mut made = self.session.upload(&self.caller, &self.project, &self.draft).await;
        let other = format!("{}_other", self.project);
        self.elsewhere = Some(self.session.read(&self.caller, &other, &self.draft).await);
        let word = self.word("other word");
        let namesake = self.draft.revised(&self.session.versions.own, &word);
        let own = self.session.upload(&self.caller, &other, &namesake).await;
        self.good.push(own);
        made.after = Some(self.session.read(&self.caller, &self.project, &self.draft).await);
        self.made = Some(made);
    }

    /// Uploads the definition between two good ones whose names are like its name, and looks at it again after that.
    pub async fn upload_beside_similar_names(&mut self, similar: SimilarNames) {
        let [before, after] = similar.names();
        let mark =
            |own: &mut Definition| own.body["options"]["args"]["fixed"]["tenant"] = similar.name().into();
        self.upload_marked(before, "word before", mark).await;
        let mut made = self.session.upload(&self.caller, &self.project, &self.draft).await;
        self.upload_marked(after, "word after", mark).await;
        made.after = Some(self.session.read(&self.caller, &self.project, &self.draft).await);
        self.made = Some(made);
    }

    async fn upload_good(&mut self, name: &str, what: &str) {
        self.upload_marked(name, what, |_| {}).await;
    }

    async fn upload_marked(&mut self, name: &str, what: &str, mark: impl FnOnce(&mut Definition)) {
        let mut definition = self.definition(name, what);
        mark(&mut definition);
        let made = self.session.upload(&self.caller, &self.project, &definition).await;
        self.good.push(made);
    }
}
