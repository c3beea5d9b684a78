//! The rows of the timeline, which the script of the page lists, filters and draws.

use std::collections::HashMap;

use serde_json::{Value, json};

use xdscope_wire::event::Dir;
use xdscope_wire::text::{count, plural};

use super::Page;
use super::html::{Html, class, json_bytes};
use super::row::RowCells;

/// Rows of the page. The newest are kept.
const MAX_ROWS: usize = 10_000;
/// Bytes of the rows.
const MAX_BYTES: usize = 1_400_000;

/// The fields of a row, in order. Texts are indices into `strings`.
const FIELDS: [&str; 17] = [
    "n",
    "time",
    "delta",
    "node",
    "stream",
    "dir",
    "type",
    "type_word",
    "kind",
    "kind_word",
    "role",
    "version",
    "nonce",
    "resources",
    "size",
    "latency",
    "note",
];

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
    html.raw("<div id=\"list\" class=\"scroll\" hidden></div><div id=\"detail\" aria-live=\"polite\" hidden></div>");
    html.raw("<p class=\"muted\">Times are UTC. ");
    html.text(&super::facts::clock_words(page));
    html.raw("</p>");
    html.raw("<p id=\"keys\" class=\"muted\" hidden>Keys: / filter, arrows and Page keys move, Enter opens the pair.</p>");
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

/// Adds the newest rows that fit into `room` bytes. Returns the number of bytes.
pub(super) fn rows(page: &Page<'_>, room: usize, html: &mut Html) -> usize {
    let store = page.store;
    let (first, last) = (store.first_row(), store.rows());
    let room = room.min(MAX_BYTES);
    let (mut strings, mut rows, mut bytes) = (Strings::default(), Vec::new(), 500);
    let is_own = |index: &usize| page.others == 0 || store.place_of(*index).is_some_and(|of| page.has(of.0));
    let own = (first..last).filter(is_own).count();
    for index in (first..last).rev().filter(is_own).take(MAX_ROWS) {
        let Some(fact) = store.row(index) else { continue };
        let before = index.checked_sub(1).and_then(|before| store.line(before)).map(|line| line.at);
        let row = encode(RowCells::of(&fact, before, store), &mut strings);
        bytes += row.to_string().len() + 1;
        if bytes + strings.bytes > room {
            break;
        }
        rows.push(row);
    }
    rows.reverse();
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
    let block = json!({ "fields": FIELDS, "strings": strings.list, "left_out": left_out, "rows": rows });
    let before = html.len();
    html.json("rows", &block.to_string());
    html.len() - before
}

/// Returns a row as a list: the fields of [`FIELDS`], and the message that the row answers.
fn encode(cells: RowCells, strings: &mut Strings) -> Value {
    let mut text = |text: String| json!(strings.add(text));
    let dir = match cells.dir {
        None => 0,
        Some(Dir::Req) => 1,
        Some(Dir::Resp) => 2,
    };
    let mut row = vec![
        json!(cells.n.unwrap_or(0)),
        text(cells.time),
        text(cells.delta),
        text(cells.node),
        json!(cells.stream),
        json!(dir),
        text(cells.label),
        text(cells.type_word),
        text(cells.kind),
        text(cells.kind_word.to_owned()),
        text(class(cells.role).to_owned()),
        text(cells.version),
        text(cells.nonce),
        text(cells.resources),
        text(cells.size),
        text(cells.latency),
        text(cells.note),
    ];
    row.extend(cells.answers.map(|n| json!(n)));
    Value::Array(row)
}
