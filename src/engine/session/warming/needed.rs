//! A resource that a warming one waits for.

use std::sync::Arc;
use std::time::Duration;

use xdscope_wire::event::{Kind, Seq, Sym, Time};

use super::needs::DEFAULT_TIMEOUT;

/// A resource that a warming one waits for, by its symbol or by the text of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededResource<Name = Arc<str>> {
    /// Type of the resource.
    pub kind: Kind,
    /// Name of the resource.
    pub name: Name,
    /// When the wait began.
    pub since: Time,
    /// The request for the resource; `None` if the client did not repeat its request after the
    /// update.
    pub asked: Option<Seq>,
    /// Whether the client has the resource, and needs it once more because of the update.
    pub is_resend: bool,
    /// Whether the server owes the resource even if nothing waited for it.
    pub is_owed: bool,
    /// Whether no resource can have the name.
    pub is_malformed: bool,
    /// Whether the server has said that the resource does not exist.
    pub is_absent: bool,
    /// The response that says so. `None` if it is forgotten.
    pub absent: Option<Seq>,
    /// Whether that response reports another error than that the resource does not exist.
    pub is_error: bool,
    /// Whether the client owes the request: it has never asked for the resource.
    pub is_unrequested: bool,
    /// The request with which the client gave up the resource, before the resource came.
    pub given_up: Option<Seq>,
    /// Whether the client asks for the resource on another stream than that of the warming one.
    pub is_elsewhere: bool,
    /// Whether the client continues with the resource that it has, once it stops waiting.
    pub is_cached: bool,
    /// Time from `since` on after which an Envoy stops waiting. `None` if it waits on.
    pub timeout: Option<Duration>,
}

/// A resource that a warming one waits for, by its symbol.
pub(crate) type MissingNeed = NeededResource<Sym>;

impl<Name> NeededResource<Name> {
    /// A resource that the client does not have, and that nobody owes.
    pub(crate) fn new(kind: Kind, name: Name, since: Time) -> NeededResource<Name> {
        NeededResource {
            kind,
            name,
            since,
            asked: None,
            is_resend: false,
            is_owed: false,
            is_malformed: false,
            is_absent: false,
            absent: None,
            is_error: false,
            is_unrequested: false,
            given_up: None,
            is_elsewhere: false,
            is_cached: false,
            timeout: Some(DEFAULT_TIMEOUT),
        }
    }
}

impl MissingNeed {
    /// Returns the resource by the text of its name.
    pub(crate) fn with_text(self, name: Arc<str>) -> NeededResource {
        NeededResource {
            asked: self.asked,
            is_resend: self.is_resend,
            is_owed: self.is_owed,
            is_malformed: self.is_malformed,
            is_absent: self.is_absent,
            absent: self.absent,
            is_error: self.is_error,
            is_unrequested: self.is_unrequested,
            given_up: self.given_up,
            is_elsewhere: self.is_elsewhere,
            is_cached: self.is_cached,
            timeout: self.timeout,
            ..NeededResource::new(self.kind, name, self.since)
        }
    }
}
