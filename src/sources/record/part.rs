use std::collections::{BTreeMap, BTreeSet};

use crate::wire::content::{BlobId, Catalog};
use crate::wire::event::{Seq, StreamId, Time};
use crate::wire::{Frame, FramePayload};

/// What is known of a stream while its part is made.
#[derive(Default)]
struct Cut {
    node: Option<BlobId>,
    /// Messages left out since the last one that stayed, and their bytes.
    left: (u64, u64),
    stays: bool,
    /// Its start was left out.
    partial: bool,
}

/// Leaves those frames of a session for which `keep` says so (with the number of the last message so far), so that the
/// part says of itself what it lacks: a stream whose start is left out is marked as begun before (◐, section 0.2) and
/// keeps its node; messages left out between others are a gap. Streams without a message left go too, unless none has
/// one. Returns the numbers of the messages that stay.
pub fn part(
    frames: &mut Vec<Frame>,
    catalog: &Catalog,
    mut keep: impl FnMut(&Frame, Seq) -> bool,
) -> BTreeSet<Seq> {
    let (mut n, mut numbers) = (Seq(0), BTreeSet::new());
    let mut cuts: BTreeMap<StreamId, Cut> = BTreeMap::new();
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
            cut.left = (cut.left.0 + 1, cut.left.1 + message.size);
            continue;
        }
        let (messages, bytes) = std::mem::take(&mut cut.left);
        match (messages > 0, cut.stays) {
            (true, true) => out.push(Frame { what: FramePayload::Gap { messages, bytes }, ..frame.clone() }),
            (lacks, false) => cut.partial = lacks,
            (false, true) => {}
        }
        cut.stays = true;
        start.get_or_insert(frame.at);
        numbers.insert(n);
        out.push(frame);
    }
    if let Some(start) = start {
        out.retain(|frame| {
            let stays = cuts.get(&frame.stream).is_some_and(|cut| cut.stays);
            stays || matches!(frame.what, FramePayload::Gap { .. })
        });
        let begun = cuts.values().any(|cut| cut.partial);
        for frame in &mut out {
            // What was there before the part begins stands at its beginning.
            frame.at = if begun { frame.at.max(start) } else { frame.at };
            let Some(cut) = cuts.get(&frame.stream).filter(|cut| cut.partial) else { continue };
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
