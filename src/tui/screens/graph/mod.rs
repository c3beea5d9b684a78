//! Screen 8: references between resources, with warming and dangling ones.

mod state;
#[cfg(test)]
mod tests;
mod view;

use ratatui::layout::{Position, Rect};

use crate::common::{Common, Scope};
use crate::data::{BodyFormat, Data};
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use crate::screens::screen::{CommandLine, Destination, Outcome, ResourcePlace, Screen, movement};
use crate::widgets::canvas::Canvas;
use crate::widgets::layout::{self, Content, Layout};
use crate::widgets::list::List;
use crate::widgets::text::plain_row;
use xdscope_engine::graph::{self, GraphNode, NodeId, NodeState, TreeRowKind};
use xdscope_wire::event::{Kind, Seq};
use xdscope_wire::text::plural;

pub(crate) use state::GraphScreen;
use state::Refresh;

impl GraphScreen {
    /// Selects the nearest row above that is less indented.
    fn select_parent(&mut self) {
        let Some(at) = self.tree.position() else { return };
        let depth = self.tree.rows.get(at).map_or(0, |row| row.follows.len());
        let above = self.tree.rows.iter().take(at).rposition(|row| row.follows.len() < depth);
        if let Some(above) = above {
            self.tree.select(above);
        }
    }

    /// Switches between the resources that the selected one refers to and those that refer to it.
    fn toggle_referrers(&mut self, common: &mut Common) {
        match (self.view.users_of.take(), self.node().map(|(id, _)| id)) {
            (Some(_), _) => {}
            (None, Some(id)) => self.view.users_of = Some(id),
            (None, None) => return common.say("choose a resource first"),
        }
        self.lay_out();
        self.tree.selected = None;
    }

    /// Opens the selected resource. Rows that are not resources fold.
    fn open(&mut self, common: &mut Common, data: &dyn Data) -> Outcome {
        let Some((_, node)) = self.node() else {
            self.fold(None);
            return Outcome::Done;
        };
        // An inline entry is shown in its list.
        let node = node.list.and_then(|list| self.graph.get(list)).unwrap_or(node);
        let track = node
            .stream
            .zip(node.type_url.clone())
            .filter(|(stream, url)| data.store().resource(*stream, url, &node.name).is_some());
        let Some((stream, type_url)) = track else {
            let (label, name) = (node.kind.label(), &node.name);
            return Outcome::say(
                common,
                format!("{label} {name} was neither asked for nor sent on this stream"),
            );
        };
        Outcome::Open(Destination::Resource(ResourcePlace { stream, type_url, name: node.name.clone() }))
    }

    /// Returns the request that waits for the selected resource, else the newest push of its type.
    fn selected_messages(&self, data: &dyn Data) -> (Scope, Option<Seq>) {
        let node = self.node().map(|(_, node)| node);
        let request: Option<Seq> = node.and_then(|node| match &node.state {
            NodeState::Waiting { request, .. } | NodeState::Missing { request, .. } => {
                request.map(|request| request.n)
            }
            _ => None,
        });
        let track = node.and_then(|node| node.stream.zip(node.type_url.clone()));
        let newest = track.as_ref().and_then(|(stream, url)| data.state(*stream, url));
        let newest = newest.and_then(|state| Some(Seq(state.traffic.last_push?.n)));
        let (stream, type_url) = track.unzip();
        let scope = Scope { stream: stream.or(self.stream), type_url };
        (scope, request.or(newest))
    }

    /// Shows only branches with a problem, or all again.
    fn toggle_problems_only(&mut self, common: &mut Common) {
        self.view.problems = !self.view.problems;
        self.lay_out();
        common.say(match (self.view.problems, self.tree.rows.is_empty()) {
            (true, true) => "every resource is ready; p shows all again",
            (true, false) => "only branches that are not ready; p shows all again",
            (false, _) => "all branches",
        });
    }
}

impl Screen for GraphScreen {
    fn update(&mut self, command: Command, common: &mut Common, data: &dyn Data) -> Outcome {
        if let Some(by) = movement(command, common.page()) {
            self.tree.step(by);
            return Outcome::Done;
        }
        match command {
            Command::Left => {
                if !self.fold(Some(false)) {
                    self.select_parent();
                }
            }
            Command::Right => {
                self.fold(Some(true));
            }
            Command::Unfold => {
                if !self.fold(None) {
                    common.say("nothing to fold here");
                }
            }
            Command::ProblemsOnly => self.toggle_problems_only(common),
            Command::Parents => self.toggle_referrers(common),
            Command::Open => return self.open(common, data),
            Command::Timeline => {
                let (scope, n) = self.selected_messages(data);
                return Outcome::Open(Destination::Messages { scope, n });
            }
            Command::Resources if self.node().is_some() => return self.open(common, data),
            Command::Back
                if !common.is_full_screen && self.view.users_of.is_some() && common.filter.is_none() =>
            {
                self.toggle_referrers(common);
            }
            _ => return Outcome::NotHandled,
        }
        Outcome::Done
    }

    fn settle(&mut self, common: &mut Common, data: &dyn Data, layout: &Layout) {
        let stream = common.stream_or_first(data);
        let Some(stream) = stream else {
            *self = GraphScreen::default();
            return;
        };
        let (store, schema) = (data.store(), data.schema());
        self.step(store, schema);
        if self.stream != Some(stream) {
            self.show_stream(stream);
        }
        let filter = common.filter_on(ScreenId::Graph).map(|filter| filter.text.clone());
        if self.filter != filter {
            self.filter = filter;
            self.lay_out();
        }
        let streams = graph::streams_of(store, stream);
        let refresh = Refresh { is_live: common.info.bar.is_none(), is_paused: common.paused.is_some() };
        self.refresh(store, &streams, refresh);
        self.select_wanted();
        if self.tree.position().is_none() {
            let at = self.tree.rows.iter().position(|row| self.has_problem(row)).unwrap_or(0);
            self.tree.select(at);
        }
        self.read_nack(store, schema);
        self.load_body(data.contents());
        let (area, _) = areas(common, layout);
        self.tree.settle(area);
        let ids = self.tree.window(area).filter_map(|row| match row.what {
            TreeRowKind::Node { id, .. } => Some(id),
            _ => None,
        });
        let words = |id: NodeId| Some((id, endpoints(data, self.graph.get(id)?)?));
        self.endpoints = ids.filter_map(words).collect();
    }

    fn view(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
        view::draw(self, common, canvas, layout)
    }

    fn summary(&self, _common: &Common, _layout: &Layout) -> String {
        view::summary(self)
    }

    fn hint(&self, _common: &Common) -> String {
        "what the client should have at this moment, from messages seen on its streams".to_owned()
    }

    fn point(&mut self, at: Position, selects: bool, common: &mut Common, layout: &Layout) -> Option<bool> {
        self.tree.point(at, areas(common, layout).0, selects)
    }

    fn search(&mut self, _common: &mut Common, data: &dyn Data) -> bool {
        self.step(data.store(), data.schema());
        self.is_building()
    }

    fn is_searching(&self) -> bool {
        self.is_building()
    }

    fn forget(&mut self) {
        self.rebuild();
    }

    fn messages(&self, data: &dyn Data) -> Option<(Scope, Option<Seq>)> {
        Some(self.selected_messages(data))
    }

    fn content(&self, common: &Common, largest: &Layout) -> Option<Content> {
        let (_, detail) = areas(common, largest);
        let lines = view::detail_lines(self, common, usize::from(detail.width)).len();
        Content::new(1 + self.tree.rows.len().max(lines))
    }

    fn copy_row(&self, common: &Common) -> Option<String> {
        Some(plain_row(&view::graph_row(self, common, self.tree.row()?)))
    }

    fn selected_resource(&self) -> Option<ResourcePlace> {
        let (_, node) = self.node()?;
        Some(ResourcePlace {
            stream: node.stream?,
            type_url: node.type_url.clone()?,
            name: node.name.clone(),
        })
    }

    fn copy_name(&self, _common: &Common) -> Option<String> {
        Some(self.node()?.1.name.to_string())
    }

    fn copy_body(&self, format: BodyFormat, data: &dyn Data) -> Option<String> {
        Some(data.contents().text(self.node()?.1.content?, format))
    }

    fn command_line(&self, common: &Common, source: &str) -> Option<CommandLine> {
        CommandLine::of_moment(format!("xdscope get {source} -o tree{}", common.stream_flag()))
    }
}

/// The areas of tree and detail.
fn areas(common: &Common, layout: &Layout) -> (Rect, Rect) {
    let body = layout.body;
    if common.is_full_screen {
        return layout::split(body, 0);
    }
    if layout.wide {
        return layout::beside(body, body.width * 3 / 5);
    }
    layout::split(body, body.height - (body.height / 3).min(9))
}

/// `6 endpoints, 5 healthy`.
fn endpoints(data: &dyn Data, node: &GraphNode) -> Option<String> {
    if node.kind != Kind::Eds || !node.state.is_present() {
        return None;
    }
    let body = data.contents().body(node.content?)?;
    let groups =
        body.get("endpoints").and_then(serde_json::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let all = || groups.iter().filter_map(|group| group.get("lb_endpoints")?.as_array()).flatten();
    // An endpoint without a health status counts as healthy.
    let is_healthy = |status: &serde_json::Value| matches!(status.as_str(), Some("HEALTHY" | "UNKNOWN"));
    let healthy = all().filter(|endpoint| endpoint.get("health_status").is_none_or(is_healthy)).count();
    Some(format!("{}, {healthy} healthy", plural(all().count() as u64, "endpoint")))
}
