//! The guided tour of the demo: what there is to see, what to press, and what comes next.
//!
//! A step is shown only while the facts that it tells are true. It is done when the user did what
//! it asks for, in whichever way.

use std::cmp::Ordering;

use crate::common::Pane;
use crate::data::Data;
use crate::input::screen_id::ScreenId;
use xdscope_engine::problems::{Problem, ProblemFact};
use xdscope_present::report;
use xdscope_present::text::wrap;
use xdscope_wire::text::{count, display_safe, plural};

use super::model::Model;

/// The most lines of the tour, with its title.
const MAX_TOUR_LINES: u16 = 5;
/// The lines of the tour before its words are known.
const MIN_TOUR_LINES: u16 = 3;
/// The most lines of a sight, and of the keys to press.
pub(super) const MAX_TEXT_LINES: usize = 2;
/// Columns beside a sight and the keys to press.
pub(super) const LABEL_WIDTH: usize = 10;
/// Lines of the screen that the tour must leave.
const MIN_BODY_LINES: u16 = 12;

/// The progress of the tour.
#[derive(Clone, Debug, Default)]
pub struct Tour {
    is_hidden: bool,
    /// The current step.
    pub(super) at: usize,
    /// The action of the user in the step before.
    done: Option<&'static str>,
    /// The current step in words.
    pub(super) words: Option<TourWords>,
}

/// A step in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TourWords {
    /// `tour 3 of 12, done: a problem is chosen`.
    pub title: String,
    /// The sight of the step.
    pub see: String,
    /// The keys to press.
    pub press: String,
}

impl TourWords {
    /// The lines of the tour on a terminal of this width, with its title.
    fn lines(&self, width: u16) -> u16 {
        let room = usize::from(width).saturating_sub(LABEL_WIDTH + 1);
        let lines = |text: &str| wrap(&display_safe(text), room).len().clamp(1, MAX_TEXT_LINES);
        u16::try_from(1 + lines(&self.see) + lines(&self.press)).unwrap_or(MAX_TOUR_LINES)
    }
}

/// Another screen on the way to the end of a step.
struct WayScreen {
    screen: ScreenId,
    /// The sight, as in a step.
    see: fn(&Model, &dyn Data) -> Option<String>,
    press: &'static str,
}

/// The keys to press.
enum Press {
    Keys(&'static str),
    /// Those that lead there from what the screen shows.
    Found(fn(&Model) -> String),
}

impl Press {
    fn text(&self, model: &Model) -> String {
        match self {
            Press::Keys(text) => (*text).to_owned(),
            Press::Found(text) => text(model),
        }
    }
}

/// A step of the tour.
struct TourStep {
    /// The screen that the step is about.
    screen: ScreenId,
    /// The sight, with facts of this moment; `None` while the facts are missing.
    see: fn(&Model, &dyn Data) -> Option<String>,
    /// The event that the step waits for.
    waits: &'static str,
    press: Press,
    way: &'static [WayScreen],
    is_done: fn(&Model) -> bool,
    /// The action of the user.
    done: &'static str,
}

const STEPS: [TourStep; 11] = [
    TourStep {
        screen: ScreenId::Overview,
        see: overview,
        waits: "in a moment the control plane pushes a cluster that edge-gw-1 refuses",
        press: Press::Keys("} chooses the next problem of the list, { the one before"),
        way: &[],
        is_done: |model| model.common.problems.has_choice() || has_refusal_open(model),
        done: "a problem is chosen",
    },
    TourStep {
        screen: ScreenId::Overview,
        see: chosen_problem,
        waits: "choose a problem with }",
        press: Press::Found(to_the_refusal),
        way: &[],
        is_done: has_refusal_open,
        done: "the refusal is open",
    },
    TourStep {
        screen: ScreenId::Nack,
        see: card,
        waits: "the card is being read",
        press: Press::Keys("d shows what the refused push changed"),
        way: &[],
        is_done: |model| model.screen == ScreenId::Diff,
        done: "the change is open",
    },
    TourStep {
        screen: ScreenId::Diff,
        see: change,
        waits: "choose a push with changes: [ and ] go to other versions",
        press: Press::Keys("3 shows the messages, L draws them as a ladder between client and server"),
        way: &[WayScreen {
            screen: ScreenId::Timeline,
            see: messages,
            press: "L draws the messages as a ladder between client and server",
        }],
        is_done: |model| model.screen == ScreenId::Timeline && model.screens.timeline.is_ladder,
        done: "the messages are a ladder",
    },
    TourStep {
        screen: ScreenId::Timeline,
        see: messages,
        waits: "the first messages are about to come",
        press: Press::Keys(
            "/ and kind:nack and Enter: only the refusals (Tab completes, Up recalls, Esc takes it off)",
        ),
        way: &[],
        is_done: |model| model.screen == ScreenId::Timeline && model.common.filter.is_some(),
        done: "the list is narrowed",
    },
    TourStep {
        screen: ScreenId::Timeline,
        see: narrowed,
        waits: "/ and kind:nack and Enter",
        press: Press::Keys("7 shows which names never came"),
        way: &[],
        is_done: |model| model.screen == ScreenId::Subscriptions,
        done: "the subscriptions are open",
    },
    TourStep {
        screen: ScreenId::Subscriptions,
        see: missing,
        waits: "no name is missing at this moment",
        press: Press::Keys("8 shows how resources hang together"),
        way: &[],
        is_done: |model| model.screen == ScreenId::Graph,
        done: "the graph is open",
    },
    TourStep {
        screen: ScreenId::Graph,
        see: graph,
        waits: "the graph is being built",
        press: Press::Keys(
            "1, then } or { to a FAILING problem, and Enter: all streams of that client (2 and a do so too)",
        ),
        way: &[
            WayScreen {
                screen: ScreenId::Overview,
                see: problems,
                press: "} or { to a FAILING problem, then Enter: all streams of that client",
            },
            WayScreen {
                screen: ScreenId::Stream,
                see: one_stream,
                press: "a lists all streams of the client",
            },
        ],
        is_done: |model| model.screen == ScreenId::Stream && model.screens.stream.lists_streams,
        done: "the streams are listed",
    },
    TourStep {
        screen: ScreenId::Stream,
        see: streams,
        waits: "a lists all streams of the client",
        press: Press::Keys(
            ": and reviews and Enter goes there by name: commands, nodes, types, resources, rules",
        ),
        way: &[],
        is_done: |model| model.screen == ScreenId::Resources,
        done: "the resource is open",
    },
    TourStep {
        screen: ScreenId::Resources,
        see: resource,
        waits: "choose a resource with j and k",
        press: Press::Keys(", goes one message back in time, on every screen; f returns to now"),
        way: &[],
        is_done: |model| model.common.has_cursor(),
        done: "the past is open",
    },
    TourStep {
        screen: ScreenId::Resources,
        see: past,
        waits: ", goes back in time",
        press: Press::Keys("? lists all keys, y copies (yc: the command for a colleague); q ends the demo"),
        way: &[],
        is_done: |_| false,
        done: "",
    },
];

/// Reserves the lines of the tour.
pub(super) fn make_room(model: &mut Model) {
    model.common.tour_lines = 0;
    let body = model.common.layout().map_or(0, |layout| layout.body.height);
    let is_shown = model.common.info.has_tour && !model.tour.is_hidden;
    if is_shown && body >= MIN_BODY_LINES + MAX_TOUR_LINES {
        let words = model.tour.words.as_ref();
        model.common.tour_lines = words.map_or(MIN_TOUR_LINES, |words| words.lines(model.common.size.0));
    }
}

/// Shows or hides the tour.
pub(super) fn toggle(model: &mut Model) {
    if !model.common.info.has_tour {
        return model.say("the tour is part of xdscope demo");
    }
    model.tour.is_hidden = !model.tour.is_hidden;
    model.say(if model.tour.is_hidden { "the tour is hidden; :tour shows it" } else { "the tour goes on" });
}

/// Goes on if the user did what the step asks for, and words the step by the facts of this moment.
pub(super) fn settle(model: &mut Model, data: &dyn Data) {
    if model.common.tour_lines == 0 {
        model.tour.words = None;
        return;
    }
    while let Some(step) = STEPS.get(model.tour.at).filter(|step| (step.is_done)(model)) {
        model.tour.done = Some(step.done);
        model.tour.at += 1;
    }
    let Some(step) = STEPS.get(model.tour.at) else { return };
    // The last step is about every screen.
    let is_last = model.tour.at + 1 == STEPS.len();
    let is_there = is_last || model.screen == step.screen;
    let way = step.way.iter().find(|way| way.screen == model.screen && !is_there);
    let on_way = way.and_then(|way| Some(((way.see)(model, data)?, way.press.to_owned())));
    let there = match (step.see)(model, data) {
        Some(see) if is_there => Some((see, step.press.text(model))),
        _ => None,
    };
    let has_facts = there.is_some() || on_way.is_some();
    let (see, press) = match there.or(on_way) {
        Some(words) => words,
        None if is_there => (format!("(not yet: {})", step.waits), step.press.text(model)),
        None => {
            let next = step.way.first().map_or(step.screen, |way| way.screen);
            let (number, title) = (next.number(), next.title());
            (
                format!("you are looking around; the tour goes on at screen {number} {title}"),
                format!("{number}"),
            )
        }
    };
    // The user may undo a step.
    let done = match model.tour.done {
        Some(done) if has_facts || !is_there => format!("; done: {done}"),
        _ => String::new(),
    };
    let title = format!("tour, step {} of {}{done}", model.tour.at + 1, STEPS.len());
    let words = TourWords { title, see, press };
    // The screen has been settled for the words before; the next change of the facts mends that.
    model.common.tour_lines = words.lines(model.common.size.0);
    model.tour.words = Some(words);
}

/// The card of a refusal is shown.
fn has_refusal_open(model: &Model) -> bool {
    model.screen == ScreenId::Nack && model.screens.nack.has_refusal()
}

fn refused(model: &Model) -> Option<&ProblemFact> {
    model.common.problems.all.iter().find(|problem| matches!(problem.problem, Problem::Refused(_)))
}

/// Returns the keys that lead from the chosen problem to the refusal.
fn to_the_refusal(model: &Model) -> String {
    let is_refusal = |problem: &ProblemFact| matches!(problem.problem, Problem::Refused(_));
    let refusal = model.common.problems.all.iter().position(is_refusal);
    let key = match refusal.map(|at| at.cmp(&model.common.problems.index())) {
        Some(Ordering::Equal) => return "Enter opens the evidence of the NACK (6 does so too)".to_owned(),
        Some(Ordering::Less) => "{",
        _ => "}",
    };
    format!("{key} until the NACK of edge-gw-1 is chosen, then Enter opens its evidence (6 does so too)")
}

fn overview(model: &Model, _data: &dyn Data) -> Option<String> {
    let problem = refused(model)?;
    let nodes = plural(model.screens.overview.table.nodes as u64, "node");
    let place = report::problem_place(problem);
    let problems = report::problem_count(&model.common.problems.all);
    Some(format!(
        "{nodes}, the worst first, with the state of each type and its age; below, {problems}. {place} is refused."
    ))
}

fn chosen_problem(model: &Model, _data: &dyn Data) -> Option<String> {
    refused(model)?;
    if model.common.pane != Pane::Second {
        return None;
    }
    let problem = model.common.problems.chosen()?;
    let (place, word) = (report::problem_place(problem), report::problem_word(problem).0);
    let (at, count) = (model.common.problems.index() + 1, model.common.problems.count());
    let number =
        if problem.is_wrong() { format!("problem {at} of {count}") } else { "still in time".to_owned() };
    Some(format!(
        "{number}: {place} {word}. Who owes what to whom, since when, and the messages that show it."
    ))
}

fn card(model: &Model, _data: &dyn Data) -> Option<String> {
    let subject = model.screens.nack.card.subjects.first()?;
    let name = &subject.name.value;
    Some(match subject.faults.first() {
        Some((path, _)) => format!(
            "The client's own words, the resource at fault ({name}) and the field ({}), read out of them.",
            path.value
        ),
        None => format!("The client's own words, and the resource at fault ({name}), read out of them."),
    })
}

fn change(model: &Model, _data: &dyn Data) -> Option<String> {
    let diff = &model.screens.diff;
    let change = diff.compared.comparison.changes.first()?;
    let name = &diff.target.as_ref()?.name;
    let fields = plural(diff.compared.comparison.changes.len() as u64, "field");
    Some(format!(
        "{fields} of {name} changed, the first is {}. Order of maps and keyed lists does not count.",
        change.path
    ))
}

fn messages(model: &Model, data: &dyn Data) -> Option<String> {
    let all = data.rows().checked_sub(data.store().first_row()).filter(|rows| *rows > 0)? as u64;
    let timeline = &model.screens.timeline;
    let view = if timeline.is_ladder { "arrow" } else { "row" };
    let events = match timeline.index.len() as u64 {
        shown if shown < all => format!("{} in scope, {} in all", plural(shown, "event"), count(all)),
        _ => plural(all, "event"),
    };
    Some(format!("{events}, one {view} each: pushes, answers under their push, with latency."))
}

fn problems(model: &Model, _data: &dyn Data) -> Option<String> {
    Some(format!("{}, the worst first.", report::problem_count(&model.common.problems.all)))
}

fn one_stream(_model: &Model, _data: &dyn Data) -> Option<String> {
    Some("The types of one stream: what was offered, and what is in force.".to_owned())
}

fn narrowed(model: &Model, _data: &dyn Data) -> Option<String> {
    let messages = plural(model.screens.timeline.index.len() as u64, "message");
    Some(match &model.common.filter {
        Some(filter) => format!(
            "{messages} match {}; yc copies the command that prints them; Esc takes the filter off.",
            filter.text
        ),
        None => format!("The filter is off: {messages} in scope."),
    })
}

fn missing(model: &Model, _data: &dyn Data) -> Option<String> {
    let owed = |problem: &&ProblemFact| matches!(problem.problem, Problem::Owed(_));
    let problem = model.common.problems.all.iter().find(owed)?;
    Some(format!("{}: {}.", report::problem_place(problem), report::problem(problem, &model.common.clock)))
}

fn graph(model: &Model, _data: &dyn Data) -> Option<String> {
    let graph = &model.screens.graph.graph;
    let all = graph.count_all();
    if all == 0 {
        return None;
    }
    let problems = graph.problems().count() as u64;
    Some(format!(
        "{} of one client, from listeners to endpoints; {} not ready. p shows only those.",
        plural(all, "resource"),
        count(problems)
    ))
}

fn streams(model: &Model, data: &dyn Data) -> Option<String> {
    let stream = &model.screens.stream;
    let streams = &stream.client.list.rows;
    if !stream.lists_streams {
        return one_stream(model, data);
    }
    if streams.is_empty() {
        return None;
    }
    let ended = streams.iter().filter(|fact| fact.closed.is_some()).count() as u64;
    Some(format!(
        "{} of one client, {} ended: how long each lasted, who ended it, and the pause before the next.",
        plural(streams.len() as u64, "stream"),
        count(ended)
    ))
}

fn resource(model: &Model, _data: &dyn Data) -> Option<String> {
    let name = model.active().copy_name(&model.common)?;
    Some(format!("{name}: its content, its versions, and the documentation of the selected field."))
}

fn past(model: &Model, _data: &dyn Data) -> Option<String> {
    let Some(bar) = &model.common.info.bar else {
        return Some("All screens show this moment again. This was the tour; :tour hides it.".to_owned());
    };
    let moment = match bar.message == bar.messages {
        true => format!("The moment of the last message, {}", count(bar.message)),
        false => format!("Message {} of {}", count(bar.message), count(bar.messages)),
    };
    Some(format!("{moment}: all screens show it. Space plays, . and , step. This was the tour."))
}
