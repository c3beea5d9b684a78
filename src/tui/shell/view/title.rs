//! The lines above a screen: source and mode, tabs, scope.

use ratatui::layout::Rect;

use crate::present::report::{self, Role};
use crate::tui::data::Mode;
use crate::tui::input::screen_id::ScreenId;
use crate::tui::shell::model::Model;
use crate::tui::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::tui::widgets::layout::Layout;
use crate::wire::text::{self, count, plural, size, time_of_day_secs, type_label};

pub(super) fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout) {
    let [first, second, third] = layout.head;
    source(model, canvas, layout, first);
    canvas.line(second, &tabs(model, layout));
    let right = model.active().summary(&model.common, layout);
    let room = usize::from(third.width).saturating_sub(text::width(&right) + 2);
    let mut left = scope(model, layout);
    // Without room, leaves out that nothing is filtered.
    let fits = left.iter().map(|span| text::width(&span.text)).sum::<usize>() <= room;
    if model.common.filter.is_none() && !fits {
        left.truncate(3);
    }
    canvas.line(Rect { width: u16::try_from(room).unwrap_or(third.width), ..third }, &left);
    canvas.right(Rect { width: third.width - 1, ..third }, &right, Role::Muted);
    if !layout.low {
        canvas.rule(Rect { y: third.y + 1, ..third }, "", "");
    }
}

fn tabs(model: &Model, layout: &Layout) -> StyledLine {
    let tab = |screen: ScreenId| {
        let badge = model.screens.get(screen).badge(&model.common);
        let badge = if badge > 0 { format!(" {}", count(badge as u64)) } else { String::new() };
        let title = if layout.narrow { screen.short() } else { screen.title() };
        let name = format!("{} {title}{badge}", screen.number());
        if screen == model.screen {
            span(format!("[{name}]"), Role::Title)
        } else {
            plain(format!(" {name} "))
        }
    };
    ScreenId::ALL.into_iter().map(tab).collect()
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
        let name = text::cut(name, 16, text::Keep::Tail, canvas.glyphs().cut).into_owned();
        right.push(span(format!("{name} (r ends)  "), Role::Warn));
    }
    if info.dropped > 0 {
        let lost = if layout.narrow { count(info.dropped) } else { plural(info.dropped, "message") };
        right.push(span(format!("{lost} lost  "), Role::Bad));
    }
    if let Some(backlog) = info.tap.and_then(|tap| tap.shown_backlog()) {
        let words = if layout.narrow { "behind" } else { "not analysed yet" };
        right.push(span(format!("{} {words}  ", size(backlog)), Role::Warn));
    }
    match model.common.problem_count() {
        0 => {}
        n if layout.narrow => right.push(span(format!("! {n}  "), Role::Warn)),
        _ => right.push(span(format!("! {}  ", report::problem_count(&model.common.problems)), Role::Warn)),
    }
    if info.bar.is_none() {
        right.push(plain(time_of_day_secs(model.common.now, model.common.clock, &model.common.zone)));
    }
    let width: usize = right.iter().map(|span| text::width(&span.text)).sum();
    let at = area.width.saturating_sub(u16::try_from(width + 1).unwrap_or(area.width));
    let name = if layout.narrow { " " } else { " xdscope  " };
    let left = [span(name, Role::Title), plain(info.source.as_str())];
    canvas.line(Rect { width: at.saturating_sub(1), ..area }, &left);
    canvas.line(Rect { x: area.x + at, width: area.width - at, ..area }, &right);
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
    match model.common.paused {
        Some(_) => right.push(span("|| PAUSED (Space)  ", Role::Warn)),
        None if info.bar.as_ref().is_some_and(|bar| bar.rewound) => {
            right.push(span("REWOUND (f live)  ", Role::Warn));
        }
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

fn scope(model: &Model, layout: &Layout) -> StyledLine {
    let dot = model.common.theme.glyphs().dot;
    let mut stream = match model.common.scope.stream {
        None => "all streams".to_owned(),
        Some(stream) => {
            let node = model.node_of(stream);
            node.map_or_else(|| format!("#{}", stream.0), |node| format!("{node} #{}", stream.0))
        }
    };
    if layout.narrow {
        stream =
            text::cut_name(&text::display_safe(&stream), 30, model.common.theme.glyphs().cut).into_owned();
    }
    let types = model.common.scope.type_url.as_ref();
    let types = types.map_or("all types".to_owned(), |url| type_label(url.as_str()));
    let word = if layout.narrow { " " } else { " scope " };
    let narrowed = model.common.scope.type_url.is_some();
    let mut line = vec![
        span(word, Role::Muted),
        plain(format!("{stream} {dot} ")),
        span(types, if narrowed { Role::Warn } else { Role::Plain }),
    ];
    match &model.common.filter {
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
