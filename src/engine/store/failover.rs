//! Clients with streams to several servers: a stream to one server replaces one to another.

use std::collections::HashMap;

use crate::engine::session::{Stream, StreamKey, Track, is_counted};
use crate::wire::content::Catalog;
use crate::wire::event::Time;

use super::Store;

/// Streams of a client that are compared with one that ended.
const MAX_COMPARED: usize = 16;
/// Names of a subscription that are compared with those of another stream.
const MAX_NAMES: usize = 64;

/// The newest streams of each client, to any server.
pub(super) struct ClientServers<'a> {
    /// Open streams with a response.
    answered: HashMap<StreamKey, Vec<&'a Stream>>,
    /// The first server of a client, and whether there are others.
    servers: HashMap<StreamKey, (Option<&'a str>, bool)>,
}

impl Store {
    /// Returns the servers of all clients.
    pub(super) fn servers(&self) -> ClientServers<'_> {
        let mut out = ClientServers { answered: HashMap::new(), servers: HashMap::new() };
        let clients = self.engine.failures().clients();
        let newest = clients.flat_map(|(_, ends)| [ends.answered, ends.unreplaced]).flatten();
        let newest = newest.filter_map(|index| self.engine.streams().get(index));
        for stream in newest {
            let server = stream.open.server.as_deref();
            let key = StreamKey::of(stream).of_any_server();
            let (first, is_several) = out.servers.entry(key).or_insert((server, false));
            *is_several |= *first != server;
        }
        let open = self.engine.open_streams().filter(|stream| stream.is_answered() && is_counted(stream));
        for stream in open {
            let key = StreamKey::of(stream).of_any_server();
            let answered = out.answered.entry(key).or_default();
            if answered.len() < MAX_COMPARED {
                answered.push(stream);
            }
        }
        out
    }
}

impl ClientServers<'_> {
    /// Whether the client of a stream has streams to several servers.
    pub(super) fn has_other(&self, stream: &Stream) -> bool {
        self.servers.get(&StreamKey::of(stream).of_any_server()).is_some_and(|(_, is_several)| *is_several)
    }

    /// Whether another server answers the client of a closed stream: on a stream that opened after
    /// `since`, with requests for all that the closed one asked for.
    pub(super) fn has_replaced(&self, catalog: &Catalog, closed: &Stream, since: Time) -> bool {
        let others = self.answered.get(&StreamKey::of(closed).of_any_server()).into_iter().flatten();
        let mut others = others.filter(|other| {
            other.open.server != closed.open.server && other.opened >= since && other.id != closed.id
        });
        others.any(|other| closed.tracks_shown().all(|track| asks_for_all(catalog, other, track)))
    }
}

/// Whether a stream asks for all that a track of another stream asked for.
fn asks_for_all(catalog: &Catalog, other: &Stream, track: &Track) -> bool {
    let Some(found) = other.find(&track.type_url).filter(|found| found.traffic.requests > 0) else {
        return false;
    };
    let has_wildcard = found.subscribed.may_be_wildcard() || !track.subscribed.is_wildcard();
    let mut names = track.subscribed.names.iter().take(MAX_NAMES);
    has_wildcard && names.all(|name| found.covers(catalog, name, None))
}
