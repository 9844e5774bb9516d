//! What the mail tools answer.

use std::str::FromStr;

use cucumber::{Parameter, then};

use crate::engine::world::Step;
use crate::families::hub::contract::PEOPLE;
use crate::families::hub::server::judge::{calendar, mail};
use crate::families::hub::server::provider;
use crate::families::hub::server::world::World;

/// A property of the messages that a search lists.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "listed",
    regex = "are no more than asked for|are no more than the total|are of the sender|have the subject word|match the query|are none|have no body|have a body|list their attachments"
)]
enum ListingPredicate {
    Limited,
    Total,
    Sender,
    Subject,
    None,
    Known,
    NoBody,
    Body,
    Attachments,
}

impl FromStr for ListingPredicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "are no more than asked for" => Self::Limited,
            "are no more than the total" => Self::Total,
            "are of the sender" => Self::Sender,
            "have the subject word" => Self::Subject,
            "match the query" => Self::Known,
            "are none" => Self::None,
            "have no body" => Self::NoBody,
            "have a body" => Self::Body,
            "list their attachments" => Self::Attachments,
            other => return Err(format!("`{other}` is no property of messages")),
        })
    }
}

/// A property of one answer about mails.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "found",
    regex = "is the message asked for|has no attachments|has attachments|says whether there are new replies|lists replies|lists no replies|lists only newer replies"
)]
enum SearchPredicate {
    Message,
    NoAttachments,
    Attachments,
    Says,
    Replies,
    NoReplies,
    Newer,
}

impl FromStr for SearchPredicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "is the message asked for" => Self::Message,
            "has no attachments" => Self::NoAttachments,
            "has attachments" => Self::Attachments,
            "says whether there are new replies" => Self::Says,
            "lists replies" => Self::Replies,
            "lists no replies" => Self::NoReplies,
            "lists only newer replies" => Self::Newer,
            other => return Err(format!("`{other}` is no property of an answer about mails")),
        })
    }
}

#[then(expr = "the messages {listed}")]
fn listed(world: &mut World, property: ListingPredicate) -> Step {
    let fixtures = world.session()?.fixtures.clone();
    let known = world.scene()?.known.clone();
    world.judge_refusal(|reply, after| match property {
        ListingPredicate::Limited => mail::are_at_most_as_asked(reply),
        ListingPredicate::Total => mail::total_covers_the_list(reply),
        ListingPredicate::Sender => {
            mail::all_match(reply, "from", fixtures.sender.as_deref().unwrap_or_default())
        }
        ListingPredicate::Subject => {
            mail::all_match(reply, "subject", fixtures.subject_word.as_deref().unwrap_or_default())
        }
        ListingPredicate::None => mail::is_empty(reply, after, &known),
        ListingPredicate::Known => mail::all_match(reply, known.member, &known.text),
        ListingPredicate::NoBody => mail::have_no_body(reply),
        ListingPredicate::Body => mail::have_a_body(reply),
        ListingPredicate::Attachments => mail::tell_of_attachments(
            reply,
            fixtures.message_with_attachment_id.as_deref(),
            fixtures.message_id.as_deref(),
        ),
    })
}

#[then("the mail is among them")]
fn mail_is_listed(world: &mut World) -> Step {
    let known = world.scene()?.known.clone();
    world.judge_reply(|reply| mail::lists_the_known(reply, &known))
}

#[then(expr = "the result {found}")]
fn found(world: &mut World, property: SearchPredicate) -> Step {
    world.judge_reply(|reply| match property {
        SearchPredicate::Message => mail::is_the_message(reply),
        SearchPredicate::NoAttachments => mail::has_no_attachments(reply),
        SearchPredicate::Attachments => mail::has_attachments(reply),
        SearchPredicate::Says => mail::says_whether_there_are(reply),
        SearchPredicate::Replies => mail::finds_replies(reply),
        SearchPredicate::NoReplies => mail::finds_no_replies(reply),
        SearchPredicate::Newer => mail::are_newer(reply),
    })
}

#[then("the mail is sent")]
fn sent(world: &mut World) -> Step {
    world.judge_reply(|reply| calendar::has_status(reply, "sent", false))
}

#[then("the answer is in the thread of the mail")]
fn same_thread(world: &mut World) -> Step {
    world.judge_pair(mail::share_a_thread)
}

#[then("the threads have no reply in common")]
fn threads_share_no_reply(world: &mut World) -> Step {
    world.judge_pair(mail::do_not_mix)
}

#[then("the result says what is in the mailbox")]
fn says(world: &mut World) -> Step {
    world.judge_reply(|reply| mail::says(reply, PEOPLE[0], provider::SUBJECT, provider::TEXT))
}

#[then("the result lists the file in the mailbox")]
fn lists_the_file(world: &mut World) -> Step {
    world.judge_reply(|reply| mail::lists_the_file(reply, provider::FILE, provider::FILE_SIZE))
}

#[then(expr = "{string} lists {int} in all")]
fn lists(world: &mut World, list: String, count: usize) -> Step {
    world.judge_reply(|reply| mail::are_different(reply, &list, count))
}

#[then("the customers have no message in common")]
fn own_mailboxes(world: &mut World) -> Step {
    world.judge_pair(mail::are_of_two_mailboxes)
}
