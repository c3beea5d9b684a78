//! The page behind `?`, generated from the key map.

use ratatui::layout::Rect;

use crate::store::TypeState;
use crate::text::pad;
use crate::tui::canvas::{Canvas, Line, plain, span};
use crate::tui::command::Command;
use crate::tui::keymap::{self, Context};
use crate::tui::layout::{self, Layout};
use crate::tui::model::Model;
use crate::tui::theme::{self, Role};

const FILTER: [&str; 6] = [
    "type:cds node:edge* kind:nack lat>100ms",
    "name:/^rev/ size>1M after:14:02 #478..#498",
    "kinds: subscribe unsubscribe ack nack push",
    "       resend heartbeat open close",
    "words match the row; a blank is and, | or,",
    "! not, ( ) group, /re/ regex, * glob",
];

const STATES: [(TypeState, &str); 9] = [
    (TypeState::Synced, "last push acknowledged"),
    (TypeState::Sent, "pushed, no answer yet"),
    (TypeState::Stale, "no answer for --stale-after"),
    (TypeState::Nack, "last push refused; the earlier version is in force"),
    (TypeState::Wait, "asked, nothing sent yet"),
    (TypeState::Miss, "asked and not answered in --resource-timeout"),
    (TypeState::Held, "held here"),
    (TypeState::Idle, "not subscribed"),
    (TypeState::Closed, "stream ended, last state kept"),
];

/// All keys of a command in one context, once.
fn keys(model: &Model, context: Context) -> Vec<Line> {
    let glyphs = model.theme.glyphs();
    let mut commands: Vec<Command> = Vec::new();
    for binding in keymap::of(context) {
        if !commands.contains(&binding.command) {
            commands.push(binding.command);
        }
    }
    let line = |command: Command| {
        let keys = keymap::of(context).filter(|binding| binding.command == command);
        let keys: Vec<&str> = keys.map(|binding| keymap::shown_key(binding.key, glyphs)).collect();
        vec![span(format!("  {} ", pad(&keys.join(" "), 12)), Role::Key), plain(command.doc())]
    };
    commands.into_iter().map(line).collect()
}

fn here(model: &Model) -> Vec<Line> {
    let title = |text: String| vec![span(text, Role::Title)];
    let mut lines = vec![title(format!(" {}: keys here", model.screen.title()))];
    lines.extend(keys(model, model.screen.context()));
    lines.push(vec![]);
    lines.push(title(" After y".to_owned()));
    lines.extend(keys(model, Context::Copy));
    lines.push(vec![]);
    lines.push(title(" Filter words".to_owned()));
    lines.extend(FILTER.iter().map(|text| vec![plain(format!("  {text}"))]));
    lines.push(vec![]);
    lines.push(title(" States".to_owned()));
    lines.extend(STATES.iter().map(|(state, meaning)| {
        let (symbol, word, role) = theme::state(*state, model.theme.glyphs());
        vec![span(format!("  {symbol} {} ", pad(word, 8)), role), plain(*meaning)]
    }));
    lines
}

fn everywhere(model: &Model) -> Vec<Line> {
    let mut lines = vec![vec![span(" Everywhere", Role::Title)]];
    lines.extend(keys(model, Context::Everywhere));
    lines.push(vec![]);
    let zone = model.zone.iana_name().unwrap_or("local time");
    lines.push(vec![span(format!(" Times are in {zone}."), Role::Muted)]);
    lines
}

/// How far the page can be scrolled.
pub fn help_end(model: &Model) -> usize {
    let Some(layout) = model.layout() else { return 0 };
    let (left, right) = (here(model).len(), everywhere(model).len());
    let lines = if layout.narrow { left + 1 + right } else { left.max(right) };
    lines.saturating_sub(usize::from(layout.body.height))
}

pub fn draw(model: &Model, canvas: &mut Canvas, layout: &Layout, scroll: usize) {
    let third = layout.head[2];
    canvas.text(third, &" ".repeat(usize::from(third.width)), Role::Plain);
    canvas.text(third, &format!(" help: {}", model.screen.title()), Role::Title);
    canvas.right(Rect { width: third.width - 1, ..third }, "generated from the key map", Role::Muted);
    let scroll = scroll.min(help_end(model));
    let (mut left, right) = (here(model), everywhere(model));
    if layout.narrow {
        left.push(vec![]);
        left.extend(right);
        canvas.lines(layout.body, &left, scroll);
        return;
    }
    let (first, second) = layout::beside(layout.body, layout.body.width / 2 - 2);
    canvas.lines(first, &left, scroll);
    canvas.lines(second, &right, scroll);
    for row in layout.body.rows() {
        canvas.text(Rect { x: first.right(), width: 1, ..row }, canvas.glyphs().bar, Role::Muted);
    }
}
