//! Facts about held messages: what they change, and which types have diverged.

use crate::common::Common;
use crate::data::Data;
use xdscope_engine::diff::compare;
use xdscope_engine::hold::{HeldFact, compare_held, passed_meanwhile, without_secrets};
use xdscope_present::report::Role;
use xdscope_present::{hold, report};
use xdscope_schema::{FieldNames, to_yaml};
use xdscope_wire::Interference;
use xdscope_wire::event::Time;
use xdscope_wire::text::type_label;

use super::{HoldDetail, HoldScreen};

/// Lines of a message that are shown.
const MAX_LINES: usize = 20_000;

/// Types that are listed as diverged.
const MAX_DIVERGED: usize = 3;

impl HoldScreen {
    /// Compares held messages with what their clients have, if that has changed.
    pub(super) fn load(&mut self, common: &Common, data: &dyn Data) {
        let (store, schema) = (data.store(), data.schema());
        let rows = &self.queue.rows;
        self.loaded.retain(|id, _| rows.iter().any(|row| row.fact.id == *id));
        for row in rows {
            let fact = &row.fact;
            let loaded = self.loaded.entry(fact.id).or_default();
            if loaded.stream.is_none() {
                loaded.stream = store.stream_intercepted_by(&fact.id.by());
                loaded.diff = None;
            }
            let stream = loaded.stream;
            let since =
                Time(data.now().0.saturating_sub(u64::try_from(row.age.as_nanos()).unwrap_or(u64::MAX)));
            loaded.passed = stream.and_then(|stream| passed_meanwhile(store, fact, stream, since));
            let base = stream.and_then(|stream| store.acknowledged_version(stream, &fact.type_url));
            let is_fresh = loaded.diff.as_ref().is_some_and(|diff| diff.base == base);
            if fact.is_push() && !is_fresh {
                loaded.diff = Some(compare_held(store, schema, fact, stream));
                self.shown = None;
            }
        }
        if common.paused.is_none() {
            self.diverged = diverged_types(common, data);
        }
    }

    /// Fills the second pane.
    pub(super) fn load_lines(&mut self, common: &Common, data: &dyn Data) {
        let arrow = common.theme.glyphs().to;
        if let Some(draft) = self.draft.clone() {
            self.shown = None;
            self.lines = match &draft.edited {
                Ok(edited) => {
                    let sent = HeldFact { bytes: edited.bytes.clone(), ..HeldFact::clone(&draft.fact) };
                    let warning = |text: &String| (Role::Warn, format!("! constraint: {text}"));
                    let warnings = edited.warnings.iter().map(warning);
                    warnings.chain(changes(&draft.fact, &sent, data, arrow)).collect()
                }
                Err(error) => vec![(Role::Bad, error.clone())],
            };
            return;
        }
        let Some(fact) = self.selected().map(|row| row.fact.clone()) else {
            (self.lines, self.shown) = (Vec::new(), None);
            return;
        };
        let key = Some((fact.id, self.detail));
        if self.shown == key {
            return;
        }
        self.shown = key;
        self.lines = match (self.detail, self.diff(fact.id)) {
            (HoldDetail::Diff, Some(diff)) => hold::held_changes(diff, arrow),
            _ => message(&fact, data).into_iter().map(|line| (Role::Plain, line)).collect(),
        };
    }
}

/// Describes the first types in which clients and servers believe different things.
fn diverged_types(common: &Common, data: &dyn Data) -> Vec<String> {
    let mut diverged_types = Vec::new();
    for stream in data.store().intercepted_streams() {
        if data.stream(stream).is_none_or(|fact| fact.closed.is_some()) {
            continue;
        }
        for state in data.states_of(stream) {
            if let Some(diverged) = &state.diverged
                // The queue shows what is only held.
                && diverged.facts.interference != Interference::Held
            {
                let client = common.client_name(state.summary.node.as_deref(), state.summary.stream);
                let label = type_label(state.summary.type_url.as_str());
                diverged_types.push(format!("{client} {label} {}", report::diverged(diverged)));
            }
            if diverged_types.len() == MAX_DIVERGED {
                return diverged_types;
            }
        }
    }
    diverged_types
}

/// Returns a message as YAML, without secrets.
fn message(fact: &HeldFact, data: &dyn Data) -> Vec<String> {
    let Some(bytes) = without_secrets(fact, data.store().catalog()) else {
        return vec!["(this message cannot be decoded)".to_owned()];
    };
    let tree = data.schema().tree(&fact.message_name(), &bytes, FieldNames::Original);
    to_yaml(&tree).lines().take(MAX_LINES).map(str::to_owned).collect()
}

/// Returns what an edited message changes of the message that came.
fn changes(old: &HeldFact, new: &HeldFact, data: &dyn Data, arrow: &str) -> Vec<(Role, String)> {
    let tree = |fact: &HeldFact| {
        let bytes = without_secrets(fact, data.store().catalog()).unwrap_or_default();
        data.schema().tree(&fact.message_name(), &bytes, FieldNames::Original)
    };
    let compared = compare(&tree(old), &tree(new), &Default::default());
    let line = |change| (Role::Changed, format!("~ {}", hold::change(change, arrow)));
    let mut lines: Vec<_> = compared.changes.iter().map(line).collect();
    if lines.is_empty() {
        lines.push((Role::Muted, "the bytes differ, the fields do not".to_owned()));
    }
    lines
}
