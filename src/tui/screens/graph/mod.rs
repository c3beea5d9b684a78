//! Screen 8: what hangs together, what is warming, what points nowhere.

pub mod view;

use std::collections::HashMap;

use crate::engine::graph::{
    self, Graph, GraphBuilder, GraphNode, NodeId, NodeState, References, Rows, TreeRow, TreeRowKind, TreeView,
};
use crate::engine::store::Store;
use crate::wire::event::{Kind, Seq, StreamId};
use crate::wire::text::plural;

use crate::tui::data::Data;
use crate::tui::input::command::Command;
use crate::tui::screens::overview::scroll;
use crate::tui::shell::commands::{self, here};
use crate::tui::shell::model::{Model, Pane, Screen};
use crate::tui::shell::places;
use crate::tui::shell::update::current_stream;
use crate::tui::widgets::layout::{self, Layout};

/// Contents whose references are looked up in one step of a frame.
const SLICE: usize = 32;
/// Nodes that are built, or let go of, in one step of a frame; graphs of up to so many are built at once.
const NODES: usize = 1024;
/// For each so many nodes, the graph is built again a second later.
const LARGE: usize = 20_000;

/// What a graph was made of: changes with the facts of its streams, and the references that were known.
type Mark = (u64, usize);

#[derive(Clone, Debug, Default)]
pub struct GraphScreen {
    pub stream: Option<StreamId>,
    mark: Option<Mark>,
    built: crate::wire::event::Time,
    known: References,
    pub graph: Graph,
    /// The next one, in the making; and what is left of the one before.
    next: Option<(Mark, Box<GraphBuilder>)>,
    old: Graph,
    /// Of those whose references were unread when it was built, how many are read by now.
    read: usize,
    pub view: TreeView,
    filter: Option<String>,
    pub rows: Rows,
    selected: Option<u64>,
    /// Where it stood last.
    at: usize,
    pub top: usize,
    /// Words about endpoints on the screen.
    pub endpoints: HashMap<NodeId, String>,
    /// The newest version offered of each type.
    pub offered: HashMap<Kind, String>,
}

impl GraphScreen {
    /// References are still looked up.
    pub fn reading(&self) -> bool {
        self.read < self.graph.unread.len()
    }

    /// There is something to go on with.
    pub fn searching(&self) -> bool {
        self.reading() || self.next.is_some() || !self.old.nodes.is_empty()
    }

    /// How much there is of the first graph, in percent, while there is none.
    pub fn first(&self) -> Option<usize> {
        self.next.as_ref().filter(|_| self.mark.is_none()).map(|(_, next)| next.percent())
    }

    /// It is built again: the cursor went back.
    pub fn forget(&mut self) {
        (self.mark, self.next) = (None, None);
    }

    /// Contents have other numbers: the source is another.
    pub fn forget_contents(&mut self) {
        self.forget();
        self.known = References::default();
    }

    pub fn percent(&self) -> usize {
        self.read * 100 / self.graph.unread.len().max(1)
    }

    pub fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        let is = |row: &TreeRow| row.key == selected;
        if self.rows.get(self.at).is_some_and(is) {
            return Some(self.at);
        }
        self.rows.iter().position(is)
    }

    pub fn row(&self) -> Option<&TreeRow> {
        self.rows.get(self.position()?)
    }

    pub fn node(&self) -> Option<(NodeId, &GraphNode)> {
        match self.row()?.what {
            TreeRowKind::Node { id, .. } => Some((id, self.graph.get(id)?)),
            _ => None,
        }
    }

    fn select(&mut self, at: usize) {
        self.at = at.min(self.rows.len().saturating_sub(1));
        self.selected = self.rows.get(self.at).map(|row| row.key);
    }

    /// Folds or unfolds the selected row. False if it is so already, or has nothing to fold.
    fn fold(&mut self, open: Option<bool>) -> bool {
        let Some(row) = self.row() else { return false };
        let is = match row.what {
            TreeRowKind::Node { open: Some(is), .. } => is,
            TreeRowKind::More { count, .. } => count == 0,
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

    /// Goes on with the next graph; once it is whole, it is the one that is shown.
    fn build(&mut self, store: &Store, nodes: usize) {
        let Some((mark, mut next)) = self.next.take() else { return };
        if !next.step(store, &mut self.known, nodes) {
            self.next = Some((mark, next));
            return;
        }
        let of = self.view.users_of.and_then(|id| self.graph.get(id)).map(|n| (n.kind, n.name.clone()));
        let (graph, offered) = next.finish();
        self.old = std::mem::replace(&mut self.graph, graph);
        (self.mark, self.read, self.offered) = (Some((mark.0, self.known.len())), 0, offered);
        self.view.users_of = of.and_then(|(kind, name)| self.graph.find(kind, &name));
        self.lay_out();
    }

    /// The rows as the view and the filter have them.
    fn lay_out(&mut self) {
        self.rows = self.graph.rows(&self.view);
        if let Some(text) = self.filter.as_ref().map(|text| text.to_lowercase()) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let graph = &self.graph;
            self.rows.retain(|row| match row.what {
                TreeRowKind::Node { id, .. } => graph.get(id).is_some_and(|node| {
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
    if !screen.old.nodes.is_empty() {
        screen.old.drop_nodes(NODES);
    } else if screen.next.is_some() {
        screen.build(store, NODES);
    } else {
        let end = screen.graph.unread.len().min(screen.read + SLICE);
        let slice = screen.graph.unread.get(screen.read..end).unwrap_or_default();
        screen.known.read(store, schema, slice);
        screen.read = end;
    }
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
            old: std::mem::take(&mut model.graph.graph),
            ..GraphScreen::default()
        };
    }
    let streams = graph::streams_of(store, stream);
    let now = store.now();
    let live = model.info.bar.is_none();
    let screen = &mut model.graph;
    let filter = model.filter.as_ref().map(|filter| filter.text.clone());
    if screen.filter != filter {
        screen.filter = filter;
        screen.lay_out();
    }
    let mark = (graph::fingerprint(store, &streams), screen.known.len());
    // At a place of a recording what is shown is as of that place; a live one goes on anyway.
    if !live && screen.next.as_ref().is_some_and(|(of, _)| of.0 != mark.0) {
        screen.next = None;
    }
    let young = now.since(screen.built).as_secs() < (screen.graph.nodes.len() / LARGE) as u64;
    // The first time nearly all references are unread.
    let bare = screen.graph.unread.len() > screen.graph.nodes.len() / 2;
    let due = !(screen.searching() || frozen) && screen.mark != Some(mark) && (!live || !young || bare);
    if screen.next.is_none() && (screen.mark.is_none() || due) {
        let next = GraphBuilder::new(store, &streams);
        let few = next.len() <= NODES;
        (screen.next, screen.built) = (Some((mark, Box::new(next))), now);
        while few && screen.next.is_some() {
            screen.build(store, usize::MAX);
        }
    }
    if screen.position().is_none() {
        let bad = |row: &TreeRow| matches!(row.what, TreeRowKind::Node { id, .. } if screen.graph.get(id).is_some_and(|n| n.state.is_problem()));
        let at = screen.rows.iter().position(bad).unwrap_or(0);
        screen.select(at);
    }
    let (tree, _) = parts(model, layout);
    let height = usize::from(tree.height).saturating_sub(1);
    let screen = &mut model.graph;
    let at = screen.position().unwrap_or(0);
    screen.at = at;
    screen.top = scroll(screen.top, at, height, screen.rows.len());
    let shown = screen.rows.iter().skip(screen.top).take(height);
    let ids: Vec<NodeId> = shown
        .filter_map(|row| match row.what {
            TreeRowKind::Node { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    screen.endpoints =
        ids.into_iter().filter_map(|id| Some((id, endpoints(data, screen.graph.get(id)?)?))).collect();
}

/// `6 endpoints, 5 healthy`.
fn endpoints(data: &dyn Data, node: &GraphNode) -> Option<String> {
    if node.kind != Kind::Eds || !node.state.is_present() {
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
    if let Some(by) = commands::moves(command, commands::page(model)) {
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
    let bad = |row: &TreeRow| match row.what {
        TreeRowKind::Node { id, .. } => screen.graph.get(id).is_some_and(|node| node.state.is_problem()),
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
        NodeState::Waiting { since } | NodeState::Missing { since } => since.map(|(_, n)| n),
        _ => None,
    });
    let place = node.and_then(|node| node.stream.zip(node.type_url.clone()));
    let stream = model.graph.stream;
    let newest = place.as_ref().and_then(|(stream, url)| data.state(*stream, url));
    let newest = newest.and_then(|state| Some(Seq(state.last_push?.n)));
    commands::go(model, Screen::Timeline, data);
    model.scope.stream = place.as_ref().map(|(stream, _)| *stream).or(stream);
    model.scope.type_url = place.map(|(_, url)| url);
    if let Some(n) = asked.or(newest) {
        places::goto_message(model, data, n);
    }
    model.steps.push(step);
}
