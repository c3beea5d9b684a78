use std::sync::Arc;

use super::{Copies, Counters};
use crate::sources::observe::{ConnId, Happened};

/// Whoever has connections tells what happens on them.
#[derive(Clone)]
pub(in crate::net) struct Watch {
    pub(in crate::net) copies: Option<Arc<Copies>>,
    pub(in crate::net) counters: Arc<Counters>,
}

impl Watch {
    pub(in crate::net) fn tell(&self, conn: ConnId, what: Happened) {
        if let Some(copies) = &self.copies {
            copies.push(conn, copies.now(), what);
        }
    }
}
