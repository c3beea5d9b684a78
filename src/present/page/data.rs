//! The facts of the page as the objects of `-o json`.

use serde_json::Value;

use crate::json;
use xdscope_engine::made::{owners_of_finding, owners_of_problem};
use xdscope_engine::problems::{findings_by_cause, group_numbers};
use xdscope_engine::store::MessageFact;
use xdscope_wire::text::{count, plural};

use super::Page;
use super::html::{Html, json_bytes};

/// Bytes of the objects.
const MAX_BYTES: usize = 500_000;

/// Adds one array of objects, as many as fit into `room` bytes.
///
/// Problems come first, then states, streams, findings, and the newest messages.
pub(super) fn objects(page: &Page<'_>, room: usize, html: &mut Html) {
    let clock = page.store.clock();
    let mut block = DataBlock { room: room.min(MAX_BYTES).saturating_sub(300), parts: Vec::new(), left: 0 };
    for problem in &page.problems {
        let mut object = json::problem(problem, page.findings, &clock);
        json::add_owners(&mut object, &owners_of_problem(page.store, problem));
        block.add(&object);
    }
    let warming = page.store.warming();
    for state in page.store.states().into_iter().filter(|state| page.has(state.summary.stream)) {
        block.add(&json::complete_state(&state, (&warming, None), (page.store, None), page.schema));
    }
    for stream in &page.streams {
        block.add(&json::stream_with_node(stream, page.store, page.schema));
    }
    let groups = findings_by_cause(&page.problems, page.findings);
    for (finding, group) in page.findings.iter().zip(group_numbers(&groups, page.findings.len())) {
        let mut object = json::finding(finding, Some(group), &clock);
        json::add_owners(&mut object, &owners_of_finding(page.store, finding));
        block.add(&object);
    }
    let at = block.parts.len();
    let rows = page.store.first_row()..page.store.rows();
    let (all, mut shown) = (page.messages(), 0);
    let is_own = |fact: &MessageFact| fact.n.is_some() && page.has(fact.stream);
    for fact in rows.rev().filter_map(|row| page.store.row(row)).filter(is_own) {
        if !block.fits(&json::complete_message(&fact, page.store)) {
            break;
        }
        shown += 1;
    }
    if let Some(messages) = block.parts.get_mut(at..) {
        messages.reverse();
    }
    html.raw("<footer class=\"muted\"><p>Made by xdscope ");
    html.text(page.source.version);
    html.raw(". The block <code>data</code> of this page has ");
    html.text(&plural(block.parts.len() as u64, "object"));
    html.raw(" of <code>-o json</code>, with ");
    html.text(&format!("{} of {}", count(shown), plural(all, "message")));
    if block.left > 0 {
        html.text(&format!("; {} did not fit", plural(block.left, "other object")));
    }
    html.raw(".</p></footer>\n");
    html.json("data", &format!("[{}]", block.parts.join(",\n")));
}

/// Objects that fit into a number of bytes.
struct DataBlock {
    room: usize,
    parts: Vec<String>,
    /// Objects that did not fit.
    left: u64,
}

impl DataBlock {
    fn add(&mut self, object: &Value) {
        if !self.fits(object) {
            self.left += 1;
        }
    }

    /// Adds an object if it fits.
    fn fits(&mut self, object: &Value) -> bool {
        let text = object.to_string();
        let bytes = json_bytes(&text) + 2;
        let fits = bytes <= self.room;
        if fits {
            self.room -= bytes;
            self.parts.push(text);
        }
        fits
    }
}
