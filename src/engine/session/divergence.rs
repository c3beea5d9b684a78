//! The difference between what client and server believe, caused by xdscope.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::MessageKind;
use crate::wire::event::{Dir, Seq, Time};
use crate::wire::{Interference, InterventionFacts};

/// Postponed messages of a type that are remembered.
const MAX_POSTPONED: usize = 256;

/// Client and server believe different things about a type, because of xdscope.
///
/// Ends when the client acknowledges a later push that xdscope did not change, and nothing of the
/// type is postponed. Delta: each changed or withheld resource and name has to be sent again
/// before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The newest intervention.
    pub facts: Arc<InterventionFacts>,
    /// When the first of the interventions took place.
    pub since: Time,
    /// Number of interventions.
    pub count: u64,
    /// The version of the newest push that xdscope has stopped, as the server sent it.
    pub offered: Option<Arc<str>>,
    /// Pushes that the server has sent and the client has never got.
    pub withheld: u64,
    /// Those among them that the server believes to be refused.
    pub refused: u64,
    /// The version of the newest changed push, once the client has acknowledged it.
    pub runs_changed: Option<Arc<str>>,
    /// The version of a changed push that is on its way, and its number once the client has it.
    changed: Option<(Arc<str>, Option<Seq>)>,
    /// The newest message before the interventions ended.
    pub(super) after: Seq,
    /// Coming pushes that are part of the intervention.
    pub(super) altered: u8,
    /// Messages that are still to come, by direction and nonce.
    postponed: Vec<(Dir, Arc<str>)>,
    /// Whether all interventions so far have postponed requests, or changed what they ask for.
    only_requests: bool,
    /// Losses that later messages need not repair.
    lost: Losses,
}

/// Delta: resources and names in which the state of one side differs from what the other side sent.
///
/// Messages state changes only, so that later ones need not repair it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Resources of the client.
    pub(super) resources: BTreeSet<Arc<str>>,
    /// Names of the subscription at the server: `true` if the server lacks the name, `false` if
    /// only the server has it.
    pub(super) names: BTreeMap<Arc<str>, bool>,
}

impl Losses {
    fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.names.is_empty()
    }
}

impl Divergence {
    /// Returns the divergence after an intervention, which came after the message `after`; `None`
    /// if both sides agree again.
    pub(crate) fn after(
        before: Option<Divergence>,
        (facts, lost): (Arc<InterventionFacts>, Losses),
        after: Seq,
        at: Time,
    ) -> Option<Divergence> {
        if facts.interference == Interference::Released {
            let mut before = before?;
            before.arrived(facts.dir, &facts.nonce);
            let is_over = before.only_requests && before.is_whole();
            return (!is_over).then_some(before);
        }
        let altered = match (facts.dir, facts.interference) {
            (Dir::Resp, Interference::Changed) => 1,
            (Dir::Resp, Interference::Duplicated | Interference::Reordered) => 2,
            _ => 0,
        };
        let mut new = before.unwrap_or(Divergence {
            facts: facts.clone(),
            since: at,
            count: 0,
            offered: None,
            withheld: 0,
            refused: 0,
            runs_changed: None,
            changed: None,
            after,
            altered: 0,
            postponed: Vec::new(),
            only_requests: true,
            lost: Losses::default(),
        });
        // With the answer to a push more than names is lost.
        let is_of_names = !lost.names.is_empty() && facts.nonce.is_empty();
        new.lost.resources.extend(lost.resources);
        new.lost.names.extend(lost.names);
        new.arrived(facts.dir, &facts.nonce);
        if facts.interference.postpones() && new.postponed.len() < MAX_POSTPONED {
            new.postponed.push((facts.dir, facts.nonce.clone()));
        }
        new.only_requests &= facts.dir == Dir::Req && (facts.interference.postpones() || is_of_names);
        new.altered = new.altered.saturating_add(altered);
        if facts.dir == Dir::Resp {
            new.note_push(&facts);
        }
        new.count += 1;
        (new.facts, new.after) = (facts, after);
        Some(new)
    }

    /// Notes what happened to a push of the server.
    fn note_push(&mut self, facts: &InterventionFacts) {
        match facts.interference {
            Interference::Dropped | Interference::Bounced => {
                self.offered = Some(facts.version.clone());
                self.withheld += 1;
                self.refused += u64::from(facts.interference == Interference::Bounced);
            }
            Interference::Changed => self.changed = Some((facts.version.clone(), None)),
            _ => {}
        }
    }

    /// Notes that a message is not postponed any more. Returns whether it was.
    fn arrived(&mut self, dir: Dir, nonce: &str) -> bool {
        let at = self.postponed.iter().position(|of| of.0 == dir && *of.1 == *nonce);
        at.map(|at| self.postponed.remove(at)).is_some()
    }

    /// Whether a resource or name of one side differs from what the other side sent.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Whether resources of the client differ from what the server sent.
    pub(super) fn has_lost_resources(&self) -> bool {
        !self.lost.resources.is_empty()
    }

    /// Whether the server has another subscription than the client.
    pub(super) fn has_lost_names(&self) -> bool {
        !self.lost.names.is_empty()
    }

    /// Notes a resource that the server has sent or removed: the server has read its name.
    pub(super) fn served(&mut self, name: &str) {
        self.lost.resources.remove(name);
        if self.lost.names.get(name) == Some(&true) {
            self.lost.names.remove(name);
        }
    }

    /// Notes a resource that the client has given up.
    pub(super) fn give_up(&mut self, name: &str) {
        self.lost.resources.remove(name);
    }

    /// Notes a name that the client subscribes or unsubscribes.
    pub(super) fn asked(&mut self, name: &str) {
        self.lost.names.remove(name);
    }

    /// Whether nothing is postponed or lost.
    fn is_whole(&self) -> bool {
        self.altered == 0 && self.postponed.is_empty() && self.lost.is_empty()
    }

    /// Whether both sides agree again without a further push, now that they have the same names.
    pub(super) fn is_over_with_names(&self) -> bool {
        self.only_requests && self.is_whole()
    }

    /// Whether the next push is part of the interventions.
    pub(super) fn awaits_altered_push(&self) -> bool {
        self.altered > 0
    }

    /// Returns the divergence of a later stream, on which the client claims to have resources.
    pub(super) fn carried(mut self, is_claimed: impl Fn(&str) -> bool) -> Option<Divergence> {
        // The client subscribes anew.
        self.lost.names.clear();
        self.lost.resources.retain(|name| is_claimed(name));
        self.postponed.clear();
        (self.altered, self.only_requests) = (0, false);
        self.has_lost().then_some(self)
    }

    /// Whether a push is to come that xdscope has changed.
    pub(super) fn awaits_changed_push(&self) -> bool {
        self.altered > 0 && (self.facts.dir, self.facts.interference) == (Dir::Resp, Interference::Changed)
    }

    /// Takes a push for the changed one. Returns the divergence of the type that it states.
    pub(super) fn claim(&mut self, n: Option<Seq>) -> Divergence {
        self.altered -= 1;
        self.after = n.unwrap_or(self.after);
        Divergence { altered: 0, ..self.clone() }
    }

    /// Notes that the stream of the interventions has ended: what was postponed is lost.
    pub(crate) fn lose_postponed(&mut self) {
        self.postponed.clear();
    }

    /// Notes a message of the type. Returns whether both sides agree again.
    pub(crate) fn settles_with(&mut self, message: &SettlingMessage<'_>) -> bool {
        let SettlingMessage { kind, nonce, n, answers } = *message;
        if matches!(kind, MessageKind::Push | MessageKind::Resend) {
            let was_postponed = self.arrived(Dir::Resp, nonce);
            if !was_postponed {
                // The server's newest push has come through.
                self.offered = None;
            }
            if self.altered > 0 {
                self.altered -= 1;
                self.after = n.unwrap_or(self.after);
                if let Some((_, number)) = &mut self.changed {
                    *number = n;
                }
            }
        }
        if let (MessageKind::Ack, Some(answered)) = (kind, answers) {
            let is_changed = |(_, number): &mut (Arc<str>, Option<Seq>)| *number == Some(answered);
            self.runs_changed = self.changed.take_if(is_changed).map(|(version, _)| version);
        }
        kind == MessageKind::Ack && self.is_whole() && answers.is_some_and(|answered| answered > self.after)
    }
}

/// When a divergence of a type ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    pub(crate) at: Time,
    /// How long the longest divergence of the type has lasted.
    pub(crate) longest: Duration,
}

/// The fields of a message that may end a divergence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SettlingMessage<'a> {
    pub(crate) kind: MessageKind,
    pub(crate) nonce: &'a str,
    /// The number of the message.
    pub(crate) n: Option<Seq>,
    /// The number of the response that the message answers.
    pub(crate) answers: Option<Seq>,
}
