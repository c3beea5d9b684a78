//! Unreachable peers: connections through the tap on which there never was a stream.

use std::collections::HashMap;
use std::sync::Arc;

use crate::session::{AttemptKey, FailedAttempts, Stream};
use xdscope_wire::Open;
use xdscope_wire::event::{StreamId, Time};

use super::EndedStreams;

/// Attempts to connect through the tap since the last one that had a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachablePeer {
    /// The connection of the client to the tap failed, not that of the tap to the server.
    pub is_client: bool,
    /// The host of the client, or the address of the server.
    pub address: Arc<str>,
    /// How many attempts there were.
    pub attempts: u64,
    /// When the first of them was made.
    pub first: Time,
    /// The first connection.
    pub first_stream: StreamId,
    /// The newest connection.
    pub stream: StreamId,
    /// The step that failed in the newest attempt: `connect failed: Connection refused`.
    pub reason: String,
}

impl EndedStreams<'_> {
    /// Returns each server and each client that has had no stream since its attempts failed.
    pub fn unreachable_peers(&self) -> Vec<UnreachablePeer> {
        let failures = self.store.engine.failures();
        // The newest open stream to each server, and of each client.
        let mut open: HashMap<(&str, Option<&str>), usize> = HashMap::new();
        if failures.attempts().next().is_none() {
            return Vec::new();
        }
        for index in failures.open_streams() {
            let Some(stream) = self.store.engine.streams().get(index) else { continue };
            let Some(server) = stream.open.server.as_deref() else { continue };
            if stream.open.method != Open::NOTHING {
                open.insert((server, None), index);
                open.insert((server, stream.host()), index);
            }
        }
        let mut lasting: Vec<_> = failures.attempts().collect();
        lasting.retain(|(key, attempts)| {
            let newest = open.get(&(key.server.as_str(), key.host.as_deref()));
            newest.is_none_or(|index| *index <= attempts.newest)
        });
        lasting.sort_by_key(|(_, attempts)| attempts.newest);
        let mut peers = Vec::new();
        for (key, attempts) in lasting {
            if let Some(newest) = self.store.engine.streams().get(attempts.newest) {
                peers.extend(self.unreachable_peer(newest, key, attempts));
            }
        }
        peers
    }

    /// Returns the failed attempts up to a connection without a stream.
    pub(crate) fn failed_attempts_at(&self, stream: &Stream) -> Option<UnreachablePeer> {
        let (key, attempts) = self.store.engine.failures().attempts_of(stream)?;
        self.unreachable_peer(stream, key, attempts)
    }

    /// Returns the fact of failed attempts to reach a peer.
    fn unreachable_peer(
        &self,
        newest: &Stream,
        key: &AttemptKey,
        attempts: &FailedAttempts,
    ) -> Option<UnreachablePeer> {
        let note = newest.closed.as_ref().and_then(|(_, end)| end.note.as_deref()).unwrap_or_default();
        Some(UnreachablePeer {
            is_client: key.host.is_some(),
            address: Arc::from(key.host.as_deref().unwrap_or(&key.server)),
            attempts: attempts.count,
            first: attempts.since,
            first_stream: self.store.engine.streams().get(attempts.first)?.id,
            stream: newest.id,
            reason: failed_step(note, &key.server),
        })
    }
}

/// The step that failed, without the address of the server.
fn failed_step(note: &str, server: &str) -> String {
    if let Some(rest) = note.strip_prefix(&format!("{server}: ")) {
        return rest.to_owned();
    }
    let tls = note.strip_prefix(&format!("TLS to {server} "));
    tls.map_or_else(|| note.replacen(&format!(" {server} "), " ", 1), |rest| format!("TLS {rest}"))
}
