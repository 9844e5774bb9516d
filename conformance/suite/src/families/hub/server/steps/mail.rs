//! What the mail tools answer.

use cucumber::then;

use super::arrange::long_mail;
use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::hub::contract::PEOPLE;
use crate::families::hub::server::judge::{calendar, mail, message};
use crate::families::hub::server::provider;
use crate::families::hub::server::world::World;

vocabulary! {
    /// A property of the messages that a search lists.
    enum ListingPredicate "listed" {
        "are of the sender" => Sender,
        "have the subject word" => Subject,
        "match the query" => Known,
        "are none" => None,
        "list their attachments" => Attachments,
    }
}

vocabulary! {
    /// A property of the messages that a search lists, whatever there is in the mailbox.
    enum ListPredicate "list" {
        "are no more than asked for" => Limited,
        "are no more than the total" => Total,
        "have no body" => NoBody,
        "have a body" => Body,
    }
}

vocabulary! {
    /// A property of one answer about mails.
    enum SearchPredicate "found" {
        "is the message asked for" => Message,
        "has no attachments" => NoAttachments,
        "has attachments" => Attachments,
        "says whether there are new replies" => Says,
        "lists replies" => Replies,
        "lists no replies" => NoReplies,
        "lists only newer replies" => Newer,
    }
}

#[then(expr = "the messages {listed}")]
fn listed(world: &mut World, property: ListingPredicate) -> Step {
    let fixtures = world.session()?.fixtures.clone();
    let known = world.scene()?.known.clone();
    world.judge_refusal(|reply, after| match property {
        ListingPredicate::Sender => {
            mail::all_match(reply, "from", fixtures.sender.as_deref().unwrap_or_default())
        }
        ListingPredicate::Subject => {
            mail::all_match(reply, "subject", fixtures.subject_word.as_deref().unwrap_or_default())
        }
        ListingPredicate::None => mail::is_empty(reply, after, &known),
        ListingPredicate::Known => mail::all_match(reply, known.member, &known.text),
        ListingPredicate::Attachments => mail::mention_attachments(
            reply,
            fixtures.message_with_attachment_id.as_deref(),
            fixtures.message_id.as_deref(),
        ),
    })
}

#[then(expr = "the messages {list}")]
fn list_has(world: &mut World, property: ListPredicate) -> Step {
    world.judge_each_reply(match property {
        ListPredicate::Limited => mail::are_at_most_as_asked,
        ListPredicate::Total => mail::total_covers_the_list,
        ListPredicate::NoBody => mail::have_no_body,
        ListPredicate::Body => mail::have_a_body,
    })
}

#[then("the mail is among them")]
fn mail_is_listed(world: &mut World) -> Step {
    let known = world.scene()?.known.clone();
    world.judge_reply(|reply| mail::lists_the_known(reply, &known))
}

#[then(expr = "the result {found}")]
fn found(world: &mut World, property: SearchPredicate) -> Step {
    world.judge_each_reply(move |reply| match property {
        SearchPredicate::Message => mail::is_the_message(reply),
        SearchPredicate::NoAttachments => mail::has_no_attachments(reply),
        SearchPredicate::Attachments => mail::has_attachments(reply),
        SearchPredicate::Says => mail::says_whether_there_are(reply),
        SearchPredicate::Replies => mail::finds_replies(reply),
        SearchPredicate::NoReplies => mail::finds_no_replies(reply),
        SearchPredicate::Newer => mail::are_newer(reply),
    })
}

#[then("the result lists the replies that are newer, and none that is older")]
fn lists_the_newer(world: &mut World) -> Step {
    world.judge_pair(mail::are_those_that_are_newer)
}

#[then("the mail is sent")]
fn sent(world: &mut World) -> Step {
    world.judge_each_reply(|reply| calendar::has_status(reply, "sent", false))
}

#[then("the answer to the answer is in the thread of the mail")]
fn same_thread_again(world: &mut World) -> Step {
    world.judge_replies(mail::answers_share_a_thread)
}

#[then("each message is read under the id beside it")]
fn listed_under_their_ids(world: &mut World) -> Step {
    world.judge_replies(message::are_listed_under_their_ids)
}

#[then("everybody to whom the message went is listed")]
fn lists_recipients(world: &mut World) -> Step {
    let owner = format!("{}{}", world.scene()?.customer.name(), provider::DOMAIN);
    let addresses = [owner.as_str(), provider::SECOND];
    world.judge_reply(|reply| message::lists_recipients(reply, provider::SUBJECT_OF_BOTH, addresses))
}

#[then("the thread is the one that a search gives with the message")]
fn has_the_thread(world: &mut World) -> Step {
    let thread_id = world.scene()?.subjects.thread_id.clone();
    world.judge_reply(|reply| message::has_the_thread(reply, &thread_id))
}

#[then("each reply is described by itself")]
fn replies_describe_themselves(world: &mut World) -> Step {
    world.judge_reply(|reply| {
        message::are_described_by_themselves(reply, provider::REPLIES_FROM, &provider::REPLIES)
    })
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
    let [beginning, end] = provider::TEXTS;
    let parts = [
        ("from", PEOPLE[0]),
        ("to", provider::DOMAIN),
        ("subject", provider::SUBJECT),
        ("body", beginning),
        ("body", end),
    ];
    world.judge_reply(|reply| mail::says(reply, &parts))
}

#[then(regex = "^the body is that of the message (with an attachment|in HTML)$")]
fn has_the_body(world: &mut World, which: String) -> Step {
    let text = if which == "in HTML" { provider::TEXT_IN_HTML } else { provider::TEXT_BESIDE_A_FILE };
    world.judge_reply(|reply| mail::says(reply, &[("body", text)]))
}

#[then("the result lists the files in the mailbox")]
fn lists_the_files(world: &mut World) -> Step {
    world.judge_reply(|reply| mail::lists_the_files(reply, &provider::FILES))
}

#[then(expr = "{string} lists {int} in all")]
fn lists(world: &mut World, list: String, count: usize) -> Step {
    world.judge_reply(|reply| mail::are_different(reply, &list, count))
}

#[then("the customers have no message in common")]
fn own_mailboxes(world: &mut World) -> Step {
    world.judge_pair(mail::are_of_two_mailboxes)
}

#[then(expr = "the message is dated {string}")]
fn is_dated(world: &mut World, date: String) -> Step {
    world.judge_reply(|reply| message::is_dated(reply, &date))
}

#[then(expr = "{string} are dated {string}")]
fn are_dated(world: &mut World, list: String, dates: String) -> Step {
    world.judge_reply(|reply| message::are_dated(reply, &list, &dates))
}

#[then("the result lists each file once, with its media type")]
fn lists_each_file_once(world: &mut World) -> Step {
    world.judge_reply(|reply| message::lists_each_file_once(reply, &provider::FILES))
}

#[then("the result has the whole text of the message")]
fn has_the_text(world: &mut World) -> Step {
    let text = long_mail(&world.scene()?.unique);
    world.judge_reply(|reply| message::has_the_text(reply, &text))
}

#[then("the message is listed with its whole text")]
fn is_listed_with_the_text(world: &mut World) -> Step {
    let subject = world.scene()?.unique.clone();
    world.judge_reply(|reply| message::is_listed_with_the_text(reply, &subject, &long_mail(&subject)))
}

#[then("the message is listed without its text")]
fn is_listed_without_the_text(world: &mut World) -> Step {
    let subject = world.scene()?.unique.clone();
    world.judge_reply(|reply| message::shows_nothing_of_the_text(reply, &subject, &long_mail(&subject)))
}

#[then("a text in two versions counts as no attachment")]
fn versions_are_no_attachments(world: &mut World) -> Step {
    world.judge_reply(|reply| message::tells_attachments(reply, provider::SUBJECT_OF_BOTH, false))
}

#[then("the other customer sees none of the replies")]
fn shares_no_reply(world: &mut World) -> Step {
    world.judge_pair(message::shares_no_reply)
}
