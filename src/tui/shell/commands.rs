//! What each command does.

use crate::wire::event::Seq;

use crate::tui::data::{Data, Format};
use crate::tui::input::command::Command;
use crate::tui::input::sort::Sort;
use crate::tui::screens::overview::stream_of;
use crate::tui::shell::clipboard;
use crate::tui::shell::model::{Model, Overlay, Pane, Paused, Scope, Screen, Step};
use crate::tui::shell::panes;
use crate::tui::shell::places::{next_type, other_stream, problem};
use crate::tui::shell::replay::{self, Seek};
use crate::tui::shell::update::{Effect, current_stream, settle, total};
use crate::tui::widgets::layout;

pub fn run(model: &mut Model, command: Command, data: &dyn Data) -> Vec<Effect> {
    if panes::in_find(model, command) {
        return vec![];
    }
    let own = model.overlays.is_empty()
        && match model.screen {
            Screen::Diff => crate::tui::screens::diff::act(model, command, data),
            Screen::Resources => crate::tui::screens::resources::act(model, command, data),
            Screen::Nack => crate::tui::screens::nack::act(model, command, data),
            Screen::Subs => crate::tui::screens::subscriptions::act(model, command, data),
            Screen::Graph => crate::tui::screens::graph::act(model, command, data),
            Screen::Lint => crate::tui::screens::lint::act(model, command, data),
            _ => false,
        };
    if own {
        return vec![];
    }
    match command {
        Command::Overview => go(model, Screen::Overview, data),
        Command::Stream => go(model, Screen::Stream, data),
        Command::Timeline => go(model, Screen::Timeline, data),
        Command::DiffScreen => {
            crate::tui::screens::diff::from_here(model, data);
            go(model, Screen::Diff, data);
        }
        Command::Diff => diff(model, data),
        Command::DiffMarked => match model.screen {
            Screen::Overview => crate::tui::screens::overview::variants::compare_nodes(model, data),
            Screen::Resources => crate::tui::screens::overview::variants::variants(model, data),
            _ => diff_marked(model, data),
        },
        Command::Resources => go(model, Screen::Resources, data),
        Command::Nack => go(model, Screen::Nack, data),
        Command::Subs => go(model, Screen::Subs, data),
        Command::Graph => go(model, Screen::Graph, data),
        Command::Lint => go(model, Screen::Lint, data),
        Command::Up => step(model, -1, data),
        Command::Down => step(model, 1, data),
        Command::PageUp => step(model, -page(model), data),
        Command::PageDown => step(model, page(model), data),
        Command::HalfUp => step(model, -(page(model) / 2).max(1), data),
        Command::HalfDown => step(model, (page(model) / 2).max(1), data),
        Command::First => step(model, isize::MIN / 2, data),
        Command::Last => step(model, isize::MAX / 2, data),
        Command::Left | Command::Right => panes::sideways(model, command == Command::Right),
        Command::Grow | Command::Shrink => panes::resize(model, command == Command::Grow),
        Command::Sort => match model.screen {
            Screen::Overview | Screen::Subs | Screen::Lint => model.overlays.push(Overlay::Sort),
            _ => model.say("this list has one order; screens 1, 7 and 9 can be sorted"),
        },
        Command::SortWorst => panes::sort(model, Sort::Worst),
        Command::SortName => panes::sort(model, Sort::Name),
        Command::SortNewest => panes::sort(model, Sort::Newest),
        Command::NextPane | Command::PreviousPane => {
            model.pane = if model.pane == Pane::Main { Pane::Second } else { Pane::Main };
        }
        Command::Whole => model.whole = !model.whole,
        Command::Open => open(model, data),
        Command::Back => back(model),
        Command::Quit => return quit(model),
        Command::Interrupt => return interrupt(model),
        Command::Suspend => return vec![Effect::Suspend],
        Command::Redraw => return vec![Effect::Redraw],
        Command::Filter => {
            let input = model.filter.as_ref().map(|filter| filter.text.clone()).unwrap_or_default();
            model.overlays.push(Overlay::Filter { input, error: None, before: model.filter.clone() });
        }
        Command::NextMatch => step(model, 1, data),
        Command::PreviousMatch => step(model, -1, data),
        Command::Palette => {
            model.overlays.push(Overlay::Palette { input: String::new(), chosen: 0, recalled: None });
        }
        Command::Notice => {
            let notice = model.info.notice.clone();
            model.say(notice.unwrap_or_else(|| "nothing is known to be missing".to_owned()));
        }
        Command::Help => model.overlays.push(Overlay::Help { scroll: 0 }),
        Command::StepBack => return replay::seek(model, data, Seek::Back),
        Command::StepOn => return replay::seek(model, data, Seek::On),
        Command::Slower => return replay::seek(model, data, Seek::Slower),
        Command::Faster => return replay::seek(model, data, Seek::Faster),
        Command::Start => return replay::seek(model, data, Seek::Start),
        Command::End => return replay::seek(model, data, Seek::End),
        Command::Record if model.info.named.is_some() => return vec![Effect::Record(None)],
        Command::Record if model.info.recording.is_none() || model.info.bar.is_some() => {
            model.say(match (&model.info.bar, &model.info.recording) {
                (Some(_), None) => "this is a recording already: xdscope export makes a part of it",
                (Some(_), Some(_)) => "this is the past: f returns to what is live, which can be recorded",
                (None, _) => "there is no session file to take it from (--no-record)",
            });
        }
        Command::Record => model.overlays.push(Overlay::Record { input: String::new() }),
        Command::Mark => model.overlays.push(Overlay::Mark { go: false }),
        Command::GoMark => model.overlays.push(Overlay::Mark { go: true }),
        Command::Pause if model.info.bar.is_some() => return replay::seek(model, data, Seek::Toggle),
        Command::NextProblem | Command::PreviousProblem | Command::NextNack | Command::PreviousNack
            if model.info.bar.is_some() =>
        {
            let on = matches!(command, Command::NextProblem | Command::NextNack);
            let all = matches!(command, Command::NextProblem | Command::PreviousProblem);
            return replay::seek(model, data, Seek::Problem { on, all });
        }
        Command::Pause => pause(model, data),
        Command::NextProblem => problem(model, data, true, true),
        Command::PreviousProblem => problem(model, data, false, true),
        Command::NextNack => problem(model, data, true, false),
        Command::PreviousNack => problem(model, data, false, false),
        Command::NextType => next_type(model, data),
        Command::AllTypes => model.scope.type_url = None,
        Command::AllStreams => model.scope.stream = None,
        Command::NextStream => other_stream(model, data, 1),
        Command::PreviousStream => other_stream(model, data, -1),
        Command::Follow if model.info.bar.is_some() => return replay::seek(model, data, Seek::Live),
        Command::Follow => follow(model, data),
        Command::Ladder => model.timeline.ladder = !model.timeline.ladder,
        Command::Format => {
            model.timeline.scroll = 0;
            model.timeline.format = match model.timeline.format {
                None => Some(Format::Yaml),
                Some(Format::Yaml) => Some(Format::Json),
                Some(Format::Json) => Some(Format::Text),
                Some(Format::Text) => Some(Format::Hex),
                Some(Format::Hex) => None,
            };
        }
        Command::Unfold if model.screen == Screen::Overview => {
            model.overview.unfolded = !model.overview.unfolded;
        }
        Command::Unfold => model.timeline.unfolded = !model.timeline.unfolded,
        // The screens that have them take them before they come here.
        Command::Older | Command::Newer => model.say("this works on screens 4 and 5"),
        Command::NextChange
        | Command::PreviousChange
        | Command::Columns
        | Command::Order
        | Command::AllLines
        | Command::Base => model.say("this works on screen 5"),
        Command::Wrap if model.screen == Screen::Timeline => model.timeline.wrap = !model.timeline.wrap,
        Command::Wrap => model.say("this works on screens 3 and 4"),
        Command::Docs => model.say("this works on screen 4"),
        Command::Parents => model.say("this works on screens 4 and 8"),
        Command::ProblemsOnly => model.say("this works on screen 8"),
        Command::ExplainRule | Command::HideRule => model.say("this works on screen 9"),
        Command::Copy => model.overlays.push(Overlay::Copy),
        Command::CopyRow => return copied(model, clipboard::row(model), "nothing is selected"),
        Command::CopyName => return copied(model, clipboard::name(model), "nothing with a name is selected"),
        Command::CopyJson => {
            let text = clipboard::json(model, data);
            return copied(model, text, "JSON is copied from a message or a resource: choose one");
        }
        Command::CopyYaml => {
            let text = clipboard::yaml(model, data);
            return copied(model, text, "YAML is copied from a message or a resource: choose one");
        }
        Command::CopyPath => {
            let path = clipboard::path(model);
            return copied(
                model,
                path,
                "a path is copied from a field: choose a line of a resource (4) or a change (5)",
            );
        }
        Command::CopyCommand => {
            return copied(model, clipboard::command(model), "there is no source to name");
        }
        Command::Resubscribe | Command::AckHeld | Command::NackHeld | Command::Reconnect => {
            crate::tui::shell::client_action::act(model, command, data);
        }
        Command::Yes => {
            return match model.overlays.pop() {
                Some(Overlay::ConfirmTell(tells)) => crate::tui::shell::client_action::send(tells),
                _ => vec![Effect::Quit],
            };
        }
        Command::Cancel | Command::No => {
            model.overlays.pop();
        }
        // These work in prompts only, which take them before they come here.
        Command::Accept | Command::Complete | Command::Erase | Command::EraseAll => {}
    }
    vec![]
}

/// Goes to a screen by its number. Overview is home: from elsewhere `Esc` leads back to it.
pub fn go(model: &mut Model, screen: Screen, data: &dyn Data) {
    model.whole = false;
    model.pane = Pane::Main;
    if model.screen == screen {
        return;
    }
    let message = model.timeline.current.as_ref().filter(|_| model.screen == Screen::Timeline);
    let stream = current_stream(model);
    let stream =
        if model.scope.stream.is_none() { message.map(|shown| shown.fact.stream).or(stream) } else { stream };
    if screen == Screen::Overview {
        model.steps.clear();
        let rows = &model.overview.table.rows;
        let row = rows.iter().find(|row| row.streams.iter().any(|s| Some(s.stream) == model.scope.stream));
        if let Some(row) = row {
            model.overview.selected = Some(row.key);
            model.overview.moved = true;
        }
        model.scope.stream = None;
    } else if model.screen == Screen::Overview {
        model.steps = vec![here(model)];
    }
    model.screen = screen;
    if matches!(screen, Screen::Stream | Screen::Resources | Screen::Subs | Screen::Graph) {
        model.scope.stream = stream.or(model.scope.stream);
    }
    settle(model, data);
}

pub fn here(model: &Model) -> Step {
    Step { screen: model.screen, scope: model.scope.clone() }
}

/// Opens what is selected, with a way back.
fn open(model: &mut Model, data: &dyn Data) {
    let step = here(model);
    match (model.screen, model.pane) {
        (Screen::Overview, pane) => {
            let target = match pane {
                Pane::Main => model.overview.row().and_then(|row| {
                    let column = model.overview.column;
                    let url = column.checked_sub(1).and_then(|i| model.overview.table.types.get(i)).cloned();
                    Some((stream_of(row, column)?, url))
                }),
                Pane::Second => {
                    let problem = model.problems.get(model.overview.problem);
                    problem.map(|problem| (problem.stream, Some(problem.type_url.clone())))
                }
            };
            let Some((stream, url)) = target else {
                model.say("nothing to open");
                return;
            };
            model.scope.stream = Some(stream);
            if let Some(url) = url {
                model.stream.selected = Some(url);
            }
            model.screen = Screen::Stream;
        }
        (Screen::Stream, _) => {
            let Some(state) = model.stream.state() else {
                model.say("nothing to open");
                return;
            };
            if let Some(n) = state.open_nack {
                let scope = Scope { stream: Some(state.stream), type_url: Some(state.type_url.clone()) };
                model.scope = scope;
                model.screen = Screen::Nack;
                model.pane = Pane::Main;
                model.steps.push(step);
                settle(model, data);
                model.nacks.select_message(n);
                return;
            }
            let n = state.open_nack.or(state.last_push.as_ref().map(|push| Seq(push.n)));
            model.scope = Scope { stream: Some(state.stream), type_url: Some(state.type_url.clone()) };
            model.screen = Screen::Timeline;
            if let Some(row) = n.and_then(|n| data.row_of(n)) {
                model.timeline.stop_following(total(model, data));
                model.timeline.select(Some(row));
            }
        }
        (
            Screen::Timeline
            | Screen::Diff
            | Screen::Resources
            | Screen::Nack
            | Screen::Subs
            | Screen::Graph
            | Screen::Lint,
            _,
        ) => {
            model.whole = !model.whole;
            return;
        }
    }
    model.pane = Pane::Main;
    model.steps.push(step);
}

/// Shows what the selected push changed, with a way back.
fn diff(model: &mut Model, data: &dyn Data) {
    let step = here(model);
    if !crate::tui::screens::diff::from_here(model, data) {
        model.say("nothing to compare: choose a push or its answer");
        return;
    }
    to_diff(model, step);
}

pub fn to_diff(model: &mut Model, step: Step) {
    model.screen = Screen::Diff;
    model.whole = false;
    model.pane = Pane::Main;
    model.steps.push(step);
}

/// Marks the selected push, or compares it with the one that is marked.
fn diff_marked(model: &mut Model, data: &dyn Data) {
    let step = here(model);
    let fact = model.timeline.current.as_ref().map(|shown| shown.fact.clone());
    let fact = fact.filter(|fact| fact.dir == Some(crate::wire::event::Dir::Resp));
    let Some((n, url)) = fact.and_then(|fact| Some((fact.n?, fact.type_url.clone()))) else {
        model.say("only pushes can be marked and compared");
        return;
    };
    let marked = model.diff.marked.filter(|marked| *marked != n);
    let other = marked.and_then(|marked| data.row(data.row_of(marked)?));
    match (marked, other.filter(|other| other.type_url == url)) {
        (Some(marked), Some(_)) => {
            model.diff.marked = None;
            let (old, new) = (marked.min(n), marked.max(n));
            if crate::tui::screens::diff::open_push(model, data, new, Some(old)) {
                to_diff(model, step);
            } else {
                model.say("the content of one of them is not held any more");
            }
        }
        _ => {
            model.diff.marked = Some(n);
            model.say(format!("#{} is marked: D on another push of its type shows how they differ", n.0));
        }
    }
}

/// One step back; at the top it says so.
fn back(model: &mut Model) {
    if model.find.is_some() {
        model.find = None;
    } else if model.whole {
        model.whole = false;
    } else if model.filter.is_some() {
        model.filter = None;
    } else if let Some(step) = model.steps.pop() {
        model.screen = step.screen;
        model.scope = step.scope;
        model.pane = Pane::Main;
    } else if model.scope != Scope::default() && model.screen != Screen::Stream {
        model.scope = Scope::default();
    } else if model.pane == Pane::Second {
        model.pane = Pane::Main;
    } else {
        model.say("this is the top; q quits");
    }
}

fn quit(model: &mut Model) -> Vec<Effect> {
    if model.whole || !model.steps.is_empty() {
        let filter = model.filter.take();
        back(model);
        model.filter = filter;
        return vec![];
    }
    interrupt(model)
}

fn interrupt(model: &mut Model) -> Vec<Effect> {
    if matches!(model.overlays.last(), Some(Overlay::ConfirmTell(_))) {
        model.overlays.pop();
        return vec![];
    }
    if model.info.clients > 0 && !matches!(model.overlays.last(), Some(Overlay::ConfirmQuit)) {
        model.overlays.push(Overlay::ConfirmQuit);
        return vec![];
    }
    vec![Effect::Quit]
}

/// Follows the newest message, or stops. Held, it goes on.
fn follow(model: &mut Model, data: &dyn Data) {
    if model.screen == Screen::Timeline && model.timeline.follow && model.paused.is_none() {
        model.timeline.stop_following(total(model, data));
        return;
    }
    model.paused = None;
    model.timeline.follow = true;
    if model.screen != Screen::Timeline {
        model.say("this is live; the timeline (3) follows the newest message");
    }
}

fn pause(model: &mut Model, data: &dyn Data) {
    model.paused = match model.paused {
        Some(_) => None,
        None => Some(Paused { rows: data.rows(), now: data.now() }),
    };
}

/// Holds a live screen still, if it is not.
pub fn hold(model: &mut Model, data: &dyn Data) {
    if model.paused.is_none() {
        pause(model, data);
    }
}

/// Rows of a page in the pane that has the focus.
pub fn page(model: &Model) -> isize {
    let rows = model.layout().map_or(1, |layout| match model.screen {
        Screen::Timeline => layout::timeline(&layout, model.whole).0.height.saturating_sub(1),
        _ => layout.body.height / 2,
    });
    let rows = if model.whole { model.size.1.saturating_sub(8) } else { rows };
    isize::try_from(rows.max(1)).unwrap_or(1)
}

fn step(model: &mut Model, by: isize, data: &dyn Data) {
    let end = crate::tui::shell::view::help::help_end(model);
    if let Some(Overlay::Help { scroll }) = model.overlays.last_mut() {
        *scroll = scroll.saturating_add_signed(by).min(end);
        return;
    }
    match (model.screen, model.pane) {
        (Screen::Overview, pane) => model.overview.step(by, pane, model.problems.len()),
        (Screen::Stream, Pane::Main) => {
            let at = model.stream.position().unwrap_or(0);
            model.stream.select(at.saturating_add_signed(by));
        }
        (Screen::Stream, Pane::Second) => {
            model.stream.scroll = model.stream.scroll.saturating_add_signed(by);
        }
        (Screen::Timeline, Pane::Main) if !model.whole => {
            let total = total(model, data);
            model.timeline.step(by, total);
            // All the way down is what follows the newest.
            if by > isize::MAX / 4 {
                model.timeline.follow = true;
            }
        }
        (Screen::Timeline, _) => {
            model.timeline.scroll = model.timeline.scroll.saturating_add_signed(by);
        }
        (Screen::Diff, _) => {}
        (Screen::Resources | Screen::Nack | Screen::Subs | Screen::Graph | Screen::Lint, _) => {}
    }
}

fn copied(model: &mut Model, text: Option<String>, why_not: &str) -> Vec<Effect> {
    model.overlays.pop();
    match text {
        Some(text) => vec![Effect::Copy(text)],
        None => {
            model.say(why_not);
            vec![]
        }
    }
}

/// `diff cds/reviews`, from the palette.
pub fn diff_of(model: &mut Model, data: &dyn Data, what: &str) {
    let step = here(model);
    if crate::tui::screens::diff::open_named(model, data, what) {
        to_diff(model, step);
    } else {
        model.say(format!("no resource {what} was sent; type its type and name such as cds/reviews"));
    }
}

/// By how many rows a command moves.
pub fn moves(command: Command, page: isize) -> Option<isize> {
    Some(match command {
        Command::Up | Command::PreviousMatch => -1,
        Command::Down | Command::NextMatch => 1,
        Command::PageUp => -page,
        Command::PageDown => page,
        Command::HalfUp => -(page / 2).max(1),
        Command::HalfDown => (page / 2).max(1),
        Command::First => isize::MIN / 2,
        Command::Last => isize::MAX / 2,
        _ => return None,
    })
}
