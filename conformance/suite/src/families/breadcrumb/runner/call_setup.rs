//! What a scene makes ready: calls that succeed or fail, with everything that they need.

use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::Answer;
use super::call::{Call, filled};
use super::fixtures::{Act, CUSTOM, Config, FIRST, MEMO, MEMO_TITLE, NOTHING, Step, messages};
use super::pages::{BUTTON, STORY};
use super::scene::Scene;
use super::upstream::{Upstream, UpstreamFault};
use crate::engine::target::{Handing, Port};
use crate::families::breadcrumb::crumb::CONFIG;
use crate::families::breadcrumb::manifest::LANGUAGE_MODELS;
use crate::families::toolbus::answer::integer;

/// How a feature writes that a step has `dependencies` and depends on none.
const NONE: &str = "[]";

impl Scene {
    /// A call that succeeds, with everything that it needs.
    ///
    /// # Errors
    /// Why that cannot be had.
    pub async fn valid_call(&mut self, act: &Act) -> Result<Call, String> {
        self.fixtures.action.clone_from(&act.action);
        match act.tool.as_str() {
            _ if act.is_model() => {
                let config = self.configure(&act.tool).await?;
                let model = self.fixtures.configs.last().map(|config| config.model.clone());
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
            "breadcrumb-create" => Ok(self.creation()),
            "timer" => Ok(Call { sign: Some(self.session.seconds()), ..self.usual_call("timer") }),
            tool => Ok(self.usual_call(tool)),
        }
    }

    /// A call that fails.
    ///
    /// # Errors
    /// Why what it needs cannot be had.
    pub async fn failing_call(&mut self, act: &Act) -> Result<Call, String> {
        match act.tool.as_str() {
            _ if act.is_model() => {
                self.upstream()?.fail(&self.unique, UpstreamFault::Status(500));
                self.valid_call(act).await
            }
            "calculator" => Ok(self.calculation("1 +")),
            "breadcrumb-update" => Ok(self.update_of(NOTHING)),
            "astral" => {
                let mut held = None;
                let take = || -> Result<String, String> {
                    let port = held.insert(Arc::new(Port::take(Handing::Held)?));
                    Ok(port.address())
                };
                let address = self.scenario_channel.transcript.record_external("nowhere", take)?;
                self.fixtures.held = held;
                self.fixtures.nowhere = Some(address.clone());
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

    /// A call that stores a memo, which is known by what it asks for. Another than the first has members of its own.
    fn creation(&self) -> Call {
        let mut words = self.words(&Value::from(format!("word-{}", self.unique)));
        if !self.calls.is_empty() {
            let number = self.calls.len() + 1;
            words.retain(|(name, _)| !["title", "tags", "context"].contains(name));
            words.extend([
                ("title", Value::from(format!("{} ({number})", self.memo_title()))),
                ("tags", json!(["memo", format!("{}-{number}", self.tag())])),
                ("context", json!({"note": format!("word-{number}-{}", self.unique)})),
            ]);
        }
        let input = filled(&self.session.table.inputs.template("breadcrumb-create", None), &words);
        let is_wish = |name: &str| ["schema_name", "title", "tags", "context"].contains(&name);
        let template = self.session.table.inputs.template("breadcrumb-create", None).to_string();
        let wish = words.into_iter().filter(|(name, _)| is_wish(name));
        let wish = wish.filter(|(name, _)| template.contains(&format!("{{{name}}}")));
        let sign = wish.map(|(name, value)| (name.to_owned(), value)).collect();
        Call {
            sign: Some(sign),
            ..Call::new("breadcrumb-create", input, self.request_id("breadcrumb-create"))
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

    /// A call of `timer` that waits twice as long as others.
    pub fn long_timer(&self) -> Call {
        let seconds = self.session.seconds();
        let twice = seconds.as_u64().map(|whole| json!(2 * whole));
        let twice = twice.unwrap_or_else(|| json!(2.0 * seconds.as_f64().unwrap_or_default()));
        let input = filled(&self.session.table.inputs.template("timer", None), &[("seconds", twice)]);
        Call::new("timer", input, self.request_id("timer"))
    }

    /// A call of `timer` that waits half as long again as others, which is no whole number of seconds.
    pub fn fractional_timer(&self) -> Call {
        let seconds = self.session.seconds().as_f64().unwrap_or_default();
        let longer = json!((seconds * 1500.0).round() / 1000.0);
        let input = filled(&self.session.table.inputs.template("timer", None), &[("seconds", longer)]);
        Call::new("timer", input, self.request_id("timer"))
    }

    /// Makes a search, stores one more breadcrumb that it would find, and searches again. What the first search found is
    /// not looked at any more.
    ///
    /// # Errors
    /// Something does not get there.
    pub async fn make_and_search_again(&mut self) -> Result<(), String> {
        self.make().await?;
        self.wait().await;
        let again = self.search_of(1).await?;
        self.calls = vec![again];
        self.make().await?;
        self.wait().await;
        Ok(())
    }

    /// Makes a change, and then some more of the same breadcrumb, each when the one before is answered.
    ///
    /// # Errors
    /// One does not get there.
    pub async fn make_and_change_more(&mut self, times: usize) -> Result<(), String> {
        self.make().await?;
        self.wait().await;
        for _ in 0..times {
            let id = self.fixtures.stored.first().cloned().unwrap_or_default();
            let frames = self.frames();
            let answer = self.calls.last().and_then(|call| Answer::of(&frames, call));
            let version = answer.and_then(|answer| answer.at("/new_version").and_then(integer));
            let version = version.and_then(|version| u64::try_from(version).ok());
            let next = self.update_from(&id, version.unwrap_or(FIRST + self.calls.len() as u64));
            let made = std::mem::replace(&mut self.calls, vec![next]);
            let sent = self.make().await;
            self.wait().await;
            self.calls.splice(0..0, made);
            sent?;
        }
        Ok(())
    }

    fn update_of(&self, id: &str) -> Call {
        self.update_from(id, FIRST)
    }

    /// A change of a breadcrumb that has this version.
    fn update_from(&self, id: &str, version: u64) -> Call {
        let evening = if version == FIRST { String::new() } else { format!("{version} ") };
        let title = self.session.named(&format!("{MEMO_TITLE}of the evening {evening}{}", self.unique));
        let words =
            [("id", Value::from(id)), ("title", Value::from(title.clone())), ("version", json!(version))];
        let input = filled(&self.session.table.inputs.template("breadcrumb-update", None), &words);
        let title = Some(title).filter(|title| input.to_string().contains(title));
        Call { title, ..Call::new("breadcrumb-update", input, self.request_id("breadcrumb-update")) }
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

    fn upstream(&self) -> Result<&Upstream, String> {
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
        let number = self.fixtures.configs.len();
        let key = number % self.session.keys.len().max(1);
        let model = format!("m-quartz-{}{}", number + 1, self.unique);
        let custom = CUSTOM + number as u64;
        self.upstream()?.has(&model);
        let words = [
            ("tool", Value::from(tool)),
            ("secret_id", Value::from(super::upstream::secret_id(key))),
            ("api_key", Value::from(self.session.keys.get(key).cloned())),
            ("model", Value::from(model.clone())),
            ("custom", json!(custom)),
        ];
        let context = filled(&self.session.tools.config.template(), &words);
        let tags = json!(["tool:config", "workspace:tools", format!("tool:config:{tool}")]);
        let title = self.session.named(&format!("Configuration of {tool}"));
        let body = json!({"schema_name": schema, "title": title, "tags": tags, "context": context});
        let id = self.store_in(&body).await?;
        self.fixtures.configs.push(Config { id: id.clone(), key, model, custom });
        Ok(id)
    }

    /// Stores a breadcrumb with the tag of the scenario.
    ///
    /// # Errors
    /// It cannot be stored.
    pub async fn shelve_memo(&mut self) -> Result<String, String> {
        let number = self.fixtures.stored.len() + 1;
        let title = self.session.named(&format!("{MEMO_TITLE}{number} of {}", self.unique));
        let tags = json!(["memo", self.tag()]);
        let body =
            json!({"schema_name": MEMO, "title": title, "tags": tags, "context": {"text": "all is well"}});
        let id = self.store_in(&body).await?;
        self.fixtures.stored.push(id.clone());
        Ok(id)
    }

    /// Stores something behind the back of the target; its id.
    pub(in crate::families::breadcrumb) async fn store(&self, body: &Value) -> Result<String, String> {
        self.scenario_channel
            .transcript
            .record_external_async("stored", self.session.store_access.store(body))
            .await
    }

    async fn store_in(&self, body: &Value) -> Result<String, String> {
        let id = self.store(body).await?;
        let mut stored = body.clone();
        stored["id"] = Value::from(id.clone());
        self.note("POST /breadcrumbs", stored);
        Ok(id)
    }

    /// A call of `workflow` with steps, which the scene keeps.
    pub fn workflow(&mut self, steps: Vec<Step>) -> Call {
        let call = self.workflow_of(&steps);
        self.fixtures.steps = steps;
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
            _ => filled(&template, &self.words(&plain)),
        };
        let says_none = after == NONE;
        let after = after.split_whitespace().filter(|id| *id != NONE).map(str::to_owned).collect();
        Step { id: id.to_owned(), tool: tool.to_owned(), after, says_none, input }
    }

    /// What stands in place of a tool's main parameter, and what its others are.
    fn words(&self, text: &Value) -> Vec<(&'static str, Value)> {
        let tag = self.tag();
        vec![
            ("message", text.clone()),
            ("expression", text.clone()),
            ("context", json!({"text": text, "items": [{"text": text}]})),
            ("schema_name", json!(MEMO)),
            ("title", Value::from(self.memo_title())),
            ("tags", json!(["memo", tag])),
            ("tag", Value::from(tag)),
            ("limit", json!(10)),
        ]
    }
}
