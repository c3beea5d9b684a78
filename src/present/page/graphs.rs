//! The graphs of the clients as SVG.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::graph::{Drawing, DrawnBox, KIND_CHAIN, drawing};
use crate::report;
use crate::text::cut_name;
use crate::text::{Keep, cut};
use xdscope_engine::graph::{self, Graph};
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::{StreamFact, TypeState};
use xdscope_wire::event::{Kind, StreamId};
use xdscope_wire::text::{count, plural};

use super::Page;
use super::html::{Html, bounded, cell};

/// Bytes of the graphs.
const MAX_BYTES: usize = 250_000;
/// Graphs of the page.
const MAX_GRAPHS: usize = 6;
/// Boxes of a graph. Those with a problem come first.
const MAX_BOXES: usize = 60;
/// Resources of a client, and of all clients, beyond which graphs take too long.
const MAX_RESOURCES: u64 = 20_000;
const MAX_RESOURCES_OF_PAGE: u64 = 120_000;
/// Names of clients with one graph.
const MAX_NAMES: usize = 12;

/// Size of a box, and the gaps between boxes, in pixels.
const BOX: (usize, usize) = (190, 52);
const GAP: (usize, usize) = (112, 14);
/// Space above the first row and below the last one, for arrows that pass columns.
const MARGIN: usize = 12;
/// Characters of a line in a box.
const MAX_LINE: usize = 26;

/// A client: its streams, and its name.
struct DrawnClient {
    streams: Vec<StreamId>,
    name: String,
    has_problem: bool,
}

/// Returns the clients that have open streams, those with problems first. A source that has ended
/// keeps the clients of its last streams.
fn clients(page: &Page<'_>) -> Vec<DrawnClient> {
    let is_xds = |stream: &&StreamFact| stream.variant.is_some() && !stream.is_attempt();
    let sets: BTreeSet<Vec<StreamId>> = page
        .streams
        .iter()
        .filter(is_xds)
        .map(|stream| graph::streams_of(page.store, stream.stream))
        .collect();
    let continued: BTreeSet<StreamId> =
        page.streams.iter().filter_map(|stream| stream.reconnect_of).collect();
    let is_last = |set: &&Vec<StreamId>| !set.iter().all(|stream| continued.contains(stream));
    let client = |streams: &Vec<StreamId>| {
        let stream = page.streams.iter().find(|stream| streams.contains(&stream.stream));
        let is_own = |problem: &ProblemFact| problem.all_streams().any(|of| streams.contains(&of));
        let has_problem = page.problems.iter().any(|problem| problem.is_wrong() && is_own(problem));
        DrawnClient {
            streams: streams.clone(),
            name: stream.map(report::node_name).unwrap_or_default(),
            has_problem,
        }
    };
    let mut clients: Vec<DrawnClient> = sets.iter().filter(is_last).map(client).collect();
    clients.sort_by_key(|client| !client.has_problem);
    clients
}

/// Clients with equal graphs, and the graph of the first one.
struct DrawnClients<'a> {
    clients: Vec<&'a DrawnClient>,
    drawing: Drawing,
    looks: Vec<String>,
}

impl DrawnClients<'_> {
    /// Returns the name of a client, or the number of clients with the names of the first ones.
    fn title(&self) -> String {
        let mut names: Vec<&str> = self.clients.iter().map(|client| client.name.as_str()).collect();
        if let [name] = names.as_slice() {
            return (*name).to_owned();
        }
        names.sort_unstable();
        let more = names.len().saturating_sub(MAX_NAMES);
        let more = if more == 0 { String::new() } else { format!(" and {} more", count(more as u64)) };
        let listed: Vec<&str> = names.iter().take(MAX_NAMES).copied().collect();
        format!("{}: {}{more}", plural(names.len() as u64, "node"), listed.join(", "))
    }
}

/// The words between the effect of a reference on requests and its age: `503 since 12s`.
const SINCE: &str = " since ";

/// Returns the boxes and arrows that a figure shows, in an order that does not depend on when the
/// client got each resource, and without ages.
fn looks(drawing: &Drawing) -> Vec<String> {
    let shown: BTreeSet<usize> = chosen(drawing).into_iter().collect();
    let named =
        |at: usize| drawing.boxes.get(at).filter(|_| shown.contains(&at)).map(|of| of.lines.join(" "));
    let boxes = shown.iter().filter_map(|at| drawing.boxes.get(*at));
    let boxes = boxes.map(|of| format!("{} {} {}", of.lines.join("\n"), of.color, of.is_dashed));
    let arrows = drawing.arrows.iter().filter_map(|arrow| {
        let (from, to) = (named(arrow.from)?, named(arrow.to)?);
        let gap = arrow.gap.as_deref().map(without_age).unwrap_or_default();
        Some(format!("{from}\n{to}\n{} {gap} {} {}", arrow.path, arrow.is_refused, arrow.is_unanswered))
    });
    let mut looks: Vec<String> = boxes.chain(arrows).collect();
    looks.sort_unstable();
    looks
}

fn without_age(gap: &str) -> &str {
    gap.split_once(SINCE).map_or(gap, |(effect, _)| effect)
}

/// Removes the ages from a graph that are others in the graph of another client.
fn drop_other_ages(drawing: &mut Drawing, other: &Drawing) {
    if drawing.arrows.iter().eq(&other.arrows) {
        return;
    }
    for gap in drawing.arrows.iter_mut().filter_map(|arrow| arrow.gap.as_mut()) {
        *gap = without_age(gap).to_owned();
    }
}

/// Returns the graphs of the first clients, each once, and the number of clients without one.
fn drawings<'a>(page: &Page<'_>, clients: &'a [DrawnClient]) -> (Vec<DrawnClients<'a>>, usize) {
    let now = (!page.store.clock().untimed).then(|| page.store.now());
    let (mut shown, mut untold, mut drawn): (Vec<DrawnClients<'a>>, usize, u64) = (Vec::new(), 0, 0);
    for client in clients {
        let summaries = client.streams.iter().flat_map(|stream| page.store.summaries_of(*stream));
        let resources: u64 =
            summaries.filter(|fact| fact.state != TypeState::Idle).map(|fact| fact.resources).sum();
        if resources > MAX_RESOURCES || drawn + resources > MAX_RESOURCES_OF_PAGE {
            untold += 1;
            continue;
        }
        drawn += resources;
        let graph = Graph::of(page.store, page.schema, &client.streams);
        if graph.nodes.is_empty() {
            continue;
        }
        let drawing = drawing(&graph, now);
        let looks = looks(&drawing);
        if let Some(equal) = shown.iter_mut().find(|drawn| drawn.looks == looks) {
            equal.clients.push(client);
            drop_other_ages(&mut equal.drawing, &drawing);
        } else if shown.len() < MAX_GRAPHS {
            shown.push(DrawnClients { clients: vec![client], drawing, looks });
        } else {
            untold += 1;
        }
    }
    (shown, untold)
}

/// Adds the graphs of the first clients. Equal graphs share a figure.
pub(super) fn graphs(page: &Page<'_>, html: &mut Html) {
    html.raw("<section id=\"graphs\" aria-labelledby=\"graphs-title\">");
    html.element("h2", &[("id", "graphs-title")], "Graph");
    html.raw(
        "<p class=\"muted\">The resources of each client and how they refer to each other. Solid: in force, or \
         sent and not answered. Dashed: in a refused update only, or not there. With JavaScript, + and - zoom and \
         dragging moves.</p>",
    );
    let clients = clients(page);
    let (shown, untold) = drawings(page, &clients);
    let mut titles = HashSet::new();
    let titled: Vec<(String, &DrawnClients<'_>)> = shown
        .iter()
        .map(|drawn| {
            let title = drawn.title();
            let stream = drawn.clients.iter().find_map(|client| client.streams.first());
            let title = match (titles.insert(title.clone()), stream) {
                (false, Some(stream)) => format!("{title} #{}", stream.0),
                _ => title,
            };
            (title, drawn)
        })
        .collect();
    html.raw("<div class=\"graphs\">");
    let left = bounded(html, MAX_BYTES, &titled, |html, (title, drawn)| figure(page, title, drawn, html));
    html.raw("</div>");
    if shown.is_empty() && untold == 0 {
        html.element("p", &[("class", "muted")], "no resources");
    }
    let dropped = shown.iter().rev().take(left).map(|drawn| drawn.clients.len()).sum::<usize>();
    let left = dropped + untold;
    if left > 0 {
        let command = page.source.command("export", " --to dot --node NAME");
        super::left_out(html, &plural(left as u64, "more client"), &command);
    }
    html.raw("</section>\n");
}

/// The column of a type: listeners, routes, clusters, endpoints, others.
fn column(kind: Kind) -> usize {
    let kind = match kind {
        Kind::Srds | Kind::Vhds => Kind::Rds,
        kind => kind,
    };
    KIND_CHAIN.iter().position(|(of, _)| *of == kind).unwrap_or(KIND_CHAIN.len() - 1)
}

/// Returns the boxes that a listener leads to, and those with a problem. Without a listener, all.
fn in_use(drawing: &Drawing) -> Vec<usize> {
    let all = 0..drawing.boxes.len();
    let is = |at: &usize, test: &dyn Fn(&DrawnBox) -> bool| drawing.boxes.get(*at).is_some_and(test);
    let is_listener = |of: &DrawnBox| of.kind == Kind::Lds;
    if !all.clone().any(|at| is(&at, &is_listener)) {
        return all.collect();
    }
    let mut found: BTreeSet<usize> =
        all.filter(|at| is(at, &|of| is_listener(of) || of.is_troubled)).collect();
    let mut ends: HashMap<usize, Vec<usize>> = HashMap::new();
    for arrow in &drawing.arrows {
        ends.entry(arrow.from).or_default().push(arrow.to);
    }
    let mut open: Vec<usize> = found.iter().copied().collect();
    while let Some(from) = open.pop() {
        let ends = ends.get(&from).into_iter().flatten().copied();
        open.extend(ends.filter(|to| found.insert(*to)));
    }
    found.into_iter().collect()
}

/// Returns the boxes to show: at most [`MAX_BOXES`] of those in use, those with a problem first.
fn chosen(drawing: &Drawing) -> Vec<usize> {
    let mut order = in_use(drawing);
    order.sort_by_key(|at| !drawing.boxes.get(*at).is_some_and(|of| of.is_troubled));
    order.truncate(MAX_BOXES);
    order.sort_unstable();
    order
}

/// Returns the place of each box: column and row; `None` for boxes that are not shown.
fn layout(drawing: &Drawing) -> Vec<Option<(usize, usize)>> {
    let mut places: Vec<Option<(usize, usize)>> = vec![None; drawing.boxes.len()];
    let chosen = chosen(drawing);
    for of_column in 0..KIND_CHAIN.len() {
        let is_here = |at: &&usize| drawing.boxes.get(**at).is_some_and(|of| column(of.kind) == of_column);
        let mut members: Vec<usize> = chosen.iter().filter(is_here).copied().collect();
        // Near the boxes that refer to it.
        members.sort_by_key(|at| {
            let users = drawing.arrows.iter().filter(|arrow| arrow.to == *at);
            let rows: Vec<usize> = users
                .filter_map(|arrow| places.get(arrow.from).copied().flatten())
                .map(|place| place.1)
                .collect();
            let mean = (rows.iter().sum::<usize>() * 100).checked_div(rows.len());
            (mean.unwrap_or(usize::MAX), *at)
        });
        for (row, at) in members.into_iter().enumerate() {
            if let Some(place) = places.get_mut(at) {
                *place = Some((of_column, row));
            }
        }
    }
    places
}

fn figure(page: &Page<'_>, title: &str, drawn: &DrawnClients<'_>, html: &mut Html) {
    let drawing = &drawn.drawing;
    let places = layout(drawing);
    let used: BTreeSet<usize> = places.iter().flatten().map(|place| place.0).collect();
    let x = |column: usize| used.iter().position(|of| *of == column).unwrap_or(0) * (BOX.0 + GAP.0) + 4;
    let y = |row: usize| row * (BOX.1 + GAP.1) + MARGIN;
    let rows = places.iter().flatten().map(|place| place.1 + 1).max().unwrap_or(0);
    // Room for arrows within a column.
    let (width, height) =
        (used.len() * (BOX.0 + GAP.0) - GAP.0 + 48, rows * (BOX.1 + GAP.1) - GAP.1 + 2 * MARGIN);
    html.raw("<figure>");
    html.element("figcaption", &[], &cell(title));
    let label = cell(&format!("Graph of {title}"));
    html.open("section", &[("class", "scroll graph"), ("tabindex", "0"), ("aria-label", &label)]);
    let size = format!("0 0 {width} {height}");
    let (width, height) = (width.to_string(), height.to_string());
    html.open(
        "svg",
        &[
            ("viewBox", &size),
            ("width", &width),
            ("height", &height),
            ("role", "img"),
            ("aria-label", &label),
        ],
    );
    for arrow in &drawing.arrows {
        let ends = places.get(arrow.from).copied().flatten().zip(places.get(arrow.to).copied().flatten());
        let Some((from, to)) = ends else { continue };
        let (from, to) = ((x(from.0), y(from.1)), (x(to.0), y(to.1)));
        let class = match (arrow.is_refused || arrow.is_unanswered, &arrow.gap) {
            (true, _) => "refused",
            (false, Some(_)) => "gap",
            (false, None) => "edge",
        };
        html.open("path", &[("class", class), ("d", &route(from, to))]);
        let title = match &arrow.gap {
            Some(gap) => format!("{}: {gap}", arrow.path),
            None => arrow.path.clone(),
        };
        html.element("title", &[], &cut(&title, 200, Keep::Head, "…"));
        html.raw("</path>");
        if let Some(gap) = &arrow.gap {
            let (x, y) = (to.0.saturating_sub(6).to_string(), (to.1 + BOX.1 / 2 - 5).to_string());
            html.element("text", &[("class", "gap"), ("x", &x), ("y", &y), ("text-anchor", "end")], gap);
        }
    }
    for (of, place) in drawing.boxes.iter().zip(&places) {
        if let Some((column, row)) = place {
            draw_box(html, of, x(*column), y(*row));
        }
    }
    html.raw("</svg></section>");
    let shown = places.iter().flatten().count();
    if shown < drawing.boxes.len() {
        let what = format!(
            "{} of {} resources",
            count((drawing.boxes.len() - shown) as u64),
            count(drawing.boxes.len() as u64)
        );
        let stream = drawn.clients.iter().find_map(|client| client.streams.first()).map_or(0, |of| of.0);
        let command = page.source.command("export", &format!(" --to dot --stream '#{stream}'"));
        super::left_out(html, &what, &command);
    }
    html.raw("</figure>\n");
}

/// Returns the path of an arrow between the corners of two boxes. It passes columns between them
/// above the row of its end, where no box is.
fn route(from: (usize, usize), to: (usize, usize)) -> String {
    let ((x1, y1), y2) = ((from.0 + BOX.0, from.1 + BOX.1 / 2), to.1 + BOX.1 / 2);
    let bend = GAP.0 / 2;
    if to.0 <= from.0 {
        let x2 = to.0 + BOX.0;
        let turn = x1.max(x2) + 40;
        return format!("M{x1} {y1}C{turn} {y1} {turn} {y2} {x2} {y2}");
    }
    let (x2, turn) = (to.0, to.0 - bend);
    if to.0 - x1 <= GAP.0 {
        return format!("M{x1} {y1}C{} {y1} {turn} {y2} {x2} {y2}", x1 + bend);
    }
    let lane = to.1 - GAP.1 / 2;
    let (first, last) = (x1 + GAP.0, x2 - GAP.0);
    format!(
        "M{x1} {y1}C{0} {y1} {0} {lane} {first} {lane}H{last}C{turn} {lane} {turn} {y2} {x2} {y2}",
        x1 + bend
    )
}

fn draw_box(html: &mut Html, of: &DrawnBox, x: usize, y: usize) {
    let dashed = if of.is_dashed { " dashed" } else { "" };
    html.open("g", &[("class", &format!("box {}{dashed}", of.color))]);
    html.element("title", &[], &cut(&of.lines.join(" "), 200, Keep::Head, "…"));
    let (width, height) = (BOX.0.to_string(), BOX.1.to_string());
    let (left, top) = (x.to_string(), y.to_string());
    html.open("rect", &[("x", &left), ("y", &top), ("width", &width), ("height", &height), ("rx", "6")]);
    html.raw("</rect>");
    let [kind, name, state] = &of.lines;
    let left = (x + 10).to_string();
    let lines = [("kind", kind, 15), ("name", name, 31), ("state", state, 45)];
    for (class, text, below) in lines {
        let text = match class {
            "name" => cut_name(text, MAX_LINE, "…"),
            _ => cut(text, MAX_LINE, Keep::Head, "…"),
        };
        html.element("text", &[("class", class), ("x", &left), ("y", &(y + below).to_string())], &text);
    }
    html.raw("</g>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_pass_columns_between_rows() {
        let place = |column, row| (column * (BOX.0 + GAP.0) + 4, row * (BOX.1 + GAP.1) + MARGIN);
        assert_eq!(route(place(0, 0), place(1, 1)), "M194 38C250 38 250 104 306 104");
        assert_eq!(route(place(1, 0), place(1, 1)), "M496 38C536 38 536 104 496 104");
        let long = route(place(0, 0), place(3, 1));
        assert_eq!(long, "M194 38C250 38 250 71 306 71H798C854 71 854 104 910 104");
        let boxes = (0..3).flat_map(|row| [place(1, row), place(2, row)]);
        for (_, top) in boxes {
            assert!(!(top..=top + BOX.1).contains(&71), "the arrow passes behind a box");
        }
    }
}
