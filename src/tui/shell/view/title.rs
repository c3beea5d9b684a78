//! The lines above a screen: source and mode, verdict, tabs, scope.

use ratatui::layout::Rect;

use crate::data::Mode;
use crate::input::command::Command;
use crate::input::keymap;
use crate::input::screen_id::ScreenId;
use crate::screens::shared::delay_words;
use crate::shell::model::Model;
use crate::widgets::canvas::{Canvas, StyledLine, line_width, plain, span};
use crate::widgets::layout::Layout;
use crate::widgets::theme;
use xdscope_present::hold::hold_time;
use xdscope_present::report::{self, Role};
use xdscope_present::text::{Keep, cut, cut_name, width};
use xdscope_wire::text::{self, count, plural, size, type_label};

pub(super) fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout) {
    let [first, second, third, fourth] = layout.head;
    source(model, canvas, layout, first);
    verdict(model, canvas, second);
    canvas.line(third, &tabs(model, layout));
    let mut right = model.active().summary(&model.common, layout);
    if model.common.filter.is_some() && model.common.filter_on(model.screen).is_none() {
        // The words about the filter need the room.
        right.clear();
    }
    let most = usize::from(fourth.width).saturating_sub(MIN_NODE_WIDTH + 8);
    let right = cut(&right, most, Keep::Head, canvas.glyphs().cut);
    let room = usize::from(fourth.width).saturating_sub(width(&right) + 8);
    let left = scope(model, layout, room);
    canvas.rule(fourth, "", "");
    let used = u16::try_from(line_width(&left).min(room) + 2).unwrap_or(fourth.width);
    let scope_area = Rect { x: fourth.x + 2, width: used.min(fourth.width - 2), ..fourth };
    canvas.clear(scope_area);
    canvas.line(Rect { x: scope_area.x + 1, width: scope_area.width - 1, ..scope_area }, &left);
    if !right.is_empty() {
        canvas.right(Rect { width: fourth.width - 2, ..fourth }, &format!(" {right} "), Role::Muted);
    }
}

/// Draws the verdict about the source: its worst problem, or that there is none.
fn verdict(model: &Model, canvas: &mut Canvas, area: Rect) {
    let (common, glyphs) = (&model.common, canvas.glyphs());
    let mut verdict = report::verdict(&common.problems.all, &common.census, &common.clock, common.now);
    let mut symbol = match verdict.problem.and_then(|at| common.problems.all.get(at)) {
        Some(problem) => theme::problem_symbol(problem, glyphs),
        None if verdict.role == Role::Ok => glyphs.ok,
        None => "-",
    };
    let mut keep = Keep::Reason;
    if common.info.mode == Mode::Disconnected
        && common.problems.count() == 0
        && let Some(why) = &common.info.notice
    {
        (symbol, verdict.text, verdict.role) = ("!", text::display_safe(why).into_owned(), Role::Bad);
        verdict.shorter.clear();
        // The cause of a failed connection stands before the next attempt.
        keep = Keep::Head;
    }
    if common.info.is_opening() {
        let read = common.info.read_percent.map(|percent| format!(": {percent}%")).unwrap_or_default();
        symbol = glyphs.reading;
        verdict.text = match common.problems.count() {
            0 => format!("reading{read}; no problem in what has been read"),
            _ => format!("reading{read}; so far {}", verdict.text),
        };
        verdict.role = if common.problems.count() == 0 { Role::Muted } else { verdict.role };
    }
    let key = model.keys.key_of(Command::NextProblem).map_or("", |key| keymap::shown_key(key, glyphs));
    let right = match verdict.more {
        0 => String::new(),
        more => format!("+{} more  ", count(more as u64)),
    };
    let key = if common.problems.count() > 0 { key } else { "" };
    let used = u16::try_from(width(&right) + width(key) + 2).unwrap_or(area.width);
    let room = Rect { width: area.width.saturating_sub(used), ..area };
    let fits = |text: &String| width(text) + 4 <= usize::from(room.width);
    let is_whole = common.info.is_opening() || fits(&verdict.text);
    let text = match verdict.shorter.iter().find(|text| fits(text)).or(verdict.shorter.last()) {
        Some(shorter) if !is_whole => shorter.clone(),
        _ => verdict.text,
    };
    let text = if common.theme.ascii { text.replace('×', "x") } else { text };
    let text = text::display_safe(&text);
    let cells = usize::from(room.width).saturating_sub(4);
    let text = cut(&text, cells, keep, glyphs.cut);
    // Green is quiet.
    let role = if verdict.role == Role::Ok { Role::Muted } else { verdict.role };
    canvas.line(room, &[plain(" "), span(symbol, verdict.role), plain(" "), span(text.into_owned(), role)]);
    let end = Rect { x: room.right(), width: area.right().saturating_sub(room.right() + 1), ..area };
    canvas.right(end, &format!("{right}{key}"), Role::Key);
}

/// Columns from which on the title has the figures of a tap that keeps up.
const MIN_FIGURES_WIDTH: u16 = 120;

/// Spans of a tab: the name, the badge, and the end.
const SPANS_OF_TAB: usize = 3;

/// The screen whose tab is at a column of the line of tabs.
pub(crate) fn tab_at(model: &Model, layout: &Layout, x: u16) -> Option<ScreenId> {
    let mut end = 0;
    let tabs = tabs(model, layout);
    ScreenId::ALL.into_iter().zip(tabs.chunks(SPANS_OF_TAB)).find_map(|(screen, tab)| {
        end += line_width(tab);
        (usize::from(x) < end).then_some(screen)
    })
}

/// The tabs of all screens, three spans each. A narrow terminal has the names of some only.
fn tabs(model: &Model, layout: &Layout) -> StyledLine {
    let tabs = named_tabs(model, |screen| if layout.narrow { screen.short() } else { screen.title() });
    let width = line_width(&tabs);
    match width > usize::from(layout.body.width) {
        true => named_tabs(model, |screen| if screen == model.screen { screen.title() } else { "" }),
        false => tabs,
    }
}

/// Returns the tabs of the screens, each with its count.
fn named_tabs(model: &Model, title: impl Fn(ScreenId) -> &'static str) -> StyledLine {
    let tab = |screen: ScreenId| {
        let badge = model.screens.get(screen).badge(&model.common);
        let badge = if badge > 0 { format!(" {}", count(badge as u64)) } else { String::new() };
        let name = format!("{} {}", screen.number(), title(screen));
        let name = name.trim_end();
        match screen == model.screen {
            true => [span(format!("[{name}"), Role::Key), span(badge, Role::Warn), span("]", Role::Key)],
            false => [span(format!(" {name}"), Role::Muted), span(badge, Role::Warn), plain(" ")],
        }
    };
    ScreenId::ALL.into_iter().flat_map(tab).collect()
}

/// Draws the source, and the state of source and recording.
fn source(model: &Model, canvas: &mut Canvas, layout: &Layout, area: Rect) {
    let info = &model.common.info;
    let mut right = mode(model);
    if let Some((_, bytes)) = &info.recording {
        let rec = if layout.narrow { "REC  ".to_owned() } else { format!("REC {}  ", size(*bytes)) };
        right.push(plain(rec));
    }
    if let Some(name) = &info.named {
        let name = cut(name, 16, Keep::Tail, canvas.glyphs().cut).into_owned();
        right.push(span(format!("{name} (r ends)  "), Role::Warn));
    }
    if info.dropped > 0 {
        let lost = if layout.narrow { count(info.dropped) } else { plural(info.dropped, "message") };
        right.push(span(format!("{lost} lost  "), Role::Bad));
    }
    if let Some(tap) = info.tap {
        match tap.shown_backlog() {
            Some(backlog) => {
                let words = if layout.narrow { "behind" } else { "not analysed yet" };
                right.push(span(format!("{} {words}  ", size(backlog)), Role::Warn));
            }
            None if area.width >= MIN_FIGURES_WIDTH => right.push(plain("lag 0  ")),
            None => {}
        }
        if let Some(delay) = tap.added_delay
            && area.width >= MIN_FIGURES_WIDTH
        {
            right.push(plain(format!("adds {}  ", delay_words(delay))));
        }
    }
    match model.common.problems.count() {
        0 => {}
        n if layout.narrow => right.push(span(format!("! {n}  "), Role::Warn)),
        _ => {
            right.push(span(format!("! {}  ", report::problem_count(&model.common.problems.all)), Role::Warn))
        }
    }
    if info.bar.is_none() {
        right.push(plain(model.common.time_of_day(model.common.now)));
    }
    let width = line_width(&right);
    let start = area.width.saturating_sub(u16::try_from(width + 1).unwrap_or(area.width));
    let name = if layout.narrow { " " } else { " xdscope  " };
    let left = [span(name, Role::Title), plain(info.source.as_str())];
    canvas.line(Rect { width: start.saturating_sub(1), ..area }, &left);
    canvas.line(Rect { x: area.x + start, width: area.width - start, ..area }, &right);
}

/// Paused, rewound or live, and the position of the time cursor.
fn mode(model: &Model) -> StyledLine {
    let info = &model.common.info;
    let mut right = StyledLine::new();
    let role = match info.mode {
        Mode::Disconnected => Role::Bad,
        Mode::Live => Role::Ok,
        Mode::Replay => Role::Pending,
    };
    let hold = info.hold.as_deref();
    let oldest = hold.and_then(|hold| hold.held.first().map(|row| (hold.held.len(), row.age)));
    match oldest {
        Some((held, age)) => {
            right.push(span(format!("HOLDING {held}, oldest {}  ", hold_time(age)), Role::Bad));
        }
        None if hold.is_some_and(|hold| hold.armed.is_some()) => right.push(span("ARMED (0)  ", Role::Warn)),
        None => {}
    }
    match model.common.paused {
        Some(_) => right.push(span("|| PAUSED (Space)  ", Role::Warn)),
        None if info.bar.as_ref().is_some_and(|bar| bar.rewound) => {
            right.push(span("REWOUND (f live)  ", Role::Warn));
        }
        None if oldest.is_some() => {}
        None => right.push(span(format!("{}  ", info.mode.word()), role)),
    }
    let rewound = info.bar.as_ref().is_some_and(|bar| bar.rewound);
    if info.following {
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
    right
}

/// Columns that the name of a node keeps beside a long filter.
const MIN_NODE_WIDTH: usize = 12;

/// Stream, type and filter, and the key that ends each.
fn scope(model: &Model, layout: &Layout, room: usize) -> StyledLine {
    let glyphs = model.common.theme.glyphs();
    let stream = match model.common.scope.stream {
        None => "all streams".to_owned(),
        Some(stream) => {
            let node = model.node_of(stream);
            node.map_or_else(|| format!("#{}", stream.0), |node| format!("{node} #{}", stream.0))
        }
    };
    let stream = text::display_safe(&stream).into_owned();
    let types = model.common.scope.type_url.as_ref();
    let types = types.map_or("all types".to_owned(), |url| type_label(url.as_str()));
    let word = if layout.narrow { "" } else { "scope " };
    let narrowed = model.common.scope.type_url.is_some();
    let mut end = vec![
        plain(format!(" {} ", glyphs.dot)),
        span(types, if narrowed { Role::Warn } else { Role::Plain }),
    ];
    if let Some(filter) = &model.common.filter {
        end.push(span("  filter ", Role::Muted));
        let used = line_width(&end);
        let node = width(&stream).min(MIN_NODE_WIDTH);
        let left = room.saturating_sub(used + width(word) + node);
        let (hint, short, role) = match model.screen.others_for(&filter.filter) {
            Some(others) => (format!("  (only for {others})"), "  (not here)", Role::Bad),
            None => ("  (Esc clears)".to_owned(), "  (Esc)", Role::Muted),
        };
        let fits = width(&filter.text) + width(&hint) <= left;
        let hint = if fits { hint } else { short.to_owned() };
        let cells = left.saturating_sub(width(&hint)).max(8);
        let expression = cut(&filter.text, cells, Keep::Head, glyphs.cut);
        end.push(span(expression.into_owned(), Role::Warn));
        end.push(span(hint, role));
    }
    let used = line_width(&end);
    // The node is shortened, so that a type or a filter in force can be seen.
    let cells = room.saturating_sub(used + width(word)).max(MIN_NODE_WIDTH);
    let stream = cut_name(&stream, cells, glyphs.cut);
    let mut line = vec![span(word, Role::Muted), plain(stream.into_owned())];
    line.extend(end);
    line
}
