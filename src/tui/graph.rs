//! Screen 8: what hangs together, what is warming, what points nowhere.

use std::collections::HashMap;

use crate::event::{Kind, Seq, StreamId};
use crate::graph::{self, Graph, Id, Node, References, Row, Rows, State, View, What};
use crate::text::plural;

use super::act::{self, here};
use super::command::Command;
use super::data::Data;
use super::layout::{self, Layout};
use super::model::{Model, Pane, Screen};
use super::overview::scroll;
use super::update::current_stream;

/// Contents whose references are looked up in one step of a frame.
const SLICE: usize = 128;
/// For each so many nodes, the graph is built again a second later.
const LARGE: usize = 20_000;

#[derive(Clone, Debug, Default)]
pub struct GraphScreen {
    pub stream: Option<StreamId>,
    mark: Option<(u64, usize)>,
    built: crate::event::Time,
    known: References,
    pub graph: Graph,
    /// Of those whose references were unread when it was built, how many are read by now.
    read: usize,
    pub view: View,
    filter: Option<String>,
    pub rows: Rows,
    selected: Option<u64>,
    pub top: usize,
    /// Words about endpoints on the screen.
    pub endpoints: HashMap<Id, String>,
    /// The newest version offered of each type.
    pub offered: HashMap<Kind, String>,
}

impl GraphScreen {
    /// References are still looked up.
    pub fn searching(&self) -> bool {
        self.read < self.graph.unread.len()
    }

    pub fn percent(&self) -> usize {
        self.read * 100 / self.graph.unread.len().max(1)
    }

    pub fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        self.rows.iter().position(|row| row.key == selected)
    }

    pub fn row(&self) -> Option<&Row> {
        self.rows.get(self.position()?)
    }

    pub fn node(&self) -> Option<(Id, &Node)> {
        match self.row()?.what {
            What::Node { id, .. } => Some((id, self.graph.get(id)?)),
            _ => None,
        }
    }

    fn select(&mut self, at: usize) {
        self.selected = self.rows.get(at.min(self.rows.len().saturating_sub(1))).map(|row| row.key);
    }

    /// Folds or unfolds the selected row. False if it is so already, or has nothing to fold.
    fn fold(&mut self, open: Option<bool>) -> bool {
        let Some(row) = self.row() else { return false };
        let is = match row.what {
            What::Node { open: Some(is), .. } => is,
            What::More { count, .. } => count == 0,
            _ => return false,
        };
        if open.is_some_and(|wanted| wanted == is) {
            return false;
        }
        let key = row.key;
        if !self.view.turned.remove(&key) {
            self.view.turned.insert(key);
        }
        self.rows = self.graph.rows(&self.view);
        true
    }

    /// The rows as the view and the filter have them.
    fn lay_out(&mut self) {
        self.rows = self.graph.rows(&self.view);
        if let Some(text) = self.filter.as_ref().map(|text| text.to_lowercase()) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let graph = &self.graph;
            self.rows.retain(|row| match row.what {
                What::Node { id, .. } => graph.get(id).is_some_and(|node| {
                    let line = format!(
                        "type:{} {} name:{} state:{}",
                        node.kind.word(),
                        node.kind.label(),
                        node.name,
                        node.state.word()
                    );
                    let line = line.to_lowercase();
                    words.iter().all(|word| line.contains(word))
                }),
                _ => false,
            });
        }
    }
}

/// Tree and detail.
pub fn parts(model: &Model, layout: &Layout) -> (ratatui::layout::Rect, ratatui::layout::Rect) {
    let body = layout.body;
    let detail = if model.whole { body.height } else { (body.height / 3).min(9) };
    layout::split(body, body.height - detail)
}

/// Looks up more references. True while there are more.
pub fn search(model: &mut Model, data: &dyn Data) -> bool {
    let Some((store, schema)) = data.source() else { return false };
    let screen = &mut model.graph;
    let end = screen.graph.unread.len().min(screen.read + SLICE);
    let slice = screen.graph.unread.get(screen.read..end).unwrap_or_default();
    screen.known.read(store, schema, slice);
    screen.read = end;
    screen.searching()
}

pub fn settle(model: &mut Model, data: &dyn Data, layout: &Layout, frozen: bool) {
    let first = || data.stream_ids().first().copied();
    let stream = current_stream(model).or_else(first);
    let Some((stream, (store, _))) = stream.zip(data.source()) else {
        model.graph = GraphScreen::default();
        return;
    };
    search(model, data);
    if model.graph.stream != Some(stream) {
        model.graph = GraphScreen {
            stream: Some(stream),
            known: std::mem::take(&mut model.graph.known),
            ..GraphScreen::default()
        };
    }
    let streams = graph::streams_of(store, stream);
    let now = store.now();
    let screen = &mut model.graph;
    let filter = model.filter.as_ref().map(|filter| filter.text.clone());
    let mark = Some((graph::mark(store, &streams), screen.known.len()));
    let due = now.since(screen.built).as_secs() >= (screen.graph.nodes.len() / LARGE) as u64;
    if screen.mark.is_none() || (!frozen && screen.mark != mark && !screen.searching() && due) {
        let users_of =
            screen.view.users_of.and_then(|id| screen.graph.get(id)).map(|n| (n.kind, n.name.clone()));
        screen.graph = Graph::build(store, &streams, &mut screen.known);
        (screen.mark, screen.built, screen.read) = (mark.map(|(mark, _)| (mark, screen.known.len())), now, 0);
        screen.view.users_of = users_of.and_then(|(kind, name)| screen.graph.find(kind, &name));
        let cells = streams.iter().flat_map(|stream| store.summaries_of(*stream));
        let versions = cells.filter_map(|cell| {
            let (kind, _) = Kind::of_type_url(cell.type_url.as_str())?;
            Some((kind, store.state(cell.stream, &cell.type_url)?.offered?.to_string()))
        });
        screen.offered = versions.collect();
        screen.filter.clone_from(&filter);
        screen.lay_out();
    } else if screen.filter != filter {
        screen.filter = filter;
        screen.lay_out();
    }
    if screen.position().is_none() {
        let bad = |row: &Row| matches!(row.what, What::Node { id, .. } if screen.graph.get(id).is_some_and(|n| n.state.problem()));
        let at = screen.rows.iter().position(bad).unwrap_or(0);
        screen.select(at);
    }
    let (tree, _) = parts(model, layout);
    let height = usize::from(tree.height).saturating_sub(1);
    let screen = &mut model.graph;
    let at = screen.position().unwrap_or(0);
    screen.top = scroll(screen.top, at, height, screen.rows.len());
    let shown = screen.rows.iter().skip(screen.top).take(height);
    let ids: Vec<Id> = shown
        .filter_map(|row| match row.what {
            What::Node { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    screen.endpoints =
        ids.into_iter().filter_map(|id| Some((id, endpoints(data, screen.graph.get(id)?)?))).collect();
}

/// `6 endpoints, 5 healthy`.
fn endpoints(data: &dyn Data, node: &Node) -> Option<String> {
    if node.kind != Kind::Eds || !node.state.here() {
        return None;
    }
    let body = data.contents()?.body(node.content?)?;
    let groups =
        body.get("endpoints").and_then(serde_json::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let all = || groups.iter().filter_map(|group| group.get("lb_endpoints")?.as_array()).flatten();
    // Healthy is what is not said to be otherwise.
    let well = |status: &serde_json::Value| matches!(status.as_str(), Some("HEALTHY" | "UNKNOWN"));
    let healthy = all().filter(|endpoint| endpoint.get("health_status").is_none_or(well)).count();
    Some(format!("{}, {healthy} healthy", plural(all().count() as u64, "endpoint")))
}

/// Commands that mean something of their own here.
pub fn act(model: &mut Model, command: Command, data: &dyn Data) -> bool {
    if let Some(by) = act::moves(command, act::page(model)) {
        let at = model.graph.position().unwrap_or(0);
        model.graph.select(at.saturating_add_signed(by));
        return true;
    }
    match command {
        Command::Left => {
            if !model.graph.fold(Some(false)) {
                parent(&mut model.graph);
            }
        }
        Command::Right => {
            model.graph.fold(Some(true));
        }
        Command::Unfold => {
            if !model.graph.fold(None) {
                model.say("nothing to fold here");
            }
        }
        Command::ProblemsOnly => {
            model.graph.view.problems = !model.graph.view.problems;
            model.graph.lay_out();
            if model.graph.rows.is_empty() {
                model.say("no branch has a problem; p shows all again");
            }
        }
        Command::Parents => turn(model),
        Command::NextProblem | Command::PreviousProblem => problem(model, command == Command::NextProblem),
        Command::Open => open(model, data),
        Command::Timeline => messages(model, data),
        Command::Resources if model.graph.node().is_some() => open(model, data),
        Command::Back if !model.whole && model.graph.view.users_of.is_some() && model.filter.is_none() => {
            turn(model)
        }
        _ => return false,
    }
    true
}

fn parent(screen: &mut GraphScreen) {
    let Some(at) = screen.position() else { return };
    let depth = screen.rows.get(at).map_or(0, |row| row.follows.len());
    let above = screen.rows.iter().take(at).rposition(|row| row.follows.len() < depth);
    if let Some(above) = above {
        screen.select(above);
    }
}

/// From what a resource refers to, to who refers to it, and back.
fn turn(model: &mut Model) {
    let screen = &mut model.graph;
    match (screen.view.users_of.take(), screen.node().map(|(id, _)| id)) {
        (Some(_), _) => {}
        (None, Some(id)) => screen.view.users_of = Some(id),
        (None, None) => return model.say("choose a resource first"),
    }
    screen.lay_out();
    screen.selected = None;
}

fn problem(model: &mut Model, forward: bool) {
    let screen = &mut model.graph;
    let here = screen.position().unwrap_or(0);
    let bad = |row: &Row| match row.what {
        What::Node { id, .. } => screen.graph.get(id).is_some_and(|node| node.state.problem()),
        _ => false,
    };
    let found = match forward {
        true => (here + 1..screen.rows.len()).find(|at| screen.rows.get(*at).is_some_and(bad)),
        false => (0..here).rev().find(|at| screen.rows.get(*at).is_some_and(bad)),
    };
    match found {
        Some(at) => screen.select(at),
        None => model.say("no further problem this way"),
    }
}

/// The resource on screen 4; rows that are no resource fold.
fn open(model: &mut Model, data: &dyn Data) {
    let step = here(model);
    let Some((_, node)) = model.graph.node() else {
        model.graph.fold(None);
        return;
    };
    let (name, kind) = (node.name.clone(), node.kind);
    let known = node.stream.zip(node.type_url.clone()).filter(|(stream, url)| {
        data.contents().is_some_and(|contents| contents.resource(*stream, url, &name).is_some())
    });
    let Some((stream, url)) = known else {
        model.say(format!("{} {name} was neither asked for nor sent on this stream", kind.label()));
        return;
    };
    model.scope.stream = Some(stream);
    model.screen = Screen::Resources;
    model.resources.go_to(&url, Some(name));
    model.pane = Pane::Main;
    model.whole = false;
    model.steps.push(step);
}

/// The message to look at for a node: the request that is not answered, else the newest push of its type.
fn messages(model: &mut Model, data: &dyn Data) {
    let step = here(model);
    let node = model.graph.node().map(|(_, node)| node);
    let asked: Option<Seq> = node.and_then(|node| match &node.state {
        State::Waiting { since } | State::Missing { since } => since.map(|(_, n)| n),
        _ => None,
    });
    let place = node.and_then(|node| node.stream.zip(node.type_url.clone()));
    let stream = model.graph.stream;
    let newest = place.as_ref().and_then(|(stream, url)| data.state(*stream, url));
    let newest = newest.and_then(|state| Some(Seq(state.last_push?.n)));
    act::go(model, Screen::Timeline, data);
    model.scope.stream = place.as_ref().map(|(stream, _)| *stream).or(stream);
    model.scope.type_url = place.map(|(_, url)| url);
    if let Some(n) = asked.or(newest) {
        act::goto_message(model, data, n);
    }
    model.steps.push(step);
}
