//! Findings about a state that lasts: names without an answer, expired or warming resources.
//!
//! Such a finding has ended once the state has ended for all of its names. Its text says so
//! then.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::finding::{Finding, FindingDraft};
pub(crate) use super::followed::LastingState;
use super::followed::{Followed, FollowedFindings};
use super::past_events::PastEvents;
use crate::lint::context::RuleContext;
use crate::lint::exchange::{RequestContext, ResponseContext};
use crate::lint::memory::references::ReferenceGraphs;
use crate::lint::rule::{CorrectMessage, Ending, Rule};
use crate::session::{
    ClaimOutcome, DroppedStreams, MessageKind, RequestOutcome, SymSet, Track, can_warm, is_needed, key,
    mark_key, passes_needs_on,
};
use crate::store::{ClientNeeds, Store};
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Kind, Seq, Sym, Time, Variant};

/// Findings of streams that have ended, which later streams may continue with.
const MAX_INTERRUPTED: usize = 64;
/// Names of a finding that are looked up after each message.
const MAX_SCANNED_NAMES: usize = 64;
/// Most correct messages that end a finding about messages that broke a rule.
const MAX_CORRECT: u64 = 10;

/// Findings about states that may end.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastingFindings {
    followed: FollowedFindings,
    /// Findings about missing names and warming resources whose stream has ended, newest last: a
    /// later stream of the client may continue with them.
    interrupted: VecDeque<Followed>,
    /// The newest message that broke a rule which a later message mends, by stream and track.
    broken_last: HashMap<((usize, usize), &'static str), Seq>,
    /// Findings about events that no message mends, by stream.
    pub(crate) events: PastEvents,
}

impl LastingFindings {
    /// Returns the number of findings, names and rules that are followed.
    pub(crate) fn len(&self) -> usize {
        self.followed.len_with_names() + self.interrupted.len() + self.broken_last.len()
    }

    /// Takes out what is followed of a finding.
    pub(crate) fn take_finding(&mut self, finding: usize) -> Option<Followed> {
        self.followed.take(finding)
    }

    pub(crate) fn follow(&mut self, followed: Followed) {
        self.followed.insert(followed);
    }

    /// Returns what is followed of a stream and its client.
    pub(crate) fn followed(&self) -> &FollowedFindings {
        &self.followed
    }

    /// Returns what is followed, to note what a message says about it.
    pub(crate) fn followed_mut(&mut self) -> &mut FollowedFindings {
        &mut self.followed
    }

    /// Keeps a finding of a stream that has ended, for a later stream of the client.
    fn interrupt(&mut self, followed: Followed) {
        if matches!(followed.state, LastingState::Warming(_) | LastingState::Unanswered) {
            self.interrupted.push_back(followed);
            if self.interrupted.len() > MAX_INTERRUPTED {
                self.interrupted.pop_front();
            }
        }
    }

    /// Takes names with which a later stream continues out of a finding.
    fn resume(&mut self, finding: usize, names: &SymSet) {
        for followed in self.interrupted.iter_mut().filter(|followed| followed.finding == finding) {
            followed.names.retain(|name| !names.contains(name));
        }
        self.interrupted.retain(|followed| !followed.names.is_empty());
    }

    /// Marks the names as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        for followed in self.followed.iter().chain(&self.interrupted) {
            for name in followed.names.iter().chain(followed.state.needs().into_iter().flatten()) {
                mark_key(used, *name);
            }
            match &followed.state {
                LastingState::Content { contents, .. } => {
                    for (name, id) in contents {
                        mark_key(used, *name);
                        used.blob(*id);
                    }
                }
                LastingState::Names { names, .. } => {
                    for name in names {
                        mark_key(used, *name);
                    }
                }
                _ => {}
            }
        }
    }

    /// Forgets findings whose streams were dropped.
    pub(crate) fn drop_streams(&mut self, dropped: &DroppedStreams) {
        self.followed.drop_streams(dropped);
        self.interrupted.retain(|followed| dropped.kept.contains(&followed.place.0));
        self.broken_last.retain(|((stream, _), _), _| dropped.kept.contains(stream));
        self.events.retain(|stream| dropped.kept.contains(&stream));
    }
}

impl Lasting {
    /// A state since a time, with the default text once it has ended.
    pub(crate) fn new(state: LastingState, since: Time) -> Lasting {
        Lasting { state, since, past: None }
    }

    /// The content of a file is not in use from now on.
    pub(crate) fn unused_file(since: Time) -> Lasting {
        Lasting::new(LastingState::UnusedFile, since)
    }
}

/// A state that a finding is about, since a time.
pub(crate) struct Lasting {
    pub(crate) state: LastingState,
    pub(crate) since: Time,
    /// The text once the state has ended, with `{}` for its duration; the default text without
    /// one.
    pub(crate) past: Option<String>,
}

impl RuleContext<'_> {
    /// Returns the names of the client for which a state lasts, as findings say.
    pub(crate) fn names_in_state(&self, is_state: impl Fn(&LastingState) -> bool) -> SymSet {
        let client = self.client();
        let followed = self.source_state.lasting.followed.concerning(self.stream_index, &client);
        let followed = followed.filter(|followed| is_state(&followed.state));
        followed.flat_map(|followed| followed.names.iter().copied()).collect()
    }

    /// Returns the finding about the wait for a name that began on an earlier stream of the client,
    /// and lasted until the end of that stream.
    pub(crate) fn interrupted(&self, rule: &'static Rule, name: Sym, since: Time) -> Option<usize> {
        let interrupted = &self.source_state.lasting.interrupted;
        let track = self.current_track().filter(|track| since < track.traffic.began)?;
        if interrupted.is_empty() {
            return None;
        }
        let client = self.client();
        let is_same_wait = |finding: &Finding| {
            let is_alike = finding.rule.id == rule.id && finding.type_url == track.type_url;
            is_alike && finding.over.is_some_and(|over| since <= over)
        };
        let is_same = |followed: &&Followed| {
            let is_about = followed.client == client && followed.names.contains(&name);
            is_about && self.findings.all().get(followed.finding).is_some_and(is_same_wait)
        };
        interrupted.iter().find(is_same).map(|followed| followed.finding)
    }

    /// Reports a finding about a state that may end. With the finding about a wait on an earlier
    /// stream, the stream continues: such a finding is about all of the names, or about none.
    pub(crate) fn report_lasting(&mut self, rule: &'static Rule, draft: FindingDraft<'_>, lasting: Lasting) {
        debug_assert_eq!(rule.ending, Ending::State, "{}", rule.id);
        let Lasting { state, since, past } = lasting;
        let names: SymSet = match state.is_nameless() {
            true => [Sym::EMPTY].into_iter().collect(),
            false => draft.names.iter().copied().collect(),
        };
        // A file that cannot be read has no type.
        let track = self.track_index.unwrap_or_default();
        let (place, client) = ((self.stream_index, track), self.client());
        // A request that the client owes is owed again on each stream.
        let interrupted = match names.iter().next() {
            Some(name) if !matches!(state, LastingState::Unrequested(_)) => {
                self.interrupted(rule, *name, since)
            }
            _ => None,
        };
        let finding = match interrupted {
            Some(finding) => {
                self.source_state.lasting.resume(finding, &names);
                self.findings.update_series(finding, self.stream.id, draft);
                Some(finding)
            }
            None => self.report(rule, draft),
        };
        let Some(finding) = finding else { return };
        let followed = Followed { past, names, ..Followed::new(finding, place, client, state, since) };
        self.source_state.lasting.follow(followed);
    }

    /// Follows a finding about single messages, until as many messages of the same side keep the
    /// rule.
    pub(crate) fn follow_broken(&mut self, rule: &'static Rule, finding: usize) {
        let (Ending::Message(by) | Ending::Loop(by)) = rule.ending else { return };
        let (Some(seq), Some(track)) = (self.seq, self.track_index) else { return };
        let place = (self.stream_index, track);
        let lasting = &mut self.source_state.lasting;
        lasting.broken_last.insert((place, rule.id), seq);
        lasting.take_finding(finding);
        let count = self.findings.all().get(finding).map_or(1, |known| known.count.min(MAX_CORRECT));
        // A REST client repeats its refusal with each poll (docs/protocol.md#d-02).
        let is_single = rule.ending == Ending::Loop(by) || self.stream.variant() == Some(Variant::Rest);
        let left = if is_single { 1 } else { count };
        let state = LastingState::Broken { seq, by, left, correct_since: None };
        let followed = Followed::new(finding, place, self.client(), state, self.at);
        let names = [Sym::EMPTY].into_iter().collect();
        self.source_state.lasting.follow(Followed { names, ..followed });
    }

    /// Ends findings about single messages after later messages that keep the rule.
    fn settle_broken(&mut self, by: CorrectMessage, answers: Option<Seq>) {
        let (Some(seq), Some(track)) = (self.seq, self.track_index) else { return };
        let place = (self.stream_index, track);
        let (findings, lasting) = (self.findings.all(), &mut self.source_state.lasting);
        if lasting.broken_last.is_empty() {
            return;
        }
        let broken_last = std::mem::take(&mut lasting.broken_last);
        let over = lasting.followed.take_over(self.stream_index, None, |followed| {
            let LastingState::Broken { seq: broken, by: needed, left, correct_since } = &mut followed.state
            else {
                return false;
            };
            // A finding that was taken back is a note.
            let finding = findings.get(followed.finding).filter(|finding| finding.is_rated());
            let Some(rule) = finding.map(|finding| finding.rule.id) else { return false };
            let is_broken_again = broken_last.get(&(place, rule)) == Some(&seq);
            let is_later = answers.is_none_or(|answers| answers >= *broken) && *broken < seq;
            if followed.place != place || *needed != by || !is_later || is_broken_again {
                return false;
            }
            correct_since.get_or_insert(seq);
            *left = left.saturating_sub(1);
            *left == 0
        });
        lasting.broken_last = broken_last;
        for over in over {
            let LastingState::Broken { correct_since: Some(since), .. } = over.state else { continue };
            self.findings.end(over.finding, self.at, &format!("; correct since #{}", since.0));
        }
    }

    /// Ends findings about names that a request gives up.
    pub(crate) fn settle_lasting_of_request(&mut self, request: &RequestContext<'_>) {
        if self.source_state.lasting.followed.may_concern(self.stream_index, &self.client()) {
            let outcome = request.outcome;
            self.settle_verdicts(outcome);
            if outcome.kind == MessageKind::Ack {
                self.settle_broken(CorrectMessage::Ack, outcome.answers);
            }
            if outcome.kind == MessageKind::Nack {
                self.forget_corrections(outcome.answers);
            }
            // A name that the client gives up has no content in use any more.
            self.settle_contents(request.track, request.track.verdicts.newest_accepted, &outcome.removed);
            let mut names = outcome.removed.clone();
            // A name is classified if the client subscribes to it again.
            names.extend(&outcome.added);
            // A refused cluster does not warm, nor one whose update was skipped and taken back.
            let ends_warming = request.is_nack() || !outcome.skipped.is_empty();
            // A cluster whose endpoints were waited for continues with those that the client
            // has, and what an ACK puts in force may refer to other resources.
            let refers = matches!(request.track.kind, Some(Kind::Cds | Kind::Lds | Kind::Rds | Kind::Srds));
            let puts_in_force = refers && outcome.kind == MessageKind::Ack;
            // The first request for scopes may name none.
            if ends_warming || puts_in_force || outcome.first {
                names.push(Sym::EMPTY);
            }
            self.settle_lasting(request.track, &names);
        }
    }

    /// Ends findings about responses that have their verdict now, or never will.
    fn settle_verdicts(&mut self, outcome: &RequestOutcome) {
        let Some(track) = self.track_index else { return };
        let place = (self.stream_index, track);
        let is_skipped = |seq: &Seq| outcome.skipped.binary_search(seq).is_ok();
        let followed = &mut self.source_state.lasting.followed;
        let over = followed.take_over(self.stream_index, None, |followed| match followed.state {
            LastingState::NoVerdict(seq) if followed.place == place => {
                outcome.answers == Some(seq) || is_skipped(&seq)
            }
            _ => false,
        });
        for over in over {
            let is_skipped = matches!(over.state, LastingState::NoVerdict(seq) if is_skipped(&seq));
            let note = if is_skipped { "the client skipped it after {}" } else { "answered after {}" };
            self.end_lasting(&over, note);
        }
    }

    /// Ends findings about names that a response answers.
    pub(crate) fn settle_lasting_of_response(&mut self, response: &ResponseContext<'_>) {
        if self.source_state.lasting.followed.may_concern(self.stream_index, &self.client()) {
            if response.outcome.kind == MessageKind::Push {
                self.settle_broken(CorrectMessage::Response, None);
            }
            let mut names = mentioned(self.catalog(), response);
            let is_valid_file = self.is_file() && response.track.verdicts.open_nack().is_none();
            self.note_corrections(response.track, &names);
            self.settle_contents(response.track, if is_valid_file { self.seq } else { None }, &names);
            if self.is_file() {
                names.push(Sym::EMPTY);
            }
            self.settle_lasting(response.track, &names);
        }
    }

    /// Ends all findings about a stream that has closed.
    pub(crate) fn end_lasting_of_stream(&mut self) {
        let stream = self.stream_index;
        if !self.source_state.lasting.followed.may_concern(stream, "") {
            return;
        }
        // The client has no resources after the end of the stream either.
        let lasts = |followed: &Followed| {
            matches!(followed.state, LastingState::Emptied(_)) || followed.state.is_of_contents()
        };
        let over = self.source_state.lasting.followed.take_over(stream, None, |followed| !lasts(followed));
        for over in over {
            self.end_lasting(&over, "the stream ended after {}");
            self.source_state.lasting.interrupt(over);
        }
    }

    /// Ends findings whose state has ended after a message of a track about these names; without
    /// a name, after a time.
    pub(crate) fn settle_lasting(&mut self, track: &Track, mentioned: &[Sym]) {
        let Some(index) = self.track_index else { return };
        if mentioned.is_empty() {
            return;
        }
        let place = (self.stream_index, index);
        let is_full_state = track.kind.is_some_and(Kind::full_state);
        let own = self.client();
        let client = if is_needed(track.kind) || is_full_state { Some(own.clone()) } else { None };
        let (store, at, requests) = (self.store, self.at, self.stream.traffic.requests);
        // Scopes and virtual hosts are needed as a whole.
        let is_whole = matches!(track.kind, Some(Kind::Srds | Kind::Vhds));
        let is_needed = |waiting: &str, needs: &SymSet| {
            client.as_deref() == Some(waiting)
                && (is_whole || mentioned.iter().any(|name| needs.contains(name)))
        };
        let graphs = &self.source_state.graphs;
        let followed = &mut self.source_state.lasting.followed;
        let over = followed.take_over(place.0, Some(&own), |followed| {
            if let LastingState::Warming(needs) = &mut followed.state {
                if is_needed(&followed.client, needs) || followed.place == place {
                    (followed.names, *needs) = store.still_warming(followed.place, &followed.names, at);
                }
            } else if let LastingState::Unrequested(needs) = &followed.state {
                if is_needed(&followed.client, needs) || followed.place == place {
                    followed.names = store.still_unrequested(followed.place, &followed.names);
                }
            } else if matches!(followed.state, LastingState::UnrequestedType) {
                let is_requested = followed.place == place && track.traffic.requests > 0;
                followed.names.retain(|_| !is_requested);
            } else if matches!(followed.state, LastingState::UnrequestedListeners) {
                let is_requested = client.as_ref() == Some(&followed.client)
                    && track.kind == Some(Kind::Lds)
                    && track.traffic.requests > 0;
                followed.names.retain(|_| !is_requested);
            } else if let LastingState::NotResubscribed(type_url) = &followed.state {
                let is_requested = own == followed.client && track.traffic.requests > 0;
                followed.names.retain(|_| !(is_requested && track.type_url == *type_url));
            } else if followed.state.is_of_references() {
                if own == followed.client {
                    followed.settle_references(store, graphs, track, mentioned);
                }
            } else if matches!(followed.state, LastingState::UnrequestedStream) {
                let is_requested = followed.place.0 == place.0 && requests > 0;
                followed.names.retain(|_| !is_requested);
            } else if matches!(followed.state, LastingState::UnusedFile) {
                let is_used = followed.place.0 == place.0 && track.verdicts.open_nack().is_none();
                followed.names.retain(|_| !is_used);
            } else if let LastingState::Emptied(kind) = followed.state {
                followed.is_given_up = followed.place == place && track.is_unsubscribed();
                let is_of_client = client.as_ref() == Some(&followed.client) && kind == track.kind;
                let is_over = followed.is_given_up || (is_of_client && track.sent.count() > 0);
                followed.names.retain(|_| !is_over);
            } else if followed.place == place && matches!(followed.state, LastingState::Unclassified) {
                followed.settle(store.catalog(), track, mentioned, at);
                // Nothing is left to classify without the wildcard.
                if !track.subscribed.may_be_wildcard() {
                    followed.names.clear();
                    followed.is_given_up = true;
                }
            } else if followed.place == place
                && !followed.state.is_nameless()
                && !followed.state.is_of_contents()
            {
                followed.settle(store.catalog(), track, mentioned, at);
            }
            followed.names.is_empty()
        });
        for over in &over {
            self.end_settled(over);
        }
    }

    /// Ends a finding whose state has ended after a message.
    fn end_settled(&mut self, over: &Followed) {
        let note = match (over.is_given_up, over.has_come) {
            _ if matches!(over.state, LastingState::UnusedFile) => "the file was valid again after {}",
            _ if matches!(over.state, LastingState::NotResubscribed(_)) => "subscribed after {}",
            _ if matches!(over.state, LastingState::UnrequestedStream) => "requested after {}",
            _ if matches!(over.state, LastingState::LeftBehind) => "subscribed or removed after {}",
            (true, _) => "the client gave up after {}",
            _ if matches!(over.state, LastingState::Emptied(_)) => "resources came again after {}",
            (false, true) => "came after {}",
            (false, false) => "answered after {}",
        };
        self.end_lasting(over, note);
    }

    fn end_lasting(&mut self, over: &Followed, note: &str) {
        let duration = seconds(self.at.since(over.since));
        match &over.past {
            Some(past) => self.findings.finish(over.finding, self.at, &past.replace("{}", &duration)),
            None => self.findings.end(over.finding, self.at, &format!("; {}", note.replace("{}", &duration))),
        }
    }
}

impl Followed {
    /// Removes the names to which resources of the client refer no more, or that are mended, after
    /// a message of the client about `mentioned`.
    fn settle_references(
        &mut self,
        store: &Store,
        graphs: &ReferenceGraphs,
        track: &Track,
        mentioned: &[Sym],
    ) {
        let Some(stream) = store.engine().streams().get(self.place.0) else { return self.names.clear() };
        match self.state {
            LastingState::Unsubscribed(kind) => {
                let is_named = || mentioned.iter().any(|name| self.names.contains(name));
                let is_mentioned = track.kind == Some(kind) && is_named();
                if is_mentioned || can_warm(track.kind) || passes_needs_on(track.kind) {
                    self.names = ClientNeeds::still_owed(store, self.place.0, kind, &self.names);
                }
            }
            LastingState::RemovedInUse(kind) => {
                let (catalog, own) = (store.catalog(), stream.tracks.get(self.place.1));
                let is_removed = |name| own.is_some_and(|own| own.is_removed_and_requested(catalog, name));
                let is_used = |name| graphs.is_used(catalog, &self.client, (kind, name)) == Some(true);
                self.names.retain(|name| is_removed(*name) && is_used(*name));
            }
            LastingState::UnrequestedClusters => {
                let missing = ClientNeeds::new(store, stream).unrequested_clusters();
                self.names.retain(|name| missing.iter().any(|missing| missing.cluster == *name));
            }
            _ => {}
        }
    }

    /// Removes the names whose state has ended with a message about `mentioned`.
    fn settle(&mut self, catalog: &Catalog, track: &Track, mentioned: &[Sym], at: Time) {
        let is_over = |name: Sym| match self.state {
            LastingState::Unanswered => track.waiting.get(name).is_none(),
            LastingState::Requested => !track.subscribed.names.contains(name),
            LastingState::LeftBehind => {
                let is_removed = |(_, outcome)| outcome == ClaimOutcome::Removed;
                track.carried.claims.get(name).is_some_and(is_removed)
                    || track.covers(catalog, name, track.sent.get(catalog, name).as_ref())
            }
            LastingState::Expired => {
                let is_wanted = track.covers(catalog, name, track.sent.get(catalog, name).as_ref());
                !is_wanted || track.ttl.deadlines.get(name).is_none_or(|deadline| *deadline > at)
            }
            _ => true,
        };
        // The members of a wildcard or a glob are answered by others too.
        let is_short = self.names.len() <= mentioned.len().max(MAX_SCANNED_NAMES);
        let scans_all = matches!(self.state, LastingState::Unanswered)
            && (is_short || track.waiting.len() < self.names.len());
        let over: Vec<Sym> = match scans_all {
            true => self.names.iter().copied().filter(|name| is_over(*name)).collect(),
            false => mentioned.iter().copied().filter(|n| self.names.contains(n) && is_over(*n)).collect(),
        };
        for name in over {
            self.names.remove(&name);
            let known = track.canonical(catalog, name);
            let entry = track.sent.get(catalog, known);
            self.has_come &= entry.is_some_and(|entry| entry.is_present());
            // A name without an entry was never answered.
            let is_unanswered = matches!(self.state, LastingState::Unanswered) && entry.is_none();
            self.is_given_up |= is_unanswered || !track.covers(catalog, known, entry.as_ref());
        }
    }
}

/// Returns the names that a response sends, removes or reports as missing, with aliases and globs.
fn mentioned(catalog: &Catalog, response: &ResponseContext<'_>) -> Vec<Sym> {
    let track = response.track;
    let mut names: Vec<Sym> = Vec::new();
    for id in response.view.resources.blobs() {
        let name = key(catalog, *id);
        names.push(catalog.first_spelling(name));
        let aliases = catalog.entry(*id).aliases.iter();
        names.extend(aliases.map(|alias| catalog.first_spelling(*alias)));
        names.extend(track.subscription.globs.with_member(catalog, name));
    }
    let errors = response.view.resource_errors.iter().map(|error| error.name);
    let others = response.view.removed.iter().copied().chain(errors);
    names.extend(others.map(|name| catalog.first_spelling(name)));
    names.extend(response.outcome.removed.iter().copied());
    names
}

/// `40.0s`.
fn seconds(duration: Duration) -> String {
    format!("{:.1}s", duration.as_secs_f64())
}
