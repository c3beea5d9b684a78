//! What keys do on screen 5, and how it is opened from elsewhere.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::diff::{Change, PushDiff};
use crate::engine::store::{NackFact, StateFact, TypeState};
use crate::tui::data::Data;
use crate::tui::input::command::Command;
use crate::tui::screens::overview::stream_of;
use crate::tui::shell::model::{Model, Pane, Screen};
use crate::tui::shell::update::{current_stream, total};
use crate::wire::event::{Dir, Kind, Seq, StreamId, TypeUrl};

use crate::tui::screens::diff::load::columns;
use crate::tui::screens::diff::{Diff, Row, Target};

/// Rows looked through for a push to begin with.
const ROWS: usize = 1 << 14;

/// Takes a command on this screen. False if it is one of those that mean the same everywhere.
pub fn act(model: &mut Model, command: Command, data: &dyn Data) -> bool {
    let page = model.layout().map_or(1, |layout| crate::tui::screens::diff::rows_high(model, &layout)).max(1);
    let page = isize::try_from(page).unwrap_or(1);
    match command {
        Command::Up => step(model, -1, data),
        Command::Down => step(model, 1, data),
        Command::PageUp => step(model, -page, data),
        Command::PageDown => step(model, page, data),
        Command::HalfUp => step(model, -(page / 2).max(1), data),
        Command::HalfDown => step(model, (page / 2).max(1), data),
        Command::First => step(model, isize::MIN / 2, data),
        Command::Last => step(model, isize::MAX / 2, data),
        Command::NextChange => go_to_change(model, true),
        Command::PreviousChange => go_to_change(model, false),
        Command::Older => version(model, data, false),
        Command::Newer => version(model, data, true),
        Command::Columns => {
            model.diff.columns = Some(!columns(model));
            model.diff.top_of_it();
        }
        Command::Order => {
            model.diff.strict_order = !model.diff.strict_order;
            model.diff.top_of_it();
        }
        Command::AllLines => {
            model.diff.context = !model.diff.context;
            model.diff.top_of_it();
        }
        Command::Base => base(model),
        Command::Open => model.pane = Pane::Second,
        Command::DiffScreen | Command::Diff => {}
        _ => return false,
    }
    true
}

fn step(model: &mut Model, by: isize, data: &dyn Data) {
    let entries = model.diff.push.as_ref().map_or(0, |push| push.entries.len());
    if model.pane == Pane::Second || model.whole || entries == 0 {
        model.diff.scroll = model.diff.scroll.saturating_add_signed(by);
        return;
    }
    model.diff.chosen = model.diff.chosen.saturating_add_signed(by).min(entries - 1);
    let total = total(model, data);
    model.diff.choose(data, total);
}

/// To the next or previous change.
fn go_to_change(model: &mut Model, forward: bool) {
    // From the change that was gone to, if nobody scrolled past it since.
    let top = model.diff.scroll;
    let mark = model.diff.mark.filter(|mark| *mark >= top);
    let found = match (forward, mark) {
        (true, Some(mark)) => model.diff.starts().find(|at| *at > mark),
        (true, None) => model.diff.starts().find(|at| *at >= top),
        (false, mark) => model.diff.starts().rfind(|at| *at < mark.unwrap_or(top)),
    };
    match found {
        Some(at) => {
            model.diff.mark = Some(at);
            // With a row above it, for context.
            model.diff.scroll = at.saturating_sub(1);
        }
        None => model.say(if forward { "no further change below" } else { "no further change above" }),
    }
}

fn version(model: &mut Model, data: &dyn Data, newer: bool) {
    let total = total(model, data);
    let diff = &mut model.diff;
    diff.follow(data, total);
    let to = match (diff.new, newer) {
        (Some(at), true) => Some(at + 1).filter(|at| *at < diff.versions.len()),
        (Some(at), false) => at.checked_sub(1),
        (None, _) => None,
    };
    match to {
        Some(at) => {
            // Another version is another question than what that push changed.
            if let Some(push) = &mut diff.push {
                push.against = None;
            }
            diff.show(at);
            diff.top_of_it();
        }
        None if newer => model.say("this is the newest version on this stream"),
        None => model.say("nothing older on this stream"),
    }
}

fn base(model: &mut Model) {
    let diff = &mut model.diff;
    diff.base = diff.base.next();
    if let Some(push) = &mut diff.push {
        push.against = None;
    }
    diff.within();
    diff.top_of_it();
    let word = diff.base.word();
    model.say(format!("compared with {word}"));
}

impl Diff {
    /// Another comparison begins at its top.
    pub fn top_of_it(&mut self) {
        self.scroll = 0;
        self.mark = None;
    }

    /// Takes the chosen entry of the push.
    fn choose(&mut self, data: &dyn Data, total: usize) {
        let Some(push) = &self.push else { return };
        let Some(entry) = push.entries.get(self.chosen) else {
            self.target = None;
            self.versions.clear();
            self.loaded = None;
            (self.old, self.new) = (None, None);
            return;
        };
        let n = push.n;
        let target =
            Target { stream: push.stream, type_url: push.type_url.clone(), name: entry.name.clone() };
        self.take(data, total, target, Some(n));
    }
}

/// Opens the summary of a push, with its first resource. False if there is no such push.
pub fn open_push(model: &mut Model, data: &dyn Data, n: Seq, against: Option<Seq>) -> bool {
    let total = total(model, data);
    let push = data.source().and_then(|(store, _)| match against {
        Some(against) => PushDiff::between(store, against, n, total),
        None => PushDiff::of(store, n, total),
    });
    let Some(push) = push else { return false };
    let same = model.diff.push.as_ref().is_some_and(|old| (old.n, old.against) == (push.n, push.against));
    model.diff.push = Some(push);
    model.diff.later = false;
    model.diff.heard = total;
    if !same {
        model.diff.chosen = 0;
        model.diff.top = 0;
        model.diff.top_of_it();
        model.diff.counts.clear();
        model.diff.choose(data, total);
    }
    true
}

/// Opens a resource at its newest version; for screens that show resources.
pub fn open_resource(
    model: &mut Model,
    data: &dyn Data,
    stream: StreamId,
    type_url: TypeUrl,
    name: Arc<str>,
) {
    (model.diff.push, model.diff.later) = (None, false);
    let total = total(model, data);
    model.diff.take(data, total, Target { stream, type_url, name }, None);
}

/// Opens a resource of one stream against what another stream has under its name.
pub fn open_variants(
    model: &mut Model,
    data: &dyn Data,
    (one, other): (StreamId, StreamId),
    type_url: TypeUrl,
    name: Arc<str>,
) -> bool {
    let total = total(model, data);
    (model.diff.push, model.diff.later) = (None, false);
    model.diff.take_two(data, total, Target { stream: one, type_url, name }, other)
}

/// Opens a resource by `TYPE/NAME`, on the stream in scope if it is there, else on the newest that has it.
pub fn open_named(model: &mut Model, data: &dyn Data, what: &str) -> bool {
    let Some((store, (word, name))) = data.source().map(|(store, _)| store).zip(what.split_once('/')) else {
        return false;
    };
    let kind = Kind::parse(word);
    let current = current_stream(model);
    let mut found = None;
    for state in store.summaries() {
        let is = Kind::of_type_url(state.type_url.as_str()).map(|(kind, _)| kind) == kind && kind.is_some();
        if is && let Some(fact) = store.resource(state.stream, &state.type_url, name) {
            found = Some((state.stream, state.type_url, fact.name));
            if Some(state.stream) == current {
                break;
            }
        }
    }
    match found {
        Some((stream, type_url, name)) => {
            open_resource(model, data, stream, type_url, name);
            true
        }
        None => false,
    }
}

/// Takes what is selected on the screen that is left, if it can be compared; else what was looked at before, else
/// the newest push. Says why there is nothing.
pub fn from_here(model: &mut Model, data: &dyn Data) -> bool {
    let selected = match model.screen {
        Screen::Timeline => model.timeline.current.as_ref().map(|shown| match shown.fact.dir {
            Some(Dir::Resp) => shown.fact.n,
            _ => shown.fact.answers,
        }),
        Screen::Stream => model.stream.state().map(|state| of_type(data, state)),
        Screen::Resources => match crate::tui::screens::resources::what(model) {
            Some(what) if open_named(model, data, &what) => return true,
            _ => None,
        },
        Screen::Nack => {
            let refused = |nack: &NackFact| nack.refused;
            model.nacks.group().map(|group| that_changed(data, group.nacks.iter().rev().filter_map(refused)))
        }
        // What was refused; or the problem's message, or the push that it answers.
        Screen::Overview if model.pane == Pane::Second => {
            model.problems.get(model.overview.problem).and_then(|problem| match problem.state {
                TypeState::Nack => state_of(data, problem.stream, &problem.type_url),
                _ => {
                    let fact = problem.at.and_then(|n| data.row(data.row_of(n)?))?;
                    Some(if fact.dir == Some(Dir::Resp) { fact.n } else { fact.answers })
                }
            })
        }
        Screen::Overview => {
            let column = model.overview.column;
            let url = column.checked_sub(1).and_then(|at| model.overview.table.types.get(at));
            let stream = model.overview.row().and_then(|row| stream_of(row, column));
            stream.zip(url).and_then(|(stream, url)| state_of(data, stream, url))
        }
        _ => None,
    };
    if let Some(Some(n)) = selected
        && open_push(model, data, n, None)
    {
        return true;
    }
    if crate::tui::screens::diff::ready(model) {
        return true;
    }
    let stream = current_stream(model);
    let rows = total(model, data);
    let newest = (rows.saturating_sub(ROWS)..rows).rev().filter_map(|row| data.row(row)).find(|fact| {
        let changes = !fact.added.is_empty() || !fact.changed.is_empty() || !fact.removed.is_empty();
        let here = stream.is_none_or(|stream| stream == fact.stream);
        fact.dir == Some(Dir::Resp) && here && changes
    });
    newest.and_then(|fact| fact.n).is_some_and(|n| open_push(model, data, n, None))
}

/// The push to be looked at for a type of a stream.
fn state_of(data: &dyn Data, stream: StreamId, url: &TypeUrl) -> Option<Option<Seq>> {
    let states = data.states_of(stream);
    states.iter().find(|state| state.type_url == *url).map(|state| of_type(data, state))
}

/// The push that is refused now; else the newest.
fn of_type(data: &dyn Data, state: &StateFact) -> Option<Seq> {
    let open = usize::try_from(state.open_nacks).unwrap_or(usize::MAX);
    let refused = state.nacks.iter().rev().take(open).filter_map(|nack| nack.refused);
    that_changed(data, refused).or(state.last_push.as_ref().map(|push| Seq(push.n)))
}

/// The newest of some pushes, newest first, that changed something: one that is sent again does not.
fn that_changed(data: &dyn Data, pushes: impl Iterator<Item = Seq> + Clone) -> Option<Seq> {
    let changed = |n: &Seq| {
        let push = data.source().and_then(|(store, _)| PushDiff::of(store, *n, store.rows()));
        push.is_some_and(|push| !push.entries.is_empty())
    };
    pushes.clone().find(changed).or(pushes.clone().next())
}

/// The command line that prints what the screen shows.
pub fn command(model: &Model, source: &str, quoted: impl Fn(&str) -> String) -> Option<String> {
    let diff = &model.diff;
    let target = diff.target.as_ref().filter(|_| crate::tui::screens::diff::absent(model).is_none())?;
    let word =
        Kind::of_type_url(target.type_url.as_str()).map_or(target.type_url.as_str(), |(kind, _)| kind.word());
    let what = quoted(&format!("{word}/{}", target.name));
    let place = |at| diff.version(at).map(|version| format!(" '#{}'", version.n.0));
    let stream = target.stream.0;
    let Some(old) = place(diff.old) else {
        // All of it is new, so it is what is in it.
        let new = diff.version(diff.new)?.n.0;
        return Some(format!("xdscope get {source} {what} -o yaml --at '#{new}' --stream '#{stream}'"));
    };
    let new = place(diff.new)?;
    let order = if diff.strict_order { " --strict-order" } else { "" };
    let columns = if columns(model) { " --side-by-side" } else { "" };
    Some(format!("xdscope diff {source} {what}{old}{new} --stream '#{stream}'{order}{columns}"))
}

/// The change that was gone to, or the first one on the screen.
pub fn change(model: &Model) -> Option<&Change> {
    let diff = &model.diff;
    let rows = diff.rows.iter().skip(diff.mark.unwrap_or(diff.scroll));
    let at = rows.filter_map(|row| if let Row::Path(at) = row { Some(*at) } else { None }).next();
    diff.compared.change(at.unwrap_or_default())
}

/// That change as text, uncut.
pub fn copied(model: &Model) -> Option<String> {
    let change = change(model)?;
    let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
    let text = format!("{}  {}  {}", change.path, value(&change.from), value(&change.to));
    Some(crate::wire::text::display_safe(&text).into_owned())
}
