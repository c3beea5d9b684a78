//! Servers that have answered none of their clients.

use std::collections::HashMap;

use crate::session::{Limits, Stream};
use xdscope_wire::event::Time;

use super::EndedStreams;

/// Clients that a server has not answered before their early ends say something about the server.
const MIN_CLIENTS: usize = 3;

/// Servers without an answer to any client, since the recording began.
pub(super) struct SilentServers<'a> {
    servers: HashMap<Option<&'a str>, Clients>,
}

/// The clients of one server.
struct Clients {
    /// When the first of their newest streams opened, and the last one closed.
    since: Time,
    until: Time,
    /// Clients whose newest stream has ended without an answer.
    unanswered: usize,
    /// A client was answered, or may have been before the recording.
    is_any_answered: bool,
}

impl<'a> EndedStreams<'a> {
    /// Returns the servers of the streams that have ended without an answer.
    pub(super) fn silent_servers(self) -> SilentServers<'a> {
        let mut servers: HashMap<Option<&str>, Clients> = HashMap::new();
        for (_, ends) in self.store.engine.failures().clients() {
            let Some(newest) = ends.answered.max(ends.unreplaced) else { continue };
            let Some(stream) = self.store.engine.streams().get(newest) else { continue };
            let server = servers.entry(stream.open.server.as_deref()).or_insert(Clients {
                since: stream.opened,
                until: stream.opened,
                unanswered: 0,
                is_any_answered: false,
            });
            server.is_any_answered |= ends.answered.is_some() || stream.open.partial;
            server.since = server.since.min(stream.opened);
            server.until = server.until.max(stream.closed.as_ref().map_or(stream.opened, |(at, _)| *at));
            server.unanswered += 1;
        }
        SilentServers { servers }
    }
}

impl SilentServers<'_> {
    /// Whether several clients have asked the server of a stream, for longer than it may take to
    /// answer, and none got an answer.
    pub(super) fn has_server_of(&self, stream: &Stream, limits: Limits) -> bool {
        let clients = self.servers.get(&stream.open.server.as_deref());
        clients.is_some_and(|clients| {
            !clients.is_any_answered
                && clients.unanswered >= MIN_CLIENTS
                && limits.is_late(clients.since, clients.until)
        })
    }
}
