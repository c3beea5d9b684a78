//! Opens a push, a resource, or a resource on two streams.

use crate::common::Common;
use crate::data::Data;
use crate::screens::screen::{Comparable, ResourcePlace};
use xdscope_engine::diff::PushDiff;
use xdscope_engine::store::{ClientMarks, MessageFact};
use xdscope_present::report;
use xdscope_wire::event::{Dir, Kind, Seq, StreamId};
use xdscope_wire::text::type_label;

use super::state::DiffScreen;

/// The newest rows in which a push to show is searched.
const MAX_SEARCHED_ROWS: usize = 1 << 14;

impl DiffScreen {
    /// Opens the summary of a push, with its first resource. Returns false if there is no such
    /// push.
    pub fn open_push(&mut self, common: &Common, data: &dyn Data, n: Seq, against: Option<Seq>) -> bool {
        let total = common.rows(data);
        let push = match against {
            Some(against) => PushDiff::between(data.store(), against, n, total),
            None => PushDiff::compute(data.store(), n, total),
        };
        let Some(push) = push else { return false };
        let is_same = self.push.as_ref().is_some_and(|old| (old.n, old.against) == (push.n, push.against));
        self.push = Some(push);
        self.is_push_later = false;
        self.rows_heard = total;
        if !is_same {
            self.chosen = 0;
            self.top = 0;
            self.scroll_to_top();
            self.counts.clear();
            self.choose_entry(data, total);
        }
        true
    }

    /// Opens a resource of one stream against the same name on another. Returns false if either is
    /// unknown.
    pub fn open_variants(
        &mut self,
        common: &Common,
        data: &dyn Data,
        target: ResourcePlace,
        other: StreamId,
    ) -> bool {
        (self.push, self.is_push_later) = (None, false);
        self.compare_streams(data, common.rows(data), target, other)
    }

    /// Opens a resource by `TYPE/NAME`, on the current stream if it is there, else on the newest
    /// that has it. Returns false if no stream does.
    pub fn open_named(&mut self, common: &Common, data: &dyn Data, what: &str) -> bool {
        let Some((word, name)) = what.split_once('/') else { return false };
        let store = data.store();
        let kind = Kind::parse(word);
        let mut found = None;
        for state in store.summaries() {
            let state_kind = Kind::of_type_url(state.type_url.as_str()).map(|(kind, _)| kind);
            if kind.is_none() || state_kind != kind {
                continue;
            }
            if let Some(fact) = store.resource(state.stream, &state.type_url, name) {
                found =
                    Some(ResourcePlace { stream: state.stream, type_url: state.type_url, name: fact.name });
                if Some(state.stream) == common.current_stream {
                    break;
                }
            }
        }
        let Some(target) = found else { return false };
        (self.push, self.is_push_later) = (None, false);
        self.compare_resource(data, common.rows(data), target, None);
        true
    }

    /// Opens the selection of the screen that is left, else keeps what was shown before, else opens
    /// the newest push. Returns false if there is none.
    pub fn open_selection(
        &mut self,
        common: &Common,
        data: &dyn Data,
        selection: Option<Comparable>,
    ) -> bool {
        let is_open = match selection {
            Some(Comparable::Push(n)) => self.open_push(common, data, n, None),
            Some(Comparable::Resource(what)) => self.open_named(common, data, &what),
            None => false,
        };
        is_open || self.is_about_scope(common) || self.open_newest(common, data)
    }

    /// Whether something is shown that is about the stream in scope.
    pub(crate) fn is_about_scope(&self, common: &Common) -> bool {
        let target = self.target.as_ref().map(|target| target.stream);
        let streams = [target.or(self.push.as_ref().map(|push| push.stream)), self.wanted.other];
        self.is_ready() && common.scope.stream.is_none_or(|stream| streams.contains(&Some(stream)))
    }

    /// Opens the newest push of the current stream that changed something. Without one, opens that
    /// of another stream or, if a stream is in scope, notes it as the newest elsewhere.
    fn open_newest(&mut self, common: &Common, data: &dyn Data) -> bool {
        let rows = common.rows(data);
        let facts = (rows.saturating_sub(MAX_SEARCHED_ROWS)..rows).rev().filter_map(|row| data.row(row));
        let mut facts = facts
            .filter(|fact| fact.dir == Some(Dir::Resp))
            .filter(|fact| !fact.added.is_empty() || !fact.changed.is_empty() || !fact.removed.is_empty());
        let newest = facts.next();
        let is_current =
            |fact: &MessageFact| common.current_stream.is_none_or(|current| current == fact.stream);
        let newest = match newest {
            Some(newest) if !is_current(&newest) => Some(facts.find(is_current).unwrap_or(newest)),
            newest => newest,
        };
        let is_in_scope = |fact: &MessageFact| common.scope.stream.is_none_or(|stream| stream == fact.stream);
        if let Some(elsewhere) = newest.as_ref().filter(|fact| !is_in_scope(fact)) {
            let label = type_label(elsewhere.type_url.as_str());
            let node = common.client_name(elsewhere.node.as_deref(), elsewhere.stream);
            (self.push, self.target, self.loaded) = (None, None, None);
            self.elsewhere = elsewhere.n.map(|n| format!("#{} ({node} {label})", n.0));
            return false;
        }
        newest.and_then(|fact| fact.n).is_some_and(|n| self.open_push(common, data, n, None))
    }

    /// Compares the selected entry of the push.
    pub(super) fn choose_entry(&mut self, data: &dyn Data, total: usize) {
        let Some(push) = &self.push else { return };
        let Some(entry) = push.entries.get(self.chosen) else {
            self.target = None;
            self.versions.clear();
            self.loaded = None;
            (self.old, self.new) = (None, None);
            return;
        };
        let n = push.n;
        let target =
            ResourcePlace { stream: push.stream, type_url: push.type_url.clone(), name: entry.name.clone() };
        self.compare_resource(data, total, target, Some(n));
    }

    /// Looks up the nodes of the two versions, if they come from different streams.
    pub(super) fn name_nodes(&mut self, data: &dyn Data) {
        let stream = |at| self.version(at).map(|version| version.stream);
        let streams = stream(self.old).zip(stream(self.new)).filter(|(old, new)| old != new);
        let streams = streams.map_or(Vec::new(), |(old, new)| vec![old, new]);
        let marks = if streams.is_empty() { ClientMarks::default() } else { data.store().client_marks() };
        let name = |stream: StreamId| {
            let name = data.stream(stream).map(|fact| report::node_name(&fact));
            let name = name.filter(|name| !name.starts_with('#'))?;
            Some((stream, name + &report::client_mark(marks.get(stream), stream)))
        };
        self.nodes = streams.into_iter().filter_map(name).collect();
    }
}
