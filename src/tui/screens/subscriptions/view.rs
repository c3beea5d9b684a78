//! Subscriptions drawn: types, changes, names, and the selected name.

use ratatui::layout::{Position, Rect};

use super::areas;
use super::state::{NameRow, SubscribedType, SubscriptionsScreen};
use crate::common::{Common, Pane};
use crate::input::screen_id::ScreenId;
use crate::screens::shared::list_table::ListTable;
use crate::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::list::List;
use crate::widgets::table::{self, Column, column};
use xdscope_engine::store::{PendingNameFact, ResourceFact, ResourceState, TypeState, Wildcard};
use xdscope_present::report::{self, Role};
use xdscope_present::structured;
use xdscope_present::text::Keep;
use xdscope_wire::text::{count, latency, plural, shown_name, type_label};

use crate::widgets::text::{field, paragraph};

/// Says in short how the client subscribes: by names, globs or a wildcard.
fn mode(subscribed: &SubscribedType, narrow: bool) -> &'static str {
    match subscribed.wildcard {
        Wildcard::None if subscribed.globs > 0 && subscribed.globs < subscribed.fact.names => "by name, glob",
        Wildcard::None if subscribed.globs > 0 => "by glob",
        Wildcard::Legacy if narrow => "* (legacy)",
        Wildcard::Ambiguous if narrow => "* or none ?",
        Wildcard::None => "by name",
        Wildcard::Explicit => "* by name",
        Wildcard::Legacy => "* by empty list",
        Wildcard::Ambiguous => "* or nothing ?",
        Wildcard::Unknown => "* unknown",
    }
}

/// Explains how the client subscribes.
fn wildcard_words(subscribed: &SubscribedType) -> &'static str {
    match subscribed.wildcard {
        Wildcard::None if subscribed.globs > 0 => {
            "names are asked for one by one; a glob stands for its members"
        }
        Wildcard::None => "names are asked for one by one",
        Wildcard::Explicit => "by the name *: all resources, until * is unsubscribed",
        Wildcard::Legacy => "never sent a name for this type: an empty list means all, until a name is sent",
        Wildcard::Ambiguous => "the first request only unsubscribes: it may mean all or nothing",
        Wildcard::Unknown => "the start of the stream was not seen: the client may want all",
    }
}

/// Counts the names, and those that match the filter, in words.
pub(super) fn summary(screen: &SubscriptionsScreen, common: &Common) -> String {
    if screen.has_more_to_search() {
        return format!("{}, looking through messages", plural(screen.all() as u64, "name"));
    }
    let all = plural(screen.all() as u64, "name");
    let listed = if common.filter_on(ScreenId::Subscriptions).is_some() {
        format!("{} of {all}", count(screen.len() as u64))
    } else {
        all
    };
    let fact = screen.selected_type().map(|selected| &selected.fact);
    let (owed, missing, malformed) =
        fact.map_or((0, 0, 0), |fact| (fact.missing, fact.overdue, fact.malformed));
    let (again, errors) = fact.map_or((0, 0), |fact| (fact.owed_again, fact.errors));
    if owed + again + malformed == 0 {
        let state = fact.map(|fact| fact.state);
        return match state {
            Some(TypeState::Miss) if errors > 0 => {
                format!("{listed}, {} not sent because of an error", count(errors))
            }
            Some(TypeState::Wait | TypeState::Miss) => format!("{listed}, the wildcard is not answered"),
            Some(TypeState::Expired) => format!("{listed}, all expired"),
            _ => format!("{listed}, none waits for the server"),
        };
    }
    let answered = (screen.all() as u64).saturating_sub(owed + again + malformed);
    let mut text = format!("{listed}, {} answered", count(answered));
    let waiting = owed.saturating_sub(missing);
    let counts =
        [(waiting, "waiting"), (missing, "missing"), (again, report::OWED_AGAIN), (malformed, "malformed")];
    for (n, word) in counts {
        if n > 0 {
            text.push_str(&format!(", {} {word}", count(n)));
        }
    }
    text
}

/// The columns of the names.
pub(super) fn name_columns() -> [Column; 4] {
    [
        column("NAME", 12, 60, Keep::Name, 0),
        column("ASKED", 8, 12, Keep::Head, 1),
        column("FIRST", 5, 8, Keep::Head, 2),
        column("NOW", 12, 40, Keep::Head, 0),
    ]
}

/// Returns the row of a type: its mode, and how many names are missing.
fn type_row(subscribed: &SubscribedType, narrow: bool) -> StyledLine {
    let fact = &subscribed.fact;
    let by_name = fact.names > 0 || subscribed.wildcard == Wildcard::None;
    vec![
        plain(type_label(fact.type_url.as_str())),
        plain(mode(subscribed, narrow)),
        plain(if by_name { count(fact.names) } else { "-".to_owned() }),
        match (by_name, fact.overdue) {
            (false, _) => plain("-"),
            (true, 0) => plain("0"),
            (true, n) => span(count(n), Role::Warn),
        },
    ]
}

/// The cells of a name, in the order of the columns.
pub(super) fn name_row(common: &Common, row: &NameRow) -> Vec<Span> {
    let asked = row.waits.map(|waits| waits.requested).or(row.asked.map(|(_, at)| at));
    let first = match (row.asked, row.came) {
        (Some((_, asked)), Some(came)) if !common.clock.untimed => latency(came.since(asked)),
        _ => "-".to_owned(),
    };
    vec![
        plain(shown_name(&row.name)),
        plain(asked.map_or("-".to_owned(), |at| common.time_of_day(at))),
        plain(first),
        name_state(common, row),
    ]
}

/// How long the client has waited for a name, at most until its stream ended.
fn waited(common: &Common, waits: &PendingNameFact) -> String {
    common.age_until(waits.since, waits.ended)
}

/// The state of a name: `✓ 41`, `∅ missing 22s`, `⋯ waiting 6s`.
fn name_state(common: &Common, row: &NameRow) -> Span {
    let glyphs = common.theme.glyphs();
    let age = row.waits.map(|waits| format!(" {}", waited(common, &waits))).unwrap_or_default();
    let Some(fact) = &row.fact else { return span(format!("{} waiting{age}", glyphs.wait), Role::Pending) };
    let version = fact.standing().map_or("", |version| version);
    let by = fact.absent_by.map(|by| format!(" (by {})", by.word())).unwrap_or_default();
    if let Some(owed) = fact.owed_again
        && fact.refusal.is_none()
    {
        let (glyph, role) =
            if owed.is_late { (glyphs.miss, Role::Warn) } else { (glyphs.wait, Role::Pending) };
        return span(format!("{glyph} {version} {}{age}", report::owed_again(&owed)), role);
    }
    match fact.state {
        _ if fact.refused => {
            // A name that was asked for again is counted as waiting too.
            let waits = if row.waits.is_some() { format!(", waiting{age}") } else { String::new() };
            span(format!("{} {version} rejected{waits}", glyphs.bad), Role::Bad)
        }
        _ if fact.is_in_unused_push() => match report::RefusedState::of(fact) {
            Some(state) if fact.in_force.is_some() => span(format!("! {}", state.in_force), Role::Warn),
            _ => span(format!("{} {version} not used", glyphs.miss), Role::Warn),
        },
        _ if fact.is_removal_unanswered => {
            span(format!("{} removal {}", glyphs.sent, report::NOT_ANSWERED), Role::Pending)
        }
        ResourceState::Present if fact.is_glob() => {
            let members = row.members.as_ref().map(structured::members).unwrap_or_default();
            span(format!("{} glob, members {members}", glyphs.ok), Role::Ok)
        }
        ResourceState::Empty => span(format!("{} glob, empty{by}", glyphs.miss), Role::Muted),
        ResourceState::Present if fact.is_unreadable => {
            span(format!("{} {version} {}", glyphs.bad, report::UNREADABLE), Role::Bad)
        }
        ResourceState::Present if row.is_warming => {
            span(format!("{} {version} warming", glyphs.wait), Role::Warn)
        }
        ResourceState::Present if fact.is_unanswered => {
            span(format!("{} {version} not answered", glyphs.sent), Role::Pending)
        }
        ResourceState::Present | ResourceState::Kept if fact.is_stream_down => {
            span(format!("{} {version} {}", glyphs.ok, report::CLOSED), Role::Muted)
        }
        _ if fact.unclassified.is_some() => {
            let version = if version.is_empty() { String::new() } else { format!("{version} ") };
            span(format!("{} {version}pending reclassification", glyphs.wait), Role::Pending)
        }
        ResourceState::Present => {
            let members =
                row.members.as_ref().map(|members| format!(", members {}", structured::members(members)));
            span(format!("{} {version}{}", glyphs.ok, members.unwrap_or_default()), Role::Ok)
        }
        ResourceState::Kept => span(format!("{} {version} kept", glyphs.ok), Role::Ok),
        _ if fact.has_malformed_name() => {
            span(format!("{} {}", glyphs.bad, report::MALFORMED_NAME), Role::Bad)
        }
        ResourceState::Waiting => span(format!("{} waiting{age}", glyphs.wait), Role::Pending),
        ResourceState::Absent if fact.is_missing() || row.waits.is_some() => {
            span(format!("{} missing{age}", glyphs.miss), Role::Warn)
        }
        state => span(format!("- {}{by}", state.word()), Role::Muted),
    }
}

/// Draws types, names and the selected name. Returns the cursor.
pub(super) fn draw(
    screen: &SubscriptionsScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    if screen.types.rows.is_empty() {
        let text = "   nothing was asked for on this stream";
        canvas.text(layout::split(layout.body, 1).1, text, Role::Muted);
        return None;
    }
    let areas = areas(screen, common, layout);
    let mut cursor = None;
    if !areas.types.is_empty() {
        let columns = [
            column("TYPE", 4, 12, Keep::Name, 0),
            column("MODE", 7, 16, Keep::Head, 0),
            column("NAMES", 5, 9, Keep::Head, 0),
            column("MISS", 4, 9, Keep::Head, 0),
        ];
        let types = screen.types.window(areas.types);
        let rows: Vec<StyledLine> = types.map(|row| type_row(row, layout.narrow)).collect();
        let (selected, has_focus) = (screen.types.selected_line(), common.pane == Pane::Main);
        let line = table::draw(canvas, areas.types, &columns, &rows, selected, has_focus);
        cursor = line.map(|y| Position { x: areas.types.x, y });
        let lines = change_lines(screen, common, areas.changes);
        canvas.lines(areas.changes, &lines, 0);
        canvas.bar(areas.bar);
    }
    if screen.len() == 0 {
        let text = match common.filter_on(ScreenId::Subscriptions) {
            Some(_) => "  no name matches; Esc clears the filter",
            None => "  no name",
        };
        canvas.text(layout::split(areas.names, 1).1, text, Role::Muted);
    }
    let rows: Vec<StyledLine> = screen.window.iter().map(|row| name_row(common, row)).collect();
    let selected = if rows.is_empty() { None } else { screen.at.checked_sub(screen.top) };
    let table = ListTable {
        screen: ScreenId::Subscriptions,
        columns: &name_columns(),
        rows: &rows,
        selected,
        has_focus: common.is_in_second_pane(),
    };
    let name_position = table.draw(common, canvas, areas.names);
    if common.pane == Pane::Second || common.is_full_screen {
        cursor = name_position;
    }
    let (title, rest) = layout::split(areas.detail, 1);
    let name = screen.row().map(|row| row.name.to_string()).unwrap_or_default();
    canvas.rule(title, &name, "Enter resource");
    canvas.lines(rest, &name_lines(screen, common, usize::from(rest.width)), 0);
    cursor
}

/// The changes of the subscription, newest first, and the mode of the subscription.
pub(super) fn change_lines(screen: &SubscriptionsScreen, common: &Common, area: Rect) -> Vec<StyledLine> {
    let Some(subscribed) = screen.selected_type() else { return Vec::new() };
    let label = type_label(subscribed.fact.type_url.as_str());
    let mut lines: Vec<StyledLine> =
        vec![vec![], vec![span(format!(" changes to {label} names"), Role::Title)]];
    let words = usize::from(area.height).saturating_sub(7).max(1);
    for change in screen.changes.iter().rev().take(words) {
        let names = report::listed_names(&change.names, 0);
        let more = change.added + change.removed > change.names.len() as u64;
        let more = if more { format!(", {}", common.theme.glyphs().cut) } else { String::new() };
        let signs = match (change.added, change.removed) {
            (added, 0) => format!("+{}", count(added)),
            (0, removed) => format!("-{}", count(removed)),
            (added, removed) => format!("+{} -{}", count(added), count(removed)),
        };
        lines.push(vec![
            span(format!(" {} ", common.time_of_day(change.at)), Role::Muted),
            plain(format!("#{} {signs}  {names}{more}", change.n.0)),
        ]);
    }
    if screen.changes.is_empty() {
        lines.push(vec![span(" no name was ever sent", Role::Muted)]);
    }
    lines.push(vec![]);
    lines.push(vec![span(" subscribed", Role::Title)]);
    lines.extend(paragraph(wildcard_words(subscribed), 1, Role::Plain, usize::from(area.width)));
    for reading in &screen.missing_answers.readings {
        let text = report::open_reading(reading, None);
        lines.extend(field("reading", &text, Role::Muted, usize::from(area.width)));
    }
    if let Some(brought) = &subscribed.brought {
        lines.push(vec![]);
        lines.push(vec![span(" brought along from before", Role::Title)]);
        lines.extend(field(" ", &report::reconnect(brought), Role::Plain, usize::from(area.width)));
    }
    lines
}

/// The lines about the selected name.
pub(super) fn name_lines(screen: &SubscriptionsScreen, common: &Common, width: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let (Some(row), Some(subscribed)) = (screen.row(), screen.selected_type()) else { return lines };
    let mut add = |label: &str, value: &str| {
        lines.extend(field(&format!(" {label:<8} "), value, Role::Plain, width));
    };
    let missing = row.waits.filter(|waits| !waits.has_resource);
    if let Some(text) = asked_by(row, subscribed, common) {
        add("asked by", &text);
    }
    if let Some(claim) = &row.claim {
        add("claimed", &report::claim(claim));
    }
    let Some(fact) = &row.fact else {
        if let Some(why) = &screen.why {
            add("perhaps", why);
        }
        return lines;
    };
    if let (Some(owed), Some(waits)) = (fact.owed_again, row.waits) {
        let text = match owed.is_newer {
            true if owed.is_removal => "the client has the resource, and the server has not sent its removal",
            true => "the client has an older version, and the server has not sent the newest one",
            false => "the client has the resource, and the server has not sent it again",
        };
        let asked = format!("#{} at {}", waits.requests.last.0, common.time_of_day(waits.requested));
        add("again", &format!("{}: {text} since the request {asked}", waited(common, &waits)));
    } else if let Some(waits) = missing {
        add("since", &format!("{}: no resource of this name was sent", waited(common, &waits)));
        if fact.state == ResourceState::Absent {
            let text = match subscribed.fact.variant.is_delta() {
                true => {
                    "--resource-timeout passed, and the server did not say that the resource does not exist"
                }
                false => {
                    "--resource-timeout passed. State of the world cannot report a missing resource: the client gives up"
                }
            };
            add("timer", text);
        }
    }
    if let Some(why) = &screen.why {
        add("perhaps", why);
    }
    if let Some((n, at)) = fact.unclassified {
        let text = "unsubscribed under the wildcard. The server owes the resource again, or its removal";
        add("pending", &format!("reclassification since #{} at {}: {text}", n.0, common.time_of_day(at)));
    }
    if let Some(error) = &fact.error {
        add("error", &format!("#{} {}", error.n.0, report::resource_error(error)));
    }
    let ttl_left = if common.clock.untimed { None } else { report::ttl_left(fact) };
    let ttl: Vec<String> = [ttl_left, report::ttl_history(fact)].into_iter().flatten().collect();
    if !ttl.is_empty() {
        add("ttl", &ttl.join("; "));
    }
    if *fact.name != *row.name {
        add("alias of", shown_name(&fact.name));
    }
    for (label, text) in &screen.alternatives {
        add(label, text);
    }
    if !fact.aliases.is_empty() {
        add("aliases", &report::listed_names(&fact.aliases, 0));
    }
    if let Some(versions) = versions(fact)
        && (missing.is_none() || fact.owed_again.is_some())
    {
        add("version", &versions);
    }
    lines
}

/// The request for a name; `None` for a name that was unsubscribed under a wildcard.
fn asked_by(row: &NameRow, subscribed: &SubscribedType, common: &Common) -> Option<String> {
    let label = type_label(subscribed.fact.type_url.as_str());
    let missing = row.waits.filter(|waits| !waits.has_resource);
    Some(match (missing, row.asked) {
        (Some(waits), _) => {
            let again = match waits.requests.count {
                1 => String::new(),
                n => format!(", {n} times, last by #{}", waits.requests.last.0),
            };
            format!(
                "#{} {label} request at {}{again}",
                waits.requests.first.0,
                common.time_of_day(waits.requested)
            )
        }
        (None, Some((n, at))) => format!("#{} {label} request at {}", n.0, common.time_of_day(at)),
        (None, None) if row.fact.as_ref().is_some_and(|fact| fact.unclassified.is_some()) => return None,
        (None, None) if subscribed.wildcard != Wildcard::None => "the wildcard, not by name".to_owned(),
        (None, None) => "a request that was not recorded".to_owned(),
    })
}

/// The versions of a resource that was sent: `2 sent, 1 accepted`.
fn versions(fact: &ResourceFact) -> Option<String> {
    if matches!(fact.state, ResourceState::Absent | ResourceState::Waiting) {
        return None;
    }
    let worded = |version: &str| if version.is_empty() { "(no version)" } else { version }.to_owned();
    let accepted = fact.acked_version.as_deref();
    let accepted = accepted.map_or("nothing accepted".to_owned(), |v| format!("{} accepted", worded(v)));
    Some(format!("{} sent, {accepted}", worded(fact.version.as_deref()?)))
}
