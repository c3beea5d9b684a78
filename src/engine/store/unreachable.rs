//! Unreachable peers: connections through the tap on which there never was a stream.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::session::{AttemptKey, FailedAttempts, Stream};
use crate::wire::Open;
use crate::wire::event::{StreamId, TypeUrl};

use super::{Problem, ProblemFact, Store, TypeState, UnreachablePeer};

impl Store {
    /// One problem for each server and each client that has had no stream since its attempts
    /// failed.
    pub(super) fn unreachable(&self) -> Vec<ProblemFact> {
        let failures = self.engine.failures();
        // The newest open stream to each server, and of each client.
        let mut open: HashMap<(&str, Option<&str>), usize> = HashMap::new();
        for index in failures.open_streams().filter(|_| failures.attempts().next().is_some()) {
            let Some(stream) = self.engine.streams().get(index) else { continue };
            let Some(server) = stream.open.server.as_deref() else { continue };
            if stream.open.method != Open::NOTHING {
                open.insert((server, None), index);
                open.insert((server, stream.host()), index);
            }
        }
        let is_over = |key: &AttemptKey, attempts: &FailedAttempts| {
            let newest = open.get(&(key.server.as_str(), key.host.as_deref()));
            newest.is_some_and(|index| *index > attempts.newest)
        };
        let lasting = failures.attempts().filter(|(key, attempts)| !is_over(key, attempts));
        let mut lasting: Vec<_> = lasting.collect();
        lasting.sort_by_key(|(_, attempts)| attempts.newest);
        lasting.into_iter().filter_map(|(key, attempts)| self.unreachable_peer(key, attempts)).collect()
    }

    fn unreachable_peer(&self, key: &AttemptKey, attempts: &FailedAttempts) -> Option<ProblemFact> {
        let newest = self.engine.streams().get(attempts.newest)?;
        Some(ProblemFact {
            state: TypeState::Down,
            since: attempts.since,
            stream: newest.id,
            node: Some(Arc::from(key.host.as_deref().unwrap_or(&key.server))),
            type_url: TypeUrl::default(),
            at: None,
            problem: Problem::Unreachable(peer(newest, key, attempts)),
        })
    }

    /// Returns the failed attempts up to a connection without a stream.
    pub(crate) fn failed_attempts_at(&self, stream: &Stream) -> Option<AttemptsFact> {
        let (key, attempts) = self.engine.failures().attempts_of(stream)?;
        let first_stream = self.engine.streams().get(attempts.first)?.id;
        Some(AttemptsFact { first_stream, peer: peer(stream, key, attempts) })
    }
}

/// Failed attempts with their first connection.
pub(crate) struct AttemptsFact {
    pub(crate) first_stream: StreamId,
    pub(crate) peer: UnreachablePeer,
}

fn peer(newest: &Stream, key: &AttemptKey, attempts: &FailedAttempts) -> UnreachablePeer {
    let note = newest.closed.as_ref().and_then(|(_, end)| end.note.as_deref()).unwrap_or_default();
    UnreachablePeer {
        is_client: key.host.is_some(),
        attempts: attempts.count,
        first: attempts.since,
        reason: failed_step(note, &key.server),
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
