//! Then: captured messages.

use cucumber::then;

use super::Status;
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::capture::CapturedKind;
use crate::families::utp::judge::callback::MEMBERS;
use crate::families::utp::judge::captured;
use crate::families::utp::revision::V1R4;
use crate::families::utp::world::World;

vocabulary! {
    /// One of the captured messages.
    enum Captured "captured" {
        "command" => Command,
        "callback" => Callback,
        "row" => Row,
    }
}

vocabulary! {
    /// What the header of a message is compared with.
    enum With "with" {
        ", as its command does" => Command,
        ", as its subject does" => Subject,
        "" => Nothing,
    }
}

impl Captured {
    /// In a finding.
    fn text(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Callback => "callback",
            Self::Row => "row",
        }
    }
}

#[then(expr = "every {captured} carries {string}")]
fn carries(world: &mut World, captured: Captured, member: String) -> Step {
    let entries = world.entries()?;
    world.judge(match captured {
        Captured::Command => captured::commands_carry(&entries, &member),
        Captured::Callback => captured::callbacks_carry(&entries, &member),
        Captured::Row => captured::rows_carry(&entries, &member),
    })
}

#[then(expr = "no {captured} has a control member")]
fn holds_no_control_member(world: &mut World, captured: Captured) -> Step {
    let entries = world.entries()?;
    world.judge(captured::hold_no_control_member(&entries, captured.text()))
}

#[then(expr = "every {captured} names {string} in a header{with}")]
fn names_in_header(world: &mut World, captured: Captured, member: String, with: With) -> Step {
    let commands = world.capture()?.of_kind(CapturedKind::Command);
    let compared = match with {
        With::Command => captured::Compared::Commands(&commands),
        With::Subject => captured::Compared::Subject,
        With::Nothing => captured::Compared::Nothing,
    };
    let entries = world.entries()?;
    world.judge(captured::name_in_header(&entries, (captured.text(), &member), &compared))
}

#[then("every subject has the version of the revision")]
fn subjects_have_version(world: &mut World) -> Step {
    let entries = world.entries()?;
    world.judge(captured::commands_have_version(&entries, V1R4))
}

#[then("every subject has the form of a tool command")]
fn commands_have_form(world: &mut World) -> Step {
    let entries = world.entries()?;
    world.judge(captured::commands_have_form(&entries))
}

#[then("every callback names suspend or terminate")]
fn callbacks_name_after_execution(world: &mut World) -> Step {
    let entries = world.entries()?;
    world.judge(captured::callbacks_name_after_execution(&entries))
}

#[then(expr = "a call that ended as {status} is called back as {status}")]
fn callbacks_keep_status(world: &mut World, ended: Status, called_back: Status) -> Step {
    debug_assert_eq!(ended.0, called_back.0, "the features name one status twice");
    let cards = world.capture()?.of_kind(CapturedKind::Card);
    let callbacks = world.entries()?;
    world.judge(captured::callbacks_keep_status(&callbacks, &cards, &ended.0))
}

/// Notes what a rule leaves open.
pub(super) fn note_extensions(world: &mut World) -> Step {
    let names = captured::extensions(&world.entries()?, &MEMBERS);
    world.note(if names.is_empty() {
        "no callback has an extension field".to_owned()
    } else {
        format!("extension fields of callbacks: {}", names.join(", "))
    });
    Ok(())
}

#[then("every row belongs to its project")]
fn rows_belong(world: &mut World) -> Step {
    let entries = world.entries()?;
    world.judge(captured::rows_belong(&entries))
}

#[then("every row's subject is unexpanded")]
fn rows_unexpanded(world: &mut World) -> Step {
    let entries = world.entries()?;
    world.judge(captured::rows_unexpanded(&entries))
}
