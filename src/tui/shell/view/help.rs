//! The help page, generated from the key table.

use ratatui::layout::Rect;

use crate::data::Sign;
use crate::input::command::Command;
use crate::input::context::Context;
use crate::input::keymap;
use crate::input::screen_id::ScreenId;
use crate::shell::model::Model;
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::text::{hanging, paragraph, plain_lines};
use crate::widgets::theme;
use xdscope_present::report::{self, Role};
use xdscope_present::text::{pad, wrap};
use xdscope_wire::text::plural;

const FILTER: [&str; 6] = [
    "type:cds node:edge* kind:nack lat>100ms",
    "name:/^rev/ size>1M after:14:02 #478..#498",
    "kinds: subscribe unsubscribe ack nack push",
    "       resend heartbeat open close",
    "words match the row; a blank is and, | or,",
    "! not, ( ) group, /re/ regex, * glob",
];

/// The commands of a context with their keys: those that change what goes on the wire, or the
/// others.
fn keys(model: &Model, context: Context, wire: bool, width: usize) -> Vec<StyledLine> {
    let glyphs = model.common.theme.glyphs();
    let mut commands: Vec<Command> = Vec::new();
    for binding in model.keys.bindings(context) {
        if binding.command.is_wire_action() == wire && !commands.contains(&binding.command) {
            commands.push(binding.command);
        }
    }
    let line = |command: Command| {
        let keys = model.keys.bindings(context).filter(|binding| binding.command == command);
        let keys: Vec<&str> = keys.map(|binding| keymap::shown_key(binding.key, glyphs)).collect();
        let sign = if wire { "!" } else { "" };
        key_lines(&pad(&format!("{}{sign}", keys.join(" ")), 10), command.doc(), width)
    };
    commands.into_iter().flat_map(line).collect()
}

/// Keys, and the words about them beside.
fn key_lines(keys: &str, words: &str, width: usize) -> Vec<StyledLine> {
    let label = format!("  {keys} ");
    let lines = wrap(words, width.saturating_sub(label.len()).max(20));
    hanging(span(label, Role::Key), lines, Role::Plain)
}

/// Lists the keys of the screen that is shown.
fn screen_keys(model: &Model, width: usize) -> Vec<StyledLine> {
    let title = |text: String| vec![span(text, Role::Title)];
    let mut lines = vec![title(format!(" {}: keys here", model.screen.title()))];
    lines.extend(keys(model, Context::Screen(model.screen), false, width));
    lines.extend(keys(model, Context::Screen(model.screen), true, width));
    lines.push(vec![]);
    lines.push(title(" After y".to_owned()));
    lines.extend(keys(model, Context::Copy, false, width));
    lines.push(vec![]);
    lines.push(title(" Filter words".to_owned()));
    lines.extend(FILTER.iter().map(|text| vec![plain(format!("  {text}"))]));
    lines.push(vec![]);
    lines.push(title(" Where to look".to_owned()));
    for screen in ScreenId::ALL {
        lines.extend(key_lines(&pad(&screen.number().to_string(), 2), screen.search_words(), width));
    }
    lines.push(vec![]);
    lines.push(title(" States".to_owned()));
    lines.extend(report::STATES.iter().map(|(state, meaning)| {
        let theme::StateMark { symbol, word, role } = theme::state_mark(*state, model.common.theme.glyphs());
        vec![span(format!("  {symbol} {} ", pad(word, 8)), role), plain(*meaning)]
    }));
    lines.extend(
        report::PROBLEM_WORDS
            .iter()
            .chain(&report::MARKS)
            .map(|(word, meaning)| vec![span(format!("    {} ", pad(word, 8)), Role::Warn), plain(*meaning)]),
    );
    lines
}

/// Lists the keys that work on all screens.
fn shell_keys(model: &Model, width: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    if model.common.info.bar.is_some() {
        lines.push(vec![span(" Time cursor", Role::Title)]);
        lines.extend(keys(model, Context::Replay, false, width));
        lines.push(vec![]);
        lines.push(vec![span(" Marks on the time bar", Role::Title)]);
        let signs = Sign::ALL.iter().map(|sign| (sign.letter(), sign.word()));
        lines.extend(
            signs.chain([("m", "mark")]).flat_map(|(sign, word)| key_lines(&pad(sign, 10), word, width)),
        );
        lines.push(vec![]);
    }
    lines.push(vec![span(" Everywhere", Role::Title)]);
    lines.extend(keys(model, Context::Everywhere, false, width));
    lines.extend(keys(model, Context::Always, false, width));
    lines.push(vec![]);
    let is_client = model.common.info.client && model.common.info.bar.is_none();
    let is_sender = is_client || model.common.info.hold.is_some();
    lines.push(vec![span(if is_sender { " On the wire" } else { " Not available now" }, Role::Title)]);
    lines.extend(keys(model, Context::Everywhere, true, width));
    if !is_sender {
        lines.push(vec![span("  only as a client (watch) or a tap, at its live end", Role::Muted)]);
    }
    lines.push(vec![]);
    let mouse = match model.has_mouse {
        true => "Mouse: click selects, again opens, wheel scrolls; :set mouse off",
        false => "Mouse: off, so that text can be selected; :set mouse on",
    };
    lines.extend(paragraph(mouse, 1, Role::Muted, width.saturating_sub(1)));
    let zone = model.common.zone.iana_name().unwrap_or("local time");
    lines.push(vec![span(format!(" Times are in {zone}."), Role::Muted)]);
    lines
}

/// The lines of the page, both columns side by side.
pub(crate) fn texts(model: &Model) -> Vec<String> {
    let Some(layout) = model.common.layout() else { return Vec::new() };
    let (first, second) = columns(&layout);
    let mut left = plain_lines(screen_keys(model, usize::from(first.width)));
    let right = plain_lines(shell_keys(model, usize::from(second.width)));
    if layout.narrow {
        left.push(String::new());
        left.extend(right);
        return left;
    }
    left.resize(left.len().max(right.len()), String::new());
    for (left, right) in left.iter_mut().zip(right) {
        left.push_str("  ");
        left.push_str(&right);
    }
    left
}

/// The last scroll offset of the page.
pub(crate) fn last_scroll(model: &Model) -> usize {
    let Some(layout) = model.common.layout() else { return 0 };
    let (first, second) = columns(&layout);
    let (left, right) = (
        screen_keys(model, usize::from(first.width)).len(),
        shell_keys(model, usize::from(second.width)).len(),
    );
    let lines = if layout.narrow { left + 1 + right } else { left.max(right) };
    lines.saturating_sub(usize::from(layout.body.height))
}

/// The left and the right column. On a narrow terminal both are the full width.
fn columns(layout: &Layout) -> (Rect, Rect) {
    if layout.narrow {
        return (layout.body, layout.body);
    }
    layout::beside(layout.body, layout.body.width / 2 - 2)
}

pub(crate) fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout, scroll: usize) {
    let title = format!("help: {}", model.screen.title());
    let last = last_scroll(model);
    let scroll = scroll.min(last);
    let remark = match last - scroll {
        0 => "generated from the key map".to_owned(),
        below => format!("{} below, j", plural(below as u64, "line")),
    };
    canvas.heading(layout.head[3], &title, &remark, true);
    let (first, second) = columns(layout);
    let (mut left, right) =
        (screen_keys(model, usize::from(first.width)), shell_keys(model, usize::from(second.width)));
    if layout.narrow {
        left.push(vec![]);
        left.extend(right);
        canvas.lines(layout.body, &left, scroll);
        return;
    }
    canvas.lines(first, &left, scroll);
    canvas.lines(second, &right, scroll);
    for row in layout.body.rows() {
        canvas.text(Rect { x: first.right(), width: 1, ..row }, canvas.glyphs().bar, Role::Muted);
    }
}
