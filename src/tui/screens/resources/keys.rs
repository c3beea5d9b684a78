//! The commands of Resources.

use crate::common::Common;
use crate::data::Contents;
use crate::input::command::Command;
use crate::screens::screen::{Destination, Outcome, ResourcePlace, movement};
use xdscope_schema::links::Link;
use xdscope_wire::event::{ApiVersion, Kind};

use super::path::TreePath;
use super::state::{Focus, ResourcesScreen, areas};

/// Handles a command on the screen.
pub(super) fn update(
    screen: &mut ResourcesScreen,
    command: Command,
    common: &mut Common,
    contents: Contents<'_>,
) -> Outcome {
    screen.asked_field = None;
    if let Some(by) = movement(command, common.page()) {
        step(screen, by, common.is_full_screen);
        return Outcome::Done;
    }
    match command {
        Command::NextPane | Command::PreviousPane => screen.focus = next_focus(screen.focus, command),
        Command::Left => left(screen),
        Command::Right => right(screen),
        Command::Unfold if screen.detail.lines.iter().all(|line| line.fold.is_none()) => {
            common.say("nothing in this content can be folded");
        }
        Command::Unfold if screen.detail.is_unfolded() => common.say("nothing in this content is folded"),
        Command::Unfold => screen.detail.unfold_all(),
        Command::Wrap => {
            screen.detail.wraps = !screen.detail.wraps;
            common.say(if screen.detail.wraps { "long lines wrap" } else { "long lines are cut" });
        }
        Command::Docs => {
            let is_shown = |layout| areas(screen, common, &layout).docs.height > 0;
            screen.shows_docs = Some(!common.layout().is_some_and(is_shown));
        }
        Command::Format if screen.detail.content().is_none() => common.say("choose a resource first"),
        Command::Format => {
            screen.detail.line = 0;
            screen.detail.format = screen.detail.format().next();
        }
        Command::Older | Command::Newer => show_version(screen, common, command == Command::Older),
        Command::Parents => toggle_referrers(screen, common, contents),
        Command::Open => open(screen, common, contents),
        Command::DiffMarked => return compare_variants(screen, common),
        Command::Back if !common.is_full_screen && back(screen) => {}
        _ => return Outcome::NotHandled,
    }
    Outcome::Done
}

fn next_focus(focus: Focus, command: Command) -> Focus {
    match (focus, command) {
        (Focus::Tree, Command::NextPane) | (Focus::Side, Command::PreviousPane) => Focus::Body,
        (Focus::Body, Command::NextPane) | (Focus::Tree, Command::PreviousPane) => Focus::Side,
        _ => Focus::Tree,
    }
}

/// Moves the selection in the pane that has the focus.
fn step(screen: &mut ResourcesScreen, by: isize, is_full_screen: bool) {
    let detail = &mut screen.detail;
    match screen.focus {
        Focus::Tree if !is_full_screen => {
            let at = screen.tree.position().unwrap_or(0);
            screen.tree.select(at.saturating_add_signed(by));
        }
        Focus::Side if !is_full_screen => match &detail.referrers {
            Some(referrers) => {
                let last = referrers.found.len().saturating_sub(1);
                detail.referrer = detail.referrer.saturating_add_signed(by).min(last);
            }
            None => {
                let at = detail.version_shown();
                detail.show_version(at.saturating_add_signed(by));
            }
        },
        _ => detail.line = detail.line.saturating_add_signed(by).min(detail.lines.len().saturating_sub(1)),
    }
}

/// Folds the selected row, else moves the focus to the tree.
fn left(screen: &mut ResourcesScreen) {
    match screen.focus {
        Focus::Tree => {
            screen.tree.fold(false);
        }
        Focus::Body if screen.detail.fold(Some(false)) => {}
        Focus::Body | Focus::Side => screen.focus = Focus::Tree,
    }
}

/// Unfolds the selected row, else moves the focus to the content.
fn right(screen: &mut ResourcesScreen) {
    match screen.focus {
        Focus::Tree if screen.tree.fold(true) => {}
        Focus::Tree => screen.focus = Focus::Body,
        Focus::Body => {
            screen.detail.fold(Some(true));
        }
        Focus::Side => {}
    }
}

/// Shows the next older or newer version.
fn show_version(screen: &mut ResourcesScreen, common: &mut Common, older: bool) {
    let detail = &mut screen.detail;
    let current = detail.version_shown();
    let to = if older { current + 1 } else { current.saturating_sub(1) };
    if to == current || to >= detail.versions.len() {
        common.say(if older { "nothing older on this stream" } else { "this is the newest version" });
    } else {
        detail.show_version(to);
    }
}

/// Shows the referrers of the resource, or its versions again.
fn toggle_referrers(screen: &mut ResourcesScreen, common: &mut Common, contents: Contents<'_>) {
    if screen.detail.referrers.take().is_some() {
        screen.focus = Focus::Tree;
        return;
    }
    if !screen.detail.find_referrers(contents) {
        return common.say("choose a resource first");
    }
    // A short search ends at once.
    let referrers = screen.detail.referrers.as_mut();
    if referrers.is_some_and(|referrers| referrers.search(contents) || !referrers.is_searching()) {
        show_referrers(screen, common);
    }
}

/// Moves the focus to the referrers once all of them are known.
pub(super) fn show_referrers(screen: &mut ResourcesScreen, common: &mut Common) {
    match &screen.detail.referrers {
        Some(referrers) if !referrers.found.is_empty() => screen.focus = Focus::Side,
        _ => common.say("nothing on this stream refers to it"),
    }
}

/// Compares the resource with other content of the same name on another stream.
fn compare_variants(screen: &ResourcesScreen, common: &mut Common) -> Outcome {
    let detail = &screen.detail;
    let Some(fact) = &detail.fact else { return Outcome::say(common, "choose a resource first") };
    let Some(other) = detail.holders.iter().find(|other| other.hash != fact.hash) else {
        return Outcome::say(common, "every stream that has it has the same content");
    };
    let resource =
        ResourcePlace { stream: fact.stream, type_url: fact.type_url.clone(), name: fact.name.clone() };
    Outcome::Open(Destination::Variants { resource, other: other.stream })
}

/// Opens what is selected in the pane that has the focus.
fn open(screen: &mut ResourcesScreen, common: &mut Common, contents: Contents<'_>) {
    let selected = screen.tree.selected.clone();
    match screen.focus {
        Focus::Tree => match selected {
            Some(TreePath { type_url, name: None }) => screen.tree.turn(&type_url),
            Some(_) => screen.focus = Focus::Body,
            None => common.say("nothing to open"),
        },
        Focus::Side => {
            let detail = &screen.detail;
            match detail.referrers.as_ref().and_then(|referrers| referrers.found.get(detail.referrer)) {
                Some(referrer) => {
                    let referrer = referrer.clone();
                    jump(screen, referrer);
                }
                None => screen.focus = Focus::Body,
            }
        }
        Focus::Body => match screen.detail.reference().map(|reference| reference.link.clone()) {
            Some(link) => match target(contents, screen, &link) {
                Some(path) => jump(screen, path),
                None => {
                    let label = link.kind.label();
                    common
                        .say(format!("{label} {} was neither asked for nor sent on this stream", link.name));
                }
            },
            None => {
                if !screen.detail.fold(None) {
                    common.say("this line refers to nothing");
                }
            }
        },
    }
}

/// The resource that a link refers to, if the stream knows one.
fn target(contents: Contents<'_>, screen: &ResourcesScreen, link: &Link) -> Option<TreePath> {
    let stream = screen.tree.stream()?;
    let own = screen.tree.selected.as_ref().and_then(|own| Kind::of_type_url(own.type_url.as_str()));
    let type_url = link.kind.type_url(own.map_or(ApiVersion::V3, |(_, version)| version))?;
    let is_prefix = matches!(link.kind, Kind::Vhds | Kind::Srds);
    let name = match contents.store.resource(stream, &type_url, &link.name) {
        Some(fact) => Some(fact.name),
        None if is_prefix => {
            contents.store.resource_names(stream, &type_url).into_iter().find(|name| link.matches_name(name))
        }
        None => None,
    };
    Some(TreePath { name: Some(name?), type_url })
}

/// Selects another resource, and remembers the way back.
fn jump(screen: &mut ResourcesScreen, to: TreePath) {
    if let Some(from) = screen.tree.selected.clone() {
        screen.trail.push((from, screen.detail.line));
    }
    screen.tree.reveal(to);
    screen.detail.referrers = None;
    screen.focus = Focus::Body;
}

/// Goes one step back within the screen. Returns false if there is none.
fn back(screen: &mut ResourcesScreen) -> bool {
    if screen.detail.referrers.take().is_some() {
        screen.focus = Focus::Tree;
    } else if let Some((path, line)) = screen.trail.pop() {
        screen.tree.reveal(path);
        screen.detail.restore_line(line);
        screen.focus = Focus::Body;
    } else if screen.focus != Focus::Tree {
        screen.focus = Focus::Tree;
    } else {
        return false;
    }
    true
}
