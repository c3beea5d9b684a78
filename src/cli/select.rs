//! Selection of streams and rows.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use crate::engine::filter::{Filter, FilterError, RowKind};
use crate::engine::store::{Store, StreamFact};
use crate::wire::event::StreamId;

use super::args::StreamPick;
use super::error::CliError;

/// The selected streams of a source.
pub(super) struct Picked {
    pub streams: Vec<StreamFact>,
    ids: BTreeSet<StreamId>,
}

impl Picked {
    pub(super) fn of(pick: Option<&StreamPick>, store: &Store) -> Result<Picked, CliError> {
        let mut streams = store.streams();
        match pick {
            None => {}
            Some(StreamPick::Stream(number)) => {
                let last = streams.len();
                streams.retain(|stream| stream.stream.0 == *number);
                if streams.is_empty() {
                    let error = CliError::usage(format!("unknown stream #{number}"));
                    return Err(if last == 0 {
                        error
                    } else {
                        error.next(format!("--stream '#1' to '#{last}'"))
                    });
                }
            }
            Some(StreamPick::Node(wanted)) => {
                let nodes: BTreeSet<String> = streams.iter().filter_map(node).map(str::to_owned).collect();
                streams.retain(|stream| node(stream) == Some(wanted));
                if streams.is_empty() {
                    let error = CliError::usage(format!("unknown node `{wanted}`"));
                    let known: Vec<_> =
                        nodes.into_iter().take(5).map(|node| format!("--node {node}")).collect();
                    return Err(CliError { next: known, ..error });
                }
            }
        }
        let ids = streams.iter().map(|stream| stream.stream).collect();
        Ok(Picked { streams, ids })
    }

    pub(super) fn has(&self, stream: StreamId) -> bool {
        self.ids.contains(&stream)
    }
}

/// Returns the node id of a stream, if the client sent one.
pub(super) fn node(stream: &StreamFact) -> Option<&str> {
    stream.node.as_ref().map(|node| node.id.as_str()).filter(|id| !id.is_empty())
}

/// Returns the flag that selects a stream by its name in tables: a node id, or `#N`.
pub(super) fn flag(name: &str) -> String {
    let flag = if name.starts_with('#') { "--stream" } else { "--node" };
    format!("{flag} '{name}'")
}

/// Parses `--filter`, and checks that it fits the rows of the verb.
pub(super) fn filter(text: Option<&str>, rows: RowKind, zone: &TimeZone) -> Result<Filter, CliError> {
    let Some(text) = text else { return Ok(Filter::default()) };
    let bad = |error: FilterError| {
        CliError::usage(format!("--filter: {}", error.reason)).underlined(text, error.at)
    };
    let filter = Filter::parse(text).map_err(|error| bad(error).next("xdscope help filter"))?;
    filter.check(rows).map_err(bad)?;
    Ok(filter.in_zone(zone.clone()))
}
