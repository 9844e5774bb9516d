//! `[hub.agent]`: an agent, how it is started and driven, and which tools it has.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::manifest::LaunchTable;
use crate::families::hub::contract::TOOLS;
use crate::spec::registry::nearest;

/// `[hub.agent]`: selects the profile `hub.agent`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTable {
    /// How the agent is started, and the environment of all its command lines; [`ENV_PLACEHOLDERS`] are filled in.
    #[serde(flatten)]
    pub launch: LaunchTable,
    /// The service secret that the agent is configured with.
    #[serde(default)]
    pub secret: Option<String>,
    /// The environment variable that holds it.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// The id that the agent is configured with.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// The customer of an agent that serves no other.
    #[serde(default)]
    pub customer_id: Option<String>,
    /// Where the suite's Hub listens, for an agent that runs already.
    #[serde(default)]
    pub listen: Option<String>,
    /// Where the suite's model listens, for an agent that runs already.
    #[serde(default)]
    pub model_listen: Option<String>,
    /// How the agent is driven.
    #[serde(default)]
    pub drive: DriveTable,
    /// The Hub tools that it has.
    #[serde(default = "all_tools")]
    pub tools: Vec<String>,
    /// Harmless calls of local tools.
    #[serde(default = "local_calls")]
    pub local: Vec<ToolCallTable>,
    /// A call that reads the page at `{url}`.
    #[serde(default)]
    pub fetch_page: PageTable,
    /// A call that searches for `{query}`, where the search can be the suite's.
    #[serde(default)]
    pub web_search: Option<ToolCallTable>,
}

/// `[hub.agent.drive]`: exactly one of `http`, `command` and `chat`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveTable {
    /// The hook over HTTP. `{listen}` stands for the address that a started agent was given.
    #[serde(default)]
    pub http: Option<String>,
    /// The hook as a command line, run once a call.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// The chat. `{listen}` as above.
    #[serde(default)]
    pub chat: Option<String>,
    /// The bearer key of the chat.
    #[serde(default)]
    pub key: Option<String>,
    /// The environment variable that holds it.
    #[serde(default)]
    pub key_env: Option<String>,
    /// How the agent speaks with its model.
    #[serde(default)]
    pub model: Option<ModelKind>,
}

/// The API of a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// `POST …/chat/completions`.
    #[default]
    Openai,
    /// `POST …/messages`.
    Anthropic,
}

/// A call. Strings in the inputs may hold `{placeholders}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCallTable {
    /// The tool's name.
    pub tool: String,
    /// Its inputs.
    #[serde(default)]
    pub inputs: Option<Value>,
}

/// The call that reads a page, or `false`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum PageTable {
    /// The agent reads no pages.
    None,
    /// The call.
    Call(ToolCallTable),
}

impl Default for PageTable {
    fn default() -> Self {
        Self::Call(ToolCallTable {
            tool: "research_fetch_page".to_owned(),
            inputs: Some(json!({"url": "{url}"})),
        })
    }
}

impl TryFrom<Value> for PageTable {
    type Error = serde_json::Error;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        if value == Value::Bool(false) {
            Ok(Self::None)
        } else {
            serde_json::from_value(value).map(Self::Call)
        }
    }
}

impl From<PageTable> for Value {
    fn from(table: PageTable) -> Self {
        match table {
            PageTable::None => Self::Bool(false),
            PageTable::Call(call) => json!({"tool": call.tool, "inputs": call.inputs}),
        }
    }
}

impl PageTable {
    /// The call.
    pub fn table(&self) -> Option<&ToolCallTable> {
        match self {
            Self::None => None,
            Self::Call(table) => Some(table),
        }
    }
}

/// Placeholders that `env` may hold.
pub const ENV_PLACEHOLDERS: [&str; 8] =
    ["hub_url", "secret", "model_url", "listen", "search_url", "provider_url", "agent_id", "customer_id"];
/// Placeholders that inputs may hold.
const INPUT_PLACEHOLDERS: [&str; 3] = ["mark", "url", "query"];

impl AgentTable {
    /// Text that reports must not show: the secret, the key, and what may be one in `env`, also where the environment holds
    /// them.
    pub fn secrets(&self) -> Vec<String> {
        let named = [&self.secret_env, &self.drive.key_env];
        let from_environment =
            named.into_iter().flatten().filter_map(|variable| std::env::var(variable).ok());
        let own = self.secret.iter().chain(&self.drive.key).cloned();
        let env = self.launch.secrets(&ENV_PLACEHOLDERS).cloned();
        own.chain(env).chain(from_environment).collect()
    }

    /// What the schema cannot say.
    pub(crate) fn contradictions(&self) -> Vec<String> {
        let mut faults = self.drive.contradictions(self.launch.is_started());
        let is_passed_each_time = self.drive.command.is_some();
        if !self.launch.is_started() && !is_passed_each_time && self.listen.is_none() {
            faults.push(
                "`hub.agent.listen` is needed for an agent that runs already: its Hub must have an address that it \
                 knows"
                    .to_owned(),
            );
        }
        if !self.launch.is_started() && self.drive.chat.is_some() && self.model_listen.is_none() {
            faults.push(
                "`hub.agent.model_listen` is needed for the chat of an agent that runs already".to_owned(),
            );
        }
        if self.listen.is_some() && self.listen == self.model_listen {
            faults.push("`hub.agent.listen` and `hub.agent.model_listen` are one address".to_owned());
        }
        match (&self.secret, &self.secret_env) {
            (Some(_), Some(_)) => {
                faults.push("`hub.agent` has both `secret` and `secret_env`".to_owned());
            }
            (None, None) if !self.launch.is_started() && !is_passed_each_time => faults.push(
                "`hub.agent` needs `secret_env` (or `secret`): an agent that runs already has one".to_owned(),
            ),
            _ => {}
        }
        if self.tools.is_empty() {
            faults.push("`hub.agent.tools` is empty, so there is nothing to certify".to_owned());
        }
        for tool in self.tools.iter().filter(|tool| !TOOLS.contains(&tool.as_str())) {
            let hint = nearest(tool, TOOLS.into_iter())
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            faults.push(format!("`hub.agent.tools` names `{tool}`, which is none of the nine{hint}"));
        }
        let places = self.launch.env.iter().map(|(name, value)| (format!("env.{name}"), value.clone()));
        for (key, text) in places {
            faults.extend(unknown(&key, &text, &ENV_PLACEHOLDERS));
        }
        faults.extend(self.faulty_calls());
        faults
    }

    fn faulty_calls(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let local = self.local.iter().map(|call| ("local", call, None));
        let page = self.fetch_page.table().map(|call| ("fetch_page", call, Some("url")));
        let search = self.web_search.iter().map(|call| ("web_search", call, Some("query")));
        for (key, call, wanted) in local.chain(page).chain(search) {
            let text = call.inputs.as_ref().map(Value::to_string).unwrap_or_default();
            if wanted.is_some_and(|wanted| !text.contains(&format!("{{{wanted}}}"))) {
                faults.push(format!(
                    "`hub.agent.{key}.inputs` holds no `{{{}}}`, so nothing shows whose call it was",
                    wanted.unwrap_or_default()
                ));
            }
            faults.extend(unknown(&format!("{key}.inputs"), &text, &INPUT_PLACEHOLDERS));
            if TOOLS.contains(&call.tool.as_str()) {
                faults.push(format!("`hub.agent.{key}` names `{}`, which the Hub executes", call.tool));
            }
        }
        faults
    }
}

impl DriveTable {
    fn contradictions(&self, is_started: bool) -> Vec<String> {
        let mut faults = Vec::new();
        let ways = [self.http.is_some(), self.command.is_some(), self.chat.is_some()];
        match ways.into_iter().filter(|way| *way).count() {
            0 => faults.push(
                "`hub.agent.drive` says neither `http`, `command` nor `chat`, so no call can be made"
                    .to_owned(),
            ),
            1 => {}
            _ => {
                faults
                    .push("`hub.agent.drive` says more than one of `http`, `command` and `chat`".to_owned());
            }
        }
        for (key, url) in [("http", &self.http), ("chat", &self.chat)] {
            let Some(url) = url else { continue };
            if !url.starts_with("http://") && !url.starts_with("https://") {
                faults.push(format!(
                    "`hub.agent.drive.{key}` is `{url}`, which is neither an `http://` nor an `https://` address"
                ));
            }
            if url.contains("{listen}") && !is_started {
                faults.push(format!(
                    "`hub.agent.drive.{key}` has `{{listen}}`, and there is no `hub.agent.start` that listens there"
                ));
            }
        }
        let of_the_chat = [
            ("key", self.key.is_some()),
            ("key_env", self.key_env.is_some()),
            ("model", self.model.is_some()),
        ];
        for (key, _) in of_the_chat.into_iter().filter(|(_, is_set)| *is_set && self.chat.is_none()) {
            faults.push(format!("`hub.agent.drive.{key}` belongs to `chat`, which is not there"));
        }
        if self.key.is_some() && self.key_env.is_some() {
            faults.push("`hub.agent.drive` has both `key` and `key_env`".to_owned());
        }
        faults
    }
}

/// Words in braces that stand for nothing.
fn unknown(key: &str, text: &str, known: &[&str]) -> Vec<String> {
    let words = text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(word, _)| word));
    let is_word = |word: &&str| {
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
    };
    words
        .filter(is_word)
        .filter(|word| !known.contains(word))
        .map(|word| {
            let hint = nearest(word, known.iter().copied())
                .map_or_else(String::new, |near| format!("; did you mean `{{{near}}}`?"));
            format!("`hub.agent.{key}` holds the unknown `{{{word}}}`{hint}")
        })
        .collect()
}

fn all_tools() -> Vec<String> {
    TOOLS.map(str::to_owned).to_vec()
}

fn local_calls() -> Vec<ToolCallTable> {
    let call = |tool: &str, inputs: Value| ToolCallTable { tool: tool.to_owned(), inputs: Some(inputs) };
    vec![
        call("mission_create_task", json!({"title": "Prepare the seed review {mark}"})),
        call(
            "document_create",
            json!({"title": "Seed review {mark}", "content": "Two open points, see the task."}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::families::hub::manifest::HubTable;
    use std::path::Path;

    use crate::engine::manifest::Manifest;

    fn faults(text: &str) -> Vec<String> {
        let text = format!("[target]\nname = \"a\"\n{text}");
        Manifest::parse("callmark.toml", &text, Path::new("."))
            .err()
            .map(|error| error.faults)
            .unwrap_or_default()
    }

    #[test]
    fn a_started_agent_with_a_hook_is_enough() {
        let text = "[hub.agent]\nstart = [\"agent\"]\ndrive.http = \"http://{listen}/drive\"\n";
        assert_eq!(faults(text), Vec::<String>::new());
        let manifest = Manifest::parse("a", &format!("[target]\nname = \"a\"\n{text}"), Path::new("."))
            .expect("a sound manifest");
        assert_eq!(manifest.profiles(), ["hub.agent"]);
        let agent = manifest.get::<HubTable>().cloned().and_then(|hub| hub.agent).expect("the agent's table");
        assert_eq!((agent.tools.len(), agent.local.len()), (9, 2));
        assert_eq!(agent.fetch_page.table().map(|own| own.tool.as_str()), Some("research_fetch_page"));
    }

    #[test]
    fn contradictions_are_reported_all_at_once() {
        let text = "[hub.agent]\ntools = [\"email_sent\"]\nfetch_page = { tool = \"fetch\", inputs = { u = \"{urls}\" } }\n\
                    drive = { http = \"http://{listen}/drive\", chat = \"http://h/chat\", key = \"k\", key_env = \"K\" }\n";
        let messages = faults(text).join("\n");
        for part in [
            "more than one of",
            "there is no `hub.agent.start`",
            "`hub.agent.listen` is needed",
            "`hub.agent.model_listen` is needed",
            "needs `secret_env`",
            "did you mean `email_send`",
            "holds no `{url}`",
            "unknown `{urls}`; did you mean `{url}`",
            "both `key` and `key_env`",
        ] {
            assert!(messages.contains(part), "{part}\n{messages}");
        }
    }

    #[test]
    fn an_agent_that_reads_no_pages_says_so() {
        let text = "[hub.agent]\nstart = [\"a\"]\nfetch_page = false\ndrive.command = [\"hook\"]\n";
        assert_eq!(faults(text), Vec::<String>::new());
    }
}
