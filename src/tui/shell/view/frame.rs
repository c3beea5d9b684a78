//! The lines around every screen: source and mode, tabs, scope, notice, keys.

use std::collections::HashSet;

use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::engine::store::TypeState;
use crate::present::report::{self, Role, severity};
use crate::tui::data::Mode;
use crate::tui::input::command::Command;
use crate::tui::input::keymap;
use crate::tui::shell::client_action::{Ask, ClientAction};
use crate::tui::shell::find;
use crate::tui::shell::model::{Model, Overlay, Screen};
use crate::tui::widgets::canvas::{Canvas, Line, plain, span};
use crate::tui::widgets::layout::Layout;
use crate::tui::widgets::theme;
use crate::wire::text::{self, count, size, time_of_day_secs, type_label};

/// Lines of a notice, at most.
const NOTICE: usize = 5;

pub fn head(model: &Model, canvas: &mut Canvas, layout: &Layout) {
    let [first, second, third] = layout.head;
    source(model, canvas, layout, first);
    let tabs: Line = Screen::ALL
        .into_iter()
        .map(|screen| {
            let refused = model.problems.iter().filter(|problem| problem.state == TypeState::Nack).count();
            let many = match screen {
                Screen::Nack => refused,
                Screen::Lint => model.lint.total,
                _ => 0,
            };
            let many = if many > 0 { format!(" {}", count(many as u64)) } else { String::new() };
            let title = if layout.narrow { screen.short() } else { screen.title() };
            let name = format!("{} {title}{many}", screen.number());
            match screen == model.screen {
                true => span(format!("[{name}]"), Role::Title),
                false => plain(format!(" {name} ")),
            }
        })
        .collect();
    canvas.line(second, &tabs);
    let right = summary(model, layout);
    let room = usize::from(third.width).saturating_sub(text::width(&right) + 2);
    let mut left = scope(model, layout);
    // That nothing is filtered is the first thing to go.
    let fits = left.iter().map(|span| text::width(&span.text)).sum::<usize>() <= room;
    if model.filter.is_none() && !fits {
        left.truncate(3);
    }
    canvas.line(Rect { width: u16::try_from(room).unwrap_or(third.width), ..third }, &left);
    canvas.right(Rect { width: third.width - 1, ..third }, &right, Role::Muted);
    if !layout.low {
        canvas.rule(Rect { y: third.y + 1, ..third }, "", "");
    }
}

fn source(model: &Model, canvas: &mut Canvas, layout: &Layout, area: Rect) {
    let info = &model.info;
    let mut right: Line = Vec::new();
    let mode = match info.mode {
        Mode::Disconnected => Role::Bad,
        Mode::Live => Role::Ok,
        Mode::Replay => Role::Pending,
    };
    match model.paused {
        Some(_) => right.push(span("|| PAUSED (Space)  ", Role::Warn)),
        None if info.bar.as_ref().is_some_and(|bar| bar.rewound) => {
            right.push(span("REWOUND (f live)  ", Role::Warn));
        }
        None => right.push(span(format!("{}  ", info.mode.word()), mode)),
    }
    let rewound = info.bar.as_ref().is_some_and(|bar| bar.rewound);
    if info.following {
        // Its end is not written yet, so it is not whole either.
        right.push(span("FOLLOWING (:notice)  ", Role::Ok));
    } else if info.mode == Mode::Replay && info.notice.is_some() && !rewound {
        right.push(span("INCOMPLETE (:notice)  ", Role::Warn));
    }
    if let Some(bar) = &info.bar {
        right.push(plain(format!("#{} of {}  ", count(bar.message), count(bar.messages))));
        if bar.before > 0 {
            right.push(span(format!("{} beyond --memory  ", count(bar.before)), Role::Warn));
        }
    }
    if let Some((_, bytes)) = &info.recording {
        let rec = if layout.narrow { "REC  ".to_owned() } else { format!("REC {}  ", size(*bytes)) };
        right.push(plain(rec));
    }
    if let Some(name) = &info.named {
        let name = text::cut(name, 16, text::Keep::Tail, canvas.glyphs().cut).into_owned();
        right.push(span(format!("{name} (r ends)  "), Role::Warn));
    }
    if info.dropped > 0 {
        right.push(span(format!("{} lost  ", count(info.dropped)), Role::Bad));
    }
    match model.urgent() {
        0 => {}
        n if layout.narrow => right.push(span(format!("! {n}  "), Role::Warn)),
        1 => right.push(span("! 1 problem  ", Role::Warn)),
        n => right.push(span(format!("! {} problems  ", count(n as u64)), Role::Warn)),
    }
    if info.bar.is_none() {
        right.push(plain(time_of_day_secs(model.now, model.clock, &model.zone)));
    }
    let width: usize = right.iter().map(|span| text::width(&span.text)).sum();
    let at = area.width.saturating_sub(u16::try_from(width + 1).unwrap_or(area.width));
    let name = if layout.narrow { " " } else { " xdscope  " };
    let left = [span(name, Role::Title), plain(info.source.as_str())];
    canvas.line(Rect { width: at.saturating_sub(1), ..area }, &left);
    canvas.line(Rect { x: area.x + at, width: area.width - at, ..area }, &right);
}

fn scope(model: &Model, layout: &Layout) -> Line {
    let dot = model.theme.glyphs().dot;
    let mut stream = match model.scope.stream {
        None => "all streams".to_owned(),
        Some(stream) => {
            let node = node_of(model, stream);
            node.map_or_else(|| format!("#{}", stream.0), |node| format!("{node} #{}", stream.0))
        }
    };
    if layout.narrow {
        stream = text::cut_name(&text::display_safe(&stream), 30, model.theme.glyphs().cut).into_owned();
    }
    let types = model.scope.type_url.as_ref();
    let types = types.map_or("all types".to_owned(), |url| type_label(url.as_str()));
    let word = if layout.narrow { " " } else { " scope " };
    let narrowed = model.scope.type_url.is_some();
    let mut line = vec![
        span(word, Role::Muted),
        plain(format!("{stream} {dot} ")),
        span(types, if narrowed { Role::Warn } else { Role::Plain }),
    ];
    match &model.filter {
        Some(filter) => {
            line.push(span("     filter ", Role::Muted));
            line.push(span(filter.text.as_str(), Role::Warn));
            line.push(span("  (Esc clears)", Role::Muted));
        }
        None if !layout.narrow => line.push(span("     filter none", Role::Muted)),
        None => {}
    }
    line
}

/// The node of a stream, from whatever has been loaded.
pub fn node_of(model: &Model, stream: crate::wire::event::StreamId) -> Option<String> {
    let rows = model.overview.table.rows.iter();
    let row = rows.flat_map(|row| row.streams.iter().map(move |s| (s.stream, &row.name)));
    let row = row.filter(|(id, _)| *id == stream).map(|(_, name)| name.clone()).next();
    row.or_else(|| model.stream.fact().filter(|fact| fact.stream == stream).map(report::node_name))
        .filter(|name| !name.starts_with('#'))
}

fn summary(model: &Model, layout: &Layout) -> String {
    let dot = model.theme.glyphs().dot;
    match model.screen {
        Screen::Overview => {
            let table = &model.overview.table;
            let shown = table.rows.len() + table.folded;
            if layout.narrow {
                return text::plural(shown as u64, "node");
            }
            let (shown, nodes) = (count(shown as u64), text::plural(table.nodes as u64, "node"));
            let streams = text::plural(table.streams as u64, "stream");
            format!("{shown} of {nodes} {dot} {streams} {dot} {}", model.sorts.of(Screen::Overview).word())
        }
        Screen::Stream => {
            let states = &model.stream.states;
            let mut parts = vec![text::plural(states.len() as u64, "type")];
            let mut kinds: Vec<_> = states.iter().map(|state| state.state).collect();
            kinds.sort_by_key(|state| severity(*state));
            kinds.dedup();
            for kind in kinds.into_iter().filter(|kind| severity(*kind) < severity(TypeState::Synced)) {
                let n = states.iter().filter(|state| state.state == kind).count();
                parts.push(format!("{n} {}", theme::state(kind, model.theme.glyphs()).1));
            }
            parts.join(", ")
        }
        Screen::Diff => crate::tui::screens::diff::view::diff_summary(model),
        Screen::Resources => crate::tui::screens::resources::view::summary(model),
        Screen::Nack => crate::tui::screens::nack::view::summary(model),
        Screen::Subs => crate::tui::screens::subscriptions::view::summary(model),
        Screen::Graph => crate::tui::screens::graph::view::summary(model),
        Screen::Lint => crate::tui::screens::lint::view::summary(model),
        Screen::Timeline => {
            let index = &model.timeline.index;
            let rows = model.timeline.total();
            let new = match model.timeline.new_below() {
                n if n > 0 && layout.low => {
                    format!("{} {} new (f) {dot} ", model.theme.glyphs().down, count(n as u64))
                }
                _ => String::new(),
            };
            if index.complete() {
                return format!("{new}{} of {} messages", count(index.len() as u64), count(rows as u64));
            }
            let percent = index.searched() * 100 / rows.max(1);
            format!("{} of {} messages, searched {percent}%", count(index.len() as u64), count(rows as u64))
        }
    }
}

/// What the notice line says while nothing has happened.
fn hint(model: &Model) -> String {
    let dot = model.theme.glyphs().dot;
    if model.info.bar.is_some() {
        return crate::tui::shell::view::bar::legend();
    }
    match model.screen {
        Screen::Overview => match &model.info.recording {
            Some((name, _)) => format!("recording to {name} {dot} dropped {}", count(model.info.dropped)),
            None => "not recording".to_owned(),
        },
        Screen::Stream => {
            "IN FORCE is the version last acknowledged; OFFERED is the newest version pushed to it".to_owned()
        }
        Screen::Diff => crate::tui::screens::diff::view::diff_hint(model),
        Screen::Resources => crate::tui::screens::resources::view::hint(model),
        Screen::Nack => "resource and field are read out of the client's words; ? marks a guess".to_owned(),
        Screen::Subs => "missing: asked for and not sent within --resource-timeout".to_owned(),
        Screen::Graph => {
            "what the client should have at this moment, from messages seen on its streams".to_owned()
        }
        Screen::Lint => crate::tui::screens::lint::view::hint(model),
        Screen::Timeline if model.timeline.follow => format!("following the newest {dot} k or f to stay"),
        Screen::Timeline => {
            let new = count(model.timeline.new_below() as u64);
            format!("not following: {new} new below {dot} f to follow")
        }
    }
}

/// Notice and keys. Returns the place of the cursor if a prompt is open here.
pub fn foot(model: &Model, canvas: &mut Canvas, layout: &Layout) -> Option<Position> {
    let keys = layout.keys;
    if let (Some(area), Some(bar)) = (layout.bar, &model.info.bar) {
        crate::tui::shell::view::bar::draw(model, canvas, area, bar);
    } else if let Some(notice) = layout.notice {
        canvas.rule(Rect { y: notice.y - 1, ..notice }, "", "");
    }
    let line = layout.notice.unwrap_or(keys);
    let mut cursor = None;
    let said = match model.overlays.last() {
        Some(Overlay::Filter { input, error, .. }) => {
            cursor = Some(filter_prompt(canvas, line, input, error.as_ref()));
            true
        }
        Some(Overlay::Find { input }) => {
            cursor = Some(filter_prompt(canvas, line, input, None));
            true
        }
        Some(Overlay::Record { input }) => {
            cursor = Some(name_prompt(canvas, line, input));
            true
        }
        Some(Overlay::Tell { ask, input, wrong }) => {
            cursor = Some(tell_prompt(canvas, line, ask, input, wrong.as_deref()));
            true
        }
        Some(Overlay::ConfirmTell(tells)) => {
            let words: Vec<String> = tells.iter().map(ClientAction::words).collect();
            let words = text::display_safe(&words.join(", ")).into_owned();
            let room = usize::from(line.width).saturating_sub(18);
            let words = text::cut(&words, room, text::Keep::Head, canvas.glyphs().cut);
            canvas.text(line, &format!(" {words}?  y send  n not"), Role::Warn);
            true
        }
        Some(Overlay::Sort) => {
            let text = " sort: 1 problems first  2 by name  3 newest first";
            canvas.text(line, text, Role::Warn);
            true
        }
        Some(Overlay::ConfirmQuit) => {
            let clients = text::plural(model.info.clients, "client");
            let question =
                format!(" {clients} connected through this: quitting ends the streams.  y quit  n stay");
            canvas.text(line, &question, Role::Warn);
            true
        }
        Some(Overlay::Mark { go }) => {
            let question = if *go { " go to the mark: a letter" } else { " mark this moment: a letter" };
            canvas.text(line, question, Role::Warn);
            true
        }
        _ => match &model.notice {
            Some(notice) => {
                // On a low terminal over the end of the screen: what the keys are, one must see.
                let over = if layout.notice.is_none() { 1 + u16::from(layout.bar.is_some()) } else { 0 };
                said_above(canvas, Rect { y: line.y.saturating_sub(over), ..line }, notice);
                false
            }
            None => {
                if layout.notice.is_some() {
                    canvas.line(line, &[span(format!(" {}", hint(model)), Role::Muted)]);
                }
                false
            }
        },
    };
    if layout.notice.is_some() || !said {
        footer(model, canvas, keys);
    }
    cursor
}

/// A notice; a long one takes the lines above its own too.
fn said_above(canvas: &mut Canvas, area: Rect, notice: &str) {
    let safe = text::display_safe(notice);
    let lines = text::wrap(&safe, usize::from(area.width).saturating_sub(2));
    let more = u16::try_from(lines.len().min(NOTICE).saturating_sub(1)).unwrap_or(0).min(area.y);
    let area = Rect { y: area.y - more, height: more + 1, ..area };
    for (row, line) in area.rows().zip(&lines) {
        canvas.text(row, &" ".repeat(usize::from(row.width)), Role::Plain);
        canvas.line(row, &[plain(format!(" {line}"))]);
    }
}

/// What the client is to be told, as it is typed.
fn tell_prompt(canvas: &mut Canvas, area: Rect, ask: &Ask, input: &str, wrong: Option<&str>) -> Position {
    let (lead, about) = match ask {
        Ask::Subscription => (" S! ".to_owned(), "eds/NAME adds, -eds/NAME drops, cds/* all"),
        Ask::Refusal { type_url, nonce } => (
            format!(" B! NACK {} {}: ", text::type_label(type_url.as_str()), text::display_safe(nonce)),
            "the text of it",
        ),
    };
    let start = canvas.text(area, &lead, Role::Key);
    let room = Rect { x: start, width: area.right().saturating_sub(start), ..area };
    let safe = text::display_safe(input);
    let keep = usize::from(room.width).saturating_sub(2);
    let shown = text::cut(&safe, keep, text::Keep::Tail, canvas.glyphs().cut);
    let end = canvas.text(room, &shown, Role::Plain).max(room.x);
    let beside = Rect { x: (end + 2).min(room.right()), ..room };
    let beside = Rect { width: room.right().saturating_sub(beside.x), ..beside };
    match wrong {
        Some(wrong) => canvas.text(beside, &text::display_safe(wrong), Role::Bad),
        None => canvas.text(beside, about, Role::Muted),
    };
    Position { x: end.min(area.right().saturating_sub(1)), y: area.y }
}

/// The file that is recorded to, as it is typed.
fn name_prompt(canvas: &mut Canvas, area: Rect, input: &str) -> Position {
    let start = canvas.text(area, " record from here on to the file: ", Role::Key);
    let room = Rect { x: start, width: area.right().saturating_sub(start), ..area };
    let safe = text::display_safe(input);
    let keep = usize::from(room.width).saturating_sub(2);
    let shown = text::cut(&safe, keep, text::Keep::Tail, canvas.glyphs().cut);
    let end = canvas.text(room, &shown, Role::Plain).max(room.x);
    Position { x: end.min(area.right().saturating_sub(1)), y: area.y }
}

/// `/ expression`, underlined from where it breaks, the reason beside it.
fn filter_prompt(
    canvas: &mut Canvas,
    area: Rect,
    input: &str,
    error: Option<&crate::engine::filter::FilterError>,
) -> Position {
    let start = canvas.text(area, " / ", Role::Key);
    let room = Rect { x: start, width: area.right().saturating_sub(start), ..area };
    // A long expression shows its end, where the typing is.
    let safe = text::display_safe(input);
    let keep = usize::from(room.width).saturating_sub(2);
    let shown = text::cut(&safe, keep, text::Keep::Tail, canvas.glyphs().cut);
    let end = canvas.text(room, &shown, Role::Plain).max(room.x);
    if let Some(error) = error {
        let broken = input.get(error.at..).unwrap_or("");
        let width = u16::try_from(text::width(&text::display_safe(broken))).unwrap_or(u16::MAX).max(1);
        let x = end.saturating_sub(width).max(room.x);
        let mark = Rect { x, width: (end - x).max(1), ..room }.intersection(canvas.buf.area);
        canvas.buf.set_style(mark, canvas.theme.style(Role::Bad).add_modifier(Modifier::UNDERLINED));
        let beside = Rect { x: (end + 2).min(room.right()), ..room };
        let beside = Rect { width: room.right().saturating_sub(beside.x), ..beside };
        canvas.line(
            beside,
            &[span(format!("not read at column {}: {}", error.at + 1, error.reason), Role::Bad)],
        );
    }
    Position { x: end.min(area.right().saturating_sub(1)), y: area.y }
}

/// What works here and now, from the key map. Too many: those in the middle go, help and quit stay.
fn footer(model: &Model, canvas: &mut Canvas, area: Rect) {
    let mut named = HashSet::new();
    let told = model.info.client && model.info.bar.is_none();
    let wide = area.width >= 100;
    let mut items: Vec<(String, &str)> = model
        .contexts()
        .into_iter()
        .flat_map(|context| model.keys.of(context))
        .filter(|binding| named.insert(binding.key) && binding.footer)
        .filter(|binding| told || !binding.command.is_wire())
        .filter(|binding| wide || binding.command != Command::Record)
        .map(|binding| {
            let key = keymap::shown_key(binding.key, canvas.glyphs());
            let key = if binding.command.is_wire() { format!("{key}!") } else { key.to_owned() };
            (key, label(model, binding.command))
        })
        .collect();
    let width = |items: &[(String, &str)]| {
        items.iter().map(|(key, label)| text::width(key) + text::width(label) + 3).sum::<usize>()
    };
    while width(&items) > usize::from(area.width) && items.len() > 3 {
        items.remove(items.len() - 4);
    }
    let line: Line = items
        .into_iter()
        .flat_map(|(key, label)| [span(format!(" {key}"), Role::Key), plain(format!(" {label} "))])
        .collect();
    canvas.line(area, &line);
}

/// The footer's word for a command as things stand.
fn label(model: &Model, command: Command) -> &'static str {
    match command {
        Command::Filter if find::in_text(model) => "find",
        Command::Quit if model.whole || !model.steps.is_empty() => "back",
        Command::Pause if model.paused.is_some() => "go on",
        Command::Pause if model.info.bar.as_ref().is_some_and(|bar| !bar.playing) => "play",
        Command::Ladder if model.timeline.ladder => "list",
        Command::Follow if model.timeline.follow => "stay",
        command => command.label(),
    }
}
