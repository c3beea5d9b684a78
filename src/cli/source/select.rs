//! Selection of streams and rows.

use std::collections::{BTreeSet, HashSet};

use jiff::tz::TimeZone;

use xdscope_engine::applied::AppliedState;
use xdscope_engine::filter::{Filter, FilterError, KnownValues, RowKind, UnknownValue};
use xdscope_engine::lint::Finding;
use xdscope_engine::problems::{self, ProblemFact};
use xdscope_engine::store::{StateFact, Store, StreamFact};
use xdscope_present::report;
use xdscope_present::text::workload;
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::display_safe;

use crate::cli::args::StreamPick;
use crate::cli::command::suggest;
use crate::cli::error::CliError;
use crate::cli::terminal::io::Io;

/// The selected streams of a source.
pub(crate) struct Picked {
    pub streams: Vec<StreamFact>,
    ids: BTreeSet<StreamId>,
}

impl Picked {
    pub(crate) fn of(pick: Option<&StreamPick>, store: &Store) -> Result<Picked, CliError> {
        let mut streams = store.streams();
        match pick {
            None => {}
            Some(StreamPick::Stream(number)) => {
                let last = streams.last().map_or(0, |stream| stream.stream.0);
                streams.retain(|stream| stream.stream.0 == *number);
                if streams.is_empty() {
                    let error = CliError::usage(format!("unknown stream #{number}"));
                    return Err(match last {
                        0 => error,
                        1 => error.next("--stream '#1'"),
                        last => error.next(format!("--stream '#1' to '#{last}'")),
                    });
                }
            }
            Some(StreamPick::Node(wanted)) => {
                let nodes: BTreeSet<String> = streams.iter().filter_map(node).map(str::to_owned).collect();
                streams.retain(|stream| node(stream).is_some_and(|id| is_node(wanted, id)));
                if streams.is_empty() {
                    return Err(unknown_node(wanted, &nodes));
                }
            }
        }
        let ids = streams.iter().map(|stream| stream.stream).collect();
        Ok(Picked { streams, ids })
    }

    pub(crate) fn has(&self, stream: StreamId) -> bool {
        self.ids.contains(&stream)
    }

    /// Returns the states of the streams that `pick` selected. A reconnected client holds what its
    /// newest stream says; earlier streams are selected by number only.
    pub(crate) fn current_states(&self, pick: Option<&StreamPick>, store: &Store) -> Vec<StateFact> {
        let superseded: HashSet<StreamId> = match pick {
            Some(StreamPick::Stream(_)) => HashSet::new(),
            _ => self.streams.iter().filter_map(|stream| stream.reconnect_of).collect(),
        };
        let mut states = store.states();
        states.retain(|state| self.has(state.summary.stream) && !superseded.contains(&state.summary.stream));
        states
    }
}

/// Whether `--node` selects a node: by its id, or as `log` writes it.
fn is_node(wanted: &str, id: &str) -> bool {
    suggest::is_match(wanted, id) || workload(id).is_some_and(|short| suggest::is_match(wanted, short))
}

/// Most nodes that an error lists.
pub(crate) const MAX_LISTED_NODES: usize = 5;

/// The flags that select the first nodes, and the number of the others.
fn listed_nodes(nodes: &BTreeSet<String>) -> Vec<String> {
    let first = nodes.iter().take(MAX_LISTED_NODES).map(|node| format!("--node {node}"));
    let more = nodes.len().saturating_sub(MAX_LISTED_NODES);
    first.chain((more > 0).then(|| format!("{more} more: xdscope status SOURCE"))).collect()
}

/// The error of a node that the source does not have, with those that resemble it, or else some.
fn unknown_node(wanted: &str, nodes: &BTreeSet<String>) -> CliError {
    let near = suggest::near(wanted, nodes.iter().map(String::as_str));
    let next: Vec<String> = match near.is_empty() {
        true => listed_nodes(nodes),
        false => near.into_iter().map(|node| format!("--node {node}")).collect(),
    };
    let what = if nodes.is_empty() { ": no client of this source has stated its node" } else { "" };
    CliError { next, ..CliError::usage(format!("unknown node `{wanted}`{what}")) }
}

/// The findings and problems of selected streams and types.
pub(crate) struct Selected {
    pub findings: Vec<Finding>,
    /// The problems, the worst first. Their findings are indices into `findings`.
    pub problems: Vec<ProblemFact>,
}

impl Selected {
    /// Selects by stream and type; the type of a problem of a whole stream is empty.
    pub(crate) fn of(
        store: &Store,
        findings: &[Finding],
        applied: Option<&AppliedState>,
        is_selected: impl Fn(StreamId, &TypeUrl) -> bool,
    ) -> Selected {
        let is_own = |finding: &&Finding| is_selected(finding.stream, &finding.type_url);
        let findings: Vec<Finding> = findings.iter().filter(is_own).cloned().collect();
        let problems = problems::problems_of(store, &findings, applied, is_selected);
        Selected { findings, problems }
    }
}

/// Prints the number of problems of the selected streams to stderr, if there are any:
/// `selection`: source and flags of the command line that prints them.
///
/// `2 problems, first of all NACK of edge-gw-1 CDS; xdscope status session.xdsrec`.
pub(crate) fn say_problems(
    (store, findings): (&Store, &[Finding]),
    picked: &Picked,
    selection: &str,
    io: &mut Io<'_>,
) {
    let Selected { problems, .. } = Selected::of(store, findings, None, |stream, _| picked.has(stream));
    let Some(worst) = problems.first().filter(|problem| problem.is_wrong()) else { return };
    let (word, _) = report::problem_word(worst);
    let (count, place) = (report::problem_count(&problems), report::problem_place(worst));
    io.say(&display_safe(&format!("{count}, the worst: {place} {word}; xdscope status {selection}")));
}

/// Returns the node id of a stream, if the client sent one.
pub(crate) fn node(stream: &StreamFact) -> Option<&str> {
    stream.node.as_ref().map(|node| node.id.as_str()).filter(|id| !id.is_empty())
}

/// Returns the flag that selects a stream by its name in tables: a node id, or `#N`.
pub(crate) fn flag(name: &str) -> String {
    let flag = if name.starts_with('#') { "--stream" } else { "--node" };
    format!("{flag} '{name}'")
}

/// Says which types and nodes of a filter a source does not have, with those that resemble them.
pub(crate) fn say_unknown(filter: &Filter, store: &Store, is_quiet: bool, io: &mut Io<'_>) {
    let streams = store.streams();
    let nodes: BTreeSet<&str> = streams.iter().filter_map(node).collect();
    let types: BTreeSet<TypeUrl> = store.summaries().into_iter().map(|cell| cell.type_url).collect();
    let nodes = Some(nodes.into_iter().map(Into::into).collect());
    say_values(filter, &KnownValues { types: types.into_iter().collect(), nodes }, is_quiet, io);
}

/// Says which types of a filter are not built in. Other types and nodes may come later.
pub(crate) fn say_unknown_types(filter: &Filter, is_quiet: bool, io: &mut Io<'_>) {
    say_values(filter, &KnownValues::default(), is_quiet, io);
}

fn say_values(filter: &Filter, known: &KnownValues, is_quiet: bool, io: &mut Io<'_>) {
    if is_quiet {
        return;
    }
    for UnknownValue { field, value, near } in &filter.unknown_values(known) {
        let what = match (*field, &known.nodes) {
            ("type", None) => "no built-in type",
            (field, _) => &format!("no {field} of this source"),
        };
        let near = if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) };
        io.say(&display_safe(&format!("{field}:{value} matches {what}{near}")));
    }
}

/// Parses `--filter`, and checks that it fits the rows of the verb.
pub(crate) fn filter(text: Option<&str>, rows: RowKind, zone: &TimeZone) -> Result<Filter, CliError> {
    let Some(text) = text else { return Ok(Filter::default()) };
    expression("--filter", text, rows, zone)
}

/// Parses an expression, and checks that it fits the rows. `place` is where users wrote it.
pub(crate) fn expression(
    place: &str,
    text: &str,
    rows: RowKind,
    zone: &TimeZone,
) -> Result<Filter, CliError> {
    let bad =
        |error: FilterError| CliError::usage(format!("{place}: {}", error.reason)).underlined(text, error.at);
    let filter = Filter::parse(text).map_err(|error| bad(error).next("xdscope help filter"))?;
    filter.check(rows).map_err(bad)?;
    Ok(filter.in_zone(zone.clone()))
}
