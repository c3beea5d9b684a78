//! Facts about one resource on one stream.

use std::sync::Arc;
use std::time::Duration;

use crate::nack::RestUse;
use crate::session::{AbsentBy, Origin, ResourceState};
use crate::store::rows::details::{ResourceErrorFact, TtlFact};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Seq, StreamId, Time, TypeUrl};
use xdscope_wire::xdstp::is_malformed;

/// One resource on one stream.
#[derive(Clone, Debug)]
pub struct ResourceFact {
    /// The stream.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// The type.
    pub type_url: TypeUrl,
    /// The name, or the start of the content hash if the name is unknown.
    pub name: Arc<str>,
    /// Other names of the resource.
    pub aliases: Vec<Arc<str>>,
    /// The version that was sent last.
    pub version: Option<Arc<str>>,
    /// The version that the client has accepted last.
    pub acked_version: Option<Arc<str>>,
    /// The state of the resource.
    pub state: ResourceState,
    /// Whether the client has the resource while its stream is closed and no later stream has taken
    /// over (docs/protocol.md#g-01).
    pub is_stream_down: bool,
    /// The message that the server owes, if the client has the resource and waits for it again.
    pub owed_again: Option<OwedAgainFact>,
    /// Whether the newest content was refused, by a NACK that names the resource or names none.
    pub refused: bool,
    /// The refused push with the newest content, or with the removal, of the resource.
    pub refusal: Option<RefusalFact>,
    /// The refused push before the newest content, which the client has not answered yet.
    pub earlier_refusal: Option<Box<RefusalFact>>,
    /// The content in force. `None` if the client uses nothing yet, or if that is not known.
    pub in_force: Option<InForceFact>,
    /// Whether the newest content cannot be decoded as its type.
    pub is_unreadable: bool,
    /// Whether the client has not answered the newest content, or its newest version, yet.
    pub is_unanswered: bool,
    /// Whether the server has removed the resource, and the client, which has it, has not answered.
    pub is_removal_unanswered: bool,
    /// The source of the information that the resource is absent.
    pub absent_by: Option<AbsentBy>,
    /// The request that unsubscribed the name under a wildcard, and its time: the server owes the
    /// resource or its removal (docs/protocol.md#f-26).
    pub unclassified: Option<(Seq, Time)>,
    /// Why the resource was sent.
    pub origin: Origin,
    /// Content hash in hex: equal within one source for equal content.
    pub hash: Option<String>,
    /// Bytes of the newest content.
    pub size: u64,
    /// When the resource expires.
    pub ttl_deadline: Option<Time>,
    /// Time until then, at the time of the query.
    pub ttl_left: Option<Duration>,
    /// The time to live, and how it changed.
    pub ttl: Option<Box<TtlFact>>,
    /// Why the server does not send the resource.
    pub error: Option<Box<ResourceErrorFact>>,
    /// The newest content, for [`xdscope_wire::content::Catalog::bytes`].
    pub content: Option<BlobId>,
}

impl ResourceFact {
    /// Whether this is a glob collection, which stands for its members.
    pub fn is_glob(&self) -> bool {
        xdscope_wire::xdstp::is_glob(&self.name)
    }

    /// Whether the client ignores the resource, which it has not requested
    /// (docs/protocol.md#e-35).
    pub fn is_ignored(&self) -> bool {
        self.origin == Origin::Unrequested && self.state == ResourceState::Present
    }

    /// Whether no resource can have the name: it begins like an `xdstp:` name, and does not have
    /// its form (docs/protocol.md#k-02).
    pub fn has_malformed_name(&self) -> bool {
        matches!(self.state, ResourceState::Waiting | ResourceState::Absent) && is_malformed(&self.name)
    }

    /// Whether the server owes a newer version than the client has.
    pub fn has_older(&self) -> bool {
        self.owed_again.is_some_and(|owed| owed.is_newer)
    }

    /// Whether the resource was requested and not sent in time.
    pub fn is_missing(&self) -> bool {
        self.state == ResourceState::Absent && self.absent_by == Some(AbsentBy::Timer)
    }

    /// Returns the content that the client uses, or is about to use: the first push without a
    /// verdict counts as used, a later one and a refused one do not.
    pub fn content_in_use(&self) -> Option<BlobId> {
        let in_force = self.in_force.as_ref().and_then(|known| known.content);
        match (&self.refusal, self.state) {
            (Some(_), _) => in_force,
            (None, _) if self.is_removal_unanswered => in_force,
            (None, ResourceState::Kept) => in_force.or(self.content),
            (None, ResourceState::Present) if self.is_unanswered => in_force.or(self.content),
            (None, _) => self.content,
        }
    }

    /// Whether the client uses the newest content although the push with the resource was refused.
    pub fn is_used_from_refused_push(&self) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| !refusal.is_named && refusal.rest == RestUse::Used)
    }

    /// Whether a refused push keeps the newest content, or the removal, out of use, although the
    /// NACK names other resources only.
    pub fn is_in_unused_push(&self) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| !refusal.is_named && refusal.rest != RestUse::Used)
    }

    /// Returns the version of the content, if the client keeps it although the server takes the
    /// client for one that has a newer version, which the client has refused on an earlier stream.
    pub fn kept_in_place_of_refused(&self) -> Option<&Arc<str>> {
        match &self.in_force {
            Some(in_force) if self.state == ResourceState::Kept && self.refusal.is_some() => {
                Some(&in_force.version)
            }
            _ => None,
        }
    }

    /// Returns the version to show: the newest one if it was refused or is not answered, else the
    /// accepted one, else the sent one.
    ///
    /// Resources that a refused push sends again unchanged stay at their accepted version.
    pub fn standing(&self) -> Option<&Arc<str>> {
        match &self.refusal {
            Some(refusal) if !refusal.is_removal => Some(&refusal.version),
            None if !self.is_unanswered => self.acked_version.as_ref().or(self.version.as_ref()),
            _ => self.version.as_ref(),
        }
    }
}

/// A resource that the client has, and the server owes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwedAgainFact {
    /// The server owes a newer version or the removal (docs/protocol.md#f-17), else the resource
    /// that the client has requested again (docs/protocol.md#f-14).
    pub is_newer: bool,
    /// The server has removed the resource before the stream, and owes the removal.
    pub is_removal: bool,
    /// When the client began to wait.
    pub since: Time,
    /// Whether the time limit has ended.
    pub is_late: bool,
}

/// A refused push, and what its NACK says about one of the resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalFact {
    /// The NACK.
    pub nack: Seq,
    /// The refused push.
    pub push: Seq,
    /// Whether the NACK names the resource, or names none at all.
    pub is_named: bool,
    /// Whether the push removes the resource.
    pub is_removal: bool,
    /// Whether the client uses the resources that the NACK does not name.
    pub rest: RestUse,
    /// Whether the client uses nothing if no version is in force; else it may use one from before
    /// the stream.
    pub knows_in_force: bool,
    /// Whether the nonce of the NACK fits another push too, so that the refused one is a guess.
    pub is_guess: bool,
    /// The refused version; empty for a removal.
    pub version: Arc<str>,
    /// The refused content. `None` for a removal, and if the source lacks the content.
    pub content: Option<BlobId>,
}

/// The content of a resource that the client uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForceFact {
    /// The version; empty if the version is not known.
    pub version: Arc<str>,
    /// The content, for [`xdscope_wire::content::Catalog::bytes`]. `None` if known by version only.
    pub content: Option<BlobId>,
}
