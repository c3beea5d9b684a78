use crate::wire::GapCause;
use std::collections::{BTreeMap, BTreeSet};

use crate::wire::content::{BlobId, Catalog};
use crate::wire::event::{Seq, StreamId, Time};
use crate::wire::{Frame, FramePayload};

/// The state of a stream while a part is cut out.
#[derive(Default)]
struct StreamCut {
    node: Option<BlobId>,
    /// Messages left out since the last retained one, and their bytes.
    omitted: (u64, u64),
    has_retained: bool,
    /// Whether the beginning of the stream was left out.
    lacks_start: bool,
}

/// Retains the frames for which `keep` returns true, and marks what is missing.
///
/// `keep` also gets the number of the latest message. A stream without its beginning is marked as
/// partial (◐) and keeps its node; omitted messages become gaps. Streams without a retained message
/// are dropped, unless no stream has one. Returns the numbers of the retained messages.
pub fn retain_part(
    frames: &mut Vec<Frame>,
    catalog: &Catalog,
    mut keep: impl FnMut(&Frame, Seq) -> bool,
) -> BTreeSet<Seq> {
    let (mut n, mut numbers) = (Seq(0), BTreeSet::new());
    let mut cuts: BTreeMap<StreamId, StreamCut> = BTreeMap::new();
    let mut start: Option<Time> = None;
    let mut out = Vec::new();
    for frame in frames.drain(..) {
        let FramePayload::Message(message) = &frame.what else {
            if keep(&frame, n) {
                out.push(frame);
            }
            continue;
        };
        n.0 += 1;
        let cut = cuts.entry(frame.stream).or_default();
        if cut.node.is_none() {
            cut.node = message.node().and_then(|node| node.blob);
        }
        if !keep(&frame, n) {
            cut.omitted = (cut.omitted.0 + 1, cut.omitted.1 + message.size);
            continue;
        }
        let (messages, bytes) = std::mem::take(&mut cut.omitted);
        match (messages > 0, cut.has_retained) {
            (true, true) => out.push(Frame {
                what: FramePayload::Gap { messages, bytes, cause: GapCause::Lost },
                ..frame.clone()
            }),
            (lacks, false) => cut.lacks_start = lacks,
            (false, true) => {}
        }
        cut.has_retained = true;
        start.get_or_insert(frame.at);
        numbers.insert(n);
        out.push(frame);
    }
    if let Some(start) = start {
        out.retain(|frame| {
            let stays = cuts.get(&frame.stream).is_some_and(|cut| cut.has_retained);
            stays || matches!(frame.what, FramePayload::Gap { .. })
        });
        let begun = cuts.values().any(|cut| cut.lacks_start);
        for frame in &mut out {
            // Frames from before the part move to its beginning.
            frame.at = if begun { frame.at.max(start) } else { frame.at };
            let Some(cut) = cuts.get(&frame.stream).filter(|cut| cut.lacks_start) else { continue };
            if let FramePayload::Open(open) = &mut frame.what {
                open.partial = true;
                let node = || catalog.bytes(cut.node?).map(|bytes| bytes.to_vec());
                open.node_hint = open.node_hint.take().or_else(node);
            }
        }
    }
    *frames = out;
    numbers
}
