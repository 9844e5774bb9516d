//! The arguments of the built-ins: from the card's object to what is to be done, or to the member that is wrong.
//!
//! Pure; whether an agent exists is not known here.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::utp::message::ErrorCode;
use crate::utp::subject::is_token;
use crate::utp::tool_service::ToolFailure;

/// What stands before the name of a built-in in its subject.
pub(super) const FAMILY: &str = "cmd.sys.pmo.internal.";

/// The longest wait that a call may ask for.
pub(super) const MAX_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

/// The most tasks of one `fork_join`.
const MAX_TASKS: usize = 16;

/// What a call asks the PMO to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BuiltIn {
    Provision(Provision),
    /// Start a turn and answer at once.
    Dispatch(Task),
    /// Start a turn and answer with what it delivers.
    Ask {
        task: Task,
        include_history: bool,
    },
    Join(Join),
}

/// What becomes of the roster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Ensure,
    Create,
    Derive,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Provision {
    pub(super) action: Action,
    pub(super) agent_id: Option<String>,
    pub(super) from_agent_id: Option<String>,
    pub(super) profile_name: Option<String>,
    pub(super) worker_target: Option<String>,
    pub(super) display_name: Option<String>,
}

/// How the agent of a task is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    New,
    Reuse,
    Clone,
}

/// Something for another agent to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    pub(super) strategy: Strategy,
    /// A profile for a new agent, else an agent.
    pub(super) target_ref: String,
    pub(super) instruction: String,
    pub(super) context_box_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Join {
    pub(super) tasks: Vec<Task>,
    pub(super) fail_fast: bool,
    pub(super) deadline: Option<Duration>,
}

impl BuiltIn {
    /// Reads the arguments of the built-in `name`.
    pub(super) fn read(name: &str, arguments: &Map<String, Value>) -> Result<Self, ToolFailure> {
        let fields = Fields { members: arguments, place: String::new() };
        match name {
            "provision_agent" => provision(&fields).map(Self::Provision),
            "delegate_async" => task(&fields).map(Self::Dispatch),
            "launch_principal" => new_agent(&fields, "profile_name", "instruction").map(Self::Dispatch),
            "ask_expert" => Ok(Self::Ask {
                task: new_agent(&fields, "expert_profile", "question")?,
                include_history: fields.flag("include_history")?,
            }),
            "fork_join" => join(&fields).map(Self::Join),
            _ => Err(ToolFailure::new(ErrorCode::BadRequest, format!("there is no built-in `{name}`"))
                .with_detail(json!({"allowed": described().map(|(name, ..)| name)}))),
        }
    }
}

fn provision(fields: &Fields<'_>) -> Result<Provision, ToolFailure> {
    let action = match fields.needed("action")?.as_str() {
        "ensure" => Action::Ensure,
        "create" => Action::Create,
        "derive" => Action::Derive,
        _ => return Err(fields.wrong("action", "is none of `ensure`, `create` and `derive`")),
    };
    let agent_id = fields.token("agent_id")?;
    if action == Action::Ensure && agent_id.is_none() {
        return Err(fields.wrong("agent_id", "is missing"));
    }
    Ok(Provision {
        action,
        agent_id,
        from_agent_id: fields.token("from_agent_id")?,
        profile_name: fields.text("profile_name")?,
        worker_target: fields.token("worker_target")?,
        display_name: fields.text("display_name")?,
    })
}

fn task(fields: &Fields<'_>) -> Result<Task, ToolFailure> {
    let strategy = match fields.needed("target_strategy")?.as_str() {
        "new" => Strategy::New,
        "reuse" => Strategy::Reuse,
        "clone" => Strategy::Clone,
        _ => return Err(fields.wrong("target_strategy", "is none of `new`, `reuse` and `clone`")),
    };
    let target_ref = fields.needed("target_ref")?;
    if strategy != Strategy::New && !is_token(&target_ref) {
        return Err(fields.wrong("target_ref", "is no id of an agent"));
    }
    let instruction = fields.needed("instruction")?;
    Ok(Task { strategy, target_ref, instruction, context_box_id: fields.text("context_box_id")? })
}

fn new_agent(fields: &Fields<'_>, profile: &str, instruction: &str) -> Result<Task, ToolFailure> {
    Ok(Task {
        strategy: Strategy::New,
        target_ref: fields.needed(profile)?,
        instruction: fields.needed(instruction)?,
        context_box_id: fields.text("context_box_id")?,
    })
}

fn join(fields: &Fields<'_>) -> Result<Join, ToolFailure> {
    let listed = match fields.members.get("tasks") {
        Some(Value::Array(tasks)) if (1..=MAX_TASKS).contains(&tasks.len()) => tasks,
        _ => return Err(fields.wrong("tasks", &format!("is no list of 1 to {MAX_TASKS} tasks"))),
    };
    let mut tasks = Vec::with_capacity(listed.len());
    for (index, listed) in listed.iter().enumerate() {
        let Value::Object(members) = listed else {
            return Err(fields.wrong(&format!("tasks[{index}]"), "is no object"));
        };
        tasks.push(task(&Fields { members, place: format!("tasks[{index}].") })?);
    }
    Ok(Join { tasks, fail_fast: fields.flag("fail_fast")?, deadline: deadline(fields)? })
}

fn deadline(fields: &Fields<'_>) -> Result<Option<Duration>, ToolFailure> {
    let seconds = match fields.members.get("deadline_seconds") {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_f64(),
    };
    let deadline = seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|deadline| !deadline.is_zero() && *deadline <= MAX_DEADLINE);
    match deadline {
        Some(deadline) => Ok(Some(deadline)),
        None => Err(fields.wrong("deadline_seconds", "is no number of seconds above 0 and within a day")),
    }
}

/// An object of arguments, and where it stands in them.
struct Fields<'a> {
    members: &'a Map<String, Value>,
    place: String,
}

impl Fields<'_> {
    /// A text that may be missing; blank is as good as missing.
    fn text(&self, name: &str) -> Result<Option<String>, ToolFailure> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => {
                Ok(Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned))
            }
            Some(_) => Err(self.wrong(name, "is not a text")),
        }
    }

    fn needed(&self, name: &str) -> Result<String, ToolFailure> {
        self.text(name)?.ok_or_else(|| self.wrong(name, "is missing"))
    }

    /// A text that becomes a part of subjects.
    fn token(&self, name: &str) -> Result<Option<String>, ToolFailure> {
        match self.text(name)? {
            Some(text) if !is_token(&text) => Err(self.wrong(name, "cannot stand in a subject")),
            text => Ok(text),
        }
    }

    fn flag(&self, name: &str) -> Result<bool, ToolFailure> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(name, "is neither true nor false")),
        }
    }

    fn wrong(&self, name: &str, how: &str) -> ToolFailure {
        let field = format!("{}{name}", self.place);
        ToolFailure::new(ErrorCode::BadRequest, format!("`{field}` {how}"))
            .with_detail(json!({"field": field}))
    }
}

/// Name, description and parameters of each built-in.
pub(super) fn described() -> [(&'static str, &'static str, Value); 5] {
    let text = || json!({"type": "string"});
    let task = json!({
        "target_strategy": {"enum": ["new", "reuse", "clone"]},
        "target_ref": text(), "instruction": text(), "context_box_id": text(),
    });
    let task_needs = ["target_strategy", "target_ref", "instruction"];
    let object = |properties: &Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let action = json!({"enum": ["ensure", "create", "derive"]});
    let provision = json!({
        "action": action, "agent_id": text(), "from_agent_id": text(), "profile_name": text(),
        "worker_target": text(), "display_name": text(),
    });
    let launch = json!({"profile_name": text(), "instruction": text(), "context_box_id": text()});
    let ask = json!({"expert_profile": text(), "question": text(), "include_history": {"type": "boolean"}});
    let tasks =
        json!({"type": "array", "items": object(&task, &task_needs), "minItems": 1, "maxItems": MAX_TASKS});
    let join =
        json!({"tasks": tasks, "fail_fast": {"type": "boolean"}, "deadline_seconds": {"type": "number"}});
    [
        (
            "provision_agent",
            "Makes an agent, or makes sure that there is one.",
            object(&provision, &["action"]),
        ),
        ("delegate_async", "Gives an agent something to do and does not wait.", object(&task, &task_needs)),
        (
            "launch_principal",
            "Makes an agent of a profile and gives it something to do.",
            object(&launch, &["profile_name", "instruction"]),
        ),
        (
            "ask_expert",
            "Asks an agent of a profile and waits for its answer.",
            object(&ask, &["expert_profile", "question"]),
        ),
        ("fork_join", "Gives several agents something to do and waits for all.", object(&join, &["tasks"])),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{BuiltIn, Join};

    /// The field at fault; nothing when the arguments are right.
    fn check(name: &str, arguments: &Value, expect: Option<&str>) {
        let arguments = arguments.as_object().expect("an object");
        let failure = BuiltIn::read(name, arguments).err();
        let field = failure.as_ref().map(|failure| {
            failure.detail.as_ref().and_then(|detail| detail["field"].as_str()).unwrap_or("-")
        });
        assert_eq!(field, expect, "{name} {arguments:?}");
    }

    fn task() -> Value {
        json!({"target_strategy": "reuse", "target_ref": "ag_1", "instruction": "do"})
    }

    #[test]
    fn a_wrong_member_is_named() {
        check("provision_agent", &json!({"action": "ensure", "agent_id": "ag_1"}), None);
        check("provision_agent", &json!({"action": "create"}), None);
        check("provision_agent", &json!({"action": "destroy"}), Some("action"));
        check("provision_agent", &json!({}), Some("action"));
        check("provision_agent", &json!({"action": "ensure"}), Some("agent_id"));
        check("provision_agent", &json!({"action": "create", "agent_id": "a.b"}), Some("agent_id"));
        check("provision_agent", &json!({"action": "create", "worker_target": ">"}), Some("worker_target"));
        check("delegate_async", &task(), None);
        for member in ["target_strategy", "target_ref", "instruction"] {
            let mut without = task();
            without[member] = json!(" ");
            check("delegate_async", &without, Some(member));
            without[member] = json!(7);
            check("delegate_async", &without, Some(member));
        }
        check("launch_principal", &json!({"profile_name": "p"}), Some("instruction"));
        check("ask_expert", &json!({"expert_profile": "p", "question": "q", "x_future": 1}), None);
        check("ask_expert", &json!({"question": "q"}), Some("expert_profile"));
        check("fork_join", &json!({"tasks": [task(), task()]}), None);
        check("fork_join", &json!({"tasks": []}), Some("tasks"));
        check("fork_join", &json!({"tasks": vec![task(); 17]}), Some("tasks"));
        check("fork_join", &json!({"tasks": [task(), 7]}), Some("tasks[1]"));
        check("fork_join", &json!({"tasks": [task(), {}]}), Some("tasks[1].target_strategy"));
        check("fork_join", &json!({"tasks": [task()], "fail_fast": 1}), Some("fail_fast"));
        for seconds in [json!(0), json!(-1), json!("3"), json!(1e9), json!(1e300)] {
            let arguments = json!({"tasks": [task()], "deadline_seconds": seconds});
            check("fork_join", &arguments, Some("deadline_seconds"));
        }
        check("submit_result", &json!({}), Some("-"));
        check("", &json!({}), Some("-"));
    }

    #[test]
    fn a_deadline_may_be_a_fraction() {
        let arguments = json!({"tasks": [task()], "deadline_seconds": 0.5});
        let read = BuiltIn::read("fork_join", arguments.as_object().expect("an object"));
        let Ok(BuiltIn::Join(Join { deadline, fail_fast: false, .. })) = read else {
            panic!("unexpected {read:?}");
        };
        assert_eq!(deadline, Some(Duration::from_millis(500)));
    }
}
