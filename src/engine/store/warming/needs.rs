//! Names that the resources of a client refer to, and the client does not request.

mod referring;
pub(in crate::store) mod routed;
mod unseen;
pub(in crate::store) mod unsubscribed;

use crate::session::Stream;
use crate::store::Store;

/// The resources to which those on a stream of a client refer.
#[derive(Clone, Copy)]
pub(crate) struct ClientNeeds<'a> {
    store: &'a Store,
    stream: &'a Stream,
}

impl<'a> ClientNeeds<'a> {
    pub(crate) fn new(store: &'a Store, stream: &'a Stream) -> ClientNeeds<'a> {
        ClientNeeds { store, stream }
    }
}
