use crate::session::AbsentBy;
use crate::session::content::responses::Order;
use xdscope_wire::content::{BlobId, UsedContent};
use xdscope_wire::event::Sym;

/// The state of one resource on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResourceEntry {
    pub(crate) state: Presence,
    /// The entry with the newest content.
    pub(crate) blob: Option<BlobId>,
    pub(crate) version: Sym,
    /// The response with that entry.
    pub(crate) order: Order,
}

/// Whether and why a client has a resource or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Sent on this stream.
    Present,
    /// Sent on an earlier stream, and not on this one.
    Kept,
    /// Requested again after it was released.
    Again,
    /// Removed by the server.
    Removed,
    /// Does not exist.
    Absent(AbsentBy),
    /// Its time to live has ended.
    Expired,
    /// Released by the client, and then missing in a full-state response.
    Released,
}

impl ResourceEntry {
    /// Marks the content and the version as used.
    pub(in crate::session) fn mark(&self, used: &mut UsedContent) {
        if let Some(blob) = self.blob {
            used.blob(blob);
        }
        used.name(self.version);
    }

    /// Whether the client has the resource, or had it until its time to live was over.
    pub(crate) fn is_present_or_expired(&self) -> bool {
        self.is_present() || self.state == Presence::Expired
    }

    /// Whether the client has the resource.
    pub(crate) fn is_present(&self) -> bool {
        matches!(self.state, Presence::Present | Presence::Kept)
    }
}
