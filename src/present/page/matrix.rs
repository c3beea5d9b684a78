//! The matrix of nodes by types.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::report::{self, Row, Rows};
use crate::table::{Cell, ClientColumns};
use xdscope_engine::activity::Activity;
use xdscope_engine::readings::open_readings_of;
use xdscope_wire::event::{StreamId, Variant};
use xdscope_wire::text::{latency, plural, type_label};

use super::Page;
use super::html::{Html, bounded, cell, class};

/// Bytes of the matrix.
const MAX_BYTES: usize = 200_000;
/// Bytes of the open readings.
const MAX_BYTES_OF_READINGS: usize = 50_000;

/// Adds the matrix, worst first.
pub(super) fn matrix(page: &Page<'_>, activity: &Activity, html: &mut Html) {
    let store = page.store;
    let streams = page.streams.iter().cloned().map(Arc::new).collect();
    let mut cells = store.summaries();
    cells.retain(|cell| page.has(cell.stream));
    let matrix = Rows::build(streams, cells.into_iter().map(Arc::new).collect(), &page.marks);
    html.raw("<section id=\"matrix\" aria-labelledby=\"matrix-title\">");
    html.element("h2", &[("id", "matrix-title")], "Nodes and types");
    html.raw("<section class=\"scroll\" tabindex=\"0\" aria-label=\"Table of nodes and types\">");
    html.raw("<table class=\"matrix sortable\"><thead><tr><th scope=\"col\">node</th><th scope=\"col\">problems</th><th scope=\"col\">variant</th>");
    for url in &matrix.types {
        html.element("th", &[("scope", "col"), ("title", url.as_str())], &cell(&type_label(url.as_str())));
    }
    html.raw("<th scope=\"col\">pushes</th><th scope=\"col\">ACK p50</th><th scope=\"col\">p99</th>");
    html.raw("</tr></thead><tbody>");
    let mut problems: HashMap<StreamId, Vec<usize>> = HashMap::new();
    for (at, problem) in page.problems.iter().enumerate().filter(|(_, problem)| problem.is_wrong()) {
        problem.all_streams().for_each(|stream| problems.entry(stream).or_default().push(at));
    }
    let (now, clock) = (store.now(), store.clock());
    let clients = ClientColumns { now, clock, times: "×", idle: "idle" };
    let chains = Chains::new(page);
    let left = bounded(html, MAX_BYTES, &matrix.rows, |html, row| {
        let of_row = row.streams.iter().filter_map(|stream| problems.get(&stream.stream)).flatten();
        let of_row: Vec<usize> = of_row.copied().collect::<BTreeSet<usize>>().into_iter().collect();
        line(page, (clients, activity), (row, &chains.streams_of(row)), &of_row, html);
    });
    html.raw("</tbody></table></section>");
    if left > 0 {
        let command = page.source.command("status", "");
        super::left_out(html, &plural(left as u64, "more node"), &command);
    }
    readings(page, &matrix, html);
    html.raw("</section>\n");
}

/// The streams of the page by the first one of the client, so that a client counts from its first
/// stream on.
struct Chains {
    first: HashMap<StreamId, StreamId>,
    streams: HashMap<StreamId, Vec<StreamId>>,
}

impl Chains {
    fn new(page: &Page<'_>) -> Chains {
        let mut chains = Chains { first: HashMap::new(), streams: HashMap::new() };
        for stream in &page.streams {
            chains.first.insert(stream.stream, stream.first);
            chains.streams.entry(stream.first).or_default().push(stream.stream);
        }
        chains
    }

    /// Returns the streams of a client, from its first one on.
    fn streams_of(&self, row: &Row) -> BTreeSet<StreamId> {
        let firsts = row.all_streams().filter_map(|stream| self.first.get(&stream));
        firsts.filter_map(|first| self.streams.get(first)).flatten().copied().collect()
    }
}

/// Adds what editions of the protocol read in two ways, and no message has decided yet.
fn readings(page: &Page<'_>, matrix: &Rows, html: &mut Html) {
    let mut texts: Vec<String> = Vec::new();
    for cell in matrix.rows.iter().flat_map(|row| &row.cells).flatten() {
        let Some(state) = page.store.state(cell.stream, &cell.type_url) else { continue };
        let node = report::client_name(state.summary.node.as_deref(), state.summary.stream, &page.marks);
        let label = type_label(state.summary.type_url.as_str());
        for reading in open_readings_of(page.store, page.schema, &state) {
            texts.push(format!("{node}: {label} {}", report::open_reading(&reading, None)));
        }
    }
    if texts.is_empty() {
        return;
    }
    html.raw("<ul class=\"findings\">");
    let left = bounded(html, MAX_BYTES_OF_READINGS, &texts, |html, text| html.element("li", &[], text));
    html.raw("</ul>");
    if left > 0 {
        let command = page.source.command("status", "");
        super::left_out(html, &plural(left as u64, "more reading"), &command);
    }
}

/// Adds a client.
fn line(
    page: &Page<'_>,
    (clients, activity): (ClientColumns, &Activity),
    (row, streams): (&Row, &BTreeSet<StreamId>),
    problems: &[usize],
    html: &mut Html,
) {
    let store = page.store;
    html.raw("<tr>");
    html.element("th", &[("scope", "row")], &cell(&row.title()));
    // Beside the node, so that a phone shows them without scrolling.
    html.raw("<td>");
    for at in problems {
        let Some(problem) = page.problems.get(*at) else { continue };
        let (word, role) = report::problem_word(problem);
        let attributes = [("class", class(role)), ("href", &*format!("#p{}", at + 1))];
        html.element("a", &attributes, word);
        html.raw(" ");
    }
    html.raw("</td>");
    let now = (!store.clock().untimed).then(|| store.now());
    let ended = if row.is_closed() { format!(", {}", report::ended(row, now)) } else { String::new() };
    let variant = row.variant.map_or("opaque", Variant::word);
    html.element("td", &[("class", "muted")], &cell(&format!("{variant}{ended}")));
    let columns = row.cells.len().max(1).to_string();
    if row.variant.is_none() {
        html.element("td", &[("class", "muted"), ("colspan", &columns)], &row.opaque());
    } else {
        for at in 0..row.cells.len() {
            type_cell(html, &clients.type_cell(row, at));
        }
    }
    html.raw("<td>");
    super::charts::sparkline(html, &activity.pushes_of(streams.iter().copied()));
    html.raw("</td>");
    let ack = store.ack_ms(streams.iter().copied());
    let time = |ms: f64| Duration::try_from_secs_f64(ms / 1e3).map_or("-".to_owned(), latency);
    let (p50, p99) = ack.map_or(("-".to_owned(), "-".to_owned()), |(p50, p99)| (time(p50), time(p99)));
    html.element("td", &[("class", "number")], &p50);
    html.element("td", &[("class", "number")], &p99);
    html.raw("</tr>\n");
}

/// Adds the state of a type, with its age.
fn type_cell(html: &mut Html, state: &Cell) {
    html.raw("<td>");
    html.element("span", &[("class", &format!("state {}", class(state.role)))], &state.text);
    if !state.aside.is_empty() {
        html.raw(" ");
        html.element("span", &[("class", "muted")], &state.aside);
    }
    html.raw("</td>");
}
