//! Facts about a connection that only the reader of a packet capture knows.

use super::Pipeline;
use crate::observe::ConnId;
use crate::observe::unidentified::Identification;
use xdscope_wire::Frame;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Dir, Time};
use xdscope_wire::h2::{ConnectionObserver, Event};

impl Pipeline {
    /// Counts the bytes of a connection from now on, because it can't be parsed.
    pub fn mark_opaque(
        &mut self,
        conn: ConnId,
        at: Time,
        why: &str,
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) {
        if let Some(mut context) = self.context(conn, at, catalog, out) {
            context.event(Event::Opaque { why: why.to_owned() });
        }
    }

    /// Declares that the observed bytes don't start at the beginning of the connection.
    pub fn start_midway(&mut self, conn: ConnId) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.observer = Some(ConnectionObserver::midway());
        }
    }

    /// Ends the observation of a connection that may still be open.
    pub fn abandon(&mut self, conn: ConnId, at: Time, catalog: &mut Catalog, out: &mut Vec<Frame>) {
        if let Some(mut context) = self.context(conn, at, catalog, out) {
            let unidentified: Vec<u32> = context.connection.unidentified.keys().copied().collect();
            for number in unidentified {
                context.identify(number, Identification::NotXds);
            }
        }
    }

    /// Skips `bytes` bytes that will never arrive, and resumes parsing behind them.
    pub fn skip_missing(
        &mut self,
        conn: ConnId,
        at: Time,
        dir: Dir,
        bytes: u64,
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) {
        let Some(mut context) = self.context(conn, at, catalog, out) else { return };
        if context.connection.polls.is_some() || context.connection.opaque.is_some() {
            context.lost_unread(bytes, 1);
        } else {
            context.observe(|observer, out| observer.miss(dir, bytes, out));
        }
    }
}
