//! Verbs that take part as a client: connections, identities and requests.

pub(super) mod client;
pub(super) mod connect;
pub(super) mod identity;
pub(super) mod request_flags;
