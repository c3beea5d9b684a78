//! Requests for endpoints of clusters that a fault or person has made up.
//!
//! A server never hears of such a name: it is left out of the requests, also after the fault, for
//! as long as the client has the cluster. The type of the endpoints is diverged meanwhile,
//! unlike after other corrections. Other types are requested by names in contents.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::contents::{AlteredNames, WireContents};
use super::track::Track;

/// A request in which names are left out.
pub(super) struct CutRequest {
    /// The request to send; `None` if nothing of it is left.
    pub(super) bytes: Option<Bytes>,
    /// The fault or person who made up the names, unless the request before lacked the same names.
    pub(super) by: Option<Arc<str>>,
}

impl Track {
    /// Leaves made-up names out of a request. `None`: the request has none.
    pub(super) fn without_made_up(
        &mut self,
        request: &WireContents,
        made_up: &AlteredNames,
    ) -> Option<CutRequest> {
        let is_delta = request.is_delta();
        let is_new = |name: &&Arc<str>| made_up.contains_key(*name) && (is_delta || !self.has_sent(name));
        let new: BTreeSet<Arc<str>> = request.names().iter().filter(is_new).cloned().collect();
        let is_given_up = |name: &&Arc<str>| self.left_out.contains(*name);
        let given_up: BTreeSet<Arc<str>> = request.removed().iter().filter(is_given_up).cloned().collect();
        let before = self.left_out.clone();
        if is_delta {
            self.left_out.retain(|name| !given_up.contains(name));
            self.left_out.extend(new.iter().cloned());
        } else {
            self.left_out.clone_from(&new);
        }
        if new.is_empty() && given_up.is_empty() {
            return None;
        }
        let by = made_up.iter().find(|(name, _)| new.contains(*name) && !before.contains(*name));
        let rest = |list: &[Arc<str>], cut: &BTreeSet<Arc<str>>| -> Vec<Arc<str>> {
            list.iter().filter(|name| !cut.contains(*name)).cloned().collect()
        };
        let names = rest(request.names(), &new);
        let unsubscribed = rest(request.removed(), &given_up);
        let is_first = self.is_first_request();
        // A request without names may stand for all resources (docs/protocol.md#f-21).
        let names = match names.is_empty() && !is_delta {
            true => self.sent_names().to_vec(),
            false => names,
        };
        let is_empty = names.is_empty() && (is_first || !is_delta)
            || is_delta && request.nonce.is_empty() && names.is_empty() && unsubscribed.is_empty();
        let bytes = (!is_empty).then(|| request.with_names(&names, &unsubscribed));
        Some(CutRequest { bytes, by: by.map(|(_, by)| by.clone()) })
    }
}
