//! The tools, each with the category that says where it runs (contract, Overview and Tool Specifications).
//!
//! The inputs of the nine Hub-proxied tools have the names and types of the contract. It seldom says which
//! inputs are required; here those are without which the call would mean nothing.

use serde_json::{Map, Value, json};

use super::effect::Effect;
use super::failure::CallFailure;
use super::inputs::{Field, Kind, check, nearest, schema, shown};

/// Where a tool runs. The router is a `match` over this, so that no tool can be without a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// In the agent alone.
    Local(LocalTool),
    /// The agent asks the external service itself.
    Direct(DirectTool),
    /// The Hub asks the external service, with the customer's credentials.
    HubProxied(Effect),
}

/// The local tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalTool {
    /// `mission_create_task`
    CreateTask,
    /// `mission_list_tasks`
    ListTasks,
    /// `document_create`
    CreateDocument,
    /// `document_read`
    ReadDocument,
}

/// The direct tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectTool {
    /// `research_web_search`
    WebSearch,
    /// `research_fetch_page`
    FetchPage,
}

/// One tool.
#[derive(Debug)]
pub struct AgentTool {
    /// The name that a call gives.
    pub name: &'static str,
    /// Where it runs.
    pub category: Category,
    /// What it is for, for the model.
    pub description: &'static str,
    /// What it takes.
    pub inputs: &'static [Field],
}

impl AgentTool {
    /// The tool of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The tool of this name, or the failure that a call of it is.
    pub(super) fn known(name: &str) -> Result<&'static Self, CallFailure> {
        Self::find(name).ok_or_else(|| CallFailure::UnknownTool {
            tool: shown(name),
            nearest: nearest(name, TOOLS.iter().map(|tool| tool.name)),
        })
    }

    /// The JSON Schema of its inputs.
    pub fn input_schema(&self) -> Value {
        schema(self.inputs)
    }

    /// The definition in the form of OpenAI's API.
    pub(super) fn definition(&self) -> Value {
        json!({"type": "function", "function": {
            "name": self.name,
            "description": self.description,
            "parameters": self.input_schema(),
        }})
    }

    /// The inputs, if they are what the tool takes; nothing is added to them and nothing taken away.
    pub(super) fn check<'a>(&self, inputs: &'a Value) -> Result<&'a Map<String, Value>, CallFailure> {
        check(self.inputs, inputs)
            .map_err(|reason| CallFailure::Inputs { tool: self.name.to_owned(), reason })
    }
}

const fn local(
    name: &'static str,
    tool: LocalTool,
    inputs: &'static [Field],
    description: &'static str,
) -> AgentTool {
    AgentTool { name, category: Category::Local(tool), description, inputs }
}

const fn direct(
    name: &'static str,
    tool: DirectTool,
    inputs: &'static [Field],
    description: &'static str,
) -> AgentTool {
    AgentTool { name, category: Category::Direct(tool), description, inputs }
}

const fn proxied(
    name: &'static str,
    effect: Effect,
    inputs: &'static [Field],
    description: &'static str,
) -> AgentTool {
    AgentTool { name, category: Category::HubProxied(effect), description, inputs }
}

/// Every tool of this agent.
pub static TOOLS: [AgentTool; 15] = [
    local("mission_create_task", LocalTool::CreateTask, TASK, "Notes a task."),
    local("mission_list_tasks", LocalTool::ListTasks, &[], "Lists the tasks noted so far."),
    local("document_create", LocalTool::CreateDocument, DOCUMENT, "Keeps a text under a new id."),
    local("document_read", LocalTool::ReadDocument, DOCUMENT_ID, "Reads a text that was kept."),
    direct("research_web_search", DirectTool::WebSearch, WEB_SEARCH, "Searches the web."),
    direct("research_fetch_page", DirectTool::FetchPage, PAGE, "Reads the text of a web page."),
    proxied("calendar_get_availability", Effect::Reads, AVAILABILITY, "When the calendar is busy."),
    proxied("calendar_create_event", Effect::Writes, EVENT, "Enters an event into the calendar."),
    proxied("calendar_update_event", Effect::Writes, EVENT_UPDATE, "Changes an event."),
    proxied("calendar_delete_event", Effect::Writes, EVENT_DELETION, "Deletes an event."),
    proxied("calendar_find_optimal_times", Effect::Reads, OPTIMAL_TIMES, "Finds times that suit all."),
    proxied("email_send", Effect::Writes, MAIL, "Sends an email."),
    proxied("email_search", Effect::Reads, MAIL_SEARCH, "Searches the mailbox."),
    // Reading may take the mark "unread" away; once more changes nothing.
    proxied("email_read", Effect::Reads, MAIL_READING, "Reads one email."),
    proxied("email_check_replies", Effect::Reads, REPLIES, "Replies in a thread since a moment."),
];

const TASK: &[Field] = &[
    Field::required("title", Kind::Line, "What is to be done."),
    Field::optional("description", Kind::Text, "More about it."),
    Field::optional("due_date", Kind::Date, "By when."),
];

const DOCUMENT: &[Field] = &[
    Field::required("title", Kind::Line, "What the text is about."),
    Field::required("content", Kind::Text, "The text."),
];

const DOCUMENT_ID: &[Field] =
    &[Field::required("document_id", Kind::Line, "The id that `document_create` gave.")];

const WEB_SEARCH: &[Field] = &[
    Field::required("query", Kind::Line, "What to look for."),
    Field::optional("max_results", Kind::Whole(1, 50), "How many results at most; 10 when left out."),
];

const PAGE: &[Field] = &[Field::required("url", Kind::Line, "The page's address.")];

const AVAILABILITY: &[Field] = &[
    Field::required("start_date", Kind::Date, "The first day."),
    Field::required("end_date", Kind::Date, "The last day."),
    Field::required("timezone", Kind::Line, "IANA name of the time zone, as `Europe/Madrid`."),
    Field::optional("calendars", Kind::Lines, "Which calendars; `primary` when left out."),
];

const EVENT: &[Field] = &[
    Field::required("title", Kind::Line, "The event's title."),
    Field::required("start", Kind::Instant, "When it begins."),
    Field::required("end", Kind::Instant, "When it ends."),
    Field::optional("description", Kind::Text, "More about it."),
    Field::optional("location", Kind::Text, "Where it takes place."),
    Field::optional("attendees", Kind::Addresses, "Who is invited."),
    NOTIFY,
];

const EVENT_UPDATE: &[Field] = &[
    Field::required("event_id", Kind::Line, "Which event."),
    Field::required("updates", Kind::Object(EVENT_CHANGES), "What becomes different; the rest stays."),
    NOTIFY,
];

const EVENT_CHANGES: &[Field] = &[
    Field::optional("title", Kind::Line, "The event's title."),
    Field::optional("start", Kind::Instant, "When it begins."),
    Field::optional("end", Kind::Instant, "When it ends."),
    Field::optional("description", Kind::Text, "More about it."),
    Field::optional("location", Kind::Text, "Where it takes place."),
    Field::optional("attendees", Kind::Addresses, "Who is invited."),
];

const EVENT_DELETION: &[Field] = &[Field::required("event_id", Kind::Line, "Which event."), NOTIFY];

const NOTIFY: Field = Field::optional("send_notifications", Kind::Flag, "Whether attendees are notified.");

const OPTIMAL_TIMES: &[Field] = &[
    Field::required("duration_minutes", Kind::Whole(1, 10_080), "How long it takes."),
    Field::required("attendees", Kind::Addresses, "Who has to be there."),
    Field::required("date_range", Kind::Object(DATE_RANGE), "Between which days."),
    Field::optional("preferences", Kind::Object(PREFERENCES), "What would be nice."),
];

const DATE_RANGE: &[Field] = &[
    Field::required("start", Kind::Date, "The first day."),
    Field::required("end", Kind::Date, "The last day."),
];

const PREFERENCES: &[Field] = &[
    Field::optional("preferred_hours", Kind::Object(HOURS), "Within which hours."),
    Field::optional("avoid_mondays", Kind::Flag, "Whether Mondays are left out."),
];

const HOURS: &[Field] = &[
    Field::required("start", Kind::Clock, "From when."),
    Field::required("end", Kind::Clock, "Until when."),
];

const MAIL: &[Field] = &[
    Field::required("to", Kind::Addresses, "Who receives it."),
    Field::optional("cc", Kind::Addresses, "Who receives a copy."),
    Field::optional("bcc", Kind::Addresses, "Who receives a copy unseen."),
    Field::required("subject", Kind::Line, "The subject."),
    Field::required("body", Kind::Text, "The text."),
    Field::optional("body_type", Kind::OneOf(&["text", "html"]), "The form of `body`."),
    Field::optional("reply_to_message_id", Kind::LineOrNull, "The email that is answered, if one is."),
];

const MAIL_SEARCH: &[Field] = &[
    Field::required("query", Kind::Line, "Search words, as `from:ana@orchid.example`."),
    Field::optional("max_results", Kind::Whole(1, 500), "How many emails at most."),
    Field::optional("include_body", Kind::Flag, "Whether the whole texts are wanted."),
];

const MAIL_READING: &[Field] = &[
    Field::required("message_id", Kind::Line, "Which email."),
    Field::optional("mark_as_read", Kind::Flag, "Whether it counts as read from now on."),
];

const REPLIES: &[Field] = &[
    Field::required("thread_id", Kind::Line, "Which thread."),
    Field::required("since", Kind::Instant, "Replies after this moment."),
];
