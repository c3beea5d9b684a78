//! The difference between what client and server believe, caused by xdscope.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::session::MessageKind;
use xdscope_wire::event::{Dir, Seq, Time};
use xdscope_wire::{Interference, InterventionFacts};

/// Interventions in a type that are remembered until they are repaired.
const MAX_CAUSES: usize = 256;

/// Client and server believe different things about a type, because of xdscope.
///
/// Lasts until later messages have repaired each of the interventions. Delta: each changed or
/// withheld resource and name has to be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The newest intervention that is not repaired.
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
    /// The changed push that is on its way.
    changed: Option<ChangedPush>,
    /// Interventions that are not repaired, the oldest first.
    causes: Vec<Cause>,
    /// Delta: resources in which the client differs from the server, with the intervention.
    lost_resources: BTreeMap<Arc<str>, Arc<InterventionFacts>>,
    /// Delta: names in which the subscription at the server differs.
    lost_names: BTreeMap<Arc<str>, LostName>,
}

/// A push that xdscope has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChangedPush {
    version: Arc<str>,
    /// The message, once the client has it.
    n: Option<Seq>,
}

/// A name in which the subscription at the server differs from that of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LostName {
    /// Whether the server lacks the name. Else only the server has it.
    is_missing: bool,
    /// The intervention that has caused it.
    by: Arc<InterventionFacts>,
}

/// An intervention that is not repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cause {
    facts: Arc<InterventionFacts>,
    repair: Repair,
    /// The newest message before the intervention ended.
    after: Seq,
    /// Coming pushes that are part of the intervention.
    altered: u8,
    /// The message is still to come.
    is_postponed: bool,
}

/// How an intervention is related to a consequence, the surest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    /// Both are about messages of one direction.
    Direction,
    /// Both are about one nonce.
    Nonce,
    /// The intervention was in a request that followed the message.
    Request,
    /// The message is the altered push.
    AlteredPush,
}

/// The message that repairs an intervention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// The postponed request itself.
    Arrival,
    /// The one after which both sides have the same names.
    Names,
    /// The answer to the newest copy of a push.
    Answer,
    /// The ACK of a later push that xdscope did not change.
    LaterAck,
}

/// Delta: resources and names in which the state of one side differs from what the other side sent.
///
/// Messages state changes only, so that later ones need not repair it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Resources of the client.
    pub(crate) resources: BTreeSet<Arc<str>>,
    /// Names of the subscription at the server: `true` if the server lacks the name, `false` if
    /// only the server has it.
    pub(crate) names: BTreeMap<Arc<str>, bool>,
}

/// Whether an intervention has left out the second answer to a push that the same fault had sent
/// twice. Nothing is lost by that.
pub(crate) fn is_second_answer<'a>(
    facts: &InterventionFacts,
    mut earlier: impl Iterator<Item = &'a Arc<InterventionFacts>>,
) -> bool {
    let is_copy = |other: &Arc<InterventionFacts>| {
        (other.dir, other.interference) == (Dir::Resp, Interference::Duplicated) && other.by == facts.by
    };
    (facts.dir, facts.interference) == (Dir::Req, Interference::Dropped) && earlier.any(is_copy)
}

/// A consequence, to find the intervention that has caused it: what is known of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Consequence<'a> {
    /// Resources that are missing or wrong.
    pub(crate) names: &'a [Arc<str>],
    /// Messages about which something is wrong.
    pub(crate) messages: &'a [Seq],
    /// The nonce of a push without an answer.
    pub(crate) nonce: Option<&'a str>,
    /// The direction of the message that is missing.
    pub(crate) dir: Option<Dir>,
}

impl Cause {
    /// Returns the cause with the message that will repair it.
    fn new(facts: Arc<InterventionFacts>, has_lost_names: bool, after: Seq) -> Cause {
        let repair = match (facts.dir, facts.interference) {
            (Dir::Req, interference) if interference.postpones() => Repair::Arrival,
            (Dir::Req, Interference::Corrected) => Repair::Names,
            // With the answer to a push more than names is lost.
            (Dir::Req, _) if has_lost_names && facts.nonce.is_empty() => Repair::Names,
            (Dir::Resp, Interference::Duplicated) => Repair::Answer,
            _ => Repair::LaterAck,
        };
        let altered = match (facts.dir, facts.interference) {
            (Dir::Resp, Interference::Changed) => 1,
            (Dir::Resp, Interference::Duplicated | Interference::Reordered) => 2,
            _ => 0,
        };
        Cause { repair, after, altered, is_postponed: facts.interference.postpones(), facts }
    }

    /// Whether the intervention was in a message of a direction with this nonce.
    fn is_of(&self, dir: Dir, nonce: &str) -> bool {
        self.facts.dir == dir && *self.facts.nonce == *nonce
    }

    /// Whether the intervention has postponed a message of a direction with this nonce.
    fn awaits(&self, dir: Dir, nonce: &str) -> bool {
        self.is_postponed && self.is_of(dir, nonce)
    }

    /// Whether a push with this nonce, which should have come after the next one, comes first,
    /// because there was no next one in time.
    fn comes_alone(&self, nonce: &str) -> bool {
        let is_whole = self.altered == 2 && self.facts.interference == Interference::Reordered;
        is_whole && self.is_of(Dir::Resp, nonce)
    }

    /// Whether the client has the pushes that are part of the intervention, up to `after`.
    fn has_altered_push(&self) -> bool {
        use Interference::{Changed, Duplicated, Reordered};
        let alters = matches!(self.facts.interference, Changed | Duplicated | Reordered);
        alters && self.facts.dir == Dir::Resp && self.altered == 0
    }

    /// Whether the client has not received the push that xdscope has changed.
    fn awaits_changed_push(&self) -> bool {
        self.altered > 0 && (self.facts.dir, self.facts.interference) == (Dir::Resp, Interference::Changed)
    }

    /// Returns how surely the intervention has caused something, if it has.
    fn relation_to(&self, what: &Consequence<'_>) -> Option<Relation> {
        let is_about = what.messages.contains(&self.after);
        if is_about && self.has_altered_push() {
            Some(Relation::AlteredPush)
        } else if is_about && self.facts.dir == Dir::Req {
            Some(Relation::Request)
        } else if what.nonce == Some(&*self.facts.nonce) {
            Some(Relation::Nonce)
        } else if what.dir == Some(self.facts.dir) {
            Some(Relation::Direction)
        } else {
            None
        }
    }

    /// Whether an answer to a push repairs the intervention, if nothing is lost.
    fn is_repaired_by(&self, kind: MessageKind, answered: Seq) -> bool {
        let is_whole = self.altered == 0 && !self.is_postponed;
        is_whole
            && match self.repair {
                Repair::Answer => answered >= self.after,
                Repair::LaterAck => kind == MessageKind::Ack && answered > self.after,
                Repair::Arrival | Repair::Names => false,
            }
    }
}

impl Divergence {
    /// Returns the divergence after an intervention, which came after the message `after`; `None`
    /// if both sides agree again.
    pub(crate) fn after(
        before: Option<Divergence>,
        facts: Arc<InterventionFacts>,
        lost: Losses,
        after: Seq,
        at: Time,
    ) -> Option<Divergence> {
        if facts.interference == Interference::Released {
            let mut before = before?;
            before.arrived(facts.dir, &facts.nonce);
            return if before.settle(None) { None } else { Some(before) };
        }
        if (facts.dir, facts.interference) == (Dir::Req, Interference::Duplicated) {
            // The server has got what the client sent.
            return before;
        }
        let mut new = before.unwrap_or(Divergence {
            facts: facts.clone(),
            since: at,
            count: 0,
            offered: None,
            withheld: 0,
            refused: 0,
            runs_changed: None,
            changed: None,
            causes: Vec::new(),
            lost_resources: BTreeMap::new(),
            lost_names: BTreeMap::new(),
        });
        // A later intervention in a postponed message takes the place of the earlier one.
        new.causes.retain(|cause| !cause.awaits(facts.dir, &facts.nonce));
        let cause = Cause::new(facts.clone(), !lost.names.is_empty(), after);
        new.lost_resources.extend(lost.resources.into_iter().map(|name| (name, facts.clone())));
        for (name, is_missing) in lost.names {
            new.lost_names.insert(name, LostName { is_missing, by: facts.clone() });
        }
        if facts.dir == Dir::Resp {
            new.note_push(&facts);
        }
        new.count += 1;
        new.add(cause);
        Some(new)
    }

    /// Adds an intervention. Beyond the limit, the ACK that repairs it repairs the oldest such one.
    fn add(&mut self, cause: Cause) {
        self.facts = cause.facts.clone();
        if self.causes.len() >= MAX_CAUSES {
            let is_implied = |cause: &Cause| cause.repair == Repair::LaterAck && !cause.is_postponed;
            match self.causes.iter().position(is_implied) {
                Some(oldest) if is_implied(&cause) => {
                    self.causes.remove(oldest);
                }
                _ => return,
            }
        }
        self.causes.push(cause);
    }

    /// Notes what happened to a push of the server.
    fn note_push(&mut self, facts: &InterventionFacts) {
        match facts.interference {
            Interference::Dropped | Interference::Bounced => {
                self.offered = Some(facts.version.clone());
                self.withheld += 1;
                self.refused += u64::from(facts.interference == Interference::Bounced);
            }
            Interference::Changed => {
                self.changed = Some(ChangedPush { version: facts.version.clone(), n: None });
            }
            _ => {}
        }
    }

    /// Notes that a message is not postponed any more. Returns whether it was.
    fn arrived(&mut self, dir: Dir, nonce: &str) -> bool {
        let Some(index) = self.causes.iter().position(|cause| cause.awaits(dir, nonce)) else {
            return false;
        };
        self.causes[index].is_postponed = false;
        if self.causes[index].repair == Repair::Arrival {
            self.causes.remove(index);
        }
        true
    }

    /// Forgets interventions that an answer to a push, or an earlier message, has repaired. Returns
    /// whether none is left.
    fn settle(&mut self, answer: Option<(MessageKind, Seq)>) -> bool {
        let names = self.lost_names.values().map(|lost| &lost.by);
        let losing: BTreeSet<_> = self.lost_resources.values().chain(names).map(Arc::as_ptr).collect();
        self.causes.retain(|cause| {
            let is_repaired = match (cause.repair, answer) {
                (Repair::Names, _) => true,
                (_, Some((kind, answered))) => cause.is_repaired_by(kind, answered),
                _ => false,
            };
            !is_repaired || losing.contains(&Arc::as_ptr(&cause.facts))
        });
        if let Some(newest) = self.causes.last() {
            self.facts = newest.facts.clone();
        }
        self.causes.is_empty() && losing.is_empty()
    }

    /// Returns the intervention that has caused something, if known; else the newest
    /// intervention.
    pub(crate) fn cause_of(&self, what: &Consequence<'_>) -> &Arc<InterventionFacts> {
        for name in what.names {
            if let Some(by) = self.lost_resources.get(name) {
                return by;
            }
            if let Some(lost) = self.lost_names.get(name) {
                return &lost.by;
            }
        }
        let closest = self.causes.iter().filter_map(|cause| Some((cause.relation_to(what)?, cause)));
        // The newest of equal relations counts.
        match closest.max_by_key(|(relation, _)| *relation) {
            Some((_, cause)) => &cause.facts,
            None => &self.facts,
        }
    }

    /// Whether a resource or name of one side differs from what the other side sent.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost_resources.is_empty() || !self.lost_names.is_empty()
    }

    /// Whether the client has a resource otherwise than the server sent it.
    pub(crate) fn has_lost_resource(&self, name: &str) -> bool {
        self.lost_resources.contains_key(name)
    }

    /// Whether resources of the client differ from what the server sent.
    pub(crate) fn has_lost_resources(&self) -> bool {
        !self.lost_resources.is_empty()
    }

    /// Notes a resource that the server has sent or removed: the server has read its name.
    pub(crate) fn served(&mut self, name: &str) {
        self.lost_resources.remove(name);
        if self.lost_names.get(name).is_some_and(|lost| lost.is_missing) {
            self.lost_names.remove(name);
        }
    }

    /// Notes a resource that the client has given up.
    pub(crate) fn give_up(&mut self, name: &str) {
        self.lost_resources.remove(name);
    }

    /// Notes a name that the client subscribes or unsubscribes.
    pub(crate) fn asked(&mut self, name: &str) {
        self.lost_names.remove(name);
    }

    /// Notes a request that states all names.
    pub(crate) fn restated(&mut self, is_named: impl Fn(&str) -> bool) {
        self.lost_names.retain(|name, _| is_named(name));
    }

    /// Returns the index of the intervention of which a push with this nonce is part.
    fn altering(&self, nonce: &str) -> Option<usize> {
        let is_open = |cause: &Cause| cause.altered > 0;
        let own = self.causes.iter().position(|cause| is_open(cause) && cause.is_of(Dir::Resp, nonce));
        if own.is_some() || self.causes.iter().any(|cause| cause.awaits(Dir::Resp, nonce)) {
            return own;
        }
        // The push may have another nonce now.
        self.causes.iter().position(is_open)
    }

    /// Whether a push with this nonce has another content than the server sent last.
    pub(crate) fn is_altered(&self, nonce: &str) -> bool {
        self.altering(nonce).is_some_and(|index| self.causes[index].repair != Repair::Answer)
    }

    /// Returns the divergence of a later stream, on which the client claims to have resources.
    pub(crate) fn carried(mut self, is_claimed: impl Fn(&str) -> bool) -> Option<Divergence> {
        // The client subscribes again.
        self.lost_names.clear();
        self.lost_resources.retain(|name, _| is_claimed(name));
        let lost = &self.lost_resources;
        self.causes.retain(|cause| lost.values().any(|by| Arc::ptr_eq(by, &cause.facts)));
        self.lose_postponed();
        for cause in &mut self.causes {
            cause.altered = 0;
        }
        if self.settle(None) { None } else { Some(self) }
    }

    /// Returns since when the two sides differ, if the server has sent a push that xdscope still
    /// keeps back.
    pub(crate) fn keeps_push_since(&self) -> Option<Time> {
        let is_kept = |cause: &Cause| cause.is_postponed && cause.facts.dir == Dir::Resp;
        if self.causes.iter().any(is_kept) { Some(self.since) } else { None }
    }

    /// Whether the client has not received a push that xdscope has changed.
    pub(crate) fn awaits_changed_push(&self) -> bool {
        self.causes.iter().any(Cause::awaits_changed_push)
    }

    /// Takes a push for the changed one. Returns the divergence of the type that it states.
    pub(crate) fn claim(&mut self, n: Option<Seq>) -> Divergence {
        let mut stated = self.clone();
        if let Some(cause) = self.causes.iter_mut().find(|cause| cause.awaits_changed_push()) {
            cause.altered -= 1;
            cause.after = n.unwrap_or(cause.after);
            stated.facts = cause.facts.clone();
            stated.causes = vec![cause.clone()];
        }
        stated
    }

    /// Notes that the stream of the interventions has ended: what was postponed is lost.
    pub(crate) fn lose_postponed(&mut self) {
        for cause in self.causes.iter_mut().filter(|cause| cause.is_postponed) {
            cause.is_postponed = false;
            cause.repair = Repair::LaterAck;
        }
    }

    /// Notes a message of the type. Returns whether both sides agree again.
    pub(crate) fn settles_with(&mut self, message: &SettlingMessage<'_>) -> bool {
        let SettlingMessage { kind, nonce, n, answers } = *message;
        if matches!(kind, MessageKind::Push | MessageKind::Resend) {
            self.note_delivery(nonce, n);
        }
        let answer = match (kind, answers) {
            (MessageKind::Ack | MessageKind::Nack, Some(answered)) => Some((kind, answered)),
            _ => None,
        };
        if let Some((MessageKind::Ack, answered)) = answer {
            let acked = self.changed.take_if(|changed| changed.n == Some(answered));
            self.runs_changed = acked.map(|changed| changed.version);
        }
        self.settle(answer)
    }

    /// Notes that the client has received a push.
    fn note_delivery(&mut self, nonce: &str, n: Option<Seq>) {
        if let Some(index) = self.altering(nonce) {
            let cause = &mut self.causes[index];
            if cause.comes_alone(nonce) {
                cause.altered = 0;
            } else {
                cause.altered -= 1;
                cause.after = n.unwrap_or(cause.after);
            }
            if let Some(changed) = &mut self.changed {
                changed.n = n;
            }
        }
        if !self.arrived(Dir::Resp, nonce) {
            // The newest push of the server has reached the client.
            self.offered = None;
        }
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
