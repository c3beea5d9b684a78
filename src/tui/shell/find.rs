//! `/` in a text: a message's body, a resource, a diff, a refusal, a manual, this program's help.

use crate::tui::screens::diff::view::diff_texts;
use crate::tui::screens::lint::view::finding_lines;
use crate::tui::screens::nack::view::card_lines;
use crate::tui::screens::resources::Focus;
use crate::tui::shell::model::{Model, Overlay, Screen};
use crate::tui::shell::panes::here_pane;
use crate::tui::shell::view::detail::detail_lines;
use crate::tui::shell::view::help::help_texts;
use crate::tui::widgets::canvas::Line;

/// What is looked for, on from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    pub text: String,
    /// The line of the match that was gone to last.
    at: Option<usize>,
}

impl Find {
    pub fn new(text: String) -> Find {
        Find { text, at: None }
    }

    /// The reader moved: the next match is counted from where they are.
    pub fn moved(&mut self) {
        self.at = None;
    }
}

/// Whether a line has the text. Capitals count if there are some in it.
pub fn has(line: &str, wanted: &str) -> bool {
    match wanted.chars().any(char::is_uppercase) {
        true => line.contains(wanted),
        false => line.to_lowercase().contains(wanted),
    }
}

/// Whether the arrows move in a text now.
pub fn in_text(model: &Model) -> bool {
    match model.overlays.last() {
        Some(Overlay::Help { .. }) => return true,
        Some(_) => return false,
        None => {}
    }
    match model.screen {
        Screen::Resources => model.resources.focus == Focus::Body || model.whole,
        Screen::Diff => model.diff.target.is_some(),
        Screen::Stream | Screen::Timeline | Screen::Nack | Screen::Lint => here_pane(model),
        Screen::Overview | Screen::Subs | Screen::Graph => false,
    }
}

/// The lines of that text, and the one that is selected or at its top.
fn lines(model: &Model) -> (Vec<String>, usize) {
    if let Some(scroll) = help(model) {
        return (help_texts(model), scroll);
    }
    let texts = |lines: Vec<Line>| {
        let text = |line: Line| line.into_iter().map(|span| span.text).collect::<String>();
        lines.into_iter().map(text).collect()
    };
    match model.screen {
        Screen::Resources => {
            let detail = &model.resources.detail;
            (detail.lines.iter().map(|line| line.text.clone()).collect(), detail.line)
        }
        Screen::Diff => (diff_texts(model), model.diff.scroll),
        Screen::Stream => (texts(detail_lines(model)), model.stream.scroll),
        Screen::Timeline => (texts(detail_lines(model)), model.timeline.scroll),
        Screen::Nack => (texts(card_lines(model, width(model))), model.nacks.scroll),
        Screen::Lint => (texts(finding_lines(model, width(model))), model.lint.scroll),
        Screen::Overview | Screen::Subs | Screen::Graph => (Vec::new(), 0),
    }
}

fn width(model: &Model) -> usize {
    model.layout().map_or(0, |layout| usize::from(layout.body.width))
}

fn help(model: &Model) -> Option<usize> {
    model.overlays.iter().rev().find_map(|overlay| match overlay {
        Overlay::Help { scroll } => Some(*scroll),
        _ => None,
    })
}

fn go(model: &mut Model, line: usize) {
    for overlay in model.overlays.iter_mut().rev() {
        if let Overlay::Help { scroll } = overlay {
            *scroll = line;
            return;
        }
    }
    match model.screen {
        Screen::Resources => model.resources.detail.line = line,
        // With a line above it, for context.
        Screen::Diff => model.diff.scroll = line.saturating_sub(1),
        Screen::Stream => model.stream.scroll = line.saturating_sub(1),
        Screen::Timeline => model.timeline.scroll = line.saturating_sub(1),
        Screen::Nack => model.nacks.scroll = line.saturating_sub(1),
        Screen::Lint => model.lint.scroll = line.saturating_sub(1),
        Screen::Overview | Screen::Subs | Screen::Graph => {}
    }
}

/// Goes to the next match, or the one before; past the end it goes on from the start.
pub fn next(model: &mut Model, forward: bool) {
    let Some(Find { text, at }) = model.find.clone() else {
        model.say("nothing is looked for: / finds in this text");
        return;
    };
    let (lines, here) = lines(model);
    let matches: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| has(line, &text)).map(|(at, _)| at).collect();
    let found = match forward {
        true => matches.iter().find(|line| at.map_or(**line >= here, |at| **line > at)),
        false => matches.iter().rfind(|line| at.map_or(**line < here, |at| **line < at)),
    };
    let Some(line) = found.or(if forward { matches.first() } else { matches.last() }).copied() else {
        model.say(format!("\"{text}\" is not in these {} lines", lines.len()));
        return;
    };
    let nth = matches.iter().position(|found| *found == line).unwrap_or(0) + 1;
    let turn = match (found.is_some(), forward) {
        (true, _) => "",
        (false, true) => ", on from the start",
        (false, false) => ", back from the end",
    };
    model.say(format!("\"{text}\" {nth} of {}{turn}", matches.len()));
    model.find = Some(Find { text, at: Some(line) });
    go(model, line);
}
