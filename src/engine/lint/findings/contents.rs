//! Findings about what one message contains, which last until the client has accepted a message
//! without the fault, or has given up the names.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::finding::Finding;
use super::followed::Followed;
use super::lasting::LastingState;
use crate::lint::context::RuleContext;
use crate::lint::memory::track::MAX_NAMES;
use crate::lint::rule::catalog::{client_fault_check, fault_check, has_fault_check};
use crate::lint::rule::{Ending, Rule, Severity};
use crate::session::engine::visits;
use crate::session::{SymMap, Track};
use crate::store::Store;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{DenseHash, Seq, Sym};

impl RuleContext<'_> {
    /// Follows a finding about what a message contains, until it is corrected.
    pub(crate) fn follow_content(&mut self, rule: &'static Rule, finding: usize, names: &[Sym]) {
        let is_of_content = rule.ending == Ending::Content;
        let (Some(seq), Some(track), Some(index)) = (self.seq, self.current_track(), self.track_index) else {
            return;
        };
        let is_note = self.findings.all().get(finding).is_some_and(|known| known.severity == Severity::Info);
        if is_note || (!is_of_content && rule.ending != Ending::Response) {
            return;
        }
        let mut followed = self.take_followed(finding, index);
        if is_of_content && !names.is_empty() && self.stream.traffic.last_request == Some(seq) {
            followed.names.extend(names);
        } else {
            let mut contents = match followed.state {
                LastingState::Content { contents, .. } => contents,
                _ => IndexMap::default(),
            };
            let catalog = self.catalog();
            let content = |name: &Sym| {
                let entry = track.sent.get(catalog, *name)?;
                let is_held = track.covers(catalog, *name, Some(&entry)) || self.is_left(track, *name);
                if is_held { Some((*name, entry.blob?)) } else { None }
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
        let client = self.client();
        match self.source_state.lasting.take_finding(finding) {
            Some(known) => Followed { client, ..known },
            None => {
                let place = (self.stream_index, track);
                Followed::new(finding, place, client, LastingState::Requested, self.at)
            }
        }
    }

    /// Follows a finding about a content for which the client has refused a response, until the
    /// client accepts another one.
    pub(crate) fn follow_refused(&mut self, finding: usize, response: Seq, content: Option<(Sym, BlobId)>) {
        let Some(track) = self.track_index else { return };
        let mut followed = self.take_followed(finding, track);
        let mut contents = match followed.state {
            LastingState::Content { contents, .. } => contents,
            _ => IndexMap::default(),
        };
        contents.extend(content);
        followed.names = [Sym::EMPTY].into_iter().collect();
        followed.state = LastingState::Content { seq: response, contents };
        self.source_state.lasting.follow(followed);
    }

    /// Whether a delta server has sent a resource that the client did not request, and has not
    /// removed it since.
    pub(crate) fn is_left(&self, track: &Track, name: Sym) -> bool {
        let is_delta = self.is_delta();
        is_left(is_delta, self.catalog(), track, name)
    }

    /// Follows a finding about how a response treats names, until a later one treats them well.
    pub(crate) fn follow_names(&mut self, rule: &'static Rule, finding: usize, names: &[Sym]) {
        let (Some(seq), Some(track)) = (self.seq, self.track_index) else { return };
        if rule.ending != Ending::Names {
            return;
        }
        let known = self.source_state.lasting.take_finding(finding);
        let mut broken = match known.map(|known| known.state) {
            Some(LastingState::Names { names, .. }) => names,
            _ => IndexSet::default(),
        };
        broken.extend(names);
        let state = LastingState::Names { seq, names: broken, corrected: SymMap::default() };
        let place = (self.stream_index, track);
        let followed = Followed::new(finding, place, self.client(), state, self.at);
        let names = [Sym::EMPTY].into_iter().collect();
        self.source_state.lasting.follow(Followed { names, ..followed });
    }

    /// Notes that a response is about names for which an earlier one broke a rule.
    pub(crate) fn note_corrections(&mut self, track: &Track, mentioned: &[Sym]) {
        let (Some(seq), Some(index)) = (self.seq, self.track_index) else { return };
        let place = (self.stream_index, index);
        let client = self.client();
        let line =
            Succession { findings: self.findings.all(), store: self.store, client: client.clone(), place };
        self.source_state.lasting.followed_mut().change(place.0, &client, |followed| {
            if line.finding(followed, track).is_none() {
                return;
            }
            let LastingState::Names { seq: broken, names, corrected } = &mut followed.state else { return };
            for name in mentioned.iter().filter(|name| *broken < seq && names.contains(*name)) {
                corrected.entry(*name).or_insert(seq);
            }
        });
    }

    /// Forgets that a response was about names, because the client has refused it.
    pub(crate) fn forget_corrections(&mut self, refused: Option<Seq>) {
        let client = self.client();
        self.source_state.lasting.followed_mut().change(self.stream_index, &client, |followed| {
            if let LastingState::Names { corrected, .. } = &mut followed.state {
                corrected.retain(|_, seq| Some(*seq) != refused);
            }
        });
    }

    /// Ends findings about contents in whose place the client has accepted others, or which it has
    /// given up. `accepted` is the newest response that the client has accepted, and
    /// `mentioned` are the names that a response is about, or that a request gives up.
    pub(crate) fn settle_contents(&mut self, track: &Track, accepted: Option<Seq>, mentioned: &[Sym]) {
        let Some(index) = self.track_index else { return };
        let (place, catalog, findings) = ((self.stream_index, index), self.catalog(), self.findings.all());
        let client = self.client();
        let line = Succession { findings, store: self.store, client: client.clone(), place };
        let faulty = self.faulty(&line, track, accepted);
        let has_content = |name: Sym, bad| {
            let entries = [track.sent.get(catalog, name), track.accepted.get(catalog, name)];
            entries.iter().flatten().any(|entry| entry.is_present() && entry.blob == Some(bad))
        };
        let is_delta = self.is_delta();
        let is_wanted = |name: Sym| track.covers(catalog, name, track.sent.get(catalog, name).as_ref());
        let is_held = |name: Sym| is_wanted(name) || is_left(is_delta, catalog, track, name);
        let followed = self.source_state.lasting.followed_mut();
        let over = followed.take_over(place.0, Some(&client), |followed| {
            let Some(finding) = line.finding(followed, track) else {
                let LastingState::Content { seq, .. } = followed.state else { return false };
                let is_later = accepted > Some(seq) && line.spans_types(followed);
                return is_later && !faulty.contains(&followed.finding);
            };
            match &mut followed.state {
                LastingState::Content { seq, contents } => {
                    let is_later = accepted > Some(*seq);
                    let had_contents = !contents.is_empty();
                    let is_bad = |name: Sym, bad| {
                        visits::count();
                        is_held(name) && (!is_later || has_content(name, bad))
                    };
                    drop_mended_contents(contents, mentioned, is_bad);
                    let is_replaced = had_contents && contents.is_empty();
                    let is_corrected = contents.is_empty() || has_fault_check(finding.rule);
                    is_replaced || (is_later && is_corrected && !faulty.contains(&followed.finding))
                }
                LastingState::Names { names, corrected, .. } => {
                    let is_corrected =
                        |name: &Sym| corrected.get(name).is_some_and(|seq| accepted >= Some(*seq));
                    drop_mended_names(names, mentioned, |name| is_wanted(*name) && !is_corrected(name));
                    names.is_empty()
                }
                _ => false,
            }
        });
        let note = self.seq.map(|seq| format!("; correct since #{}", seq.0)).unwrap_or_default();
        for over in over {
            self.findings.end(over.finding, self.at, &note);
        }
    }

    /// Returns the findings of which the rule says that their contents still break it, of those
    /// that a message of the track may end.
    fn faulty(&self, line: &Succession<'_>, track: &Track, accepted: Option<Seq>) -> Vec<usize> {
        let has_fault = |followed: &&Followed| {
            let LastingState::Content { seq, .. } = followed.state else { return false };
            let Some(finding) = line.findings.get(followed.finding) else { return false };
            let (check, client_check) = (fault_check(finding.rule), client_fault_check(finding.rule));
            accepted > Some(seq)
                && (check.is_some_and(|has_fault| has_fault(self, track, finding))
                    || client_check.is_some_and(|has_fault| has_fault(self, finding)))
        };
        let followed = self.source_state.lasting.followed();
        followed
            .concerning(line.place.0, &line.client)
            .filter(has_fault)
            .map(|followed| followed.finding)
            .collect()
    }
}

/// Whether a delta server has sent a resource that the client did not request, and has not removed
/// it since.
fn is_left(is_delta: bool, catalog: &Catalog, track: &Track, name: Sym) -> bool {
    is_delta && track.unrequested.contains(&name) && track.sent.is_present(catalog, name)
}

/// Drops contents that do not break the rule any more: those of the mentioned names, then the last
/// ones, up to one that still breaks it.
fn drop_mended_contents(
    contents: &mut IndexMap<Sym, BlobId, DenseHash>,
    mentioned: &[Sym],
    is_bad: impl Fn(Sym, BlobId) -> bool,
) {
    if mentioned.len() >= contents.len() {
        return contents.retain(|name, bad| is_bad(*name, *bad));
    }
    for name in mentioned {
        if contents.get(name).is_some_and(|bad| !is_bad(*name, *bad)) {
            contents.swap_remove(name);
        }
    }
    while contents.last().is_some_and(|(name, bad)| !is_bad(*name, *bad)) {
        contents.pop();
    }
}

/// Drops names for which the rule is not broken any more, as [`drop_mended_contents`] does.
fn drop_mended_names(names: &mut IndexSet<Sym, DenseHash>, mentioned: &[Sym], is_bad: impl Fn(&Sym) -> bool) {
    if mentioned.len() >= names.len() {
        return names.retain(is_bad);
    }
    for name in mentioned {
        if names.contains(name) && !is_bad(name) {
            names.swap_remove(name);
        }
    }
    while names.last().is_some_and(|name| !is_bad(name)) {
        names.pop();
    }
}

/// The stream of a frame, which continues where an earlier one of the client has ended.
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
        let finding = self.findings.get(followed.finding).filter(|finding| finding.is_rated())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_end_in_any_order_and_cost_one_visit_each() {
        let mut contents: IndexMap<Sym, BlobId, DenseHash> =
            (1..=1000).map(|n| (Sym(n), BlobId(n))).collect();
        let visits = std::cell::Cell::new(0);
        for mended in 1..1000 {
            let is_bad = |name: Sym, _| {
                visits.set(visits.get() + 1);
                name.0 > mended
            };
            drop_mended_contents(&mut contents, &[], is_bad);
            assert!(!contents.is_empty(), "{mended}");
        }
        assert_eq!((contents.len(), visits.get()), (1000, 999), "the last one still breaks the rule");
        drop_mended_contents(&mut contents, &[Sym(7), Sym(2000)], |name, _| name.0 > 500);
        assert_eq!(contents.len(), 999);
        drop_mended_contents(&mut contents, &[], |_, _| false);
        assert!(contents.is_empty());
        let mut names: IndexSet<Sym, DenseHash> = (1..=9).map(Sym).collect();
        drop_mended_names(&mut names, &[Sym(1)], |name| (3..6).contains(&name.0));
        assert_eq!(names.iter().map(|name| name.0).collect::<Vec<_>>(), [9, 2, 3, 4, 5]);
        drop_mended_names(&mut names, &[], |_| false);
        assert!(names.is_empty());
    }
}
