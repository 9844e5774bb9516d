//! The World of one scenario with a Hub under test.

use std::sync::Arc;

use cucumber::World as CucumberWorld;
use serde_json::Value;

use super::client::Request;
use super::evidence;
use super::judge::envelope;
use super::observed::{EveryReply, ObservedReply};
use super::provider::UNPLAYED;
use super::reply::Reply;
use super::scene::Scene;
use super::session::{HubSession, absent};
use crate::engine::by_hand::{ByHand, body_text, quoted, quoted_without};
use crate::engine::judge::{Cause, CheckFailure, Judgement};
use crate::engine::naming::Naming as _;
use crate::engine::secrets;
use crate::engine::world::{Abort, Core, FamilyWorld, ScenarioArtifacts, Step, has_core};
use crate::families::hub::manifest::Customer;
use crate::net::wire::CALL;
use crate::transcript;
use crate::transcript::{Frame, Kind};

/// Quiet windows in which what must reach the provider may still come.
const ARRIVAL: u32 = 20;

/// The state of one scenario.
#[derive(CucumberWorld, Default)]
pub struct World {
    core: Core,
    scene: Option<Scene>,
}

has_core!(World, pub(super) Scene, "Given a Hub …");

impl FamilyWorld for World {
    fn artifacts(&self) -> ScenarioArtifacts {
        let Some(scene) = &self.scene else { return ScenarioArtifacts::default() };
        let frames = scene.frames();
        let number = scene.made.last().map(u64::to_string);
        let subject = frames
            .iter()
            .find(|frame| frame.kind == Kind::HubRequest && frame.headers.get(CALL) == number.as_ref());
        ScenarioArtifacts {
            transcript: Some(Arc::clone(&scene.agent.transcript)),
            names: vec![(scene.unique.clone(), "<unique>".to_owned())],
            nonce: None,
            is_rechecked: false,
            subject: subject.map(|frame| frame.body.clone()),
            reproduce: Some({
                let session = Arc::clone(&scene.session);
                ByHand::new(move |_, frame| by_hand(frame, &session))
            }),
        }
    }

    fn on_end(&mut self) {
        if let Some(scene) = &self.scene
            && let Some(provider) = &scene.session.provider
        {
            provider.forget(&scene.unique);
        }
    }
}

impl World {
    /// The session with the Hub.
    pub(in crate::families::hub) fn session(&mut self) -> Result<Arc<HubSession>, Abort> {
        let session = self.session_with::<HubSession>("a Hub")?;
        self.ensure_running(session.ended())?;
        Ok(session)
    }

    /// Opens the scene.
    pub(in crate::families::hub) fn open(&mut self, customer: Customer) -> Step {
        let session = self.session()?;
        self.scene = Some(Scene::new(&session, customer, &self.core.identity(), self.core.written()));
        Ok(())
    }

    /// Prepares a full request for a tool.
    pub(in crate::families::hub) async fn prepare(&mut self, tool: &str) -> Step {
        let prepared = self.scene()?.prepare(tool).await;
        self.judge(prepared)
    }

    /// The request that is being prepared.
    pub(in crate::families::hub) fn draft(&mut self) -> Result<&mut Request, Abort> {
        if self.scene()?.draft.is_none() {
            return Err(self.suite_fault("no step prepared a request (`Given a full request for …`)"));
        }
        self.scene()?.draft.as_mut().ok_or(Abort)
    }

    /// Has only those answers of the run judged whose request has this member with something in it.
    pub(super) fn only_requests_with(&mut self, path: &str) -> Step {
        let pointer = format!("/{}", path.replace('.', "/"));
        let message = format!("the request has no `{path}`");
        self.judge_each_reply(move |reply| match reply.request.body.pointer(&pointer) {
            None | Some(Value::Null) => Err(CheckFailure::NotObserved(message.clone())),
            Some(Value::Array(items)) if items.is_empty() => Err(CheckFailure::NotObserved(message.clone())),
            Some(_) => Ok(()),
        })
    }

    /// As [`World::judge_reply`], and in an `@always` scenario has every answer of the run judged.
    pub(super) fn judge_each_reply(
        &mut self,
        judgement: impl Fn(&Reply<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        match self.every::<EveryReply>() {
            Some(every) => {
                every.check(move |own: &ObservedReply<'_>| judgement(&own.reply));
                Ok(())
            }
            None => self.judge_reply(judgement),
        }
    }

    /// Adds a judgement of every answer of the run and of what arrived at the provider before it.
    pub(super) fn judge_effects(
        &mut self,
        judgement: impl Fn(&Reply<'_>, &[&Frame]) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        let missing = "no step says which answers (`Given every result of the run`)";
        self.check_every::<EveryReply>(missing, move |own: &ObservedReply<'_>| {
            judgement(&own.reply, &own.seen)
        })
    }

    /// Judges the exchange under test.
    pub(in crate::families::hub) fn judge_reply(
        &mut self,
        judgement: impl FnOnce(&Reply<'_>) -> Judgement,
    ) -> Step {
        self.judge_replies(|replies| match replies.last() {
            Some(reply) => judgement(reply),
            None => Ok(()),
        })
    }

    /// Judges the first and the last exchange under test.
    pub(in crate::families::hub) fn judge_pair(
        &mut self,
        judgement: impl FnOnce(&Reply<'_>, &Reply<'_>) -> Judgement,
    ) -> Step {
        self.judge_replies(|replies| match (replies.first(), replies.last()) {
            (Some(first), Some(last)) => judgement(first, last),
            _ => Ok(()),
        })
    }

    /// Judges all exchanges under test.
    pub(in crate::families::hub) fn judge_replies(
        &mut self,
        judgement: impl FnOnce(&[Reply<'_>]) -> Judgement,
    ) -> Step {
        let session = self.session()?;
        let scene = self.scene()?;
        let (frames, made) = (scene.frames(), scene.made.clone());
        let replies: Vec<Reply<'_>> = made.iter().filter_map(|call| Reply::of(&frames, *call)).collect();
        if replies.is_empty() {
            return Err(self.suite_fault("no step sent a request (`When the agent sends …`)"));
        }
        if let Some(reply) = replies.iter().find(|reply| session.lacks(reply)) {
            return Err(self.abort(CheckFailure::NotObserved(absent(reply.tool()))));
        }
        self.judge_all(&replies, judgement)
    }

    /// Judges all exchanges under test, also with a tool that the Hub does not know.
    fn judge_all(
        &mut self,
        replies: &[Reply<'_>],
        judgement: impl FnOnce(&[Reply<'_>]) -> Judgement,
    ) -> Step {
        let session = self.session()?;
        // Most judgements have nothing to look at then; that every request is answered is asked first.
        let judgement = replies.iter().try_for_each(Reply::is_answered).and_then(|()| judgement(replies));
        let judgement = judgement.or_else(|trouble| self.unless_unplayed(replies, trouble));
        let is_idle = !session.works() && replies.first().is_some_and(|reply| reply.answer.is_none());
        self.judge_unless_idle(
            judgement,
            is_idle.then_some("the Hub did not answer this request, and did the work of no other"),
        )
    }

    /// What fails may fail for what the suite's provider does not have.
    fn unless_unplayed(&mut self, replies: &[Reply<'_>], trouble: CheckFailure) -> Judgement {
        let failed = replies.iter().find(|reply| reply.answer.is_some() && !reply.is_executed());
        let (CheckFailure::Broken(_), Some(failed), Ok(session), Ok(scene)) =
            (&trouble, failed, self.session(), self.scene())
        else {
            return Err(trouble);
        };
        let asked = |frame: &Frame| frame.text(&format!("/{UNPLAYED}")).map(str::to_owned);
        let own = scene.agent.transcript.with(|frames| {
            let mut seen = frames.iter().filter(|frame| frame.kind == Kind::Provider);
            seen.find_map(asked)
        });
        match own.or_else(|| session.lacking().map(str::to_owned)) {
            Some(request) => Err(CheckFailure::NotObserved(format!(
                "the call of `{}` fails, and the suite's provider has nothing at `{request}`, which it may need; \
                 docs/hub.md says what is there",
                failed.tool()
            ))),
            None => Err(trouble),
        }
    }

    /// Judges that the Hub knows the tool that was asked for.
    pub(in crate::families::hub) fn judge_presence(&mut self, code: &str) -> Step {
        let session = self.session()?;
        let scene = self.scene()?;
        let (frames, made) = (scene.frames(), scene.made.last().copied());
        let replies: Vec<Reply<'_>> = made.and_then(|call| Reply::of(&frames, call)).into_iter().collect();
        let missing: Vec<&str> = session.missing().iter().map(String::as_str).collect();
        self.judge_all(&replies, |replies| {
            replies.iter().try_for_each(|reply| envelope::is_not_error(reply, code, &missing))
        })
    }

    /// Judges an exchange that must be refused, with what came after it.
    pub(in crate::families::hub) fn judge_refusal(
        &mut self,
        judgement: impl FnOnce(&Reply<'_>, Option<&Reply<'_>>) -> Judgement,
    ) -> Step {
        let scene = self.scene()?;
        let (frames, sentinel) = (scene.frames(), scene.sentinel);
        let after = sentinel.and_then(|call| Reply::of(&frames, call));
        self.judge_reply(|reply| judgement(reply, after.as_ref()))
    }

    /// Judges what the provider got. What must arrive may take a moment; what must not is given one.
    pub(in crate::families::hub) async fn judge_provider(
        &mut self,
        must_arrive: bool,
        judgement: impl Fn(&Request, &Reply<'_>, &[&Frame]) -> Judgement,
    ) -> Step {
        let session = self.session()?;
        let transcript = Arc::clone(&self.scene()?.agent.transcript);
        let is_idle = || session.provider.as_ref().is_some_and(|provider| !provider.was_asked());
        if transcript.record_external("provider is idle", is_idle) {
            let message = "the Hub asks the provider at `CALLMARK_PROVIDER_URL` nothing".to_owned();
            return Err(self.could_not_run(Cause::Fixture, message));
        }
        let draft = self.draft()?.clone();
        let scene = self.scene()?;
        let made = scene.made.last().copied().unwrap_or_default();
        let look = |frames: &[Frame]| {
            let seen: Vec<&Frame> = frames.iter().filter(|frame| frame.kind == Kind::Provider).collect();
            match Reply::of(frames, made) {
                Some(reply) => reply.is_answered().and_then(|()| judgement(&draft, &reply, &seen)),
                None => Ok(()),
            }
        };
        if must_arrive {
            let patience = session.timeouts.settle_window * ARRIVAL;
            // After an error nothing arrives any more.
            let is_refused = |frames: &[Frame]| {
                Reply::of(frames, made).is_some_and(|reply| reply.answer.is_some() && !reply.is_executed())
            };
            let is_over = |frames: &[Frame]| look(frames).is_ok() || is_refused(frames);
            transcript.wait(patience, |frames| is_over(frames).then_some(())).await;
        } else {
            transcript::sleep_unless_replaying(session.timeouts.settle_window).await;
        }
        let judgement = transcript.with(look);
        self.judge(judgement)
    }
}

/// A command line that sends a request by hand.
fn by_hand(frame: &Frame, session: &HubSession) -> String {
    let (method, path) = frame.channel.split_once(' ').unwrap_or(("POST", &frame.channel));
    let header = |name: &str| {
        // The shell fills in the secret.
        let value = format!("{name}: {}", frame.headers.get(name)?);
        let secret = session.secret();
        let word = if value.contains(secret) {
            quoted_without(&value, secret, "CALLMARK_HUB_SECRET")
        } else {
            quoted_without(&value, secrets::shortened(secret), "CALLMARK_HUB_SECRET%?")
        };
        Some(format!(" -H {word}"))
    };
    let headers: String = ["authorization", "content-type"].into_iter().filter_map(header).collect();
    let url = quoted(&format!("{}{path}", session.shown_base()));
    let line = format!("curl -i -X {method} {url}{headers}{}", session.client.by_hand());
    if frame.body.is_null() {
        return line;
    }
    format!("{line} --data-raw {}", quoted(&body_text(&evidence::NAMING.normalized(&frame.body))))
}
