//! Resources and names of a type: what was sent, refused, accepted and compared.

pub(super) mod compare;
pub(super) mod name_map;
pub(super) mod names;
pub(super) mod pushed;
pub(super) mod refusals;
pub(super) mod resource_set;
pub(super) mod responses;
pub(super) mod semantics;
