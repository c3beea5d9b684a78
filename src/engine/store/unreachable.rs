//! Unreachable peers: connections through the tap on which there never was a stream.

use std::sync::Arc;

use crate::engine::session::Stream;
use crate::wire::event::{Side, Time, TypeUrl};
use crate::wire::{End, Open};

use super::{Problem, ProblemFact, Store, TypeState, UnreachablePeer};

/// Attempts to reach one server, or of one client, since the last connection that had a stream.
struct Attempts<'a> {
    server: &'a str,
    /// The host of the client, if the connection of the client failed.
    client: Option<&'a str>,
    since: Time,
    count: u64,
    newest: &'a Stream,
    end: &'a End,
}

impl Store {
    /// One problem for each server and each client that has had no stream since its attempts
    /// failed.
    pub(super) fn unreachable(&self) -> Vec<ProblemFact> {
        let mut found: Vec<Attempts<'_>> = Vec::new();
        for stream in self.engine.streams() {
            let Some(server) = stream.open.server.as_deref() else { continue };
            if stream.open.method == Open::NOTHING {
                let Some((_, end)) = &stream.closed else { continue };
                let client = host(stream).filter(|_| end.by == Some(Side::Client));
                match found.iter_mut().find(|down| (down.server, down.client) == (server, client)) {
                    Some(down) => {
                        (down.count, down.newest, down.end) = (down.count + 1, stream, end);
                    }
                    None => {
                        let since = stream.opened;
                        found.push(Attempts { server, client, since, count: 1, newest: stream, end });
                    }
                }
            } else if !found.is_empty() && is_carried(stream) {
                let client = host(stream);
                found
                    .retain(|down| down.server != server || (down.client.is_some() && down.client != client));
            }
        }
        found.iter().map(Attempts::fact).collect()
    }
}

impl Attempts<'_> {
    fn fact(&self) -> ProblemFact {
        ProblemFact {
            state: TypeState::Down,
            since: self.since,
            stream: self.newest.id,
            node: Some(Arc::from(self.client.unwrap_or(self.server))),
            type_url: TypeUrl::default(),
            at: None,
            problem: Problem::Unreachable(UnreachablePeer {
                is_client: self.client.is_some(),
                attempts: self.count,
                first: self.since,
                reason: failed_step(self.end.note.as_deref().unwrap_or_default(), self.server),
            }),
        }
    }
}

/// Whether the stream is open, or the server has answered on it.
fn is_carried(stream: &Stream) -> bool {
    match &stream.closed {
        None => true,
        Some((_, end)) => stream.bytes[1] > 0 || end.status.is_some(),
    }
}

fn host(stream: &Stream) -> Option<&str> {
    let peer = stream.open.peer.as_deref()?;
    Some(peer.rsplit_once(':').map_or(peer, |(host, _)| host))
}

/// The step that failed, without the address of the server.
fn failed_step(note: &str, server: &str) -> String {
    if let Some(rest) = note.strip_prefix(&format!("{server}: ")) {
        return rest.to_owned();
    }
    let tls = note.strip_prefix(&format!("TLS to {server} "));
    tls.map_or_else(|| note.replacen(&format!(" {server} "), " ", 1), |rest| format!("TLS {rest}"))
}
