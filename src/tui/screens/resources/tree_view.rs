//! The tree of types and resources drawn.

use std::borrow::Cow;

use ratatui::layout::Rect;

use super::path::TreePath;
use super::state::{Focus, ResourcesScreen};
use super::tree::{self, ResourceRow};
use crate::common::Common;
use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::{Canvas, Span, StyledLine, line_width, plain, span};
use crate::widgets::layout;
use crate::widgets::table;
use crate::widgets::theme::Glyphs;
use xdscope_engine::nack::RestUse;
use xdscope_engine::store::{ResourceFact, ResourceState};
use xdscope_engine::structured::NameParts;
use xdscope_present::report::{self, Role};
use xdscope_present::structured;
use xdscope_present::text;
use xdscope_present::text::cut_name;
use xdscope_present::text::{Keep, cut, pad};
use xdscope_wire::text::{age, count, display_safe, shown_name, type_label};

/// Columns before a name.
const INDENT: usize = 5;
/// The least width of a name: the title is as wide.
const MIN_NAME: usize = 8;
/// The widths that versions take at most, and keep when the tree is narrow.
const VERSION_WIDTHS: [usize; 2] = [12, 5];
/// The widths that states take at most, and keep when the tree is narrow: `⋯ warming`.
const STATE_WIDTHS: [usize; 2] = [24, 9];

/// The widths of the columns of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeWidths {
    name: usize,
    version: usize,
    state: usize,
}

impl TreeWidths {
    /// The widths that the rows on the screen ask for, now or earlier.
    pub(super) fn wanted(screen: &ResourcesScreen, common: &Common) -> TreeWidths {
        let mut widths = TreeWidths { name: MIN_NAME, version: 3, state: 5 };
        for row in &screen.tree.window {
            let ResourceRow::Resource { place, fact, is_warming, members } = row else { continue };
            let fact = fact.as_deref();
            let cells = state_cells(common, fact, *is_warming, members.as_deref());
            let state = line_width(&cells);
            widths.name = widths.name.max(text::width(&display_safe(&tree_name(place))));
            widths.version = widths.version.max(text::width(&display_safe(version(fact))));
            widths.state = widths.state.max(state);
        }
        let grow = |column, width| common.widths.grow("tree", column, width);
        TreeWidths {
            name: grow("NAME", widths.name),
            version: grow("VER", widths.version).min(VERSION_WIDTHS[0]),
            state: grow("STATE", widths.state).min(STATE_WIDTHS[0]),
        }
    }

    /// The columns of a row.
    pub(super) fn total(self) -> usize {
        INDENT + self.name + 1 + self.version + 1 + self.state
    }

    /// Fits the columns into `room`. The name shrinks last: it says what is configured.
    fn fit(mut self, room: usize) -> TreeWidths {
        let mut over = self.total().saturating_sub(room);
        let order = [
            (&mut self.version, VERSION_WIDTHS[1]),
            (&mut self.state, STATE_WIDTHS[1]),
            (&mut self.name, MIN_NAME),
        ];
        for (width, least) in order {
            let less = over.min(width.saturating_sub(least));
            *width -= less;
            over -= less;
        }
        self
    }
}

/// Draws the tree. Returns the screen row of the selection.
pub(super) fn draw(
    screen: &ResourcesScreen,
    common: &Common,
    canvas: &mut Canvas,
    area: Rect,
) -> Option<u16> {
    let (title, rest) = layout::split(area, 1);
    let glyphs = canvas.glyphs();
    let widths = screen.widths.fit(usize::from(area.width));
    let head = format!(" {}{}", pad("TYPE / NAME", INDENT + widths.name), pad("VER", widths.version + 1));
    canvas.line(title, &[span(format!("{head}STATE"), table::title_role(screen.focus == Focus::Tree))]);
    let mut selected_row = None;
    for (row, shown) in rest.rows().zip(&screen.tree.window) {
        let line: StyledLine = match shown {
            ResourceRow::Type { place, list, open } => {
                let Some(list) = screen.tree.types.get(*list) else { continue };
                let fold = if *open { glyphs.open } else { glyphs.folded };
                let mut line = vec![
                    span(format!(" {fold} {}", type_label(place.type_url.as_str())), Role::Title),
                    plain(match common.filter_on(ScreenId::Resources).is_some() {
                        true => format!("  {} of {}", count(list.len() as u64), count(list.total() as u64)),
                        false => format!("  {}", count(list.len() as u64)),
                    }),
                ];
                if list.fact.refused > 0 {
                    line.push(span(format!("  {} {}", glyphs.bad, count(list.fact.refused)), Role::Bad));
                }
                let (waiting, missing) = (list.fact.missing - list.fact.overdue, list.fact.overdue);
                if waiting > 0 {
                    line.push(span(format!("  {} {}", glyphs.wait, count(waiting)), Role::Pending));
                }
                if missing > 0 {
                    line.push(span(format!("  {} {}", glyphs.miss, count(missing)), Role::Warn));
                }
                line
            }
            ResourceRow::Authority { authority, names } => {
                let heading = structured::authority_heading(authority, *names);
                vec![span(format!("   {}", display_safe(&heading)), Role::Muted)]
            }
            ResourceRow::Resource { place, fact, is_warming, members } => {
                let fact = fact.as_deref();
                let name = cut_tree_name(place, widths.name, glyphs.cut);
                let seen = display_safe(version(fact));
                let seen = cut(&seen, widths.version, Keep::Tail, glyphs.cut);
                let mut line = vec![
                    plain(format!("{}{} ", " ".repeat(INDENT), pad(&name, widths.name))),
                    plain(format!("{} ", pad(&seen, widths.version))),
                ];
                line.extend(state_cells(common, fact, *is_warming, members.as_deref()));
                line
            }
        };
        canvas.line(row, &line);
        if shown.place().is_some() && shown.place() == screen.tree.selected.as_ref() {
            canvas.cursor(row, screen.focus == Focus::Tree);
            selected_row = Some(row.y);
        }
    }
    selected_row
}

/// The text of [`ResourceFact::standing`].
fn version(fact: Option<&ResourceFact>) -> &str {
    fact.and_then(ResourceFact::standing).map_or("-", |version| version)
}

/// The state of a resource, the time that is left of it, and how many members it has.
fn state_cells(
    common: &Common,
    fact: Option<&ResourceFact>,
    is_warming: bool,
    members: Option<&str>,
) -> StyledLine {
    let mut cells = match fact {
        None => vec![span("-", Role::Muted)],
        Some(fact) => {
            vec![state(fact, is_warming, common.theme.glyphs()), span(ttl(common, fact), Role::Muted)]
        }
    };
    cells.extend(members.map(|members| span(format!(" {members}"), Role::Muted)));
    cells
}

/// The symbol and word of a resource's state.
fn state(fact: &ResourceFact, is_warming: bool, glyphs: &Glyphs) -> Span {
    match (report::RefusedState::of(fact), fact.is_used_from_refused_push()) {
        (Some(_), _) if fact.refused => return span(format!("{} NACK", glyphs.bad), Role::Bad),
        (Some(_), true) if is_warming => return span(format!("{} warming", glyphs.wait), Role::Warn),
        (Some(_), true) => return span(format!("{} accepted", glyphs.ok), Role::Ok),
        (Some(state), false) if fact.in_force.is_some() => {
            let good = fact.in_force.as_ref().map_or("", |known| &known.version);
            let is_known = fact.refusal.as_ref().is_some_and(|refusal| refusal.rest == RestUse::NotUsed);
            let text = if is_known { format!("keeps {good}") } else { state.in_force };
            return span(format!("! {text}"), Role::Warn);
        }
        (Some(_), false) => return span(format!("{} not used", glyphs.miss), Role::Warn),
        (None, _) => {}
    }
    if let Some(owed) = &fact.owed_again {
        let (glyph, role) =
            if owed.is_late { (glyphs.miss, Role::Warn) } else { (glyphs.wait, Role::Pending) };
        return span(format!("{glyph} {}", report::owed_again(owed)), role);
    }
    match fact.state {
        _ if fact.is_removal_unanswered => span(format!("{} removal sent", glyphs.sent), Role::Pending),
        ResourceState::Present if fact.is_unreadable => {
            span(format!("{} {}", glyphs.bad, report::UNREADABLE), Role::Bad)
        }
        ResourceState::Present if is_warming => span(format!("{} warming", glyphs.wait), Role::Warn),
        ResourceState::Present if fact.is_ignored() => span("- ignored", Role::Muted),
        ResourceState::Present if fact.is_unanswered => span(format!("{} sent", glyphs.sent), Role::Pending),
        _ if fact.is_stream_down => span(format!("{} {}", glyphs.ok, report::CLOSED), Role::Muted),
        ResourceState::Present | ResourceState::Kept => span(glyphs.ok, Role::Ok),
        _ if fact.has_malformed_name() => {
            span(format!("{} {}", glyphs.bad, report::MALFORMED_NAME), Role::Bad)
        }
        ResourceState::Waiting => span(format!("{} waiting", glyphs.wait), Role::Pending),
        _ if fact.is_missing() => span(format!("{} missing", glyphs.miss), Role::Warn),
        ResourceState::Orphan | ResourceState::Expired | ResourceState::Redirected => {
            span(format!("! {}", fact.state.word()), Role::Warn)
        }
        _ => span(format!("- {}", fact.state.word()), Role::Muted),
    }
}

/// The time that is left of a resource: ` 9s ttl`.
fn ttl(common: &Common, fact: &ResourceFact) -> String {
    let is_present = matches!(fact.state, ResourceState::Present | ResourceState::Kept);
    match fact.ttl_left {
        Some(left) if is_present && !common.clock.untimed => format!(" {} ttl", age(left)),
        _ => String::new(),
    }
}

/// The name in the tree, uncut. Below the heading of its authority, an `xdstp` name is its id and
/// parameters.
fn tree_name(place: &TreePath) -> Cow<'_, str> {
    let name = place.name.as_deref().unwrap_or_default();
    match parts_below_authority(place) {
        Some(parts) => Cow::Owned(structured::short_name(&parts, type_name(place))),
        None => Cow::Borrowed(shown_name(name)),
    }
}

fn type_name(place: &TreePath) -> &str {
    place.type_url.as_str().rsplit('/').next().unwrap_or_default()
}

/// The parts of a name that stands below the heading of its authority.
fn parts_below_authority(place: &TreePath) -> Option<NameParts> {
    let name = place.name.as_deref().filter(|name| tree::is_below_authority(name))?;
    NameParts::parse(name)
}

/// The name in the tree in at most `cells` cells. Of an `xdstp` name, the first segments of the id
/// give way to the last one and the parameters.
fn cut_tree_name(place: &TreePath, cells: usize, mark: &str) -> String {
    let name = tree_name(place);
    let safe = display_safe(&name);
    if text::width(&safe) > cells
        && let Some(parts) = parts_below_authority(place)
        && let Some((folder, _)) = parts.id.rsplit_once('/')
    {
        let short = name.replacen(folder, mark, 1);
        return cut(&display_safe(&short), cells, Keep::Ends, mark).into_owned();
    }
    cut_name(&safe, cells, mark).into_owned()
}
