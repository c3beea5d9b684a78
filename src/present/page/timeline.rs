//! The rows of the timeline, which the script of the page lists, filters and draws.

use std::collections::{BTreeSet, HashMap};

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::table::LogRow;
use crate::{json, report};
use xdscope_engine::store::MessageKind;
use xdscope_wire::event::{ApiVersion, Dir, Kind, TypeUrl};
use xdscope_wire::text::{count, plural, type_label};

use super::html::{Html, cell, class, json_bytes};
use super::{Page, contents};

/// Rows of the page. The newest are kept.
const MAX_ROWS: usize = 10_000;
/// Bytes of the rows.
const MAX_BYTES: usize = 1_400_000;
/// Types that are not built in, for the filter.
const MAX_TYPES: usize = 50;

/// A field of a row. Texts are indices into `strings`.
enum TimelineField {
    Number(fn(&LogRow<'_>) -> u64),
    Text(fn(&LogRow<'_>) -> String),
}

/// The fields of a row, in order.
const FIELDS: [(&str, TimelineField); 17] = [
    ("n", TimelineField::Number(|row| row.line.n.map_or(0, |n| n.0))),
    ("time", TimelineField::Text(|row| row.time())),
    ("delta", TimelineField::Text(|row| row.delta())),
    ("node", TimelineField::Text(|row| cell(row.node()))),
    ("stream", TimelineField::Number(|row| u64::from(row.line.stream.0))),
    ("dir", TimelineField::Number(direction)),
    ("type", TimelineField::Text(|row| cell(&row.label()))),
    ("type_word", TimelineField::Text(type_word)),
    ("kind", TimelineField::Text(|row| row.kind().0)),
    ("kind_word", TimelineField::Text(|row| row.line.kind.word().to_owned())),
    ("role", TimelineField::Text(|row| class(row.kind().1).to_owned())),
    ("version", TimelineField::Text(|row| cell(&row.line.version))),
    ("nonce", TimelineField::Text(|row| cell(&row.line.nonce))),
    ("resources", TimelineField::Text(|row| report::resources(&row.line))),
    ("size", TimelineField::Text(|row| row.size())),
    ("latency", TimelineField::Text(|row| row.latency())),
    ("note", TimelineField::Text(|row| cell(&row.remarks()))),
];

/// Returns 1 for a request, 2 for a response, and 0 for the start and end of a stream.
fn direction(row: &LogRow<'_>) -> u64 {
    match row.line.dir {
        None => 0,
        Some(Dir::Req) => 1,
        Some(Dir::Resp) => 2,
    }
}

/// Returns the word of the type in JSON and in filters.
fn type_word(row: &LogRow<'_>) -> String {
    match row.line.dir {
        Some(_) => cell(json::type_word(&row.line.type_url)),
        None => String::new(),
    }
}

/// Adds the section, which is empty until the script has run.
pub(super) fn section(page: &Page<'_>, html: &mut Html) {
    html.raw("<section id=\"timeline\" aria-labelledby=\"timeline-title\">");
    html.element("h2", &[("id", "timeline-title")], "Timeline");
    html.raw("<noscript><p>The timeline needs JavaScript. The rows without it: ");
    html.element("code", &[], &page.source.command("log", ""));
    html.raw("</p></noscript>");
    html.raw(
        "<div id=\"tools\" hidden><label for=\"q\">Filter</label>\
         <input id=\"q\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" aria-describedby=\"q-help\">\
         <label class=\"check\"><input id=\"as-ladder\" type=\"checkbox\"> Ladder</label>\
         <span id=\"count\" role=\"status\"></span></div>\
         <details id=\"q-help\" class=\"muted\"><summary>What the filter understands</summary><p>\
         The filter language of the screens and of <code>--filter</code>, over what the columns show: words that any \
         column contains, in any case unless they have capital letters; <code>node:</code> <code>type:</code> \
         <code>stream:</code> <code>dir:</code> <code>kind:</code> <code>version:</code> <code>nonce:</code> with the \
         whole value, where <code>*</code> stands for any text; <code>err:</code> with a part; \
         <code>size&gt;1M</code> <code>lat&gt;100ms</code> <code>res&gt;100</code>; <code>after:14:02:08</code> \
         <code>before:+30s</code>; <code>#12</code>, <code>#12..#40</code>; <code>/regex/</code> and \
         <code>kind:/^n/</code>. A space is \u{201c}and\u{201d}, <code>|</code> \u{201c}or\u{201d}, <code>!</code> \
         \u{201c}not\u{201d}, <code>( )</code> group, <code>\"\u{2026}\"</code> holds spaces. \
         <code>xdscope log --filter</code> also knows names, contents and states.</p></details>",
    );
    html.raw("<div id=\"list\" class=\"scroll\" hidden></div>");
    html.raw("<section id=\"detail\" aria-label=\"Opened message\" hidden></section>");
    html.raw("<p class=\"muted\">Times are UTC. ");
    html.text(&super::facts::clock_words(page));
    html.raw("</p>");
    html.raw(
        "<p id=\"keys\" class=\"muted\" hidden>Keys: / filter, arrows and Page keys move, Enter opens a message with its pair, \
         Esc closes it. A click on the title of a column sorts.</p>",
    );
    html.raw("</section>\n");
}

/// Numbers texts, so that each is in the page once.
#[derive(Default)]
struct Strings {
    known: HashMap<String, usize>,
    list: Vec<String>,
    bytes: usize,
}

impl Strings {
    fn add(&mut self, text: String) -> usize {
        if let Some(at) = self.known.get(&text) {
            return *at;
        }
        let at = self.list.len();
        self.bytes += json_bytes(&json!(text).to_string()) + 1;
        self.known.insert(text.clone(), at);
        self.list.push(text);
        at
    }
}

/// Adds the newest rows that fit into `room` bytes, with contents. Returns the number of bytes.
pub(super) fn rows(page: &Page<'_>, room: usize, html: &mut Html) -> usize {
    let store = page.store;
    let (first, last) = (store.first_row(), store.rows());
    let (all, room, zone) = (room, room.min(MAX_BYTES), TimeZone::UTC);
    let (mut strings, mut rows, mut shown) = (Strings::default(), Vec::new(), Vec::new());
    let (types, mut bytes) = (types(page), 1_000);
    bytes += json_bytes(&types.to_string());
    let is_own = |index: &usize| page.others == 0 || store.place_of(*index).is_some_and(|of| page.has(of.0));
    let own = (first..last).filter(is_own).count();
    for index in (first..last).rev().filter(is_own).take(MAX_ROWS) {
        let Some(fact) = store.row(index) else { continue };
        let before = index.checked_sub(1).and_then(|before| store.line(before)).map(|line| line.at);
        let row = encode(&LogRow::new(&fact, before, store.clock(), &zone), &mut strings);
        bytes += row.to_string().len() + 1;
        if bytes + strings.bytes > room {
            break;
        }
        rows.push(row);
        shown.push(index);
    }
    rows.reverse();
    shown.reverse();
    let left = (own - rows.len()) as u64 + first as u64;
    let left_out = match left {
        0 => String::new(),
        n => format!(
            "the first {} of {} are left out of this page: {}",
            plural(n, "row"),
            count((own + first) as u64),
            page.source.command("log", "")
        ),
    };
    let block = json!({
        "fields": FIELDS.map(|(name, _)| name),
        "kinds": MessageKind::ALL.map(MessageKind::word),
        "types": types,
        "strings": strings.list,
        "left_out": left_out,
        "rows": rows,
    });
    let before = html.len();
    html.json("rows", &block.to_string());
    contents::contents(page, &shown, all.saturating_sub(html.len() - before), html);
    html.len() - before
}

/// Returns the names of each type that a filter knows, built in or of the source. The word of
/// `type_word` comes first.
fn types(page: &Page<'_>) -> Value {
    let built_in = Kind::all().map(|kind| {
        let words = Kind::words().filter(|word| Kind::parse(word) == Some(kind));
        let mut names: Vec<String> = words.map(str::to_owned).collect();
        for url in [ApiVersion::V3, ApiVersion::V2].into_iter().filter_map(|version| kind.type_url(version)) {
            names.extend(names_of(url.as_str()));
        }
        json!(names)
    });
    let own: BTreeSet<TypeUrl> = page.store.summaries().into_iter().map(|cell| cell.type_url).collect();
    let others = own.iter().filter(|url| Kind::of_type_url(url.as_str()).is_none()).take(MAX_TYPES);
    let others = others.map(|url| {
        let mut names = vec![cell(json::type_word(url))];
        names.extend(names_of(url.as_str()));
        json!(names)
    });
    built_in.chain(others).collect()
}

/// Returns the names of a type without the word: its URL, its full name, and the last part of it.
fn names_of(url: &str) -> Vec<String> {
    let full = url.rsplit('/').next().unwrap_or(url);
    let last = full.rsplit('.').next().unwrap_or(full);
    [url, full, last, &*type_label(url)].map(cell).to_vec()
}

/// Returns a row as a list: the fields of [`FIELDS`], and the message that the row answers.
fn encode(row: &LogRow<'_>, strings: &mut Strings) -> Value {
    let mut fields: Vec<Value> = Vec::with_capacity(FIELDS.len() + 1);
    for (_, field) in &FIELDS {
        fields.push(match field {
            TimelineField::Number(number) => json!(number(row)),
            TimelineField::Text(text) => json!(strings.add(text(row))),
        });
    }
    fields.extend(row.line.answers.map(|n| json!(n.0)));
    Value::Array(fields)
}
