//! NACKs drawn: the list of groups, and the card of the selected one.

use ratatui::layout::Position;

use super::{NackGroup, NackScreen, parts, side_by_side};
use crate::engine::nack::{Extracted, InUse, RefusedResource};
use crate::engine::store::Verdict;
use crate::present::nack_effect::nack_effect_text;
use crate::present::partial_use::partial_use_text;
use crate::present::report::{self, Role};
use crate::tui::common::{Common, Pane, Scope};
use crate::tui::widgets::canvas::{Canvas, Span, StyledLine, plain, span};
use crate::tui::widgets::layout::{self, Layout};
use crate::tui::widgets::table::{self, Column, Cut, column};
use crate::wire::text::{
    count, display_safe, latency, plural, time_of_day, time_of_day_secs, type_label, wrap,
};

use crate::tui::widgets::text::{bounded, field};

/// Warming resources on a card.
const MAX_SHOWN_WARMING: usize = 3;

fn columns(narrow: bool) -> [Column; 8] {
    [
        column("NODE", 10, 24, Cut::Name, 0),
        column("TYPE", 4, 16, Cut::Name, 0),
        column("VER", 3, 24, Cut::Tail, 0),
        column("×", 1, 6, Cut::Head, 0),
        column("FIRST", 5, if narrow { 0 } else { 12 }, Cut::Head, 0),
        column("LAST", 5, 12, Cut::Head, 0),
        column("IN FORCE", 8, 24, Cut::Tail, 0),
        column("ERROR", 20, 120, Cut::Head, 0),
    ]
}

/// The cells of a group, in the order of the columns.
pub(super) fn nack_row(common: &Common, group: &NackGroup) -> Vec<Span> {
    let time = |at| time_of_day_secs(at, common.clock, &common.zone);
    let first = group.nacks.first().map(|nack| time(nack.at)).unwrap_or_default();
    let (last, text) =
        group.last().map_or_else(Default::default, |nack| (time(nack.at), brief(&nack.message)));
    let node = group.node.as_deref().map_or_else(|| format!("#{}", group.stream.0), str::to_owned);
    let in_force = if group.kept.is_empty() { "-" } else { &group.kept };
    let version = group.last().map(report::refused_version).unwrap_or_default();
    vec![
        plain(node),
        plain(type_label(group.type_url.as_str())),
        plain(if version.is_empty() { "-".to_owned() } else { version }),
        span(count(group.nacks.len() as u64), if group.nacks.len() > 1 { Role::Bad } else { Role::Plain }),
        plain(first),
        plain(last),
        match group.is_mended {
            true => span(format!("{in_force} fixed"), Role::Ok),
            false => span(in_force, Role::Plain),
        },
        span(text, if group.is_mended { Role::Muted } else { Role::Bad }),
    ]
}

/// An error text without the words that every such text begins with.
fn brief(text: &str) -> String {
    let text = text.trim();
    let heads = ["Error adding/updating ", "xDS response validation errors: ", "error parsing "];
    let text = heads.iter().find_map(|head| text.strip_prefix(head)).unwrap_or(text);
    let end = text.char_indices().nth(200).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn summary(screen: &NackScreen) -> String {
    let groups = &screen.groups;
    let mut streams: Vec<_> = groups.iter().map(|group| group.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    let open = groups.iter().filter(|group| group.is_open).count() as u64;
    let all = plural(groups.len() as u64, "refusal");
    format!("{all} in {}, {} open", plural(streams.len() as u64, "stream"), count(open))
}

pub(super) fn draw(
    screen: &NackScreen,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    if screen.groups.is_empty() {
        let text = match common.filter {
            Some(_) => "   no refusal matches; Esc clears the filter",
            None if common.scope != Scope::default() => {
                "   nothing was refused in this scope; 1 shows all streams, T all types"
            }
            None => "   nothing was refused: every answer so far is an ACK",
        };
        canvas.text(layout::split(layout.body, 1).1, text, Role::Muted);
        return None;
    }
    let (list, card) = parts(screen, common, layout);
    let mut cursor = None;
    if !list.is_empty() {
        let height = usize::from(list.height.saturating_sub(1));
        let rows: Vec<StyledLine> =
            screen.groups.iter().skip(screen.top).take(height).map(|group| nack_row(common, group)).collect();
        let selected = screen.position().and_then(|at| at.checked_sub(screen.top));
        let at = table::draw(canvas, list, &columns(layout.narrow), &rows, selected);
        cursor = at.map(|y| Position { x: list.x, y });
    }
    let (title, rest) = layout::split(card, 1);
    let lines = card_lines(screen, common, usize::from(rest.width));
    let name = screen.group().map(|group| {
        let node = group.node.as_deref().map_or_else(|| format!("#{}", group.stream.0), str::to_owned);
        let version = group.last().map(report::refused_version).unwrap_or_default();
        format!("{node} {} {version}", type_label(group.type_url.as_str()))
    });
    let hidden = lines.len().saturating_sub(screen.scroll + usize::from(rest.height));
    let remark = match (hidden, screen.group().and_then(NackGroup::last)) {
        (n, _) if n > 0 => common.lines_below(n),
        (_, Some(nack)) => format!("{} ({})", nack.code, nack.code.0),
        (_, None) => String::new(),
    };
    canvas.rule(title, &common.pane_title(name.unwrap_or_default()), &remark);
    canvas.lines(rest, &lines, screen.scroll);
    if common.pane == Pane::Second || common.is_full_screen {
        cursor = Some(Position { x: card.x, y: card.y });
    }
    cursor
}

/// The lines about the selected group.
pub(super) fn card_lines(screen: &NackScreen, common: &Common, width: usize) -> Vec<StyledLine> {
    let (Some(group), card) = (screen.group(), &screen.card) else { return Vec::new() };
    let Some(last) = group.last() else { return Vec::new() };
    let mut lines: Vec<StyledLine> = Vec::new();
    let text = match (last.implied, last.message.trim_end()) {
        (true, _) => {
            "(refused by its version alone: without error_detail, current servers do not see a NACK)"
        }
        (false, "") => "(the client gave no reason)",
        (false, text) => text,
    };
    let (head, more) = bounded(text);
    for part in head.split('\n') {
        lines.extend(
            wrap(&display_safe(part), width.saturating_sub(2))
                .into_iter()
                .map(|line| vec![span(format!(" {line}"), Role::Bad)]),
        );
    }
    lines.extend(more.map(|more| vec![span(format!(" {more}"), Role::Muted)]));
    lines.push(vec![]);
    let mut add = |label: &str, value: &str, role| {
        lines.extend(field(&format!(" {:<9} ", label), value, role, width));
    };
    for entry in &card.nack.entries {
        match &entry.name {
            Some(name) => {
                add("resource", &found(name, "named in the text", "guessed from the push"), role(name))
            }
            None => add("resource", "not named in the text", Role::Muted),
        }
        match &entry.field {
            Some(path) => add("field", &found(path, "from the text", "guessed from the content"), role(path)),
            None => add("field", "not named in the text", Role::Muted),
        }
        if card.nack.entries.len() > 1 || entry.reason.trim() != text.trim() {
            add("why", &entry.reason, Role::Plain);
        }
    }
    for subject in &card.subjects {
        for rule in &subject.rules {
            add("rule", &format!("{rule}   of {}, by the descriptors", first_field(subject)), Role::Plain);
        }
    }
    for effect in &card.effects {
        let role = match effect.in_use {
            InUse::Nothing => Role::Bad,
            InUse::Earlier(_) | InUse::Unknown => Role::Plain,
            InUse::Later => Role::Muted,
        };
        add("effect", &nack_effect_text(effect), role);
    }
    for subject in &card.subjects {
        for text in report::broken_constraints(&subject.broken) {
            let of =
                if card.subjects.len() > 1 { format!("   of {}", subject.name.value) } else { String::new() };
            add("breaks", &format!("{text}{of}"), Role::Warn);
        }
    }
    for comparison in &screen.comparisons {
        lines.push(vec![]);
        lines.extend(side_by_side::bodies(common.theme, comparison, screen.is_unfolded, width));
    }
    lines.push(vec![]);
    lines.extend(history(screen, common, group, width));
    lines
}

fn first_field(subject: &RefusedResource) -> &str {
    let path = subject.faults.first().map_or("", |(field, _)| field.value.as_str());
    path.rsplit('.').next().unwrap_or(path)
}

fn role(found: &Extracted) -> Role {
    if found.guessed { Role::Warn } else { Role::Plain }
}

fn found(found: &Extracted, stated: &str, guessed: &str) -> String {
    match found.guessed {
        false => format!("{}   {stated}", found.value),
        true => format!("{} ?   {guessed}", found.value),
    }
}

/// The last good version, repeats, the rest of the push, and the recovery.
fn history(screen: &NackScreen, common: &Common, group: &NackGroup, width: usize) -> Vec<StyledLine> {
    let card = &screen.card;
    let mut lines = Vec::new();
    let mut add = |label: &str, value: &str, role| {
        lines.extend(field(&format!(" {label:<9} "), value, role, width));
    };
    for subject in &card.subjects {
        let (text, role) = last_good(common, group, subject);
        add("last good", &text, role);
    }
    let numbers = |list: Vec<u64>| list.iter().map(|n| format!("#{n}")).collect::<Vec<_>>().join(" ");
    let pushes = numbers(group.nacks.iter().filter_map(|nack| nack.refused).map(|n| n.0).collect());
    let refusals = numbers(group.nacks.iter().map(|nack| nack.n.0).collect());
    add("messages", &format!("pushed {pushes}   refused {refusals}"), Role::Plain);
    if let Some(text) = group.nacks.iter().rev().find_map(report::other_refusal) {
        add("or", &text, Role::Warn);
    }
    if group.nacks.len() > 1 {
        add("loop", &repeats(screen, group), Role::Warn);
    }
    if let Some(pushed) = card.pushed {
        let others = card.others.filter(|others| *others > 0);
        let others = others.map(|n| format!("; the text does not mention the other {}", count(n)));
        add("push", &format!("{}{}", plural(pushed, "resource"), others.unwrap_or_default()), Role::Plain);
    }
    if let Some(partial_use) = card.partial_use {
        add("partly", partial_use_text(partial_use, card.is_delta), Role::Warn);
    }
    for warming in screen.warming.iter().take(MAX_SHOWN_WARMING) {
        let now = (!common.clock.untimed).then_some(common.now);
        add("warming", &display_safe(&report::warming(warming, now)), Role::Warn);
    }
    let (text, role) = recovery(screen, common, group);
    add("recovery", &text, role);
    lines
}

/// The last good version of a resource, and its acknowledgement.
fn last_good(common: &Common, group: &NackGroup, subject: &RefusedResource) -> (String, Role) {
    let name = &subject.name.value;
    let Some((version, _)) = &subject.good else {
        let stated = group.in_force.as_deref().filter(|version| !version.is_empty());
        let text = match stated {
            Some(version) => format!("not seen: the client has version {version} from before"),
            None => format!("none: no ACK of {name} was seen"),
        };
        return (text, Role::Muted);
    };
    let by = version.verdict.filter(|by| by.verdict == Verdict::Accepted);
    let by = by.map(|by| format!(", acked {} (#{})", time_of_day(by.at, common.clock, &common.zone), by.n.0));
    let on = subject.good_stream.map(|stream| format!(" on the earlier stream #{}", stream.0));
    (format!("{name} {}{}{}", version.version, by.unwrap_or_default(), on.unwrap_or_default()), Role::Ok)
}

/// The number of refusals, the time between them, and what the server does about them.
fn repeats(screen: &NackScreen, group: &NackGroup) -> String {
    let card = &screen.card;
    let gaps: Vec<String> = card.gaps.iter().take(12).map(|gap| latency(*gap)).collect();
    let gaps = if gaps.is_empty() { String::new() } else { format!(", {} apart", gaps.join(" ")) };
    let error = if card.same_error { "error identical" } else { "errors differ" };
    let server = match card.same_push {
        Some(true) => "The server re-sends what was refused.",
        Some(false) => "The server changed something in between.",
        None => "",
    };
    let times = count(group.nacks.len() as u64);
    format!("refused {times} times{gaps}, {error}. {server}").trim_end().to_owned()
}

/// The ACK that ended the refusals, or the version in force while there is none.
fn recovery(screen: &NackScreen, common: &Common, group: &NackGroup) -> (String, Role) {
    if let Some(fact) = &screen.card.recovery {
        let at = time_of_day(fact.at, common.clock, &common.zone);
        let version = if fact.version.is_empty() { String::new() } else { format!(" of {}", fact.version) };
        return (format!("ACK{version} by #{} at {at}", fact.n.0), Role::Ok);
    }
    if group.is_mended {
        return ("a later version was accepted".to_owned(), Role::Ok);
    }
    if !group.is_open {
        return ("over: the client gave up the refused resources".to_owned(), Role::Muted);
    }
    (format!("none yet; {}", in_use(screen, group)), Role::Bad)
}

/// The version that the client uses; on a delta stream, of the resource at fault.
fn in_use(screen: &NackScreen, group: &NackGroup) -> String {
    if let Some(version) = group.in_force.as_deref().filter(|version| !version.is_empty()) {
        return format!("{version} is in force");
    }
    let effects = || screen.card.effects.iter();
    let earlier = effects().find_map(|effect| match &effect.in_use {
        InUse::Earlier(version) => Some((effect.name.as_deref().unwrap_or_default(), version)),
        _ => None,
    });
    match earlier {
        Some((name, version)) => format!("{name} {version} is in force").trim_start().to_owned(),
        None if effects().any(|effect| effect.in_use == InUse::Unknown) => {
            "what is in force was not recorded".to_owned()
        }
        None => "nothing is in force on this stream".to_owned(),
    }
}
