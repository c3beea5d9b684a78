//! Commands that lead to another place: the next problem, type or stream, a message, a moment.

use crate::engine::filter::FilterTime;
use crate::present::report::type_order;
use crate::tui::data::Data;
use crate::tui::shell::model::{Model, Pane, Screen};
use crate::tui::shell::replay::{self, Seek};
use crate::tui::shell::update::{Effect, total};
use crate::wire::event::{Seq, Time, TypeUrl};

use crate::tui::shell::commands::go;

/// To the next message of a problem, or, with `all` false, to the next NACK.
pub fn problem(model: &mut Model, data: &dyn Data, forward: bool, all: bool) {
    let none = if all { "no further problem this way" } else { "no further NACK this way" };
    match model.screen {
        Screen::Overview if all => {
            let by = if forward { 1 } else { -1 };
            if model.problems.is_empty() {
                model.say("no problems");
            } else if model.pane == Pane::Main {
                model.pane = Pane::Second;
                model.overview.problem = model.overview.problem.min(model.problems.len() - 1);
            } else {
                model.overview.step(by, Pane::Second, model.problems.len());
            }
        }
        Screen::Stream if all => match model.stream.next_problem(forward) {
            Some(at) => model.stream.select(at),
            None => model.say(none),
        },
        _ => {
            if model.screen != Screen::Timeline {
                go(model, Screen::Timeline, data);
            }
            match target(model, data, forward, all) {
                Some(row) => {
                    let total = total(model, data);
                    model.timeline.stop_following(total);
                    model.timeline.select(Some(row));
                }
                None => model.say(none),
            }
        }
    }
}

fn target(model: &Model, data: &dyn Data, forward: bool, all: bool) -> Option<usize> {
    let here = model.timeline.selected?;
    let nacks = data.nacks().into_iter();
    let others = model.problems.iter().filter(|_| all).filter_map(|problem| problem.at);
    let shown = |row: &usize| model.timeline.index.get(model.timeline.index.rank(*row)) == Some(*row);
    let rows = nacks.chain(others).filter_map(|n| data.row_of(n)).filter(shown);
    if forward { rows.filter(|row| *row > here).min() } else { rows.filter(|row| *row < here).max() }
}

pub fn next_type(model: &mut Model, data: &dyn Data) {
    let cells = data.summaries();
    let mut types: Vec<TypeUrl> = cells
        .into_iter()
        .filter(|cell| model.scope.stream.is_none_or(|stream| stream == cell.stream))
        .map(|cell| cell.type_url)
        .collect();
    types.sort_by_cached_key(type_order);
    types.dedup();
    let next = match &model.scope.type_url {
        None => 0,
        Some(url) => types.iter().position(|known| known == url).map_or(0, |at| at + 1),
    };
    model.scope.type_url = types.get(next).cloned();
    if model.screen == Screen::Stream
        && let Some(url) = &model.scope.type_url
    {
        model.stream.selected = Some(url.clone());
    }
}

pub fn other_stream(model: &mut Model, data: &dyn Data, by: isize) {
    let mut streams: Vec<_> = data.streams().into_iter().map(|stream| stream.stream).collect();
    streams.sort_unstable();
    let at = streams.iter().position(|stream| Some(*stream) == model.scope.stream);
    let to = at.map_or(0, |at| at.saturating_add_signed(by)).min(streams.len().saturating_sub(1));
    model.scope.stream = streams.get(to).copied();
}

/// `goto #487`, `goto 14:02:08`, `goto +30s`, from the palette: the time cursor of a replay, the timeline of a
/// live source.
pub fn goto(model: &mut Model, data: &dyn Data, place: &str) -> Vec<Effect> {
    let place = place.trim();
    let number = place.parse().ok().map(|n| FilterTime::Message(Seq(n)));
    let moment = number.or_else(|| FilterTime::parse(place));
    let end = model.info.bar.as_ref().map_or(model.now, |bar| bar.end);
    let to = match moment {
        Some(FilterTime::Message(n)) => Some(Seek::Message(n)),
        Some(moment) => moment.time(model.clock, end, &model.zone).map(Seek::Time),
        None if model.info.bar.is_some() && place == "start" => Some(Seek::Start),
        None if model.info.bar.is_some() && place == "end" => Some(Seek::End),
        None => None,
    };
    match to {
        Some(seek) if model.info.bar.is_some() => return replay::seek(model, data, seek),
        Some(Seek::Message(n)) if data.row_of(n).is_some() => goto_message(model, data, n),
        Some(Seek::Time(at)) => {
            let rows = total(model, data);
            let row = first_from(data, rows, at).min(rows.saturating_sub(1));
            go(model, Screen::Timeline, data);
            model.timeline.stop_following(rows);
            model.timeline.select(Some(row));
        }
        _ => model.say(format!("no message {place}; type a number such as #487, or a time such as 14:02:08")),
    }
    vec![]
}

/// The first row that is not before a time.
fn first_from(data: &dyn Data, rows: usize, at: Time) -> usize {
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low + (high - low) / 2;
        if data.line(middle).is_some_and(|line| line.at < at) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Shows a message on the timeline.
pub fn goto_message(model: &mut Model, data: &dyn Data, n: Seq) {
    let Some(row) = data.row_of(n) else { return };
    model.whole = false;
    model.pane = Pane::Main;
    model.screen = Screen::Timeline;
    let total = total(model, data);
    model.timeline.stop_following(total);
    model.timeline.select(Some(row));
}
