use std::sync::Arc;

use super::{CopyQueue, Counters};
use xdscope_sources::observe::{ConnId, TapEvent};

/// Reports the events of connections to the queue of copies.
#[derive(Clone)]
pub(in crate::net) struct EventReporter {
    pub(in crate::net) copies: Option<Arc<CopyQueue>>,
    pub(in crate::net) counters: Arc<Counters>,
}

impl EventReporter {
    pub(in crate::net) fn report(&self, conn: ConnId, event: TapEvent) {
        if let Some(copies) = &self.copies {
            copies.push(conn, copies.now(), event);
        }
    }
}
