//! What a user wants of an agent, as features name it. `task` makes words and calls of it.

use std::str::FromStr;

use cucumber::Parameter;

/// The kinds of tasks, as features name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Parameter)]
#[param(
    name = "user_request",
    regex = "a note|two notes at once|three notes at once|a note to be shown|a note that decides|a sum|a sum of fixed numbers|a memo to be saved|a memo to be checked|\
             a list of levels|another list of levels|the tides of the day|a question|numbers to be added|a note that fails|a sum that fails|a question that fails|\
             a memo that fails|levels that fail|tides that fail|an addition that fails|two notes of which one fails|a question with a fallback"
)]
pub(super) enum UserRequest {
    /// Look something up and report it.
    Note,
    /// Two of these, in one message.
    TwoNotes,
    /// Three of these.
    ThreeNotes,
    /// Look something up; nobody reads the answer but the user.
    NoteShown,
    /// What is found decides whether something else is done.
    NoteDecides,
    /// Work something out for the user to see.
    Sum,
    /// The same, with numbers that are in every such request: its call is the same each time.
    FixedSum,
    /// Save something, and that is all.
    Memo,
    /// Save something, and report whether that worked.
    MemoChecked,
    /// Look something up, with parameters that a careless agent takes for none, and one within another.
    Levels,
    /// The same, with texts that a careless agent takes for numbers or truth values.
    OtherLevels,
    /// Look something up with a tool that takes no input.
    Tides,
    /// Ask a language model, with a configuration.
    Question,
    /// Look two numbers up and add them.
    Addition,
    /// As above, and the tool fails.
    NoteFails,
    SumFails,
    MemoFails,
    LevelsFail,
    TidesFail,
    QuestionFails,
    AdditionFails,
    /// The second of two lookups fails.
    HalfFails,
    /// The first of two language models fails.
    FallsBack,
}

impl FromStr for UserRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "a note" => Self::Note,
            "two notes at once" => Self::TwoNotes,
            "three notes at once" => Self::ThreeNotes,
            "a note to be shown" => Self::NoteShown,
            "a note that decides" => Self::NoteDecides,
            "a sum" => Self::Sum,
            "a sum of fixed numbers" => Self::FixedSum,
            "a memo to be saved" => Self::Memo,
            "a memo to be checked" => Self::MemoChecked,
            "a list of levels" => Self::Levels,
            "another list of levels" => Self::OtherLevels,
            "the tides of the day" => Self::Tides,
            "a question" => Self::Question,
            "numbers to be added" => Self::Addition,
            "a note that fails" => Self::NoteFails,
            "a sum that fails" => Self::SumFails,
            "a memo that fails" => Self::MemoFails,
            "levels that fail" => Self::LevelsFail,
            "tides that fail" => Self::TidesFail,
            "a question that fails" => Self::QuestionFails,
            "an addition that fails" => Self::AdditionFails,
            "two notes of which one fails" => Self::HalfFails,
            "a question with a fallback" => Self::FallsBack,
            _ => return Err(format!("`{text}` is no task")),
        })
    }
}
