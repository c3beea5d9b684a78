//! Copies on their way from the tap to the decoder.

use std::collections::{BTreeMap, BTreeSet};

use crate::net::tap::CopyQueue;
use xdscope_sources::observe::{ConnId, StreamEvent, TapCopy, TapEvent};

use super::spool::{Spool, SpoolReader, SpooledCopies};

/// Bytes of copies that are decoded together, unless one copy has more.
const MAX_PART_BYTES: usize = 256 << 10;

/// Consecutive copies.
pub(crate) struct Part {
    content: PartContent,
    /// Memory of the copies, in bytes.
    pub(crate) bytes: usize,
}

enum PartContent {
    Memory(Vec<TapCopy>),
    Spooled(SpooledCopies),
}

impl Part {
    /// Splits drained copies into parts.
    pub(crate) fn split(copies: &mut Vec<TapCopy>, mut take: impl FnMut(Part)) {
        let (mut part, mut bytes) = (Vec::new(), 0);
        for copy in copies.drain(..) {
            bytes += copy.event.memory();
            part.push(copy);
            if bytes >= MAX_PART_BYTES {
                take(Part { content: PartContent::Memory(std::mem::take(&mut part)), bytes });
                bytes = 0;
            }
        }
        if !part.is_empty() {
            take(Part { content: PartContent::Memory(part), bytes });
        }
    }

    /// Moves the copies to the spool, if there is room.
    pub(crate) fn spool(&mut self, spool: &Spool, copies: &CopyQueue) {
        let PartContent::Memory(content) = &mut self.content else { return };
        match spool.put(std::mem::take(content)) {
            Ok(spooled) => {
                copies.moved_to_spool(self.bytes - spooled.memory());
                self.content = PartContent::Spooled(spooled);
            }
            Err(back) => *content = back,
        }
    }

    /// Returns the memory that the spool has saved, in bytes; `None` if the copies are in memory.
    #[cfg(test)]
    pub(crate) fn spooled(&self) -> Option<usize> {
        match &self.content {
            PartContent::Memory(_) => None,
            PartContent::Spooled(spooled) => Some(self.bytes - spooled.memory()),
        }
    }

    /// Adds the bytes of each connection to `sizes`.
    pub(crate) fn add_sizes(&self, sizes: &mut BTreeMap<ConnId, u64>) {
        match &self.content {
            PartContent::Memory(copies) => {
                for copy in copies {
                    *sizes.entry(copy.conn).or_default() += copy.event.size() as u64;
                }
            }
            PartContent::Spooled(spooled) => {
                for (conn, bytes) in spooled.connections().into_iter().flatten() {
                    *sizes.entry(conn).or_default() += bytes;
                }
            }
        }
    }

    /// Returns the copies and releases their memory, or their room in the spool.
    pub(crate) fn into_copies(self, spool: Option<&mut SpoolReader>, copies: &CopyQueue) -> Vec<TapCopy> {
        match (self.content, spool) {
            (PartContent::Memory(content), _) => {
                copies.decoded(self.bytes);
                content
            }
            (PartContent::Spooled(spooled), Some(spool)) => {
                let content = spool.read(&spooled);
                release(spooled, spool, self.bytes, copies);
                content
            }
            (PartContent::Spooled(_), None) => Vec::new(),
        }
    }

    /// Returns the copies with their bytes counted as lost, except for those of `kept` connections,
    /// and releases their memory, or their room in the spool.
    pub(crate) fn into_losses(
        self,
        spool: Option<&mut SpoolReader>,
        copies: &CopyQueue,
        kept: &BTreeSet<ConnId>,
    ) -> Vec<TapCopy> {
        let has_kept = |spooled: &SpooledCopies| {
            spooled.connections().is_none_or(|mut all| all.any(|(conn, _)| kept.contains(&conn)))
        };
        let part = match (self.content, &spool) {
            (PartContent::Spooled(spooled), Some(spool)) if !has_kept(&spooled) => {
                let losses = spooled.losses();
                release(spooled, spool, self.bytes, copies);
                return losses;
            }
            (content, _) => Part { content, ..self },
        };
        let is_kept = |copy: &TapCopy| kept.contains(&copy.conn);
        let content = part.into_copies(spool, copies).into_iter();
        content.map(|copy| if is_kept(&copy) { copy } else { loss(copy) }).collect()
    }
}

/// Releases the room of spooled copies, which took `bytes` of memory before.
fn release(spooled: SpooledCopies, spool: &SpoolReader, bytes: usize, copies: &CopyQueue) {
    copies.decoded(spooled.memory());
    copies.decoded_from_spool(bytes - spooled.memory());
    spool.spool.release(spooled);
}

/// Returns a copy with its bytes counted as lost.
fn loss(copy: TapCopy) -> TapCopy {
    let TapCopy { conn, at, event } = copy;
    let event = match (event.forwarded(), event) {
        (_, event @ TapEvent::Lost { .. }) => event,
        (Some((dir, bytes)), _) => TapEvent::Lost { dir, bytes, chunks: 1 },
        (None, TapEvent::Stream { stream, event: StreamEvent::Message { pieces, .. } }) => {
            let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
            TapEvent::Stream { stream, event: StreamEvent::Lost { bytes } }
        }
        (None, event) => event,
    };
    TapCopy { conn, at, event }
}
