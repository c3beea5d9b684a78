//! Findings about what one message contains, which last until the client has accepted a message
//! without the fault, or has given up the names.

use std::sync::Arc;

use super::finding::Finding;
use super::lasting::{Followed, LastingState};
use crate::lint::context::RuleContext;
use crate::lint::memory::state::MAX_NAMES;
use crate::lint::rule::catalog::{client_fault_check, fault_check};
use crate::lint::rule::{Ending, Rule, Severity};
use crate::session::{SymMap, SymSet, Track};
use crate::store::Store;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Seq, Sym};

impl RuleContext<'_> {
    /// Follows a finding about what a message contains, until it is corrected.
    pub(crate) fn follow_content(&mut self, rule: &'static Rule, finding: usize, names: &[Sym]) {
        let is_of_content = rule.ending == Ending::Content;
        let (Some(seq), Some(track), Some(index)) = (self.seq, self.current_track(), self.track_index) else {
            return;
        };
        let is_note = self.findings.all().get(finding).is_some_and(|of| of.severity == Severity::Info);
        if is_note || (!is_of_content && rule.ending != Ending::Response) {
            return;
        }
        let mut followed = self.take_followed(finding, index);
        if is_of_content && !names.is_empty() && self.stream.last_request == Some(seq) {
            followed.names.extend(names);
        } else {
            let mut contents = match followed.state {
                LastingState::Content { contents, .. } => contents,
                _ => SymMap::default(),
            };
            let catalog = self.catalog();
            let content = |name: &Sym| {
                let slot = track.sent.get(catalog, *name)?;
                let is_held = track.covers(catalog, *name, Some(&slot)) || self.is_left(track, *name);
                Some((*name, slot.blob?)).filter(|_| is_held)
            };
            if is_of_content {
                contents.extend(names.iter().filter_map(content).take(MAX_NAMES));
            }
            followed.names = [Sym::EMPTY].into_iter().collect();
            followed.state = LastingState::Content { seq, contents };
        }
        if !followed.names.is_empty() {
            self.source_state.lasting.follow(followed);
        }
    }

    /// Takes out what is followed of a finding on a track, empty at first.
    fn take_followed(&mut self, finding: usize, track: usize) -> Followed {
        let known = self.source_state.lasting.take_finding(finding);
        let mut followed = known.unwrap_or_else(|| Followed {
            finding,
            place: (self.stream_index, track),
            client: Arc::from(""),
            state: LastingState::Requested,
            since: self.at,
            past: None,
            names: SymSet::default(),
            has_come: true,
            is_given_up: false,
        });
        followed.client = self.client();
        followed
    }

    /// Follows a finding about a content for which the client has refused a response, until the
    /// client accepts another one.
    pub(crate) fn follow_refused(&mut self, finding: usize, response: Seq, content: Option<(Sym, BlobId)>) {
        let Some(track) = self.track_index else { return };
        let mut followed = self.take_followed(finding, track);
        let mut contents = match followed.state {
            LastingState::Content { contents, .. } => contents,
            _ => SymMap::default(),
        };
        contents.extend(content);
        followed.names = [Sym::EMPTY].into_iter().collect();
        followed.state = LastingState::Content { seq: response, contents };
        self.source_state.lasting.follow(followed);
    }

    /// Whether a delta server has sent a resource that the client did not request, and has not
    /// removed it since.
    pub(crate) fn is_left(&self, track: &Track, name: Sym) -> bool {
        let is_delta = self.stream.variant().is_some_and(|variant| variant.is_delta());
        is_delta && track.unrequested.contains(&name) && track.sent.is_present(self.catalog(), name)
    }

    /// Follows a finding about how a response treats names, until a later one treats them well.
    pub(crate) fn follow_names(&mut self, rule: &'static Rule, finding: usize, names: &[Sym]) {
        let (Some(seq), Some(track)) = (self.seq, self.track_index) else { return };
        if rule.ending != Ending::Names {
            return;
        }
        let known = self.source_state.lasting.take_finding(finding);
        let mut names: SymSet = names.iter().copied().collect();
        names.extend(known.iter().flat_map(|known| &known.names));
        self.source_state.lasting.follow(Followed {
            finding,
            place: (self.stream_index, track),
            client: self.client(),
            state: LastingState::Names { seq, corrected: SymMap::default() },
            since: self.at,
            past: None,
            names,
            has_come: true,
            is_given_up: false,
        });
    }

    /// Notes that a response is about names for which an earlier one broke a rule.
    pub(crate) fn note_corrections(&mut self, track: &Track, mentioned: &[Sym]) {
        let (Some(seq), Some(index)) = (self.seq, self.track_index) else { return };
        let place = (self.stream_index, index);
        let line =
            Succession { findings: self.findings.all(), store: self.store, client: self.client(), place };
        for followed in self.source_state.lasting.all_mut() {
            if line.finding(followed, track).is_none() {
                continue;
            }
            let LastingState::Names { seq: broken, corrected } = &mut followed.state else { continue };
            let names = mentioned.iter().filter(|name| *broken < seq && followed.names.contains(*name));
            names.for_each(|name| {
                corrected.entry(*name).or_insert(seq);
            });
        }
    }

    /// Forgets that a response was about names, because the client has refused it.
    pub(crate) fn forget_corrections(&mut self, refused: Option<Seq>) {
        for followed in self.source_state.lasting.all_mut() {
            if let LastingState::Names { corrected, .. } = &mut followed.state {
                corrected.retain(|_, seq| Some(*seq) != refused);
            }
        }
    }

    /// Ends findings about contents in whose place the client has accepted others, or which it has
    /// given up. `accepted` is the newest response that the client has accepted.
    pub(crate) fn settle_contents(&mut self, track: &Track, accepted: Option<Seq>) {
        let Some(index) = self.track_index else { return };
        let (place, catalog, findings) = ((self.stream_index, index), self.catalog(), self.findings.all());
        let line = Succession { findings, store: self.store, client: self.client(), place };
        let has_fault = |finding: &usize| {
            let Some(finding) = findings.get(*finding) else { return false };
            fault_check(finding.rule).is_some_and(|has_fault| has_fault(self, track, finding))
                || client_fault_check(finding.rule).is_some_and(|has_fault| has_fault(self, finding))
        };
        let faulty: Vec<usize> = self.source_state.lasting.of_contents().filter(has_fault).collect();
        let has_content = |name: Sym, bad| {
            let slots = [track.sent.get(catalog, name), track.accepted.get(catalog, name)];
            slots.iter().flatten().any(|slot| slot.is_present() && slot.blob == Some(bad))
        };
        let is_wanted = |name: Sym| track.covers(catalog, name, track.sent.get(catalog, name).as_ref());
        let left: SymSet =
            track.unrequested.iter().copied().filter(|name| self.is_left(track, *name)).collect();
        let is_held = |name: Sym| is_wanted(name) || left.contains(&name);
        let over = self.source_state.lasting.take_over(|followed| {
            let Some(finding) = line.finding(followed, track) else {
                let LastingState::Content { seq, .. } = followed.state else { return false };
                let is_later = accepted > Some(seq) && line.spans_types(followed);
                return is_later && !faulty.contains(&followed.finding);
            };
            let (seq, contents) = match &mut followed.state {
                LastingState::Content { seq, contents } => (*seq, contents),
                LastingState::Names { corrected, .. } => {
                    let is_corrected =
                        |name: &Sym| corrected.get(name).is_some_and(|seq| accepted >= Some(*seq));
                    followed.names.retain(|name| is_wanted(*name) && !is_corrected(name));
                    return followed.names.is_empty();
                }
                _ => return false,
            };
            let is_later = accepted > Some(seq);
            let had_contents = !contents.is_empty();
            contents.retain(|name, bad| is_held(*name) && (!is_later || has_content(*name, *bad)));
            let is_replaced = had_contents && contents.is_empty();
            let has_check = fault_check(finding.rule).is_some() || client_fault_check(finding.rule).is_some();
            let is_corrected = contents.is_empty() || has_check;
            is_replaced || (is_later && is_corrected && !faulty.contains(&followed.finding))
        });
        let note = self.seq.map(|seq| format!("; correct since #{}", seq.0)).unwrap_or_default();
        over.into_iter().for_each(|over| self.findings.end(over.finding, self.at, &note));
    }
}

/// The stream of a frame, which goes on where an earlier one of the client has ended.
struct Succession<'a> {
    findings: &'a [Finding],
    store: &'a Store,
    client: Arc<str>,
    /// Indices of the stream and the track.
    place: (usize, usize),
}

impl Succession<'_> {
    /// Returns the finding that is followed, if a message of the track may end it.
    fn finding(&self, followed: &Followed, track: &Track) -> Option<&Finding> {
        // A finding that was taken back is a note.
        let finding = self.findings.get(followed.finding).filter(|of| of.severity > Severity::Info)?;
        let streams = self.store.engine().streams();
        let has_ended = || streams.get(followed.place.0).is_none_or(|stream| stream.closed.is_some());
        let is_own = followed.place == self.place || (followed.client == self.client && has_ended());
        (is_own && finding.type_url == track.type_url).then_some(finding)
    }

    /// Whether a finding is about several types of the client.
    fn spans_types(&self, followed: &Followed) -> bool {
        let rule = self.findings.get(followed.finding).map(|finding| finding.rule);
        followed.client == self.client && rule.is_some_and(|rule| client_fault_check(rule).is_some())
    }
}
