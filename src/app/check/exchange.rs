//! The recorded exchange of a row: its script, and what the lint rules say of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use xdscope_engine::analysis::{self, Analysis};
use xdscope_engine::lint::{Blame, Finding, Severity, Subject};
use xdscope_engine::store::{self, MessageKind, Store, StreamFact};
use xdscope_schema::Schema;
use xdscope_sources::record::Loaded;
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::{End, Frame, FramePayload, Open};

use super::CheckOutcome;

/// Bytes of a script beyond which lines are left out.
const MAX_SCRIPT_BYTES: usize = 64 << 10;

/// Findings of one row that are worded.
const MAX_FINDINGS: usize = 8;

/// A judged exchange.
pub(super) struct Judged {
    /// Broken rules of the row.
    pub broken: Vec<String>,
    /// Recommendations of the row that the peer does not follow, and other errors of the peer.
    pub notes: Vec<String>,
    pub script: Option<String>,
}

impl Judged {
    /// Returns the outcome of a row whose stimulus was played to its end.
    pub(super) fn outcome(&self) -> CheckOutcome {
        if self.broken.is_empty() { CheckOutcome::Passed } else { CheckOutcome::Failed }
    }
}

/// Judges a recorded exchange by the lint rules of rows of `docs/protocol.md`.
pub(super) fn judge(
    loaded: Loaded,
    rows: &[&str],
    peer: Blame,
    options: store::Options,
    schema: &Arc<Schema>,
) -> Judged {
    let script = script(&loaded.frames, &loaded.catalog, loaded.clock, loaded.end, schema);
    let mut store = Store::new(loaded.catalog, loaded.clock, options);
    store.set_meaning(crate::app::tap::meaning(schema.clone()));
    let mut analysis = Analysis::new(store, analysis::rules(schema));
    loaded.frames.into_iter().for_each(|frame| analysis.handle(frame));
    analysis.advance(loaded.end);
    judged(analysis.findings().iter(), rows, peer, script)
}

/// Sorts the findings about a peer into broken rules of a row, and notes. A NACK is neither.
pub(super) fn judged<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    rows: &[&str],
    peer: Blame,
    script: Option<String>,
) -> Judged {
    let (mut broken, mut notes) = (Vec::new(), Vec::new());
    let is_of_peer = |finding: &&Finding| finding.blame == peer && finding.rule.subject != Subject::Nack;
    for finding in findings.filter(is_of_peer) {
        let is_of_row = finding.rule.rows.split(", ").any(|row| rows.contains(&row));
        let out = match (is_of_row, finding.severity) {
            (true, Severity::Warn | Severity::Error) => &mut broken,
            (true, Severity::Info) | (false, Severity::Error) => &mut notes,
            (false, _) => continue,
        };
        if out.len() < MAX_FINDINGS {
            out.push(format!("{}: {}", finding.rule.id, xdscope_present::report::finding(finding, "x")));
        }
    }
    Judged { broken, notes, script }
}

/// Writes the rows of the timeline from one on as a script. Streams that were open before are
/// partial.
pub(super) fn script_of_rows(store: &Store, from: usize, schema: &Arc<Schema>) -> Option<String> {
    let (mut frames, mut met) = (Vec::new(), BTreeSet::new());
    let begun = store.row_time(from)?;
    for fact in (from..store.rows()).filter_map(|row| store.row(row)) {
        let Some(stream) = store.stream(fact.stream) else { continue };
        if met.insert(fact.stream) {
            frames.push(opening(&stream, fact.at, begun, store));
        }
        if let Some(frame) = fact.n.and_then(|n| store.frame(n)) {
            frames.push(frame);
        }
        if let (MessageKind::Close, Some(end)) = (fact.kind, stream.end) {
            let status = end.code.map(|code| (code, end.message.unwrap_or_default()));
            let end = End { by: end.by, status, reset: end.reset, note: end.note };
            frames.push(Frame { at: fact.at, stream: fact.stream, what: FramePayload::End(Box::new(end)) });
        }
    }
    script(&frames, store.catalog(), store.clock(), store.now(), schema)
}

fn opening(stream: &StreamFact, at: Time, begun: Time, store: &Store) -> Frame {
    let partial = stream.opened < begun;
    let node = stream.node.as_ref().filter(|_| partial).and_then(|node| store.catalog().bytes(node.blob?));
    let open = Open {
        method: stream.method.clone(),
        server: stream.server.clone(),
        node_hint: node.map(|bytes| bytes.to_vec()),
        partial,
        ..Open::default()
    };
    Frame { at, stream: stream.stream, what: FramePayload::Open(Box::new(open)) }
}

/// Writes an exchange as a script; `None` if it has no messages.
fn script(
    frames: &[Frame],
    catalog: &Catalog,
    clock: Clock,
    end: Time,
    schema: &Arc<Schema>,
) -> Option<String> {
    if frames.is_empty() {
        return None;
    }
    let codec = SchemaCodec(schema.clone());
    let exported = script::from_frames(frames.iter(), catalog, clock, end, &codec);
    let mut text = script::write(&exported.script);
    if text.len() > MAX_SCRIPT_BYTES {
        let end = text.floor_char_boundary(MAX_SCRIPT_BYTES);
        let end = text[..end].rfind('\n').map_or(0, |at| at + 1);
        let lines = text[end..].lines().count();
        text.truncate(end);
        text.push_str(&format!("# {lines} more lines\n"));
    }
    Some(text)
}
