use crate::tui::data::{Contents, Data, Format};
use crate::tui::input::command::Command;
use crate::tui::shell::commands::{moves, page};
use crate::tui::shell::model::Model;
use crate::wire::event::{ApiVersion, Kind};

use crate::tui::screens::resources::{Focus, Place, Resources};

/// Commands that mean something of their own here.
pub fn act(model: &mut Model, command: Command, data: &dyn Data) -> bool {
    let Some(contents) = data.contents() else { return false };
    if let Some(by) = moves(command, page(model)) {
        step(&mut model.resources, by, model.whole);
        return true;
    }
    let whole = model.whole;
    let screen = &mut model.resources;
    match command {
        Command::NextPane | Command::PreviousPane => screen.focus = next(screen.focus, command),
        Command::Left => left(screen),
        Command::Right => right(screen),
        Command::Unfold => screen.detail.turn_all(),
        Command::Wrap => screen.detail.wrap = !screen.detail.wrap,
        Command::Docs => {
            let shown = model
                .layout()
                .is_some_and(|layout| crate::tui::screens::resources::parts(model, &layout).docs.height > 0);
            model.resources.docs = Some(!shown);
        }
        Command::Format => {
            screen.detail.line = 0;
            screen.detail.format = match screen.detail.format() {
                Format::Yaml => Some(Format::Json),
                Format::Json => Some(Format::Text),
                Format::Text => Some(Format::Hex),
                Format::Hex => None,
            };
        }
        Command::Older | Command::Newer => version(model, command == Command::Older),
        Command::Parents => parents(model, contents),
        Command::NextProblem | Command::PreviousProblem => {
            match screen.tree.next_problem(contents, command == Command::NextProblem) {
                Some(place) => screen.tree.reveal(place),
                None => model.say("no further problem this way"),
            }
        }
        Command::Open => open(model, contents),
        Command::Back if !whole => return back(screen),
        _ => return false,
    }
    true
}

fn next(focus: Focus, command: Command) -> Focus {
    match (focus, command) {
        (Focus::Tree, Command::NextPane) | (Focus::Side, Command::PreviousPane) => Focus::Body,
        (Focus::Body, Command::NextPane) | (Focus::Tree, Command::PreviousPane) => Focus::Side,
        _ => Focus::Tree,
    }
}

fn step(screen: &mut Resources, by: isize, whole: bool) {
    let detail = &mut screen.detail;
    match screen.focus {
        Focus::Tree if !whole => {
            let at = screen.tree.position().unwrap_or(0);
            screen.tree.select(at.saturating_add_signed(by));
        }
        Focus::Side if !whole => match &detail.users {
            Some(users) => {
                detail.user = detail.user.saturating_add_signed(by).min(users.found.len().saturating_sub(1));
            }
            None => {
                let at = detail.shown();
                detail.choose(at.saturating_add_signed(by));
            }
        },
        _ => detail.line = detail.line.saturating_add_signed(by).min(detail.lines.len().saturating_sub(1)),
    }
}

fn left(screen: &mut Resources) {
    match screen.focus {
        Focus::Tree => {
            screen.tree.fold(false);
        }
        Focus::Body if screen.detail.fold(Some(false)) => {}
        Focus::Body | Focus::Side => screen.focus = Focus::Tree,
    }
}

fn right(screen: &mut Resources) {
    match screen.focus {
        Focus::Tree if screen.tree.fold(true) => {}
        Focus::Tree => screen.focus = Focus::Body,
        Focus::Body => {
            screen.detail.fold(Some(true));
        }
        Focus::Side => {}
    }
}

fn version(model: &mut Model, older: bool) {
    let detail = &mut model.resources.detail;
    let at = detail.shown();
    let to = if older { at + 1 } else { at.saturating_sub(1) };
    if to == at || to >= detail.versions.len() {
        model.say(if older { "nothing older on this stream" } else { "this is the newest version" });
    } else {
        detail.choose(to);
    }
}

/// Shows who refers to the resource, or its versions again.
fn parents(model: &mut Model, contents: Contents<'_>) {
    let screen = &mut model.resources;
    if screen.detail.users.take().is_some() {
        screen.focus = Focus::Tree;
        return;
    }
    if !screen.detail.find_users(contents) {
        return model.say("choose a resource first");
    }
    // Where there are few, at once.
    if screen.detail.users.as_mut().is_some_and(|users| users.search(contents) || !users.searching()) {
        found_users(model);
    }
}

/// All that refer to the resource are known.
pub fn found_users(model: &mut Model) {
    match &model.resources.detail.users {
        Some(users) if !users.found.is_empty() => model.resources.focus = Focus::Side,
        _ => model.say("nothing on this stream refers to it"),
    }
}

fn open(model: &mut Model, contents: Contents<'_>) {
    let screen = &mut model.resources;
    let selected = screen.tree.selected.clone();
    match screen.focus {
        Focus::Tree => match selected {
            Some(Place { type_url, name: None }) => screen.tree.turn(&type_url),
            Some(_) => screen.focus = Focus::Body,
            None => model.say("nothing to open"),
        },
        Focus::Side => {
            match screen.detail.users.as_ref().and_then(|users| users.found.get(screen.detail.user)) {
                Some(user) => {
                    let user = user.clone();
                    jump(screen, user);
                }
                None => screen.focus = Focus::Body,
            }
        }
        Focus::Body => match screen.detail.reference().map(|reference| reference.link.clone()) {
            Some(link) => match target(contents, screen, &link) {
                Some(place) => jump(screen, place),
                None => {
                    let label = link.kind.label();
                    model.say(format!("{label} {} was neither asked for nor sent on this stream", link.name));
                }
            },
            None => {
                if !screen.detail.fold(None) {
                    model.say("this line refers to nothing");
                }
            }
        },
    }
}

/// The resource that a link leads to, if the stream knows one.
fn target(contents: Contents<'_>, screen: &Resources, link: &crate::schema::links::Link) -> Option<Place> {
    let stream = screen.tree.stream()?;
    let type_url = link.kind.type_url(ApiVersion::V3)?;
    let several = matches!(link.kind, Kind::Vhds | Kind::Srds);
    let name = match contents.resource(stream, &type_url, &link.name) {
        Some(fact) => Some(fact.name),
        None if several => contents.names(stream, &type_url).into_iter().find(|name| link.matches_name(name)),
        None => None,
    };
    Some(Place { name: Some(name?), type_url })
}

fn jump(screen: &mut Resources, to: Place) {
    if let Some(from) = screen.tree.selected.clone() {
        screen.trail.push((from, screen.detail.line));
    }
    screen.tree.reveal(to);
    screen.detail.users = None;
    screen.focus = Focus::Body;
}

/// One step back within the screen. False if there is none.
fn back(screen: &mut Resources) -> bool {
    if screen.detail.users.take().is_some() {
        screen.focus = Focus::Tree;
    } else if let Some((place, line)) = screen.trail.pop() {
        screen.tree.reveal(place);
        screen.detail.restore(line);
        screen.focus = Focus::Body;
    } else if screen.focus != Focus::Tree {
        screen.focus = Focus::Tree;
    } else {
        return false;
    }
    true
}
