//! The commands of Diff.

use crate::common::{Common, Pane};
use crate::data::Data;
use crate::input::command::Command;
use crate::screens::screen::{Outcome, movement};

use super::state::DiffScreen;

/// Handles a command on the screen.
pub(super) fn update(
    screen: &mut DiffScreen,
    command: Command,
    common: &mut Common,
    data: &dyn Data,
) -> Outcome {
    let rows = |layout| screen.areas(common, &layout).1.height.saturating_sub(1);
    let page = isize::try_from(common.layout().map_or(1, rows).max(1)).unwrap_or(1);
    // `n` and `N` go to matches of a search, not to rows.
    let is_match = matches!(command, Command::NextMatch | Command::PreviousMatch);
    if let Some(by) = movement(command, page)
        && !is_match
    {
        step(screen, by, common, data);
        return Outcome::Done;
    }
    match command {
        Command::NextChange => jump_to_change(screen, common, true),
        Command::PreviousChange => jump_to_change(screen, common, false),
        Command::Older => show_version(screen, common, data, false),
        Command::Newer => show_version(screen, common, data, true),
        Command::Columns => {
            screen.columns = Some(!screen.has_columns(common));
            screen.scroll_to_top();
        }
        Command::Order => {
            screen.is_strict_order = !screen.is_strict_order;
            screen.scroll_to_top();
            common.say(if screen.is_strict_order {
                "the order of items counts as a change"
            } else {
                "the order of keyed items does not count"
            });
        }
        Command::AllLines => {
            screen.shows_all_lines = !screen.shows_all_lines;
            let shown =
                if screen.shows_all_lines { "all unchanged lines are" } else { "lines around changes are" };
            common.say(format!("{shown} shown"));
            screen.scroll_to_top();
        }
        Command::Base => next_base(screen, common),
        Command::Open => common.pane = Pane::Second,
        Command::DiffScreen | Command::Diff => {}
        _ => return Outcome::NotHandled,
    }
    Outcome::Done
}

/// Scrolls the comparison, or selects another change of the push.
fn step(screen: &mut DiffScreen, by: isize, common: &Common, data: &dyn Data) {
    let entries = screen.push.as_ref().map_or(0, |push| push.entries.len());
    if common.is_in_second_pane() || entries == 0 {
        screen.scroll = screen.scroll.saturating_add_signed(by);
        return;
    }
    screen.chosen = screen.chosen.saturating_add_signed(by).min(entries - 1);
    screen.choose_entry(data, common.rows(data));
}

/// Scrolls to the next change, or to the one before.
fn jump_to_change(screen: &mut DiffScreen, common: &mut Common, forward: bool) {
    // Starts at the last jump, unless the user scrolled past it since.
    let top = screen.scroll;
    let mark = screen.mark.filter(|mark| *mark >= top);
    let found = match (forward, mark) {
        (true, Some(mark)) => screen.change_starts().find(|at| *at > mark),
        (true, None) => screen.change_starts().find(|at| *at >= top),
        (false, mark) => screen.change_starts().rfind(|at| *at < mark.unwrap_or(top)),
    };
    match found {
        Some(at) => {
            screen.mark = Some(at);
            // With a row above, for context.
            screen.scroll = at.saturating_sub(1);
            let number = screen.change_starts().take_while(|start| *start <= at).count();
            common.say(format!("change {number} of {}", screen.change_starts().count()));
        }
        None => common.say(if forward { "no further change below" } else { "no further change above" }),
    }
}

/// Compares the next newer or older version.
fn show_version(screen: &mut DiffScreen, common: &mut Common, data: &dyn Data, newer: bool) {
    screen.follow(data, common.rows(data));
    let to = match (screen.new, newer) {
        (Some(at), true) => Some(at + 1).filter(|at| *at < screen.versions.len()),
        (Some(at), false) => at.checked_sub(1),
        (None, _) => None,
    };
    match to {
        Some(at) => {
            // Another version is not the change of that push.
            if let Some(push) = &mut screen.push {
                push.against = None;
            }
            screen.show(at);
            screen.scroll_to_top();
        }
        None if newer => common.say("this is the newest version on this stream"),
        None => common.say("nothing older on this stream"),
    }
}

/// Compares with the next kind of base version.
fn next_base(screen: &mut DiffScreen, common: &mut Common) {
    screen.base = screen.base.next();
    if let Some(push) = &mut screen.push {
        push.against = None;
    }
    screen.compare_with_base();
    screen.scroll_to_top();
    common.say(format!("compared with {}", screen.base.word()));
}
