//! The report of a source as one HTML page.
//!
//! **Data.** The page shows the facts of a [`Store`], the findings of the rules, and the problems
//! that `problems` merges from both. All sentences, words and cells come from the functions that
//! `status`, `log`, `lint`, `info` and `-o json` print with: the page adds layout, headings and
//! labels only. One block of data repeats the facts as the objects of `-o json`.
//!
//! **Border.** [`write()`] is a function of its argument: no clock, files or network. The caller
//! opens the source and names its format. The style and the script are files of this folder.
//!
//! **Must never happen.**
//!
//! - Text from the wire becomes markup or code: `html::Html` is the only writer, and the policy
//!   of the page allows one style and one script, by hash.
//! - The page loads anything: it has no addresses, and its policy forbids all of them.
//! - The page grows with the source: each section has a number of bytes, the page
//!   [`MAX_PAGE_BYTES`]. A section says how much it leaves out, and which command prints all.
//! - The page shows a secret: contents come from the store, whose secrets are redacted when a
//!   source is read. The caller refuses sources that kept them.
//! - The page disagrees with the verbs: nothing is computed or worded here.

mod cards;
mod charts;
mod contents;
mod data;
mod facts;
mod findings;
mod graphs;
mod html;
mod matrix;
mod policy;
mod problems;
mod streams;
mod table;
mod timeline;

use std::collections::BTreeSet;

use crate::text::shell_word;
use crate::text::{Keep, cut};
use xdscope_engine::activity::Activity;
use xdscope_engine::lint::{Finding, Rule};
use xdscope_engine::problems::{ProblemFact, problems_of};
use xdscope_engine::store::{ClientMarks, Store, StreamFact};
use xdscope_schema::Schema;
use xdscope_wire::event::StreamId;
use xdscope_wire::text::{display_safe, plural};

use html::Html;

/// Bytes of a page.
pub const MAX_PAGE_BYTES: usize = 2_000_000;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("sort.js"),
    include_str!("filter.js"),
    include_str!("page.js"),
    include_str!("graph.js")
);

/// A source at its end, and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct PageSource<'a> {
    /// Name of the source, as the user typed it.
    pub name: &'a str,
    /// Format and size of the source: `recording, 312 kB`.
    pub form: &'a str,
    /// Remarks on what is missing or damaged, one sentence each.
    pub notices: &'a [String],
    /// Version of the program.
    pub version: &'a str,
}

impl PageSource<'_> {
    /// Returns a command about the source: `xdscope log 'a b.xds' --body`.
    fn command(&self, verb: &str, arguments: &str) -> String {
        format!("xdscope {verb} {}{arguments}", shell_word(self.name))
    }
}

/// The facts of a page.
struct Page<'a> {
    source: PageSource<'a>,
    store: &'a Store,
    schema: &'a Schema,
    findings: &'a [Finding],
    problems: Vec<ProblemFact>,
    streams: Vec<StreamFact>,
    shown: BTreeSet<StreamId>,
    /// Number of streams that are left out because the user has chosen others.
    others: usize,
    /// The marks that tell clients with one node id apart.
    marks: ClientMarks,
}

impl Page<'_> {
    /// Whether the page shows a stream.
    fn has(&self, stream: StreamId) -> bool {
        self.shown.contains(&stream)
    }

    /// Returns the number of messages that the page is about.
    fn messages(&self) -> u64 {
        match self.others {
            0 => self.store.messages(),
            _ => self.streams.iter().map(|stream| stream.messages).sum(),
        }
    }

    /// Returns the rules that belong to a problem, the most severe first.
    fn rules_of(&self, problem: &ProblemFact) -> Vec<&'static Rule> {
        let mut seen = BTreeSet::new();
        let rules = problem.findings.iter().filter_map(|at| self.findings.get(*at)).map(|of| of.rule);
        rules.filter(|rule| seen.insert(rule.id)).collect()
    }

    /// Returns the size of the source: `2 nodes, 3 streams, 41 messages`.
    fn summary(&self) -> String {
        let ids = self.streams.iter().filter_map(|stream| stream.node.as_ref()).map(|node| &node.id);
        let nodes: BTreeSet<&String> = ids.filter(|id| !id.is_empty()).collect();
        let parts = [
            plural(nodes.len() as u64, "node"),
            plural((self.streams.len() + self.store.dropped_streams()) as u64, "stream"),
            plural(self.messages(), "message"),
        ];
        let others = match self.others {
            0 => String::new(),
            n => format!("; {} of this source left out by choice", plural(n as u64, "stream")),
        };
        format!("{}{others}", parts.join(", "))
    }
}

/// Returns the page of a source, or of the streams of it that `is_shown` accepts.
pub fn write(
    source: PageSource<'_>,
    store: &Store,
    findings: &[Finding],
    schema: &Schema,
    is_shown: &dyn Fn(StreamId) -> bool,
) -> String {
    let own: Vec<Finding> = findings.iter().filter(|finding| is_shown(finding.stream)).cloned().collect();
    let problems = problems_of(store, &own, None, |stream, _| is_shown(stream));
    let (mut streams, marks) = (store.streams(), store.client_marks());
    let all = streams.len();
    streams.retain(|stream| is_shown(stream.stream));
    let shown: BTreeSet<StreamId> = streams.iter().map(|stream| stream.stream).collect();
    let others = all - streams.len();
    let page = Page { source, store, schema, findings: &own, problems, streams, shown, others, marks };
    let mut html = Html::default();
    head(&page, &mut html);
    html.raw("<body><a class=\"skip\" href=\"#problems\">Skip to the problems</a>\n");
    problems::verdict(&page, &mut html);
    html.raw("<nav aria-label=\"Sections\"><ul>");
    for (id, title) in SECTIONS {
        html.raw("<li>");
        html.element("a", &[("href", &format!("#{id}"))], title);
        html.raw("</li>");
    }
    html.raw("</ul></nav>\n<main>\n");
    let (mut refusals, mut nacks) = (cards::Refusals::new(&page), Html::default());
    cards::cards(&page, &mut refusals, &mut nacks);
    problems::problems(&page, &refusals, &mut html);
    let activity = Activity::of_streams(store, charts::PARTS, &|stream| page.has(stream));
    matrix::matrix(&page, &activity, &mut html);
    charts::charts(&page, &activity, &mut html);
    timeline::section(&page, &mut html);
    html.append(&nacks);
    graphs::graphs(&page, &mut html);
    streams::streams(&page, &mut html);
    findings::findings(&page, &mut html);
    facts::facts(&page, &mut html);
    html.raw("</main>\n");
    let tail = SCRIPT.len() + "<script></script></body></html>\n".len();
    let room = MAX_PAGE_BYTES.saturating_sub(html.len() + tail);
    let used = timeline::rows(&page, room, &mut html);
    data::objects(&page, room.saturating_sub(used), &mut html);
    html.raw("<script>");
    html.raw(SCRIPT);
    html.raw("</script></body></html>\n");
    html.into_string()
}

/// The sections after the verdict, in order.
const SECTIONS: [(&str, &str); 9] = [
    ("problems", "Problems"),
    ("matrix", "Nodes and types"),
    ("activity", "Activity"),
    ("timeline", "Timeline"),
    ("nacks", "NACKs"),
    ("graphs", "Graph"),
    ("streams", "Streams"),
    ("findings", "Rules"),
    ("source", "Source"),
];

fn head(page: &Page<'_>, html: &mut Html) {
    html.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let policy = policy::policy(STYLE, SCRIPT);
    html.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">");
    html.raw("<meta name=\"referrer\" content=\"no-referrer\">");
    html.element("title", &[], &title(page.source.name));
    html.raw("<style>");
    html.raw(STYLE);
    html.raw("</style></head>\n");
}

/// Widest name of a source in the title of the page, in columns. HTML checkers accept 70 with the
/// words around it.
const MAX_TITLE_NAME: usize = 50;

/// Returns the title of the page of a source: its name without folders, then the program.
fn title(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(name);
    format!("{} - xdscope report", cut(&display_safe(file), MAX_TITLE_NAME, Keep::Head, "…"))
}

/// Adds a label with a text.
fn item(html: &mut Html, label: &'static str, text: &str) {
    html.raw("<div>");
    html.element("dt", &[], label);
    html.element("dd", &[], text);
    html.raw("</div>");
}

/// Says how much a section leaves out, and which command prints all.
fn left_out(html: &mut Html, what: &str, command: &str) {
    html.open("p", &[("class", "left-out")]);
    html.text(&format!("{what} left out of this page: "));
    html.element("code", &[], command);
    html.close("p");
}
