//! How clients got over the interventions of xdscope.
//!
//! Recoveries are computed from the rows that are kept, so that a recording tells them too. Delta
//! servers send only what has changed: there, each resource that was changed or withheld has to be
//! sent again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::session::{Agreement, Divergence, Losses, MessageKind, SettlingMessage, is_second_answer};
use crate::store::{LineFact, RowNote, Store};
use xdscope_wire::event::{Dir, Seq, StreamId, Time, TypeUrl};
use xdscope_wire::{Interference, InterventionFacts};

/// The reaction of one client to interventions, and the time that it took to recover.
///
/// A type has recovered once client and server agree again: the client has acknowledged a later
/// push that was not changed, or has opened another stream and stated the versions that it has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecoveryFact {
    /// Node id; empty if the client did not state one.
    pub node: Arc<str>,
    /// Number of interventions.
    pub interventions: u64,
    /// Number of messages that were corrected, so that server and client agree again.
    pub corrections: u64,
    /// Number of NACKs since the first intervention.
    pub nacks: u64,
    /// Number of streams opened since the first intervention.
    pub reconnects: u64,
    /// Longest time from a first intervention in a type to its recovery.
    pub longest: Option<Duration>,
    /// Types that have not recovered, in order.
    pub open: Vec<OpenType>,
}

/// A type in which client and server do not agree yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenType {
    /// The type.
    pub type_url: TypeUrl,
    /// The newest intervention that is not repaired.
    pub caused_by: Arc<InterventionFacts>,
}

impl RecoveryFact {
    /// Whether all types have recovered.
    pub fn is_recovered(&self) -> bool {
        self.open.is_empty()
    }
}

/// Returns the clients with interventions, in order of their nodes, from the rows that are kept.
pub fn recoveries(store: &Store) -> Vec<RecoveryFact> {
    if !store.has_interventions() {
        return Vec::new();
    }
    let rows = store.first_row()..store.rows();
    let is_intervention = |row: &usize| matches!(store.kind_of(*row), Some((_, MessageKind::Intercepted)));
    let Some(first) = rows.clone().find(is_intervention) else { return Vec::new() };
    let mut clients: BTreeMap<Arc<str>, Client> = BTreeMap::new();
    let mut last = rows.filter(|row| *row < first).filter_map(|row| store.kind_of(row)?.0).max();
    for row in (first..store.rows()).filter_map(|row| store.line(row)) {
        last = row.row.n.or(last);
        let node = store.node_of(row.stream).unwrap_or_default();
        match row.note.as_deref() {
            Some(RowNote::Intercepted(facts)) => {
                clients.entry(node).or_default().intercepted(facts, last.unwrap_or(Seq(0)), &row);
            }
            _ => {
                if let Some(client) = clients.get_mut(&node) {
                    client.saw(&row);
                }
            }
        }
    }
    for stream in store.engine().streams().iter() {
        for track in &stream.tracks {
            let node = || stream.peers.node_id.clone().unwrap_or_default();
            match (&track.interventions.diverged, track.interventions.agreed) {
                (Some(diverged), _) if track.lifetime.replaced.is_none() && lasts(diverged) => {
                    let lost = &mut clients.entry(node()).or_default().lost;
                    lost.insert(track.type_url.clone(), diverged.facts.clone());
                }
                (None, Some(agreement)) => {
                    let client = clients.entry(node()).or_default();
                    client.agreed(stream.id, &track.type_url, agreement);
                }
                _ => {}
            }
        }
    }
    clients.into_iter().map(|(node, client)| client.fact(node)).collect()
}

/// Whether no later message need end a divergence: a delta stream is not repaired, or nothing
/// passes any more, in all types.
fn lasts(diverged: &Divergence) -> bool {
    diverged.has_lost() || diverged.facts.interference == Interference::Blackholed
}

/// A client that met interventions.
#[derive(Default)]
struct Client {
    fact: RecoveryFact,
    types: BTreeMap<TypeUrl, Disturbance>,
    /// The first copy by each fault.
    copies: Vec<Arc<InterventionFacts>>,
    /// Types in which a stream is not repaired, with the intervention.
    lost: BTreeMap<TypeUrl, Arc<InterventionFacts>>,
}

/// A type that has not recovered.
struct Disturbance {
    divergence: Divergence,
    stream: StreamId,
}

impl Client {
    /// Counts an intervention, and notes what client and server believe after it.
    fn intercepted(&mut self, facts: &Arc<InterventionFacts>, after: Seq, row: &LineFact) {
        if facts.interference == Interference::Corrected {
            self.fact.corrections += 1;
            return;
        }
        self.fact.interventions += u64::from(facts.interference != Interference::Released);
        if is_second_answer(facts, self.copies.iter()) {
            return;
        }
        let is_copy = (facts.dir, facts.interference) == (Dir::Resp, Interference::Duplicated);
        if is_copy && !self.copies.iter().any(|copy| copy.by == facts.by) {
            self.copies.push(facts.clone());
        }
        let before = self.types.remove(&facts.type_url).map(|before| before.divergence);
        let since = before.as_ref().map(|before| before.since);
        match Divergence::after(before, facts.clone(), Losses::default(), after, row.at) {
            Some(divergence) => {
                let disturbance = Disturbance { divergence, stream: row.stream };
                self.types.insert(facts.type_url.clone(), disturbance);
            }
            None => {
                if let Some(since) = since {
                    self.recovered(since, row.at);
                }
            }
        }
    }

    /// Counts a message, and notes whether both sides agree again.
    fn saw(&mut self, row: &LineFact) {
        match row.kind {
            MessageKind::Open => self.fact.reconnects += 1,
            MessageKind::Nack => self.fact.nacks += 1,
            _ => {}
        }
        let settling = SettlingMessage { kind: row.kind, nonce: &row.nonce, n: row.n, answers: row.answers };
        let has_recovered = |disturbance: &mut Disturbance| {
            if disturbance.stream != row.stream {
                disturbance.divergence.lose_postponed();
            }
            disturbance.divergence.settles_with(&settling) || disturbance.goes_on(row)
        };
        if self.types.get_mut(&row.type_url).is_some_and(has_recovered) {
            let since = self.types.remove(&row.type_url).map(|disturbance| disturbance.divergence.since);
            self.recovered(since.unwrap_or(row.at), row.at);
        }
    }

    fn recovered(&mut self, since: Time, at: Time) {
        let took = at.since(since);
        self.fact.longest = Some(self.fact.longest.map_or(took, |longest| longest.max(took)));
    }

    /// Notes that both sides of a stream have agreed again about a type, as its messages show.
    fn agreed(&mut self, stream: StreamId, type_url: &TypeUrl, agreement: Agreement) {
        let is_over = |disturbance: &Disturbance| {
            disturbance.stream == stream && disturbance.divergence.since <= agreement.at
        };
        if self.types.get(type_url).is_some_and(is_over) {
            self.types.remove(type_url);
        }
        self.fact.longest = self.fact.longest.max(Some(agreement.longest));
    }

    fn fact(self, node: Arc<str>) -> RecoveryFact {
        let causes = self.types.into_iter().map(|(type_url, of)| (type_url, of.divergence.facts));
        let types: BTreeMap<_, _> = causes.chain(self.lost).collect();
        let open = types.into_iter().map(|(type_url, caused_by)| OpenType { type_url, caused_by });
        RecoveryFact { node, open: open.collect(), ..self.fact }
    }
}

impl Disturbance {
    /// Whether the client states the versions that it has on another stream, after the end of the
    /// one with the intervention.
    fn goes_on(&self, row: &LineFact) -> bool {
        let is_ended = self.divergence.facts.interference == Interference::Ended;
        let is_request = matches!(row.kind, MessageKind::Subscribe | MessageKind::Repeat);
        is_ended
            && is_request
            && row.stream != self.stream
            && (!row.version.is_empty() || row.stated.is_some())
    }
}
