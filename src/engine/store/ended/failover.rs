//! Clients with streams to several servers, or of several methods: one replaces another.

use std::collections::HashMap;

use crate::session::{Stream, StreamEnds, StreamKey, Track, is_counted};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Sym, Time};

use super::EndedStreams;

/// Streams of a client that are compared with one that ended.
const MAX_COMPARED: usize = 16;
/// Names of a subscription that are compared with those of another stream.
const MAX_NAMES: usize = 64;

/// The newest streams of each client, to any server and with any method.
pub(crate) struct ClientServers<'a> {
    /// Open streams with requests or a response.
    open: HashMap<StreamKey, Vec<&'a Stream>>,
    /// The first server of a client, and whether there are others.
    servers: HashMap<StreamKey, (Option<&'a str>, bool)>,
}

impl<'a> EndedStreams<'a> {
    pub(super) fn servers(self) -> ClientServers<'a> {
        let mut out = ClientServers { open: HashMap::new(), servers: HashMap::new() };
        let clients = self.store.engine.failures().clients();
        let newest = clients.flat_map(|(_, ends)| [ends.answered, ends.unreplaced]).flatten();
        let newest = newest.filter_map(|index| self.store.engine.streams().get(index));
        for stream in newest {
            let server = stream.open.server.as_deref();
            let key = StreamKey::from_stream(stream).of_any_endpoint();
            let (first, is_several) = out.servers.entry(key).or_insert((server, false));
            *is_several |= *first != server;
        }
        let is_used =
            |stream: &&Stream| (stream.is_answered() || stream.traffic.requests > 0) && is_counted(stream);
        let open = self.store.engine.open_streams().filter(is_used);
        for stream in open {
            // Streams that end before a request have no node.
            let keys = [StreamKey::from_stream(stream), StreamKey::anonymous(stream)];
            let keys = if stream.peers.node.is_some() { &keys[..] } else { &keys[..1] };
            for key in keys {
                let open = out.open.entry(key.of_any_endpoint()).or_default();
                if open.len() < MAX_COMPARED {
                    open.push(stream);
                }
            }
        }
        out
    }

    /// Whether an answered stream of a client shows that the streams of the client to another
    /// server, or with another method, which have failed since a time, are replaced.
    pub(crate) fn is_replaced_by(&self, failed: &StreamKey, since: Time, stream: &Stream) -> bool {
        let Some(ends) = self.store.engine.failures().of_client(failed) else { return false };
        let run = ends.run.as_ref().map(|run| run.series.newest);
        let aborts = ends.aborts.as_ref().map(|series| series.newest);
        let newest = run.max(aborts).max((ends.cuts.count > 0).then_some(ends.cuts.newest));
        let newest = newest.and_then(|newest| self.store.engine.streams().get(newest));
        stream.is_answered()
            && newest.is_some_and(|newest| replaces(&self.store.catalog, stream, newest, since))
    }
}

impl<'a> ClientServers<'a> {
    /// Whether the client of a stream has streams to several servers.
    pub(crate) fn has_other(&self, stream: &Stream) -> bool {
        self.servers
            .get(&StreamKey::from_stream(stream).of_any_endpoint())
            .is_some_and(|(_, is_several)| *is_several)
    }

    /// Whether another server, or another method, answers the client of a closed stream, on a
    /// stream that opened after `since` and continues with what the closed one was for.
    pub(crate) fn has_replaced(&self, catalog: &Catalog, closed: &Stream, since: Time) -> bool {
        let mut others = self.others(closed).filter(|other| other.is_answered());
        others.any(|other| replaces(catalog, other, closed, since))
    }

    /// Whether another server, or another method, has nothing to send to the client of a closed
    /// stream, the newest of those in `ends`, on a stream that continues with what the closed
    /// one was for.
    pub(super) fn is_silent_after(&self, catalog: &Catalog, closed: &Stream, ends: &StreamEnds) -> bool {
        let since = closed.closed.as_ref().map_or(closed.opened, |(at, _)| *at);
        let mut others =
            self.others(closed).filter(|other| other.traffic.requests > 0 && ends.is_replaced_by(other));
        others.any(|other| replaces(catalog, other, closed, since))
    }

    /// Returns the open streams of the client of a stream, to any server and with any method.
    fn others(&self, stream: &Stream) -> impl Iterator<Item = &'a Stream> {
        self.open.get(&StreamKey::from_stream(stream).of_any_endpoint()).into_iter().flatten().copied()
    }
}

/// Whether a stream to another server, or of another method, opened after `since`, replaces a
/// closed one. A client whose server does not implement delta falls back to SotW.
///
/// The client may need less than before, but it asks again for what it lacked at the end of the
/// closed stream, and for a part of what it asked for there. Streams for different resources, such
/// as those of two authorities, exist side by side.
fn replaces(catalog: &Catalog, other: &Stream, closed: &Stream, since: Time) -> bool {
    let is_of_method = other.open.method == closed.open.method;
    if (other.open.server == closed.open.server && is_of_method) || other.opened < since {
        return false;
    }
    let lacks = |track: &Track| track.is_owed() || track.verdicts.refusal().is_some();
    let mut tracks = closed.tracks_shown();
    let mut lacking = closed.tracks_shown().filter(|track| lacks(track));
    // Streams of single types exist side by side.
    let serves_all = is_of_method || (other.is_aggregated() && closed.is_aggregated());
    let is_shared = (serves_all && closed.tracks_shown().next().is_none())
        || tracks.any(|track| asks_for(catalog, other, track, Extent::Part));
    is_shared && lacking.all(|track| asks_for(catalog, other, track, Extent::All))
}

/// Whether a stream of a client that was open when another one closed asks for all that the closed
/// one was for. Streams for different resources exist side by side, such as those of Envoy for each
/// secret.
pub(super) fn covers(catalog: &Catalog, other: &Stream, closed: &Stream) -> bool {
    closed.tracks_shown().all(|track| asks_for(catalog, other, track, Extent::All))
}

/// How much of a subscription is meant.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    All,
    Part,
}

/// Whether a stream asks for all, or for a part, of what a track of another stream asked for.
fn asks_for(catalog: &Catalog, other: &Stream, track: &Track, extent: Extent) -> bool {
    let Some(found) = other.find(&track.type_url).filter(|found| found.traffic.requests > 0) else {
        return false;
    };
    let is_wildcard = track.subscribed.is_wildcard();
    let has_wildcard = found.subscribed.may_be_wildcard();
    let mut names = track.subscribed.names.iter().take(MAX_NAMES);
    let mut is_covered = |name: Sym| found.covers(catalog, name, None);
    match extent {
        Extent::All => (has_wildcard || !is_wildcard) && names.all(is_covered),
        Extent::Part => (has_wildcard && is_wildcard) || names.any(&mut is_covered),
    }
}
