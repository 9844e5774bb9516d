//! What a user wants: the words, the calls that get it, and what the tools answer.
//!
//! Every value in an answer follows from the scenario's mark, so only who received it can know it.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::seed_data::{CALCULATOR, FALLBACK, LEVELS, MEMO, NOTES, PRIMARY, PRIMARY_CONFIG, TIDES};
use super::user_request::UserRequest;

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlannedReply {
    /// `success` with this output.
    Output(Value),
    /// `error` with this text, and an output that nobody must use.
    Failure { error: String, decoy: Value },
}

/// What a call is made with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    /// This.
    Given(Value),
    /// An expression that adds the numbers which the first stage brought.
    Addition,
}

/// A call that the task needs.
#[derive(Clone, Debug)]
pub(super) struct PlannedCall {
    /// What it is about, for the answer to the user.
    pub label: String,
    pub tool: &'static str,
    pub input: Input,
    /// What is found in the input of this call and of no other, where there is such a thing.
    pub key: Option<String>,
    pub return_to_llm: bool,
    pub config_id: Option<&'static str>,
    pub reply: PlannedReply,
}

/// When the second stage is gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Where the first one brought what it should.
    AfterSuccess,
    /// Where it failed.
    AfterFailure,
}

/// In which order the calls of one stage are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerOrder {
    /// That of the calls.
    AsCalled,
    /// The last one first.
    Backwards,
    /// The first one last. Of three answers none comes at its turn then, counted from the front or from the back.
    FirstLast,
}

impl AnswerOrder {
    /// Puts what is in the order of the calls into this one.
    pub(super) fn arrange<T>(self, calls: &mut [T]) {
        match self {
            Self::AsCalled => {}
            Self::Backwards => calls.reverse(),
            Self::FirstLast if calls.is_empty() => {}
            Self::FirstLast => calls.rotate_left(1),
        }
    }
}

/// A task.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Stands in the user's words, and in no other task's.
    pub mark: String,
    /// The conversation that it belongs to, as tags name it.
    pub session: String,
    /// What the user says.
    pub words: String,
    /// The calls; those of one stage are made in one message.
    pub stages: Vec<Vec<PlannedCall>>,
    /// When the second stage follows.
    pub next: Next,
    /// The order of the answers to the calls of a stage.
    pub answers: AnswerOrder,
}

/// A number that follows from the mark.
pub(super) fn number(mark: &str, what: &str) -> u64 {
    let digest = Sha256::digest(format!("{mark} {what}"));
    let head = digest.iter().take(4).fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    1_000_000 + head % 8_999_999
}

impl Task {
    /// The nth task of a scenario.
    pub(super) fn new(user_request: UserRequest, unique: &str, ordinal: usize, session: String) -> Self {
        Draft { mark: format!("{unique}-{ordinal}"), session }.task(user_request)
    }

    /// The calls, each with its stage and its place there.
    pub(super) fn places(&self) -> impl Iterator<Item = ((usize, usize), &PlannedCall)> {
        self.stages.iter().enumerate().flat_map(|(stage, planned_calls)| {
            planned_calls.iter().enumerate().map(move |(place, planned_call)| ((stage, place), planned_call))
        })
    }

    /// Numbers that this task made up, and a stable name for each.
    pub(super) fn names(&self) -> Vec<(String, String)> {
        let of = |what: &str| number(&self.mark, what);
        let mut names: Vec<(String, String)> =
            MADE_UP.iter().map(|what| (of(what).to_string(), format!("<{what}>"))).collect();
        names.push(((of("first") + of("second")).to_string(), "<sum>".to_owned()));
        names
    }
}

/// Numbers that a task makes up.
const MADE_UP: [&str; 7] = ["first", "second", "third", "decoy", "left", "right", "receipt"];

/// The numbers of every sum of fixed numbers.
const FIXED: [u64; 2] = [1_048_583, 2_097_169];

struct Draft {
    mark: String,
    session: String,
}

impl Draft {
    fn number(&self, what: &str) -> u64 {
        number(&self.mark, what)
    }

    fn named(&self, word: &str) -> String {
        format!("{word}-{}", self.mark)
    }

    /// A lookup of a word, which brings a number.
    fn note(&self, word: &str, what: &str) -> PlannedCall {
        let query = self.named(word);
        PlannedCall {
            label: query.clone(),
            tool: NOTES,
            input: Input::Given(json!({"query": query})),
            key: Some(query),
            return_to_llm: true,
            config_id: None,
            reply: PlannedReply::Output(json!({"notes": [format!("The level is {}.", self.number(what))]})),
        }
    }

    fn memo(&self, return_to_llm: bool) -> PlannedCall {
        let text = format!("The pump of {} runs again.", self.named("garnet"));
        PlannedCall {
            label: self.named("garnet"),
            tool: MEMO,
            input: Input::Given(json!({"text": text})),
            key: Some(self.named("garnet")),
            return_to_llm,
            config_id: None,
            reply: PlannedReply::Output(json!({"saved": true, "receipt": self.number("receipt")})),
        }
    }

    fn sum(&self, return_to_llm: bool) -> PlannedCall {
        self.sum_of([self.number("left"), self.number("right")], return_to_llm)
    }

    fn sum_of(&self, [left, right]: [u64; 2], return_to_llm: bool) -> PlannedCall {
        PlannedCall {
            label: format!("the sum of {}", self.mark),
            tool: CALCULATOR,
            input: Input::Given(json!({"expression": format!("{left} + {right}")})),
            key: Some(left.to_string()),
            return_to_llm,
            config_id: None,
            reply: PlannedReply::Output(json!({"result": left + right})),
        }
    }

    fn question(&self, tool: &'static str) -> PlannedCall {
        let topic = self.named("opal");
        let question = format!("What is the number of {topic}? Answer with the number alone.");
        let content = format!("The number is {}.", self.number("first"));
        PlannedCall {
            label: topic.clone(),
            tool,
            input: Input::Given(json!({"messages": [{"role": "user", "content": question}]})),
            key: Some(topic),
            return_to_llm: true,
            config_id: None,
            reply: PlannedReply::Output(json!({"content": content, "model": "m-quartz"})),
        }
    }

    /// Parameters of which a careless agent leaves out most.
    fn levels_that_look_like_none(&self) -> Value {
        let around = json!({"place": self.named("quartz"), "metres": 0});
        json!({"above": 0, "step": 0.5, "dry": false, "owners": [], "label": "", "code": "042", "around": around})
    }

    /// Parameters of which a careless agent takes texts for numbers and truth values, or the other way round.
    fn texts_that_look_like_values(&self) -> Value {
        json!({
            "above": -3_000_000_000_i64, "step": 12, "dry": true, "owners": ["007"], "label": "true",
            "code": self.named("quartz"), "around": {"place": "3.50", "metres": 2_147_483_648_i64},
        })
    }

    /// A lookup with many parameters.
    fn levels(&self, input: Value) -> (String, Vec<Vec<PlannedCall>>) {
        let words = format!(
            "Use the tool `{LEVELS}` with the input `{input}`, and tell me in a sentence what it lists."
        );
        (
            words,
            vec![vec![PlannedCall {
                tool: LEVELS,
                input: Input::Given(input),
                ..self.note("quartz", "first")
            }]],
        )
    }

    /// A lookup whose tool takes no input.
    fn tides(&self) -> (String, Vec<Vec<PlannedCall>>) {
        let words = format!(
            "Use the tool `{TIDES}`, which takes no input, and tell me in a sentence what it says of `{}`.",
            self.named("quartz")
        );
        let input = Input::Given(json!({}));
        (words, vec![vec![PlannedCall { tool: TIDES, input, key: None, ..self.note("quartz", "first") }]])
    }

    /// A lookup of two numbers, and their sum.
    fn addition(&self) -> [PlannedCall; 2] {
        let (first, second) = (self.number("first"), self.number("second"));
        let notes = json!({"notes": [format!("The levels are {first} and {second}.")]});
        let lookup = PlannedCall { reply: PlannedReply::Output(notes), ..self.note("quartz", "first") };
        let sum = PlannedCall {
            label: format!("the sum of {}", self.mark),
            tool: CALCULATOR,
            input: Input::Addition,
            key: None,
            return_to_llm: true,
            config_id: None,
            reply: PlannedReply::Output(json!({"result": first + second})),
        };
        [lookup, sum]
    }

    /// The same calls, and their tools fail.
    fn all_failing(
        &self,
        (words, stages): (String, Vec<Vec<PlannedCall>>),
    ) -> (String, Vec<Vec<PlannedCall>>) {
        let failing =
            |calls: Vec<PlannedCall>| calls.into_iter().map(|call| self.failing(call)).collect::<Vec<_>>();
        (words, stages.into_iter().map(failing).collect())
    }

    /// The same call, and the tool fails.
    fn failing(&self, planned_call: PlannedCall) -> PlannedCall {
        let decoy = self.number("decoy");
        let decoy = match planned_call.tool {
            CALCULATOR => json!({"result": decoy}),
            NOTES | LEVELS | TIDES => json!({"notes": [format!("The level is {decoy}.")]}),
            MEMO => json!({"saved": true, "receipt": decoy}),
            _ => json!({"content": format!("The number is {decoy}."), "model": "m-quartz"}),
        };
        let error = format!("the service is closed for repairs until noon ({})", self.named("notice"));
        PlannedCall { reply: PlannedReply::Failure { error, decoy }, ..planned_call }
    }

    /// What is to be added.
    fn summands(&self, user_request: UserRequest) -> [u64; 2] {
        match user_request {
            UserRequest::FixedSum => FIXED,
            _ => [self.number("left"), self.number("right")],
        }
    }

    fn task(self, user_request: UserRequest) -> Task {
        let (words, stages) = self.plan(user_request);
        let next = match user_request {
            UserRequest::FallsBack => Next::AfterFailure,
            _ => Next::AfterSuccess,
        };
        let answers = match user_request {
            UserRequest::TwoNotes | UserRequest::HalfFails => AnswerOrder::Backwards,
            UserRequest::ThreeNotes => AnswerOrder::FirstLast,
            _ => AnswerOrder::AsCalled,
        };
        Task { mark: self.mark, session: self.session, words, stages, next, answers }
    }

    /// What the user says, and the calls that get it.
    fn plan(&self, user_request: UserRequest) -> (String, Vec<Vec<PlannedCall>>) {
        let note = || self.note("quartz", "first");
        let quartz = self.named("quartz");
        let lookup = format!("Use the tool `{NOTES}` to search for `{quartz}`");
        let numbers @ [left, right] = self.summands(user_request);
        let work_out =
            format!("Use the tool `{CALCULATOR}` to work out `{left} + {right}` for {}", self.mark);
        let ask = format!(
            "Use the tool `{PRIMARY}` to ask a language model for the number of `{}`",
            self.named("opal")
        );
        let save = format!(
            "Use the tool `{MEMO}` to save this memo: `The pump of {} runs again.`",
            self.named("garnet")
        );
        let two = || vec![self.note("topaz", "first"), self.note("amber", "second")];
        let both = several("twice", &two());
        let add = format!(
            "{lookup}, and then the tool `{CALCULATOR}` to add the two numbers of the note. Tell me the sum."
        );
        match user_request {
            UserRequest::Note => {
                (format!("{lookup}, and tell me in a sentence what the note says."), vec![vec![note()]])
            }
            UserRequest::NoteFails => self.all_failing(self.plan(UserRequest::Note)),
            UserRequest::NoteShown => {
                let planned_call = PlannedCall { return_to_llm: false, ..note() };
                (
                    format!("{lookup}. Show me what is found as it is; you need not read it."),
                    vec![vec![planned_call]],
                )
            }
            UserRequest::NoteDecides => {
                let memo = self.memo(false);
                let words = format!("{lookup}. If it tells of a level above zero: {save}");
                (words, vec![vec![note()], vec![memo]])
            }
            UserRequest::TwoNotes => (both, vec![two()]),
            UserRequest::ThreeNotes => {
                let three = vec![
                    self.note("topaz", "first"),
                    self.note("amber", "second"),
                    self.note("beryl", "third"),
                ];
                (several("three times", &three), vec![three])
            }
            UserRequest::HalfFails => {
                let [topaz, amber] = [self.note("topaz", "first"), self.note("amber", "second")];
                (both, vec![vec![topaz, self.failing(amber)]])
            }
            UserRequest::Sum | UserRequest::FixedSum => {
                let words = format!("{work_out}. The result is all that I need; you need not comment on it.");
                (words, vec![vec![self.sum_of(numbers, false)]])
            }
            UserRequest::SumFails => {
                let words = format!("{work_out}, and tell me in a sentence what comes out.");
                (words, vec![vec![self.failing(self.sum(true))]])
            }
            UserRequest::Memo => {
                (format!("{save} I need no word about what becomes of it."), vec![vec![self.memo(false)]])
            }
            UserRequest::MemoChecked => {
                (format!("{save} If it cannot be saved, tell me why."), vec![vec![self.memo(true)]])
            }
            UserRequest::MemoFails => self.all_failing(self.plan(UserRequest::MemoChecked)),
            UserRequest::LevelsFail => self.all_failing(self.plan(UserRequest::Levels)),
            UserRequest::TidesFail => self.all_failing(self.plan(UserRequest::Tides)),
            UserRequest::Levels => self.levels(self.levels_that_look_like_none()),
            UserRequest::OtherLevels => self.levels(self.texts_that_look_like_values()),
            UserRequest::Tides => self.tides(),
            UserRequest::Question => {
                let planned_call = PlannedCall { config_id: Some(PRIMARY_CONFIG), ..self.question(PRIMARY) };
                let words = format!(
                    "{ask}, with the configuration {PRIMARY_CONFIG}. Then tell me in a sentence of your own what it said."
                );
                (words, vec![vec![planned_call]])
            }
            UserRequest::QuestionFails => {
                let words = format!("{ask}. Then tell me in a sentence of your own what it said.");
                (words, vec![vec![self.failing(self.question(PRIMARY))]])
            }
            UserRequest::Addition | UserRequest::AdditionFails => {
                let [lookup, sum] = self.addition();
                let sum = if user_request == UserRequest::AdditionFails { self.failing(sum) } else { sum };
                (add, vec![vec![lookup], vec![sum]])
            }
            UserRequest::FallsBack => {
                let stages = vec![vec![self.failing(self.question(PRIMARY))], vec![self.question(FALLBACK)]];
                (format!("{ask}. If that fails, use `{FALLBACK}` for it. Tell me what it said."), stages)
            }
        }
    }
}

/// What a user says who wants several notes.
fn several(times: &str, notes: &[PlannedCall]) -> String {
    let names: Vec<String> = notes.iter().map(|note| format!("for `{}`", note.label)).collect();
    format!(
        "Use the tool `{NOTES}` {times}, in one message, to search {}, and tell me what each note says: the name, a \
         colon, what was found, in this order.",
        names.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_numbers_of_a_task_are_alike() {
        let names = Task::new(UserRequest::Addition, "0123456789ab", 1, "sess".to_owned()).names();
        let mut numbers: Vec<&String> = names.iter().map(|(number, _)| number).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), names.len());
    }

    #[test]
    fn answers_come_in_the_order_of_the_task() {
        for (order, expect) in [
            (AnswerOrder::AsCalled, [1, 2, 3]),
            (AnswerOrder::Backwards, [3, 2, 1]),
            (AnswerOrder::FirstLast, [2, 3, 1]),
        ] {
            let mut calls = [1, 2, 3];
            order.arrange(&mut calls);
            assert_eq!(calls, expect, "{order:?}");
            order.arrange(&mut <[u8; 0]>::default());
        }
    }

    #[test]
    fn the_users_words_name_every_tool() {
        for user_request in [
            UserRequest::Question,
            UserRequest::FallsBack,
            UserRequest::Addition,
            UserRequest::NoteDecides,
            UserRequest::Sum,
        ] {
            let task = Task::new(user_request, "0123456789ab", 2, "sess".to_owned());
            assert!(
                task.stages
                    .iter()
                    .flatten()
                    .all(|planned_call| task.words.contains(&format!("`{}`", planned_call.tool))),
                "{}",
                task.words
            );
            assert!(task.words.contains(&task.mark), "{}", task.words);
        }
    }
}
