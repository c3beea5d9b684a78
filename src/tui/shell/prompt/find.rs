//! The search in a text: a body, a diff, a NACK, a manual, the help.

use crate::screens::screen::ScreenText;

use crate::shell::model::{Find, Model};
use crate::shell::overlay::Overlay;
use crate::shell::view::help;

/// Returns whether a line contains a text. Case matters if the text has capitals.
fn contains(line: &str, wanted: &str) -> bool {
    if wanted.chars().any(char::is_uppercase) {
        line.contains(wanted)
    } else {
        line.to_lowercase().contains(wanted)
    }
}

fn help_scroll(model: &mut Model) -> Option<&mut usize> {
    model.overlays.iter_mut().rev().find_map(|overlay| match overlay {
        Overlay::Help { scroll } => Some(scroll),
        _ => None,
    })
}

fn text(model: &mut Model) -> ScreenText {
    if let Some(at) = help_scroll(model).map(|scroll| *scroll) {
        return ScreenText { lines: help::texts(model), at };
    }
    let text = model.active().text(&model.common);
    text.unwrap_or(ScreenText { lines: Vec::new(), at: 0 })
}

fn show_line(model: &mut Model, line: usize) {
    match help_scroll(model) {
        Some(scroll) => *scroll = line,
        None => model.screens.get_mut(model.screen).show_line(line),
    }
}

/// Opens the prompt. All of the text is unfolded, so that the search goes through it.
pub(crate) fn open(model: &mut Model) {
    let origin = text(model).at;
    if help_scroll(model).is_none() {
        model.screens.get_mut(model.screen).unfold_text();
    }
    model.overlays.push(Overlay::Find { input: String::new(), origin, recalled: None });
}

/// Searches for what is typed, from the line shown before the search.
pub(crate) fn typed(model: &mut Model) {
    let Some(Overlay::Find { input, origin, .. }) = model.overlays.last().cloned() else { return };
    show_first(model, origin);
    start(model, input);
}

/// Ends the search, and shows the line from before.
pub(crate) fn cancel(model: &mut Model) {
    let Some(Overlay::Find { origin, .. }) = model.overlays.pop() else { return };
    model.find = None;
    show_first(model, origin);
}

/// Makes a line the first one shown, or selects the line where lines are selected.
fn show_first(model: &mut Model, line: usize) {
    show_line(model, line);
    // Some texts leave a line above the one that is shown.
    if text(model).at != line {
        show_line(model, line + 1);
    }
}

/// Starts a search at the line shown.
fn start(model: &mut Model, text: String) {
    model.common.notice = None;
    model.find = (!text.is_empty()).then_some(Find { text, at: None });
    if model.find.is_some() {
        next(model, true);
    }
}

/// Goes to the next or previous match. After the last match, continues with the first.
pub(crate) fn next(model: &mut Model, forward: bool) {
    let Some(Find { text: wanted, at }) = model.find.clone() else {
        return model.say("no search yet: / finds in this text");
    };
    let ScreenText { lines, at: shown } = text(model);
    let matches: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| contains(line, &wanted)).map(|(at, _)| at).collect();
    let found = if forward {
        matches.iter().find(|line| at.map_or(**line >= shown, |at| **line > at))
    } else {
        matches.iter().rfind(|line| at.map_or(**line < shown, |at| **line < at))
    };
    let Some(line) = found.or(if forward { matches.first() } else { matches.last() }).copied() else {
        return model.say(match lines.len() {
            0 => "no text to find in: choose one first".to_owned(),
            1 => format!("\"{wanted}\" is not in this line"),
            n => format!("\"{wanted}\" is not in these {n} lines"),
        });
    };
    let nth = matches.iter().position(|found| *found == line).unwrap_or(0) + 1;
    let wrapped = match (found.is_some(), forward) {
        (true, _) => "",
        (false, true) => ", on from the start",
        (false, false) => ", back from the end",
    };
    model.say(format!("\"{wanted}\" {nth} of {}{wrapped}", matches.len()));
    model.find = Some(Find { text: wanted, at: Some(line) });
    show_line(model, line);
}
