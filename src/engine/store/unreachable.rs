//! Who can't be reached: connections through the tap on which there never was a stream.

use std::sync::Arc;

use crate::engine::session::Stream;
use crate::wire::event::{Side, Time, TypeUrl};
use crate::wire::{End, Open};

use super::{ProblemFact, Store, TypeState};

/// Attempts at one server, or of one client, since there was a stream last.
struct Down<'a> {
    server: &'a str,
    /// The host of the client, where it is the client's leg that failed.
    client: Option<&'a str>,
    since: Time,
    attempts: u64,
    newest: &'a Stream,
    end: &'a End,
}

impl Store {
    /// One for each server and each client, with the step that failed last, until a later connection has a stream.
    pub(super) fn unreachable(&self) -> Vec<ProblemFact> {
        let mut found: Vec<Down<'_>> = Vec::new();
        for stream in self.engine.streams() {
            let Some(server) = stream.open.server.as_deref() else { continue };
            if stream.open.method == Open::NOTHING {
                let Some((_, end)) = &stream.closed else { continue };
                let client = host(stream).filter(|_| end.by == Some(Side::Client));
                match found.iter_mut().find(|down| (down.server, down.client) == (server, client)) {
                    Some(down) => {
                        (down.attempts, down.newest, down.end) = (down.attempts + 1, stream, end);
                    }
                    None => {
                        let since = stream.opened;
                        found.push(Down { server, client, since, attempts: 1, newest: stream, end });
                    }
                }
            } else if !found.is_empty() && is_carried(stream) {
                let client = host(stream);
                found
                    .retain(|down| down.server != server || (down.client.is_some() && down.client != client));
            }
        }
        found.iter().map(|down| self.down(down)).collect()
    }

    /// "server can't be reached, 11 attempts since 14:02:08: connect failed: connection refused".
    fn down(&self, down: &Down<'_>) -> ProblemFact {
        let who = match down.client {
            Some(_) => "client can't connect",
            None => "server can't be reached",
        };
        let times = match down.attempts {
            1 => String::new(),
            n => format!(", {n} attempts since {}", self.moment(down.since)),
        };
        let why = step(down.end.note.as_deref().unwrap_or_default(), down.server);
        ProblemFact {
            state: TypeState::Down,
            since: down.since,
            stream: down.newest.id,
            node: Some(Arc::from(down.client.unwrap_or(down.server))),
            type_url: TypeUrl::default(),
            at: None,
            text: format!("{who}{times}: {why}"),
            quote: None,
        }
    }
}

/// It is open, or something came back on it.
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

/// The step that failed, without the server that stands before it.
fn step(note: &str, server: &str) -> String {
    if let Some(rest) = note.strip_prefix(&format!("{server}: ")) {
        return rest.to_owned();
    }
    let tls = note.strip_prefix(&format!("TLS to {server} "));
    tls.map_or_else(|| note.replacen(&format!(" {server} "), " ", 1), |rest| format!("TLS {rest}"))
}
