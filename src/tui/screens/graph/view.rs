//! The graph drawn: summary line, tree, and the selected resource.

use ratatui::layout::Position;

use super::{GraphScreen, areas};
use crate::common::Common;
use crate::data::BodyFormat;
use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::list::List;
use crate::widgets::syntax;
use crate::widgets::theme::Glyphs;
use xdscope_engine::graph::{GraphNode, NodeId, NodeState, PendingStates, TreeRow, TreeRowKind};
use xdscope_engine::nack::RestUse;
use xdscope_engine::store::ResourceState;
use xdscope_present::graph::{KIND_CHAIN, name_at_server, other_source, pending_counts, pending_states};
use xdscope_present::report::{self, Role};
use xdscope_present::text::cut_name;
use xdscope_present::text::pad;
use xdscope_wire::event::{Kind, Time};
use xdscope_wire::text;
use xdscope_wire::text::{display_safe, plural};

use crate::widgets::text::field;

/// Routes to an unavailable cluster that the detail pane lists.
const MAX_SHOWN_GAPS: usize = 3;
/// Changed references of a refused update that are listed; the others are counted.
const MAX_LISTED_CHANGES: usize = 4;

/// Counts the resources, and those that are not ready, in words.
pub(super) fn summary(screen: &GraphScreen) -> String {
    if let Some(percent) = screen.first_progress() {
        return format!("reading resources, {percent}%");
    }
    if screen.is_reading() {
        return format!("looking up references, {}%", screen.percent());
    }
    let mut out = plural(screen.graph.count_all(), "resource");
    for (n, word) in not_ready(screen) {
        out.push_str(&format!(", {n} {word}"));
    }
    out
}

/// The number of resources that are not ready, by the word of their state.
fn not_ready(screen: &GraphScreen) -> Vec<(usize, &'static str)> {
    const WORDS: [&str; 6] = ["dangling", "refused", "missing", "warming", "waiting", "other"];
    let word = |node: &GraphNode| match &node.state {
        NodeState::Dangling => "dangling",
        NodeState::Refused { .. } | NodeState::RefusedPush { .. } => "refused",
        NodeState::Missing { .. } => "missing",
        NodeState::Warming { .. } => "warming",
        NodeState::Waiting { .. } => "waiting",
        _ => "other",
    };
    let words: Vec<&str> = screen.graph.problems().map(word).collect();
    let counted = WORDS.map(|word| (words.iter().filter(|known| **known == word).count(), word));
    counted.into_iter().filter(|(n, _)| *n > 0).collect()
}

/// `1 listener → 1 route → 119 clusters → 118 endpoints   2 not ready`.
///
/// A problem is an entry of the list on Overview, not a resource.
fn chain(screen: &GraphScreen, common: &Common) -> StyledLine {
    let graph = &screen.graph;
    let to = format!(" {} ", common.theme.glyphs().to);
    let parts = KIND_CHAIN.iter().map(|(kind, word)| (graph.count(*kind), word)).filter(|(n, _)| *n > 0);
    let mut parts: Vec<String> = parts.map(|(n, word)| plural(n, word)).collect();
    if parts.is_empty() {
        parts.push(plural(graph.count_all(), "resource"));
    }
    let mut line = vec![plain(format!(" {}", parts.join(&to)))];
    match graph.problems().count() as u64 {
        0 => match pending_counts(graph) {
            None => line.push(span("   all ready", Role::Ok)),
            Some(pending) => line.push(span(format!("   {pending}"), Role::Muted)),
        },
        n => line.push(span(format!("   {} not ready", text::count(n)), Role::Warn)),
    }
    if screen.tree.top > 0 {
        line.push(span(format!("   {} above", plural(screen.tree.top as u64, "row")), Role::Muted));
    }
    if screen.view.problems {
        line.push(span("   not ready only (p)", Role::Warn));
    }
    if let Some(node) = screen.view.users_of.and_then(|id| graph.get(id)) {
        line.push(span(
            format!("   referrers of {} {} (P)", node.kind.label(), name_at_server(node)),
            Role::Warn,
        ));
    }
    line
}

/// Draws the tree and the selected node. Returns the cursor.
pub(super) fn draw(
    screen: &GraphScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    let (tree, detail) = areas(common, layout);
    if screen.tree.rows.is_empty() {
        let text = match (common.filter_on(ScreenId::Graph), screen.view.problems) {
            _ if screen.first_progress().is_some() => "",
            (Some(_), _) => "   nothing matches; Esc clears the filter",
            (None, true) => "   no branch has a problem; p shows all",
            (None, false) if !screen.graph.nodes.is_empty() => {
                "   no resource is there: what was asked for was not sent, or was removed (7)"
            }
            (None, false) => "   no resource yet: nothing was asked for or sent on this client's streams",
        };
        canvas.text(layout::split(layout.body, 1).1, text, Role::Muted);
        return None;
    }
    let (head, rows) = layout::split(tree, 1);
    canvas.line(head, &chain(screen, common));
    let selected = screen.tree.position();
    let mut cursor = None;
    for ((at, row), area) in screen.tree.rows.iter().enumerate().skip(screen.tree.top).zip(rows.rows()) {
        canvas.line(area, &line(screen, common, row, usize::from(area.width)));
        if selected == Some(at) {
            canvas.cursor(area, true);
            cursor = Some(area.as_position());
        }
    }
    let (title, rest) = layout::split(detail, 1);
    let name = screen.node().map(|(_, node)| format!("{} {}", node.kind.label(), name_at_server(node)));
    canvas.rule(title, &name.unwrap_or_default(), "Enter resource");
    canvas.lines(rest, &detail_lines(screen, common, usize::from(rest.width)), 0);
    cursor
}

/// The cells of a row: resource, and state.
pub(super) fn graph_row(screen: &GraphScreen, common: &Common, row: &TreeRow) -> Vec<Span> {
    match row.what {
        TreeRowKind::Node { id, open } => {
            let Some(node) = screen.graph.get(id) else { return Vec::new() };
            let mut cells = vec![plain(format!("{} {}", node.kind.label(), name_at_server(node)))];
            cells.extend(state(screen, common, id, node, open == Some(false)));
            cells
        }
        TreeRowKind::More { kind, count: 0, .. } => {
            vec![span(format!("fewer {} (l)", kind.word()), Role::Muted)]
        }
        TreeRowKind::More { kind, count, pending } => {
            let text = format!(
                "{} {} more {}, {} (l)",
                common.theme.glyphs().cut,
                text::count(count as u64),
                kind.label(),
                pending_states(pending)
            );
            vec![span(text, Role::Muted)]
        }
        TreeRowKind::Unreferenced { .. } => vec![span("not referenced", Role::Title)],
    }
}

/// Returns the line of a tree row: branches, kind, name and state.
fn line(screen: &GraphScreen, common: &Common, row: &TreeRow, width: usize) -> StyledLine {
    let glyphs = common.theme.glyphs();
    let (through, fork, last) =
        if common.theme.ascii { ("| ", "|-", "`-") } else { ("│ ", "├─", "└─") };
    let mut lead = String::from(" ");
    for (i, follows) in row.follows.iter().enumerate() {
        lead.push_str(match (i + 1 == row.follows.len(), follows) {
            (false, true) => through,
            (false, false) => "  ",
            (true, true) => fork,
            (true, false) => last,
        });
    }
    if let TreeRowKind::Node { open: Some(open), .. } = row.what {
        lead.push_str(if open { glyphs.open } else { glyphs.folded });
    }
    lead.push(' ');
    let cells = graph_row(screen, common, row);
    let room = (width / 2).clamp(24, 60);
    let mut cells = cells.into_iter();
    let mut line = vec![span(lead.clone(), Role::Muted)];
    if let Some(first) = cells.next() {
        let room = room.saturating_sub(xdscope_present::text::width(&lead));
        let rest = cells.len() > 0;
        let safe = display_safe(&first.text);
        let shown = if rest { pad(&cut_name(&safe, room, glyphs.cut), room + 1) } else { safe.into_owned() };
        line.push(span(shown, first.role));
    }
    line.extend(cells);
    line
}

fn version(node: &GraphNode) -> &str {
    node.version.as_deref().filter(|version| !version.is_empty()).unwrap_or("")
}

/// The version that the client has accepted, which may be older than the newest push.
fn accepted(node: &GraphNode) -> &str {
    node.in_force.as_deref().filter(|version| !version.is_empty()).unwrap_or(version(node))
}

/// The state of a node whose update is in a refused push.
fn refused_state(node: &GraphNode, glyphs: &Glyphs) -> String {
    let Some(update) = &node.refused else { return glyphs.bad.to_owned() };
    let state = report::RefusedState::new(&update.refusal, node.in_force.as_deref());
    let symbol = match state.role {
        Role::Bad => glyphs.bad,
        Role::Ok => glyphs.ok,
        _ => glyphs.miss,
    };
    match update.refusal.is_named {
        true => format!("{symbol} {} rejected, {}", version(node), state.in_force),
        false => format!("{symbol} {} {}", version(node), state.text()),
    }
}

/// The state of a node, with its age.
fn state(screen: &GraphScreen, common: &Common, id: NodeId, node: &GraphNode, folded: bool) -> Vec<Span> {
    let glyphs = common.theme.glyphs();
    let since = |at: Option<Time>| at.map(|at| format!(" {}", common.age(at))).unwrap_or_default();
    let mut text = match &node.state {
        NodeState::Ready => format!("{} {}", glyphs.ok, accepted(node)),
        NodeState::Orphan => format!("{} {} orphan", glyphs.ok, accepted(node)),
        NodeState::Sent { in_force: true } => format!("{} {}", glyphs.sent, report::unanswered_update(node)),
        NodeState::Sent { .. } => format!("{} {} not answered yet", glyphs.sent, version(node)),
        NodeState::Refused { .. } | NodeState::RefusedPush { .. } => refused_state(node, glyphs),
        NodeState::Warming { since: at } => format!("{} warming{}", glyphs.wait, since(*at)),
        NodeState::Waiting { again: Some(again), request }
        | NodeState::Missing { again: Some(again), request } => {
            let glyph = if again.is_late { glyphs.miss } else { glyphs.wait };
            let age = common.age_until(again.since, request.and_then(|request| request.ended));
            format!("{glyph} {}, {} {age}", version(node), report::owed_again(again))
        }
        NodeState::Waiting { request: Some(request), .. } => {
            let age = common.age_until(request.at, request.ended);
            format!("{} asked #{} {age} ago, no answer yet", glyphs.wait, request.n.0)
        }
        NodeState::Waiting { request: None, .. } => format!("{} waiting", glyphs.wait),
        NodeState::Missing { request: Some(request), .. } => {
            let age = common.age_until(request.at, request.ended);
            format!("{} asked #{}, no answer {age}", glyphs.miss, request.n.0)
        }
        NodeState::Missing { request: None, .. } => format!("{} never sent", glyphs.miss),
        NodeState::Gone(ResourceState::Released) => "- no longer there".to_owned(),
        NodeState::Gone(state) => format!("{} {}", glyphs.miss, state.word()),
        NodeState::NotAsked => "- not asked for".to_owned(),
        NodeState::NotDumped | NodeState::Static => format!("- {}", node.state.word()),
        NodeState::Replaced => format!("{} {}", glyphs.ok, node.state.word()),
        NodeState::Ignored => format!("- {} ignored", version(node)),
        NodeState::Elsewhere | NodeState::InFile => {
            let source = node.other_source.as_ref().map(other_source).unwrap_or_default();
            let unknown = match node.state {
                NodeState::Elsewhere => format!(", {}", node.state.word()),
                _ => String::new(),
            };
            format!("- {}{unknown}", display_safe(&source))
        }
        NodeState::Dangling if node.list.is_some() => "! dangling: not in the list".to_owned(),
        NodeState::Dangling => {
            let offered = screen.offered.get(&node.kind).filter(|version| !version.is_empty());
            let offered = offered.map(|version| format!(" {version}")).unwrap_or_default();
            format!("! dangling: not in {}{offered}", node.kind.label())
        }
    };
    if folded && !node.is_troubled {
        let below = text::count(node.uses.len() as u64);
        text.push_str(&format!("   {below} below, {}", pending_states(pending_below(screen, node))));
    }
    let mut out = vec![span(text, role(&node.state))];
    if node.is_unreadable {
        out.push(span(format!("   {}", report::UNREADABLE), Role::Bad));
    }
    if let Some(words) = screen.endpoints.get(&id) {
        out.push(span(format!("   {words}"), Role::Muted));
    }
    let now = (!common.clock.untimed).then_some(common.now);
    let gaps = screen.graph.gaps_of(id);
    if let Some(gap) = gaps.min_by_key(|gap| gap.since.unwrap_or(Time(u64::MAX))) {
        out.push(span(format!("   {}", report::gap_duration(gap, now)), Role::Bad));
    }
    if let Some(certificate) = &node.certificate {
        let (text, role) = report::expiry(certificate, common.clock.unix_seconds(common.now));
        out.push(span(format!("   {text}"), role));
    }
    out
}

/// The pending states below a node, without its own.
fn pending_below(screen: &GraphScreen, node: &GraphNode) -> PendingStates {
    let below = node.uses.iter().filter_map(|(id, _)| screen.graph.get(*id)).map(|node| node.pending);
    below.fold(PendingStates::default(), PendingStates::or)
}

/// Returns the color role of a state.
fn role(state: &NodeState) -> Role {
    match state {
        NodeState::Ready | NodeState::Replaced => Role::Ok,
        NodeState::Sent { .. } | NodeState::Waiting { .. } => Role::Pending,
        NodeState::Refused { .. } => Role::Bad,
        NodeState::RefusedPush { rest: RestUse::Used, .. } => Role::Ok,
        NodeState::RefusedPush { .. } => Role::Warn,
        NodeState::Dangling | NodeState::Warming { .. } | NodeState::Missing { .. } => Role::Warn,
        NodeState::Gone(_)
        | NodeState::NotAsked
        | NodeState::NotDumped
        | NodeState::Static
        | NodeState::Ignored
        | NodeState::Elsewhere
        | NodeState::InFile
        | NodeState::Orphan => Role::Muted,
    }
}

/// The consequence of a node's state for the client; empty for a resource that is in use.
fn state_meaning(node: &GraphNode) -> &'static str {
    match (&node.state, node.kind) {
        (NodeState::Dangling, _) if node.list.is_some() => "the list collection has no entry of this name",
        (NodeState::Dangling, Kind::Cds) => {
            "routes are not warmed: requests that match get 503 until CDS delivers the cluster"
        }
        (NodeState::Dangling, Kind::Rds) => "the listener is in use without routes: requests get 404",
        (NodeState::Dangling, _) => {
            "the client receives all resources of this type, and this one is not among them"
        }
        (NodeState::Warming { .. }, _) => match node.warming.as_ref().map(|fact| fact.is_update) {
            Some(true) => "updated, and the earlier version stays in use until what it needs arrives",
            _ => "sent for the first time, and not used until what it needs arrives",
        },
        (
            NodeState::Waiting { again: Some(again), .. } | NodeState::Missing { again: Some(again), .. },
            _,
        ) => match again.is_newer {
            true => "in use in an older version; the server owes the newest one, or the removal",
            false => "in use, and requested again: the server has to send it again",
        },
        (NodeState::Missing { .. }, _) => {
            "asked for, not sent within --resource-timeout: the client goes on without it"
        }
        (NodeState::Waiting { .. }, _) => "asked for, not sent yet",
        (NodeState::Refused { .. }, _) => "the client refused the newest content; screen 6 says why",
        (NodeState::RefusedPush { rest: RestUse::Used, .. }, _) => {
            "the client refused the push for other resources, and uses this one"
        }
        (NodeState::RefusedPush { rest: RestUse::NotUsed, .. }, _) => {
            "the client refused the push for other resources, and used nothing of it"
        }
        (NodeState::RefusedPush { rest: RestUse::Unknown, .. }, _) => {
            "the client refused the push for other resources, and may have used this one"
        }
        (NodeState::Ignored, _) => "sent, but the client has not asked for it, and ignores it",
        (NodeState::Replaced, _) => "the client has the alternative in place of this name",
        (NodeState::NotAsked, _) => "referred to, but the client has not asked for it",
        (NodeState::NotDumped, _) => "referred to, and the dump does not have it",
        (NodeState::Static, _) => "a static cluster, which no server sends",
        (NodeState::Elsewhere, _) => {
            "from another source, which is not behind this tap: whether the client has the resource is unknown"
        }
        (NodeState::InFile, _) => "the client reads the resource from a file",
        (NodeState::Sent { in_force: true }, _)
            if node.unanswered.as_ref().is_some_and(|update| update.content.is_none()) =>
        {
            "removed by the server, and in use until the client's ACK"
        }
        (NodeState::Sent { in_force: true }, _) => "updated, and the earlier version is in use until its ACK",
        (NodeState::Sent { .. }, _) => "sent, neither ACK nor NACK yet",
        (NodeState::Gone(ResourceState::Redirected), _) => "redirects to another resource",
        (NodeState::Gone(_), _) if node.is_kept() => {
            "removed by the server; an Envoy keeps the resource all the same"
        }
        (NodeState::Gone(_), _) => "removed, or reported not to exist",
        (NodeState::Orphan, _) => {
            "nothing refers to it any more; this type has no deletion, so the client may keep it"
        }
        (NodeState::Ready, _) => "",
    }
}

/// The lines about the selected node, and the first lines of its content.
pub(super) fn detail_lines(screen: &GraphScreen, common: &Common, width: usize) -> Vec<StyledLine> {
    let mut lines = node_lines(screen, common, width);
    let Some((_, body)) = screen.body.as_ref().filter(|(_, body)| !body.is_empty()) else { return lines };
    if !lines.is_empty() {
        lines.push(vec![]);
    }
    lines.extend(body.iter().map(|line| syntax::indented(line, BodyFormat::Yaml)));
    lines
}

/// The lines about the selected node.
fn node_lines(screen: &GraphScreen, common: &Common, width: usize) -> Vec<StyledLine> {
    let Some((id, node)) = screen.node() else { return Vec::new() };
    let mut lines: Vec<StyledLine> = Vec::new();
    let mut add =
        |label: &str, value: &str, role| lines.extend(field(&format!(" {label:<10} "), value, role, width));
    let meaning = state_meaning(node);
    if !meaning.is_empty() {
        add("means", meaning, role(&node.state));
    }
    let now = (!common.clock.untimed).then_some(common.now);
    if let Some(warming) = &node.warming {
        add("warming", &display_safe(&report::warming(warming, now)), Role::Warn);
    }
    for gap in screen.graph.gaps_of(id).take(MAX_SHOWN_GAPS) {
        add("effect", &display_safe(&report::traffic_gap(&screen.graph, gap, now)), Role::Bad);
    }
    if let Some(certificate) = &node.certificate {
        let (text, role) = report::certificate_expiry(certificate, common.clock.unix_seconds(common.now));
        add("expiry", &display_safe(&text), role);
    }
    if !node.owners.is_empty() {
        add("owner", &display_safe(&report::owners(&node.owners)), Role::Plain);
    }
    if let Some(update) = &node.refused {
        let nack = screen.nack.as_ref().filter(|(n, _)| *n == update.refusal.nack).map(|(_, nack)| nack);
        add("refused", &display_safe(&report::refused_update(update, nack, &node.name)), Role::Bad);
    }
    if node.unanswered.is_some() {
        add("update", &display_safe(&report::unanswered_update(node)), Role::Pending);
    }
    let changes = node.refused.as_ref().map(|update| &update.changes);
    let changes = changes.or(node.unanswered.as_ref().map(|update| &update.changes));
    let changes = changes.map_or(&[][..], Vec::as_slice);
    for change in changes.iter().take(MAX_LISTED_CHANGES) {
        add("", &display_safe(&report::changed_reference(change, common.theme.glyphs().to)), Role::Muted);
    }
    if changes.len() > MAX_LISTED_CHANGES {
        let more = changes.len() - MAX_LISTED_CHANGES;
        add("", &format!("and {more} more changed references"), Role::Muted);
    }
    let field_of =
        |user: &GraphNode| user.uses.iter().find(|(to, _)| *to == id).map(|(_, path)| path.to_string());
    for user in node.users.iter().take(4).filter_map(|user| screen.graph.get(*user)) {
        let field = field_of(user).unwrap_or_default();
        add("used by", &format!("{} {}  {field}", user.kind.label(), name_at_server(user)), Role::Plain);
    }
    match node.users.len() {
        0 if node.kind == Kind::Lds => {}
        0 => add("used by", "nothing on this client's streams", Role::Muted),
        n if n > 4 => add("", &format!("and {} more (P)", n - 4), Role::Muted),
        _ => {}
    }
    let uses: Vec<String> = node
        .uses
        .iter()
        .take(6)
        .filter_map(|(to, _)| screen.graph.get(*to))
        .map(|to| format!("{} {}", to.kind.label(), name_at_server(to)))
        .collect();
    if !uses.is_empty() {
        let more =
            if node.uses.len() > 6 { format!(" and {} more", node.uses.len() - 6) } else { String::new() };
        add("refers to", &format!("{}{more}", uses.join(", ")), Role::Plain);
    }
    lines
}
