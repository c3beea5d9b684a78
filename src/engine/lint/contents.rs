//! Findings about what one message contains, which last until the client has accepted a message
//! without the fault, or has given up the names.

use std::sync::Arc;

use super::catalog::fault_check;
use super::context::RuleContext;
use super::lasting::{Followed, LastingState};
use super::rule::{Ending, Rule, Severity};
use super::state::MAX_NAMES;
use crate::engine::session::{SymMap, SymSet, Track};
use crate::wire::event::{Seq, Sym};

impl RuleContext<'_> {
    /// Follows a finding about what a message contains, until it is corrected.
    pub(super) fn follow_content(&mut self, rule: &'static Rule, finding: usize, names: &[Sym]) {
        let is_of_content = rule.ending == Ending::Content;
        let (Some(seq), Some(track), Some(index)) = (self.seq, self.current_track(), self.track_index) else {
            return;
        };
        if !is_of_content && rule.ending != Ending::Response {
            return;
        }
        let known = self.source_state.lasting.take_finding(finding);
        let mut followed = known.unwrap_or_else(|| Followed {
            finding,
            place: (self.stream_index, index),
            client: Arc::from(""),
            state: LastingState::Requested,
            since: self.at,
            past: None,
            names: SymSet::default(),
            has_come: true,
            is_given_up: false,
        });
        followed.client = self.client();
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
                Some((*name, slot.blob?)).filter(|_| track.covers(catalog, *name, Some(&slot)))
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

    /// Ends findings about contents in whose place the client has accepted others, or which it has
    /// given up. `accepted` is the newest response that the client has accepted.
    pub(super) fn settle_contents(&mut self, track: &Track, accepted: Option<Seq>) {
        let Some(index) = self.track_index else { return };
        let (place, client, catalog) = ((self.stream_index, index), self.client(), self.catalog());
        let (findings, streams) = (self.findings.all(), self.store.engine().streams());
        let has_fault = |finding: &usize| {
            let finding =
                findings.get(*finding).and_then(|finding| Some((finding, fault_check(finding.rule)?)));
            finding.is_some_and(|(finding, has_fault)| has_fault(self, track, finding))
        };
        let faulty: Vec<usize> = self.source_state.lasting.of_contents().filter(has_fault).collect();
        let has_content = |name: Sym, bad| {
            let slots = [track.sent.get(catalog, name), track.accepted.get(catalog, name)];
            slots.iter().flatten().any(|slot| slot.is_present() && slot.blob == Some(bad))
        };
        let over = self.source_state.lasting.take_over(|followed| {
            let LastingState::Content { seq, contents } = &mut followed.state else { return false };
            // A finding that was taken back is a note.
            let finding = findings.get(followed.finding).filter(|of| of.severity > Severity::Info);
            let Some(finding) = finding.filter(|finding| finding.type_url == track.type_url) else {
                return false;
            };
            // The next stream of a client goes on where the last one has ended.
            let has_ended = || streams.get(followed.place.0).is_none_or(|stream| stream.closed.is_some());
            if followed.place != place && !(followed.client == client && has_ended()) {
                return false;
            }
            let is_later = accepted > Some(*seq);
            let had_contents = !contents.is_empty();
            contents.retain(|name, bad| {
                let is_wanted = track.covers(catalog, *name, track.sent.get(catalog, *name).as_ref());
                is_wanted && (!is_later || has_content(*name, *bad))
            });
            let is_replaced = had_contents && contents.is_empty();
            let is_corrected = contents.is_empty() || fault_check(finding.rule).is_some();
            is_replaced || (is_later && is_corrected && !faulty.contains(&followed.finding))
        });
        let note = self.seq.map(|seq| format!("; correct since #{}", seq.0)).unwrap_or_default();
        over.into_iter().for_each(|over| self.findings.end(over.finding, self.at, &note));
    }
}
