//! Gaps in what is known of a track.

use crate::session::content::responses::Order;

/// How complete the messages of a track are, at the start and later.
#[derive(Clone, Debug)]
pub(crate) struct Completeness {
    /// Nonces from before the recording or in a gap are unknown. Ends once the client uses the
    /// nonce of a response that was recorded since (docs/protocol.md#e-11).
    pub(crate) has_unseen_nonces: bool,
    /// Requests before the first recorded one may be missing.
    pub(crate) start_unseen: bool,
    /// The order of the first response after the last gap.
    pub(crate) last_gap: Order,
    /// Whether messages are missing, at the start or later.
    pub(crate) has_lost: bool,
    /// Whether all names of the subscription are known, but maybe not the wildcard: no message is
    /// missing, or a SotW request has restated all names since.
    pub(crate) names_known: bool,
}

impl Default for Completeness {
    fn default() -> Completeness {
        Completeness {
            has_unseen_nonces: false,
            start_unseen: false,
            last_gap: Order::default(),
            has_lost: false,
            names_known: true,
        }
    }
}

impl Completeness {
    /// Records that messages before the response of this order are missing.
    pub(super) fn lose_before(&mut self, next: Order) {
        self.has_unseen_nonces = true;
        self.last_gap = next;
        self.has_lost = true;
        self.names_known = false;
    }

    /// Notes that no message before the next request is missing.
    pub(super) fn start(&mut self) {
        self.has_lost = false;
        self.names_known = true;
    }

    /// Notes that the client uses the nonce of a response.
    pub(super) fn use_nonce_of(&mut self, order: Order) {
        self.has_unseen_nonces &= order < self.last_gap;
    }
}
