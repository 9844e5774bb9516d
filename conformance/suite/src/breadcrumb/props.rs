//! What a scenario prepares beside its calls: breadcrumbs in the store, configurations with their keys, steps of a
//! workflow.

use std::str::FromStr;

use callmark_reports::record::Direction;
use cucumber::Parameter;
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt as _;

use super::answer::Answer;
use super::call::{Call, filled};
use super::crumb::CONFIG;
use super::judge::browser::form;
use super::pages::{BUTTON, STORY};
use super::scene::Scene;
use super::upstream::Speech;
use crate::manifest::{ASTRAL_ACTIONS, LANGUAGE_MODELS, STANDARD_TOOLS};
use crate::transcript::{Kind, Message};

/// The custom setting of every configuration (`docs/breadcrumbs.md`, "Language models").
pub const CUSTOM: u64 = 17;
/// Bytes by which an image is known.
const SIGNATURE: u64 = 16;
/// The version of a breadcrumb that nobody has changed.
pub const FIRST: u64 = 1;
/// Under this id nothing is stored.
pub const NOTHING: &str = "7d1e4c20-5b3f-4f6a-8e21-c94d0a6b3f58";
/// The schema of what is stored for a scenario.
const MEMO: &str = "memo.v1";

/// What a scene has beside its calls.
#[derive(Clone, Debug, Default)]
pub struct Props {
    /// Ids of breadcrumbs that were stored for it.
    pub stored: Vec<String>,
    /// Its configurations.
    pub configs: Vec<Config>,
    /// The steps of its workflow.
    pub steps: Vec<Step>,
    /// What a browser does in its call.
    pub action: Option<String>,
    /// Where nothing listens.
    pub nowhere: Option<String>,
}

/// A configuration of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its breadcrumb.
    pub id: String,
    /// Which of the run's keys it has.
    pub key: usize,
    /// Its model.
    pub model: String,
}

/// A step of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its id.
    pub id: String,
    /// Its tool.
    pub tool: String,
    /// On which steps it depends.
    pub after: Vec<String>,
    /// Its input.
    pub input: Value,
}

impl Step {
    /// As an item of `input.steps`.
    fn item(&self) -> Value {
        let mut item = json!({"id": self.id, "tool": self.tool, "input": self.input});
        if !self.after.is_empty() {
            item["dependencies"] = json!(self.after);
        }
        item
    }
}

/// A tool of the standard, `astral` with its action.
#[derive(Clone, Debug, PartialEq, Eq, Parameter)]
#[param(
    name = "act",
    regex = "openrouter|venice|ollama_local|calculator|random|echo|timer|breadcrumb-create|breadcrumb-update|breadcrumb-search|astral navigate|astral extract|astral click|astral screenshot|astral evaluate|no-such-tool"
)]
pub struct Act {
    /// The tool.
    pub tool: String,
    /// The action.
    pub action: Option<String>,
}

impl FromStr for Act {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (tool, action) =
            text.split_once(' ').map_or((text, None), |(tool, action)| (tool, Some(action.to_owned())));
        let is_known = STANDARD_TOOLS.contains(&tool) || tool == "no-such-tool";
        let is_done = action.as_deref().is_none_or(|action| ASTRAL_ACTIONS.contains(&action));
        if is_known && is_done {
            return Ok(Self { tool: tool.to_owned(), action });
        }
        Err(format!("`{text}` is no tool of the standard"))
    }
}

impl Act {
    /// Whether it asks a language model.
    pub fn is_model(&self) -> bool {
        LANGUAGE_MODELS.contains(&self.tool.as_str())
    }
}

impl Scene {
    /// What this run made up, and the stable name that stands for it in reports.
    pub fn names(&self) -> Vec<(String, String)> {
        let pages = self.session.pages.as_ref().map(|pages| (pages.host(), "<pages>".to_owned()));
        let nowhere = self.props.nowhere.clone().map(|address| (address, "<nowhere>".to_owned()));
        let unique = (self.unique.clone(), "<unique>".to_owned());
        std::iter::once(unique).chain(pages).chain(nowhere).collect()
    }

    /// A call that succeeds, with everything that it needs.
    ///
    /// # Errors
    /// Why that cannot be had.
    pub async fn sound_call(&mut self, act: &Act) -> Result<Call, String> {
        self.props.action.clone_from(&act.action);
        match act.tool.as_str() {
            _ if act.is_model() => {
                let config = self.configure(&act.tool).await?;
                let model = self.props.configs.last().map(|config| config.model.clone());
                self.model_call(&act.tool, config, model)
            }
            "breadcrumb-update" => {
                let id = self.shelve_memo().await?;
                Ok(self.update_of(&id))
            }
            "breadcrumb-search" => self.search_of(3).await,
            "astral" => {
                let pages = self.session.pages.as_ref().ok_or("the suite serves no pages")?;
                let url = pages.url(&self.unique);
                Ok(self.browse(act.action.as_deref(), &url))
            }
            tool => {
                let call = self.usual_call(tool);
                Ok(Call { sign: self.sign(tool).or(call.sign.clone()), ..call })
            }
        }
    }

    /// A call that fails.
    ///
    /// # Errors
    /// Why what it needs cannot be had.
    pub async fn failing_call(&mut self, act: &Act) -> Result<Call, String> {
        match act.tool.as_str() {
            _ if act.is_model() => {
                self.upstream()?.fail(&self.unique, 500);
                self.sound_call(act).await
            }
            "calculator" => Ok(self.calculation("1 +")),
            "breadcrumb-update" => Ok(self.update_of(NOTHING)),
            "astral" => {
                // Nothing listens there any more.
                let address = crate::target::free_address()?;
                self.props.nowhere = Some(address.clone());
                Ok(self.browse(act.action.as_deref(), &format!("http://{address}/")))
            }
            tool => Ok(Call::new(tool, json!({}), self.request_id(tool))),
        }
    }

    /// A search that finds so many breadcrumbs, which are stored now.
    ///
    /// # Errors
    /// They cannot be stored.
    pub async fn search_of(&mut self, number: usize) -> Result<Call, String> {
        for _ in 0..number {
            self.shelve_memo().await?;
        }
        Ok(self.usual_call("breadcrumb-search"))
    }

    /// A call of `astral` that runs a script on the scenario's page.
    ///
    /// # Errors
    /// There are no pages.
    pub fn script(&self, script: &str) -> Result<Call, String> {
        let pages = self.session.pages.as_ref().ok_or("the suite serves no pages")?;
        let words = [("url", Value::from(pages.url(&self.unique))), ("script", Value::from(script))];
        let input = filled(&self.session.table.inputs.template("astral", Some("evaluate")), &words);
        Ok(Call::new("astral", input, self.request_id("astral")))
    }

    /// What the work of a tool on its usual input is known by.
    fn sign(&self, tool: &str) -> Option<Value> {
        let word = format!("word-{}-{}", self.calls.len() + 1, self.unique);
        let tag = format!("tag-{}", self.unique);
        match tool {
            "timer" => Some(self.session.seconds()),
            "breadcrumb-create" => Some(json!({
                "title": format!("Pump log {}", self.unique), "tags": ["memo", tag], "context": {"text": word},
            })),
            _ => None,
        }
    }

    /// A text of a feature, with the scenario's mark in its place, the id of what was stored for it, and the tokens that
    /// its model takes.
    pub fn in_words(&self, text: &str) -> String {
        let stored = self.props.stored.first().map(String::as_str).unwrap_or_default();
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
            let asked = self.make().await;
            self.wait().await;
            made.append(&mut self.calls);
            asked?;
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
        for id in &self.props.stored {
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
            let bytes = beginning(&self.session.directory.join(path)).await;
            self.note("file", json!({"path": path, "form": bytes.as_deref().and_then(form)}));
        }
    }

    /// A call of `echo`.
    pub fn echo(&self, message: &str) -> Call {
        let template = self.session.table.inputs.template("echo", None);
        let input = filled(&template, &[("message", Value::from(message))]);
        Call { sign: Some(Value::from(message)), ..Call::new("echo", input, self.request_id("echo")) }
    }

    /// A call of `calculator`.
    pub fn calculation(&self, expression: &str) -> Call {
        Call::new("calculator", json!({"expression": expression}), self.request_id("calculator"))
    }

    fn update_of(&self, id: &str) -> Call {
        let title = format!("Pump log of the evening {}", self.unique);
        let words = [("id", Value::from(id)), ("title", Value::from(title)), ("version", json!(FIRST))];
        let input = filled(&self.session.table.inputs.template("breadcrumb-update", None), &words);
        Call::new("breadcrumb-update", input, self.request_id("breadcrumb-update"))
    }

    fn browse(&self, action: Option<&str>, url: &str) -> Call {
        let selector = if action == Some("click") { BUTTON } else { STORY };
        let words = [
            ("url", Value::from(url)),
            ("selector", Value::from(selector)),
            ("script", Value::from("document.title")),
        ];
        let input = filled(&self.session.table.inputs.template("astral", action), &words);
        Call::new("astral", input, self.request_id("astral"))
    }

    /// A call of a language model, with a configuration or without one.
    ///
    /// # Errors
    /// The suite does not play its provider.
    pub fn model_call(
        &self,
        tool: &str,
        config: Option<String>,
        model: Option<String>,
    ) -> Result<Call, String> {
        if let Some(model) = &model {
            self.upstream()?.has(model);
        }
        let id = self.request_id(tool);
        let input = self.model_input(tool, &messages(&id), model);
        Ok(Call { config_id: config, ..Call::new(tool, input, id) })
    }

    fn model_input(&self, tool: &str, messages: &Value, model: Option<String>) -> Value {
        let mut template = self.session.table.inputs.template(tool, None);
        if let (None, Some(members)) = (&model, template.as_object_mut()) {
            members.retain(|_, member| member.as_str() != Some("{model}"));
        }
        filled(&template, &[("messages", messages.clone()), ("model", Value::from(model))])
    }

    fn upstream(&self) -> Result<&super::upstream::Upstream, String> {
        self.session.upstream.as_ref().ok_or_else(|| "the suite plays no language model".to_owned())
    }

    /// Stores a configuration of a tool, with a key and a model of its own.
    ///
    /// Nothing where a configuration holds the id of a secret and the target's own store has no such secret.
    ///
    /// # Errors
    /// It cannot be stored.
    pub async fn configure(&mut self, tool: &str) -> Result<Option<String>, String> {
        if !self.session.can_configure() {
            return Ok(None);
        }
        let id = self.shelve_config(tool, CONFIG).await?;
        Ok(Some(id))
    }

    /// Stores what looks like a configuration, under a schema.
    ///
    /// # Errors
    /// It cannot be stored.
    pub async fn shelve_config(&mut self, tool: &str, schema: &str) -> Result<String, String> {
        let number = self.props.configs.len();
        let key = number % self.session.keys.len().max(1);
        let model = format!("m-quartz-{}{}", number + 1, self.unique);
        self.upstream()?.has(&model);
        let words = [
            ("tool", Value::from(tool)),
            ("secret_id", Value::from(super::session::secret_id(key))),
            ("api_key", Value::from(self.session.keys.get(key).cloned())),
            ("model", Value::from(model.clone())),
            ("custom", json!(CUSTOM)),
        ];
        let context = filled(&self.session.tools.config.template(), &words);
        let tags = json!(["tool:config", "workspace:tools", format!("tool:config:{tool}")]);
        let body = json!({
            "schema_name": schema, "title": format!("Configuration of {tool}"), "tags": tags, "context": context,
        });
        let id = self.shelve(&body).await?;
        self.props.configs.push(Config { id: id.clone(), key, model });
        Ok(id)
    }

    /// Stores a breadcrumb with the tag of the scenario.
    ///
    /// # Errors
    /// It cannot be stored.
    pub async fn shelve_memo(&mut self) -> Result<String, String> {
        let title = format!("Pump log {} of {}", self.props.stored.len() + 1, self.unique);
        let tags = json!(["memo", format!("tag-{}", self.unique)]);
        let body =
            json!({"schema_name": MEMO, "title": title, "tags": tags, "context": {"text": "all is well"}});
        let id = self.shelve(&body).await?;
        self.props.stored.push(id.clone());
        Ok(id)
    }

    async fn shelve(&self, body: &Value) -> Result<String, String> {
        let id = self.session.door.store(body).await?;
        let mut stored = body.clone();
        stored["id"] = Value::from(id.clone());
        self.note("POST /breadcrumbs", stored);
        Ok(id)
    }

    /// Looks up a breadcrumb in the store, and writes down what it finds.
    pub async fn look_up(&self, id: &str) {
        let found = self.session.door.find(id).await;
        let found = found.unwrap_or_else(|| json!({"id": id, "missing": true}));
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
        self.booth.transcript.record(message);
    }

    /// A call of `workflow` with steps, which the scene keeps.
    pub fn workflow(&mut self, steps: Vec<Step>) -> Call {
        let call = self.workflow_of(&steps);
        self.props.steps = steps;
        call
    }

    /// A call of `workflow` with steps.
    pub fn workflow_of(&self, steps: &[Step]) -> Call {
        let words = [("steps", steps.iter().map(Step::item).collect())];
        let input = filled(&self.session.table.inputs.template("workflow", None), &words);
        Call::new("workflow", input, self.request_id("wf"))
    }

    /// A step as a feature has it: its tool's main parameter as a text, with `{mark}` for the scenario's mark.
    pub fn step(&self, id: &str, tool: &str, text: &str, after: &str) -> Step {
        let text = text.replace("{mark}", &self.unique);
        let template = self.session.table.inputs.template(tool, None);
        let plain = Value::from(text.clone());
        let input = match tool {
            _ if LANGUAGE_MODELS.contains(&tool) => {
                let messages = json!([{"role": "user", "content": text}]);
                self.model_input(tool, &messages, Some("m-suite".to_owned()))
            }
            "timer" => filled(&template, &[("seconds", serde_json::from_str(&text).unwrap_or(plain))]),
            _ => filled(&template, &self.words(plain)),
        };
        let after = after.split_whitespace().map(str::to_owned).collect();
        Step { id: id.to_owned(), tool: tool.to_owned(), after, input }
    }

    /// What stands in place of a tool's main parameter, and what its others are.
    fn words(&self, text: Value) -> Vec<(&'static str, Value)> {
        let tag = format!("tag-{}", self.unique);
        vec![
            ("message", text.clone()),
            ("expression", text.clone()),
            ("context", json!({"text": text, "items": [{"text": text}]})),
            ("schema_name", json!(MEMO)),
            ("title", Value::from(format!("Pump log {}", self.unique))),
            ("tags", json!(["memo", tag])),
            ("tag", Value::from(tag)),
            ("limit", json!(10)),
        ]
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

/// A conversation whose every message holds the id of the call.
fn messages(id: &str) -> Value {
    let said = [
        ("system", "Answer in one word"),
        ("user", "Colour of snow?"),
        ("assistant", "White"),
        ("user", "Colour of coal, “Kohle”?"),
    ];
    let each = said.iter().enumerate();
    each.map(|(number, (role, text))| json!({"role": role, "content": format!("{text} ({id}/{number})")}))
        .collect()
}

/// The messages of a call of a language model, wherever its input has them: roles and texts.
pub fn sent(call: &Call) -> Vec<(String, String)> {
    fn find(value: &Value) -> Option<&Vec<Value>> {
        match value {
            Value::Array(items) if items.iter().any(|item| item.get("role").is_some()) => Some(items),
            Value::Array(items) => items.iter().find_map(find),
            Value::Object(members) => members.values().find_map(find),
            _ => None,
        }
    }
    let text = |message: &Map<String, Value>, name: &str| {
        message.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let messages = call.input.as_ref().and_then(find).into_iter().flatten();
    messages.filter_map(Value::as_object).map(|own| (text(own, "role"), text(own, "content"))).collect()
}
