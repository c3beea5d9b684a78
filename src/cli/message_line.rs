//! One message on one line, for live runs and for files that are followed.

use jiff::tz::TimeZone;

use crate::engine::store::{MessageFact, Store};
use crate::present::{json, report};
use crate::wire::event::Dir;
use crate::wire::text::{display_safe, latency, size, time_of_day, type_label};

use super::io::Style;
use super::{json_out, words};

/// Formats a row as `log` prints it, without the columns that depend on other rows.
pub fn text(fact: &MessageFact, store: &Store, zone: &TimeZone, style: Style) -> String {
    let row = fact.line();
    let mut words: Vec<String> = vec![time_of_day(fact.at, store.clock(), zone)];
    words.extend(fact.n.map(|n| format!("#{}", n.0)));
    words.push(fact.node.as_deref().map_or_else(|| format!("stream #{}", fact.stream.0), str::to_owned));
    match fact.dir {
        Some(Dir::Req) => words.push(style.pick("→", "->").into()),
        Some(Dir::Resp) => words.push(style.pick("←", "<-").into()),
        None => {}
    }
    words.extend(fact.dir.map(|_| type_label(fact.type_url.as_str())));
    words.push(words::kind(&row, style).0);
    words.extend((!fact.version.is_empty()).then(|| format!("version {}", fact.version)));
    words.extend((!fact.nonce.is_empty()).then(|| format!("nonce {}", fact.nonce)));
    words.push(report::resources(&row));
    words.extend(fact.n.map(|_| size(fact.size)));
    words.extend(fact.latency.filter(|_| fact.dir == Some(Dir::Req)).map(latency));
    words.push(report::remarks(fact, &row, false));
    words.retain(|word| !word.is_empty());
    display_safe(&words.join("  ")).into_owned()
}

/// Formats a row as one line of JSON.
pub(super) fn json(fact: &MessageFact, store: &Store) -> String {
    json_out::line(&json::complete_message(fact, store))
}
