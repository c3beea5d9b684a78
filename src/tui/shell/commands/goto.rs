//! Commands that go to a message, a time, or the next type or stream.

use crate::data::{Data, Seek};
use crate::input::screen_id::ScreenId;
use crate::screens::screen::Screen;
use xdscope_engine::filter::FilterTime;
use xdscope_present::report::type_order;
use xdscope_wire::event::{Seq, Time, TypeUrl};

use super::navigation::{go, go_to_message};
use super::replay;
use crate::shell::effect::Effect;
use crate::shell::model::Model;

/// Narrows the scope to the next type, and after the last one to all types.
pub(crate) fn next_type(model: &mut Model, data: &dyn Data) {
    let scope = &model.common.scope;
    let cells = data.summaries().into_iter();
    let in_scope = cells.filter(|cell| scope.stream.is_none_or(|stream| stream == cell.stream));
    let mut types: Vec<TypeUrl> = in_scope.map(|cell| cell.type_url).collect();
    types.sort_by_cached_key(type_order);
    types.dedup();
    let next = match &scope.type_url {
        None => 0,
        Some(url) => types.iter().position(|known| known == url).map_or(0, |at| at + 1),
    };
    model.common.scope.type_url = types.get(next).cloned();
    if let Some(url) = &model.common.scope.type_url {
        model.screens.get_mut(model.screen).select_type(url);
    }
}

/// Narrows the scope to the next or previous stream. The selected type stays selected.
pub(crate) fn next_stream(model: &mut Model, data: &dyn Data, by: isize) {
    let mut streams = data.stream_ids();
    streams.sort_unstable();
    let current = model.common.scope.stream.or(model.common.current_stream);
    let at = streams.iter().position(|stream| Some(*stream) == current);
    let to = at.map_or(Some(0), |at| at.checked_add_signed(by));
    let Some(stream) = to.and_then(|to| streams.get(to)).copied() else {
        return model.say(if streams.is_empty() { "no stream yet" } else { "no further stream this way" });
    };
    if let Some(url) = model.screens.stream.types.selected.clone() {
        model.screens.stream.select_type(&url);
    }
    if model.screen == ScreenId::Overview {
        model.screens.overview.select_stream(Some(stream));
    } else {
        model.common.scope.stream = Some(stream);
    }
    model.say(format!("stream {} of {}: #{}", to.map_or(0, |to| to + 1), streams.len(), stream.0));
}

/// Goes to `#487`, `14:02:08` or `+30s`: moves the time cursor of a replay, or shows the place on
/// the timeline of a live source.
pub(crate) fn goto(model: &mut Model, data: &dyn Data, target: &str) -> Vec<Effect> {
    let target = target.trim();
    let bar = model.common.info.bar.as_ref();
    let has_cursor = bar.is_some();
    let end = bar.map_or(model.common.now, |bar| bar.end);
    let number = target.parse().ok().map(|n| FilterTime::Message(Seq(n)));
    let to = match number.or_else(|| FilterTime::parse(target)) {
        Some(FilterTime::Message(n)) => Some(Seek::Message(n)),
        Some(moment) => moment.time(model.common.clock, end, &model.common.zone).map(Seek::Time),
        None if has_cursor && target == "start" => Some(Seek::Start),
        None if has_cursor && target == "end" => Some(Seek::End),
        None => None,
    };
    match to {
        Some(seek) if has_cursor => {
            let effects = replay::seek(model, data, seek);
            if target.starts_with('+') {
                model.say(format!("{target} from the start of the recording"));
            }
            return effects;
        }
        Some(Seek::Message(n)) if data.row_of(n).is_some() => go_to_message(model, data, n),
        Some(Seek::Time(at)) => {
            let rows = model.common.rows(data);
            let row = first_row_from(data, rows, at).min(rows.saturating_sub(1));
            go(model, ScreenId::Timeline, data);
            model.screens.timeline.show_row(row, &model.common, data);
        }
        _ => {
            model.say(format!("no message {target}; type a number such as #487, or a time such as 14:02:08"))
        }
    }
    vec![]
}

/// The first row at or after a time.
fn first_row_from(data: &dyn Data, rows: usize, at: Time) -> usize {
    let (mut low, mut high) = (data.store().first_row().min(rows), rows);
    while low < high {
        let middle = low + (high - low) / 2;
        if data.line(middle).is_some_and(|line| line.at < at) { low = middle + 1 } else { high = middle }
    }
    low
}
