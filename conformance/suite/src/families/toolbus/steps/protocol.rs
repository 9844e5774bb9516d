//! What MCP itself asks for, beside the tool bus: the beginning of a session, and the requests of its revision without
//! sessions.

use cucumber::{given, then, when};
use serde_json::Value;

use super::ProbeName;
use crate::engine::judge::Judgement;
use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::toolbus::answer;
use crate::families::toolbus::judge::{Reply, opening, protocol};
use crate::families::toolbus::manifest::Transport;
use crate::families::toolbus::modern::{self, Deviation, HEADER_MISMATCH, HeaderChange, UNSUPPORTED_VERSION};
use crate::families::toolbus::reason::Undeclared;
use crate::families::toolbus::scene::Call;
use crate::families::toolbus::server::{Opening, PAGES};
use crate::families::toolbus::wire_format::{INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::families::toolbus::world::World;

/// What may be wrong with a member of `_meta` that is not of its type: with the parameters, the request, the message, a
/// revision that there is not, or one that the header does not name.
const MALFORMED: [i64; 5] = [INVALID_PARAMS, -32600, -32700, UNSUPPORTED_VERSION, HEADER_MISMATCH];

vocabulary! {
    /// How a server is reached.
    enum Over "over" {
        "HTTP" => Http,
        "standard input and output" => Stdio,
    }
}

impl Over {
    fn transport(self) -> Transport {
        match self {
            Self::Http => Transport::Http,
            Self::Stdio => Transport::Stdio,
        }
    }
}

#[given(expr = "an MCP server over {over}")]
async fn server_over(world: &mut World, over: Over) -> Step {
    world.open_over(over.transport()).await
}

#[given(expr = "an MCP server over {over} that was asked nothing yet")]
async fn unasked_server(world: &mut World, over: Over) -> Step {
    world.open_new(over.transport(), Opening::Unasked).await
}

#[given(expr = "a new MCP server over {over}")]
async fn new_server(world: &mut World, over: Over) -> Step {
    world.open_new(over.transport(), Opening::Greeted).await
}

#[given(expr = "a request of {string}")]
fn request_of(world: &mut World, method: String) -> Step {
    world.scene()?.call = Some(Call::asking(&method));
    Ok(())
}

#[given("it has no `_meta`")]
fn no_meta(world: &mut World) -> Step {
    deviate(world, Deviation::NoMeta)
}

#[given(expr = "its `_meta` lacks {string}")]
fn lacks_meta(world: &mut World, member: String) -> Step {
    deviate(world, Deviation::WithoutMeta(member))
}

#[given(expr = "its `_meta` has {json} as {string}")]
fn has_meta(world: &mut World, value: Json, member: String) -> Step {
    deviate(world, Deviation::Meta(member, value.0))
}

#[given(expr = "it is in the revision {string}")]
fn in_revision(world: &mut World, version: String) -> Step {
    deviate(world, Deviation::Version(version))
}

#[given(expr = "it lacks the header {string}")]
fn lacks_header(world: &mut World, name: String) -> Step {
    deviate(world, Deviation::WithoutHeader(name))
}

#[given(expr = "its header {string} is {string}")]
fn header_is(world: &mut World, name: String, value: String) -> Step {
    deviate(world, Deviation::Header(name, value))
}

vocabulary! {
    /// How a header that repeats what the body says differs from the usual one: all but the last are wrong.
    enum Fault "header_fault" {
        "is missing" => Missing,
        "says something else" => Unlike,
        "differs in case" => Case,
        "is cut short" => CutShort,
        "is longer" => Longer,
        "is empty" => Empty,
        "is in base64" => Encoded,
    }
}

impl Fault {
    /// What the request does otherwise; nothing where the value of the header cannot be changed so.
    fn deviation(self, header: String, value: &str) -> Option<Deviation> {
        let change = match self {
            Self::Missing => return Some(Deviation::WithoutHeader(header)),
            Self::Unlike => return Some(Deviation::Header(header, "callmark-another-value".to_owned())),
            Self::Case => HeaderChange::Case,
            Self::CutShort => HeaderChange::CutShort,
            Self::Longer => HeaderChange::Longer,
            Self::Empty => HeaderChange::Empty,
            Self::Encoded => HeaderChange::Encoded,
        };
        Some(Deviation::Header(header, change.of(value)?))
    }

    /// Whether an argument's header can have the fault. How a number or a boolean may be written is not for a change of
    /// letters to show.
    fn suits(self, argument: &Value) -> bool {
        let is_any = matches!(self, Self::Missing | Self::Unlike);
        is_any || argument.as_str().is_some_and(|text| self.deviation(String::new(), text).is_some())
    }
}

/// A call of a probe that passes an argument which the server wants repeated in a header.
#[given(expr = "a call whose argument's header {header_fault}")]
fn argument_header(world: &mut World, fault: Fault) -> Step {
    let marked = world.scene()?.calls_with_marked_arguments(|argument| fault.suits(argument));
    let Some((call, header, value)) = marked.into_iter().next() else {
        return Err(world.abort(Undeclared::MarkedArgument.into()));
    };
    world.scene()?.call = Some(call);
    changed(world, fault, header, &value)
}

#[given(expr = "its header {string} {header_fault}")]
fn header_differs(world: &mut World, name: String, fault: Fault) -> Step {
    let tool = world.call()?.tool.clone();
    let value = modern::header_of_call(&tool, &name).unwrap_or_default();
    changed(world, fault, name, &value)
}

fn changed(world: &mut World, fault: Fault, header: String, value: &str) -> Step {
    match fault.deviation(header.clone(), value) {
        Some(deviation) => deviate(world, deviation),
        None => Err(world.abort(Undeclared::ChangedHeader.of(header))),
    }
}

#[given(expr = "its header {string} names the tool of the {tool} probe")]
fn header_names(world: &mut World, name: String, probe: ProbeName) -> Step {
    let table = probe.0.table(&world.session()?.table);
    let other = table.map(|table| table.tool).unwrap_or_default();
    if other == world.call()?.tool {
        return Err(world.abort(Undeclared::OtherProbe.into()));
    }
    deviate(world, Deviation::Header(name, modern::header_value(&other)))
}

fn deviate(world: &mut World, deviation: Deviation) -> Step {
    world.call()?.deviation = Some(deviation);
    Ok(())
}

#[when(expr = "the client sends the request")]
async fn send(world: &mut World) -> Step {
    world.make().await.map(|_| ())
}

#[when(expr = "the client makes each call with an argument whose header {header_fault}")]
async fn make_each_with_fault(world: &mut World, fault: Fault) -> Step {
    let marked = world.scene()?.calls_with_marked_arguments(|argument| fault.suits(argument));
    let changed = marked.into_iter().filter_map(|(call, header, sent)| {
        Some(Call { deviation: Some(fault.deviation(header, &sent)?), ..call })
    });
    make_each_marked(world, changed.collect()).await
}

#[when("the client makes each call with an argument that a header repeats")]
async fn make_each(world: &mut World) -> Step {
    let marked = world.scene()?.calls_with_marked_arguments(|_| true);
    make_each_marked(world, marked.into_iter().map(|(call, ..)| call).collect()).await
}

/// Makes calls with an argument that the server wants repeated in a header. Two alike show no more than one.
async fn make_each_marked(world: &mut World, mut calls: Vec<Call>) -> Step {
    calls.dedup_by(|one, other| {
        (&one.tool, &one.arguments, &one.deviation) == (&other.tool, &other.arguments, &other.deviation)
    });
    if calls.is_empty() {
        return Err(world.abort(Undeclared::MarkedArgument.into()));
    }
    for call in calls {
        world.scene()?.call = Some(call);
        world.make().await?;
    }
    Ok(())
}

#[when("the client sends the request and reads on to the last page")]
async fn send_for_every_page(world: &mut World) -> Step {
    for _ in 0..PAGES {
        let made = world.make().await?;
        let frames = world.scene()?.frames();
        let next = answer::frame(&frames, made.id).and_then(|page| page.text("/result/nextCursor"));
        let Some(next) = next.map(str::to_owned) else { break };
        world.call()?.cursor = Some(next);
    }
    Ok(())
}

#[when("the client sends the request, makes an echo call, and sends the request again")]
async fn send_around_a_call(world: &mut World) -> Step {
    world.make().await?;
    let request = world.call()?.clone();
    world.prepare(crate::families::toolbus::call::Probe::Echo, serde_json::json!({"note": "between"}))?;
    world.make().await?;
    world.scene()?.call = Some(request);
    world.make().await.map(|_| ())
}

vocabulary! {
    /// A method of HTTP that is not POST.
    enum HttpMethod "http_method" {
        "GET" => Get,
        "DELETE" => Delete,
    }
}

#[when(expr = "the client sends {http_method} to the endpoint")]
async fn send_by(world: &mut World, method: HttpMethod) -> Step {
    let method = match method {
        HttpMethod::Get => "GET",
        HttpMethod::Delete => "DELETE",
    };
    world.scene()?.ask_by(method).await;
    Ok(())
}

vocabulary! {
    /// Why a request is refused.
    enum Refusal "refusal" {
        "its `_meta` is incomplete" => IncompleteMeta,
        "its `_meta` is malformed" => MalformedMeta,
        "no revision is named" => NoRevision,
        "the revision is unknown" => UnknownRevision,
        "no header names its revision" => NoRevisionHeader,
        "headers and body do not agree" => HeaderMismatch,
        "the method is unknown" => UnknownMethod,
    }
}

#[then(expr = "it is refused since {refusal}")]
fn is_refused(world: &mut World, refusal: Refusal) -> Step {
    let serves_legacy = world.session()?.table.may_have_sessions();
    world.judge_call(|reply| match refusal {
        Refusal::IncompleteMeta => protocol::is_refused(reply, &[INVALID_PARAMS], 400),
        // A server of both eras takes it for a request of the legacy one, which has not been opened.
        // Whether it has to be opened is the server's business.
        Refusal::NoRevision if serves_legacy && !protocol::is_over_http(reply) => {
            protocol::is_an_error_or_legacy(reply)
        }
        Refusal::MalformedMeta if serves_legacy && !protocol::is_over_http(reply) => {
            protocol::is_an_error(reply)
        }
        // Its header names a revision that the body does not.
        Refusal::NoRevision => protocol::is_refused(reply, &[INVALID_PARAMS, HEADER_MISMATCH], 400),
        Refusal::MalformedMeta => protocol::is_refused(reply, &MALFORMED, 400),
        Refusal::UnknownRevision => protocol::is_refused(reply, &[UNSUPPORTED_VERSION], 400),
        // So does one whose header does not name it.
        Refusal::NoRevisionHeader if serves_legacy => protocol::is_an_error_or_legacy(reply),
        // The manifest need not name every era that the server has: what it says in the form of the legacy one shows that.
        Refusal::NoRevisionHeader => protocol::is_refused_or_legacy(reply, &[HEADER_MISMATCH], 400),
        Refusal::HeaderMismatch => protocol::is_refused(reply, &[HEADER_MISMATCH], 400),
        Refusal::UnknownMethod => protocol::is_refused(reply, &[METHOD_NOT_FOUND], 404),
    })
}

#[then("it is refused unless the server has the revision")]
fn is_refused_unless_served(world: &mut World) -> Step {
    world.judge_pair(protocol::is_refused_unless_served)
}

#[then("each is refused since headers and body do not agree")]
fn each_is_refused(world: &mut World) -> Step {
    let is_refused = |reply: &Reply<'_>| protocol::is_refused(reply, &[HEADER_MISMATCH], 400);
    world.judge_all(|replies| replies.iter().try_for_each(is_refused))
}

#[then("none is refused for its headers")]
fn none_is_refused(world: &mut World) -> Step {
    world.judge_all(|replies| replies.iter().try_for_each(protocol::is_not_refused_for_its_headers))
}

#[then(expr = "it is answered with HTTP status {int}")]
fn has_status(world: &mut World, status: u16) -> Step {
    world.judge_call(|reply| protocol::has_status(reply, status))
}

vocabulary! {
    /// What holds of one answer.
    enum ReplyPredicate "reply_predicate" {
        "says whether it is complete" => ResultType,
        "says how long it holds" => Ttl,
        "says who may share it" => CacheScope,
        "says what the server is and has" => Discovery,
        "names the server that made it" => ServerInfo,
        "names the revisions that there are" => Versions,
        "names only revisions of MCP" => OwnVersions,
        "agrees to a revision of MCP" => Agreed,
        "names no session" => NoSession,
        "came without a request of the server" => NoRequest,
        "came without log messages" => NoLog,
        "asks only for what the client declared" => DeclaredInput,
        "has no code that MCP reserves" => NoReservedCode,
        "has no code that MCP advises against" => NoCodeOfServers,
        "came with nothing but messages on standard output" => NoNoise,
    }
}

#[then(expr = "the answer {reply_predicate}")]
async fn answer(world: &mut World, property: ReplyPredicate) -> Step {
    if property == ReplyPredicate::NoNoise {
        world.scene()?.show_noise().await;
    }
    world.judge_each_call(move |reply| holds(reply, property))
}

#[then(expr = "every page {reply_predicate}")]
fn every_page(world: &mut World, property: ReplyPredicate) -> Step {
    world.judge_all(|pages| pages.iter().try_for_each(|page| holds(page, property)))
}

fn holds(reply: &Reply<'_>, property: ReplyPredicate) -> Judgement {
    match property {
        ReplyPredicate::ResultType => protocol::has_its_result_type(reply),
        ReplyPredicate::Ttl => protocol::says_how_long_it_holds(reply),
        ReplyPredicate::CacheScope => protocol::says_who_may_share_it(reply),
        ReplyPredicate::Discovery => protocol::discovers(reply),
        ReplyPredicate::ServerInfo => protocol::names_its_server(reply),
        ReplyPredicate::Versions => protocol::names_the_versions(reply),
        ReplyPredicate::OwnVersions => protocol::names_only_versions_of_mcp(reply),
        ReplyPredicate::Agreed => opening::agrees_to_a_revision(reply),
        ReplyPredicate::NoSession => protocol::names_no_session(reply),
        ReplyPredicate::NoRequest => protocol::asks_nothing(reply),
        ReplyPredicate::NoLog => protocol::logs_nothing_unasked(reply),
        ReplyPredicate::DeclaredInput => protocol::asks_only_for_what_is_declared(reply),
        ReplyPredicate::NoReservedCode => protocol::has_no_reserved_code(reply),
        ReplyPredicate::NoCodeOfServers => protocol::has_no_code_of_servers(reply),
        ReplyPredicate::NoNoise => protocol::writes_only_messages(reply),
    }
}

#[then("both lists hold the same tools")]
fn same_lists(world: &mut World) -> Step {
    world.judge_pair(protocol::lists_the_same)
}
