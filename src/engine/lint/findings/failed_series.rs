//! Findings about streams or connections that failed one after another, until one works.

use std::collections::HashMap;

use crate::session::{Stream, StreamKey};
use xdscope_wire::event::Time;

/// Series of a source that are followed.
const MAX_FOLLOWED: usize = 1024;

/// The client of streams or connections that failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FailedClient {
    /// Streams of a client to a server.
    Stream(StreamKey),
    /// Connections to a server, or those of a host.
    Connection {
        server: String,
        /// The host, if its own connections failed.
        host: Option<String>,
    },
}

impl FailedClient {
    /// Returns all clients that a stream shows to work.
    pub(crate) fn all_of(stream: &Stream) -> Vec<FailedClient> {
        let mut out: Vec<FailedClient> =
            [StreamKey::from_stream(stream), StreamKey::anonymous(stream)].map(FailedClient::Stream).into();
        if let Some(server) = &stream.open.server {
            let hosts = [None, stream.host().map(str::to_owned)];
            out.extend(hosts.map(|host| FailedClient::Connection { server: server.clone(), host }));
        }
        out
    }
}

/// A finding about failures in a row.
#[derive(Clone, Debug)]
pub(crate) struct FailedSeries {
    /// Index of the finding.
    pub(crate) finding: usize,
    /// When the first failure was.
    pub(crate) first: Time,
    /// The text once the series has ended.
    pub(crate) text: String,
}

/// The newest series of each client, unless it has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedSeriesByClient {
    followed: HashMap<FailedClient, FailedSeries>,
}

impl FailedSeriesByClient {
    pub(crate) fn is_empty(&self) -> bool {
        self.followed.is_empty()
    }

    /// Whether the series of a client is not over.
    pub(crate) fn has(&self, client: &FailedClient) -> bool {
        self.followed.contains_key(client)
    }

    /// Returns the series of a stream's client at other servers, or with other methods, with the
    /// times of their first failures.
    pub(crate) fn at_other_endpoints(&self, stream: &Stream) -> Vec<(StreamKey, Time)> {
        let own = [StreamKey::from_stream(stream), StreamKey::anonymous(stream)];
        let of_streams = self.followed.iter().filter_map(|(client, series)| match client {
            FailedClient::Stream(key) => Some((key, series.first)),
            FailedClient::Connection { .. } => None,
        });
        let others = of_streams.filter(|(key, _)| own.iter().any(|own| own.is_at_other_endpoint(key)));
        others.map(|(key, first)| (key.clone(), first)).collect()
    }

    /// Replaces the series of a client.
    pub(crate) fn follow(&mut self, client: FailedClient, series: FailedSeries) {
        if self.followed.len() < MAX_FOLLOWED || self.followed.contains_key(&client) {
            self.followed.insert(client, series);
        }
    }

    /// Takes the series of a client out, because it has ended.
    pub(crate) fn take(&mut self, client: &FailedClient) -> Option<FailedSeries> {
        self.followed.remove(client)
    }
}
