//! Scenarios as they are run again: how many, and what comes of each.

use super::Remark;
use super::exits::Exits;
use super::rerun::{Drive, HINDERED_AGAIN, could_not_run};
use super::scenario_result::RerunReason;
use super::vocabulary::Driven;
use crate::engine::family::Family;
use crate::engine::judge::Cause;
use crate::spec::catalog::Case;

/// Times the limit that are run again in all: those that end well then show that the target is only late.
pub(super) const MOST: usize = 4;
/// Scenarios that are repeated before it is looked at whether something stands in the way of all of them.
pub(super) const TOGETHER: usize = 16;

/// Why nothing is concluded of a scenario whose every repeat was held up.
const HELD_UP: &str = "this machine held the suite up whenever the scenario was repeated, so that the suite's own \
                       parties were late: run it on a machine that is less busy";

/// Why nothing is concluded of a scenario that was held up and is not repeated.
const HELD_UP_ONCE: &str = "this machine held the suite up meanwhile: run it on a machine that is less busy";

/// What helps a target that is only late because others come before.
const SERIAL: &str = "`serial = true` in the manifest has scenarios run one by one";

/// Scenarios as they are run again.
pub(super) struct Repeats<'a> {
    /// So many that come to the same end again are enough.
    limit: usize,
    /// Were run again.
    ran: usize,
    /// Came to the same end again.
    same: usize,
    /// Are not run again, since too many were.
    beyond: Vec<&'a Case>,
    /// What is to be said of those that ended well.
    pub(super) remarks: Vec<Remark>,
}

impl<'a> Repeats<'a> {
    /// None yet; `beyond` are not run again whatever comes.
    pub(super) fn new(limit: usize, beyond: Vec<&'a Case>) -> Self {
        Self { limit, ran: 0, same: 0, beyond, remarks: Vec::new() }
    }

    /// Runs scenarios of a family again, and again where the suite is hindered in that.
    pub(super) async fn run(
        &mut self,
        family: &'static dyn Family,
        mut own: Vec<&'a Case>,
        driven: &mut Driven,
        drive: &impl Drive,
    ) {
        let mut exits = Exits::default();
        for left in (0..=HINDERED_AGAIN).rev() {
            let is_first = left == HINDERED_AGAIN;
            let mut hindered = Vec::new();
            let mut goes_on = false;
            for some in own.chunks(TOGETHER.min(self.limit)) {
                if is_first && self.same >= self.limit {
                    self.beyond.extend(some);
                    continue;
                }
                self.ran += if is_first { some.len() } else { 0 };
                // What stood in the way of all that were tried last stands in the way of the others.
                if goes_on {
                    hindered.extend(some);
                    continue;
                }
                let mut now = drive.drive(family, some).await;
                let stands_in_the_way = |case: &&Case| {
                    now.results.get(&case.id).is_some_and(|own| own.again == Some(RerunReason::Shortage))
                };
                goes_on = some.len() == TOGETHER && some.iter().all(stands_in_the_way);
                for case in some {
                    if self.take(case, left > 0, &mut now, driven, (drive, &mut exits)) {
                        hindered.push(*case);
                    }
                }
            }
            own = hindered;
        }
        exits.settle(driven);
    }

    /// Puts what came of a repeat in place of what was; whether it was hindered, and is tried again (`may_be_tried`).
    fn take(
        &mut self,
        case: &'a Case,
        may_be_tried: bool,
        again: &mut Driven,
        driven: &mut Driven,
        (drive, exits): (&impl Drive, &mut Exits<'a>),
    ) -> bool {
        let (Some(facts), Some(now)) = (again.facts.get_mut(&case.at), again.results.remove(&case.id)) else {
            return false;
        };
        let before = driven.results.get(&case.id).map(|own| (own.again, own.beside));
        let shortage = driven.results.get(&case.id).and_then(|own| own.shortage.clone());
        // Who was alone with the target when it ended is not excused by that end.
        if now.has_ended && before.is_some_and(|(_, beside)| beside.target == 0) {
            self.same += 1;
            return false;
        }
        let held_up = now.held_up;
        // A broker elects its leaders for as long as it takes, for a repeat as for what came before.
        let is_hindered = held_up || now.again == Some(RerunReason::Shortage);
        if is_hindered && may_be_tried {
            return true;
        }
        let exited = driven.results.get(&case.id).and_then(|own| own.exited.clone());
        exits.repeated((case, drive.is_required(case)), exited, (facts, &now));
        // What stands in the way to the last says nothing of others.
        self.same += usize::from(facts.trouble.is_some() && !is_hindered);
        if let (Some((Some(reason), beside)), None) = (before, &facts.trouble) {
            self.remarks.push(remark(case, reason, beside.any, &shortage.unwrap_or_default()));
        }
        driven.facts.insert(case.at.clone(), facts.clone());
        driven.results.insert(case.id.clone(), now);
        if held_up {
            could_not_run(driven, case, Cause::Environment, HELD_UP.to_owned());
        }
        false
    }

    /// Leaves what is not run again as it is, where all that was came to the same end again: so would the others. Otherwise
    /// nothing is concluded of it, nor of anything that was hindered.
    pub(super) fn leave(self, driven: &mut Driven) -> Option<Remark> {
        let Self { ran, same, beyond, .. } = self;
        for case in &beyond {
            let own = driven.results.get(&case.id);
            let hindrance = own.and_then(|own| {
                let held_up = own.held_up.then(|| HELD_UP_ONCE.to_owned());
                own.shortage.clone().or(held_up)
            });
            let message = |why: &str| format!("it has to be repeated alone, and {ran} were already: {why}");
            match hindrance {
                Some(why) => could_not_run(driven, case, Cause::Environment, message(&why)),
                None if same < ran => could_not_run(driven, case, Cause::Implementation, message(SERIAL)),
                None => {}
            }
        }
        let text =
            format!("{} more scenarios have to be repeated alone than the {ran} that were", beyond.len());
        (!beyond.is_empty()).then_some(Remark { scenario: None, text, log: Vec::new() })
    }
}

/// Says why a scenario was repeated; `why` is what stood in the way.
fn remark(case: &Case, reason: RerunReason, beside: usize, why: &str) -> Remark {
    let text = match reason {
        RerunReason::Silence => {
            format!(
                "`{}` is answered alone, and was not beside {beside} others: if its answer went to one of them, that is a fault \
                 of the target; if it is only late, {SERIAL}",
                case.id
            )
        }
        RerunReason::Timeout => {
            format!(
                "the target reports no timeout in `{}` alone, and did beside {beside} others: {SERIAL}",
                case.id
            )
        }
        RerunReason::Borrowed => format!(
            "`{}` was repeated with a server of its own, since an earlier scenario may have harmed the one it had",
            case.id
        ),
        RerunReason::Shortage => {
            format!("`{}` was repeated, since something stood in the way meanwhile: {why}", case.id)
        }
        RerunReason::Exit => {
            format!("`{}` was repeated, since the server's process ended meanwhile", case.id)
        }
        RerunReason::HeldUp => format!(
            "`{}` was repeated, since this machine held the suite up meanwhile, and its own parties were late",
            case.id
        ),
    };
    Remark { scenario: Some(case.id.clone()), text, log: Vec::new() }
}
