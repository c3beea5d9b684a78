use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use xdscope_engine::store::{ClientMark, ClientMarks, EndKind, StreamFact, SummaryFact, TypeState};
use xdscope_wire::event::{Kind, StreamId, Time, TypeUrl, Variant};
use xdscope_wire::text::{age, plural};

use super::state::LOST_SEVERITY;
use super::{client_mark, end_words, severity};

/// The matrix of nodes by types, worst first.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The types in the order of the columns.
    pub types: Vec<TypeUrl>,
    /// The rows, worst first.
    pub rows: Vec<Row>,
}

/// One node, or one stream whose node is unknown.
#[derive(Clone, Debug)]
pub struct Row {
    /// The first stream of the row; reconnects do not change it.
    pub key: StreamId,
    /// The node, or the address of the client.
    pub name: String,
    /// Words that tell the client from another with the node id: ` cluster=b`; may be empty.
    pub mark: String,
    /// The protocol variant; `None`: not an xDS stream.
    pub variant: Option<Variant>,
    /// The open streams, or all streams if none is open.
    pub streams: Vec<Arc<StreamFact>>,
    /// How often the client has reconnected.
    pub reconnects: usize,
    /// Closed streams of the node beside the open ones, and the one that the open one continues.
    ended: Vec<StreamId>,
    /// One cell per type; `None`: the type was not requested.
    pub cells: Vec<Option<Arc<SummaryFact>>>,
    /// The worst state of the cells.
    pub worst: TypeState,
}

impl Rows {
    /// Builds the matrix of `cells`, all or filtered. `marks` are those of all streams.
    pub fn build(streams: Vec<Arc<StreamFact>>, cells: Vec<Arc<SummaryFact>>, marks: &ClientMarks) -> Rows {
        let mut seen = HashSet::new();
        let firsts = cells.iter().map(|cell| &cell.type_url).filter(|url| seen.insert(*url));
        let mut types: Vec<TypeUrl> = firsts.cloned().collect();
        types.sort_by_cached_key(type_order);
        let mut rows = rows(streams, marks);
        rows.iter_mut().for_each(|row| row.mark = row.mark_of(marks));
        fill(&mut rows, &types, cells);
        rows.sort_by_key(|row| (row.rank(), row.key));
        Rows { types, rows }
    }
}

impl Row {
    /// Returns the rank of the row, 0 for the worst: that of its worst state.
    ///
    /// A client that is gone with an error ranks after one that refuses something.
    pub fn rank(&self) -> u8 {
        let end = self.streams.last().and_then(|stream| stream.end.as_ref());
        let is_lost = self.is_closed() && end.is_some_and(|end| end.kind == EndKind::Error);
        if is_lost { LOST_SEVERITY } else { severity(self.worst) }
    }

    /// Returns the streams of the row, open and closed.
    pub fn all_streams(&self) -> impl Iterator<Item = StreamId> {
        let own = self.streams.iter().map(|stream| stream.stream);
        own.chain(self.ended.iter().copied()).chain([self.key])
    }

    /// Returns whether all streams of the row are closed.
    pub fn is_closed(&self) -> bool {
        self.streams.iter().all(|stream| stream.closed.is_some())
    }

    /// Returns the name with its mark, and the number of streams if there are several.
    pub fn title(&self) -> String {
        match self.streams.len() {
            0 | 1 => self.full_name(),
            n => format!("{} ({n})", self.full_name()),
        }
    }

    /// Returns the name with its mark: `edge-gw-1 cluster=b`.
    pub fn full_name(&self) -> String {
        format!("{}{}", self.name, self.mark)
    }

    /// Returns what tells the row from another with its name. Several streams are counted instead.
    fn mark_of(&self, marks: &ClientMarks) -> String {
        let Some(stream) = self.streams.last().map(|stream| stream.stream) else { return String::new() };
        let mark = marks.get(stream).filter(|mark| **mark != ClientMark::Stream || self.streams.len() == 1);
        client_mark(mark, stream)
    }

    /// Returns the text of a row without an xDS subscription.
    pub fn opaque(&self) -> String {
        let messages = self.streams.iter().map(|stream| stream.messages).sum();
        format!("no xDS subscription, {}", plural(messages, "message"))
    }
}

/// Returns the number of nodes in rows: clients with one node id are one node.
pub fn count_nodes<'a>(rows: impl IntoIterator<Item = &'a Row>) -> usize {
    let mut known: HashSet<&str> = HashSet::new();
    let is_new = |row: &&'a Row| {
        let node = row.streams.iter().find_map(|stream| stream.node.as_ref());
        node.filter(|node| !node.id.is_empty()).is_none_or(|node| known.insert(&node.id))
    };
    rows.into_iter().filter(is_new).count()
}

/// Returns `closed 2m ago: UNAVAILABLE keepalive timeout; 3 reconnects`.
///
/// `now` is `None` if the source has no timestamps.
pub fn ended(row: &Row, now: Option<Time>) -> String {
    let last = row.streams.last();
    let mut text = "closed".to_owned();
    if let (Some(at), Some(now)) = (last.and_then(|stream| stream.closed), now) {
        text.push_str(&format!(" {} ago", age(now.since(at))));
    }
    let why = last.and_then(|stream| stream.end.as_ref()).map(end_words).unwrap_or_default();
    if !why.is_empty() {
        text.push_str(&format!(": {why}"));
    }
    if row.reconnects > 0 {
        text.push_str(&format!("; {}", plural(row.reconnects as u64, "reconnect")));
    }
    text
}

/// Returns the node id, or else the method or the address.
pub fn node_name(stream: &StreamFact) -> String {
    match (stream.node.as_ref().map(|node| &node.id).filter(|id| !id.is_empty()), &stream.peer) {
        (Some(id), _) => id.clone(),
        (None, _) if stream.variant.is_none() => stream.method.clone(),
        (None, Some(peer)) => format!("#{} {peer}", stream.stream.0),
        (None, None) => format!("#{}", stream.stream.0),
    }
}

/// Returns the sort key of a type: known types first, others by name.
pub fn type_order(url: &TypeUrl) -> (usize, String) {
    let kind = Kind::of_type_url(url.as_str()).map(|(kind, _)| kind as usize);
    (kind.unwrap_or(usize::MAX), url.to_string())
}

/// Groups streams into rows: a reconnect continues a row, per-type streams of one node share a row,
/// also with its aggregated stream.
fn rows(streams: Vec<Arc<StreamFact>>, marks: &ClientMarks) -> Vec<Row> {
    let superseded: HashSet<StreamId> = streams.iter().filter_map(|stream| stream.reconnect_of).collect();
    let streams = streams.into_iter().filter(|stream| !stream.is_attempt());
    let mut rows: Vec<Row> = Vec::new();
    let mut shared: HashMap<(String, String, Variant), usize> = HashMap::new();
    for stream in streams.filter(|stream| !superseded.contains(&stream.stream)) {
        let (key, reconnects) = (stream.first, stream.reconnects);
        let name = node_name(&stream);
        let variant = stream.variant;
        if let (Some(variant), Some(node)) = (variant.filter(|v| !v.is_aggregated()), &stream.node) {
            let client = (name.clone(), node.cluster.clone(), variant);
            if let Some(row) = shared.get(&client).and_then(|i| rows.get_mut(*i)) {
                row.reconnects += reconnects;
                row.ended.extend(stream.reconnect_of);
                row.streams.push(stream);
                continue;
            }
            shared.insert(client, rows.len());
        }
        let ended = stream.reconnect_of.into_iter().collect();
        let (streams, cells, worst) = (vec![stream], Vec::new(), TypeState::Idle);
        rows.push(Row { key, name, mark: String::new(), variant, streams, reconnects, ended, cells, worst });
    }
    join_beside(&mut rows, marks);
    for row in &mut rows {
        row.streams.sort_by_key(|stream| stream.stream);
        if row.streams.iter().any(|stream| stream.closed.is_none()) {
            let closed = row.streams.iter().filter(|stream| stream.closed.is_some());
            row.ended.extend(closed.map(|stream| stream.stream));
            row.streams.retain(|stream| stream.closed.is_none());
        }
    }
    rows
}

/// Joins the rows of streams beside an aggregated one to its row.
fn join_beside(rows: &mut Vec<Row>, marks: &ClientMarks) {
    let chain_of = |row: &Row| row.streams.first().and_then(|stream| marks.beside(stream.stream));
    let (joined, others): (Vec<Row>, Vec<Row>) =
        std::mem::take(rows).into_iter().partition(|row| chain_of(row).is_some());
    *rows = others;
    for row in joined {
        let chain = chain_of(&row);
        match rows.iter_mut().find(|other| Some(other.key) == chain) {
            Some(chain) => {
                chain.reconnects += row.reconnects;
                chain.streams.extend(row.streams);
                chain.ended.extend(row.ended);
            }
            None => rows.push(row),
        }
    }
}

/// Puts each state into its cell: the worst one of several streams of a node.
fn fill(rows: &mut [Row], types: &[TypeUrl], cells: Vec<Arc<SummaryFact>>) {
    let mut row_of: HashMap<StreamId, usize> = HashMap::new();
    for (i, row) in rows.iter_mut().enumerate() {
        row.cells = vec![None; types.len()];
        row_of.extend(row.streams.iter().map(|stream| (stream.stream, i)));
    }
    let mut ended_of: HashMap<StreamId, usize> = HashMap::new();
    for (i, row) in rows.iter().enumerate() {
        ended_of.extend(row.ended.iter().map(|stream| (*stream, i)));
    }
    let (ended, cells): (Vec<_>, Vec<_>) =
        cells.into_iter().partition(|cell| ended_of.contains_key(&cell.stream));
    let column_of: HashMap<&TypeUrl, usize> = types.iter().enumerate().map(|(i, url)| (url, i)).collect();
    for cell in cells {
        let row = row_of.get(&cell.stream).and_then(|i| rows.get_mut(*i));
        let (Some(row), Some(column)) = (row, column_of.get(&cell.type_url)) else { continue };
        let Some(slot) = row.cells.get_mut(*column) else { continue };
        if slot.as_ref().is_none_or(|known| severity(cell.state) < severity(known.state)) {
            *slot = Some(cell);
        }
    }
    fill_closed(rows, &ended_of, &column_of, ended);
    for row in rows {
        let states = row.cells.iter().flatten().map(|cell| cell.state);
        row.worst = if row.is_closed() {
            TypeState::Closed
        } else {
            states.min_by_key(|state| severity(*state)).unwrap_or(TypeState::Idle)
        };
    }
}

/// Whether an open aggregated stream of the row has replaced the closed stream of a cell. It
/// replaces no stream of one type that ended beside it.
fn is_replaced(row: &Row, cell: &SummaryFact) -> bool {
    let open = row.streams.iter().filter(|stream| stream.closed.is_none());
    let mut aggregated = open.filter(|stream| stream.variant.is_some_and(Variant::is_aggregated));
    aggregated.any(|stream| cell.variant.is_aggregated() || stream.opened >= cell.since)
}

/// Puts the states of closed streams into the cells of types that no open stream of the row
/// requests, the newest first.
///
/// A type that was in order is not in use any more if a new aggregated stream of the client leaves
/// it out.
fn fill_closed(
    rows: &mut [Row],
    row_of: &HashMap<StreamId, usize>,
    column_of: &HashMap<&TypeUrl, usize>,
    cells: Vec<Arc<SummaryFact>>,
) {
    for cell in cells.into_iter().rev() {
        let row = row_of.get(&cell.stream).and_then(|i| rows.get_mut(*i));
        let (Some(row), Some(column)) = (row, column_of.get(&cell.type_url)) else { continue };
        let is_left_out =
            is_replaced(row, &cell) && matches!(cell.last_state, Some(TypeState::Synced | TypeState::Idle));
        let slot = row.cells.get_mut(*column).filter(|slot| slot.is_none() && !is_left_out);
        slot.into_iter().for_each(|slot| *slot = Some(cell.clone()));
    }
}
