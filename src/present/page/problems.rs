//! The verdict, and the problems with their evidence.

use std::collections::HashSet;

use jiff::tz::TimeZone;

use crate::json;
use crate::report::{self, Role};
use crate::table::LogRow;
use crate::text::{Keep, cut};
use xdscope_engine::made::owners_of_problem;
use xdscope_engine::nack::without_long_dumps;
use xdscope_engine::problems::{Problem, ProblemFact, Urgency};
use xdscope_engine::store::{MessageFact, MessageKind};
use xdscope_wire::event::{Dir, Seq, StreamId};
use xdscope_wire::text::{count, plural};

use super::cards::Refusals;
use super::html::{Html, bounded, cell, class};
use super::{Page, cards};

/// Bytes of the problems.
const MAX_BYTES: usize = 300_000;
/// Owners of a problem.
const MAX_OWNERS: usize = 3;
/// Characters of the words of a client.
const MAX_QUOTE_CHARS: usize = 4_000;

/// Returns the role of the verdict.
fn verdict_role(problems: &[ProblemFact]) -> Role {
    match problems.iter().map(|problem| problem.urgency).max() {
        Some(Urgency::Error) => Role::Bad,
        Some(Urgency::Warning) => Role::Warn,
        _ => Role::Ok,
    }
}

/// Adds the verdict: the number of problems, and the worst one.
pub(super) fn verdict(page: &Page<'_>, html: &mut Html) {
    let role = verdict_role(&page.problems);
    let mark = match role {
        Role::Bad => "✗",
        Role::Warn => "!",
        _ => "✓",
    };
    html.open("header", &[("class", &format!("verdict {}", class(role))), ("id", "verdict")]);
    html.open("p", &[("class", "brand")]);
    html.element("strong", &[], "xdscope report");
    html.raw(" ");
    html.element("span", &[("class", "wire")], page.source.name);
    html.close("p");
    html.open("h1", &[]);
    html.element("span", &[("class", "mark"), ("aria-hidden", "true")], mark);
    html.raw(" ");
    let open = page.streams.iter().filter(|stream| stream.closed.is_none());
    let open: HashSet<StreamId> = open.map(|stream| stream.stream).collect();
    let states = page.store.states().into_iter().filter(|state| open.contains(&state.summary.stream));
    let diverged = states.filter(|state| state.diverged.is_some()).count();
    html.text(&report::problem_count_line(&page.problems, diverged));
    html.close("h1");
    if let Some(worst) = page.problems.first().filter(|problem| problem.is_wrong()) {
        html.open("p", &[("class", "lead")]);
        html.element("a", &[("href", "#p1")], &report::problem_place(worst));
        html.raw(" ");
        html.text(&report::problem_with_reason(worst, &page.store.clock()));
        html.close("p");
    }
    let moment = (page.store.now(), "the recording ends");
    if let Some(text) = report::no_problem_yet(&page.problems, &page.store.clock(), moment) {
        html.element("p", &[("class", "lead")], &text);
    }
    html.open("p", &[("class", "muted")]);
    html.text(&page.summary());
    html.close("p");
    html.close("header");
    html.raw("\n");
}

/// Adds the problems, each with its evidence.
pub(super) fn problems(page: &Page<'_>, refusals: &Refusals, html: &mut Html) {
    html.raw("<section id=\"problems\" aria-labelledby=\"problems-title\">");
    html.element("h2", &[("id", "problems-title")], "Problems");
    if page.problems.is_empty() {
        html.element("p", &[("class", "muted")], "none");
    } else {
        html.raw("<ol class=\"cards\">");
        let numbered: Vec<(usize, &ProblemFact)> = page.problems.iter().enumerate().collect();
        let left = bounded(html, MAX_BYTES, &numbered, |html, (at, problem)| {
            card(page, refusals, (*at, *problem), html);
        });
        html.raw("</ol>");
        if left > 0 {
            let command = page.source.command("status", " -o json");
            super::left_out(html, &plural(left as u64, "more problem"), &command);
        }
    }
    html.raw("</section>\n");
}

fn card(page: &Page<'_>, refusals: &Refusals, (at, problem): (usize, &ProblemFact), html: &mut Html) {
    let clock = page.store.clock();
    let (word, role) = report::problem_word(problem);
    html.raw("<li>");
    html.open("article", &[("class", &format!("card {}", class(role))), ("id", &format!("p{}", at + 1))]);
    html.raw("<h3>");
    html.element("span", &[("class", &format!("badge {}", class(role)))], word);
    html.raw(" ");
    html.text(&report::problem_place(problem));
    html.raw("</h3>");
    html.element("p", &[], &report::problem_with_reason(problem, &clock));
    if let Some(text) = problem.quote() {
        quote(html, &without_long_dumps(text));
    }
    html.raw("<dl>");
    let since = report::problem_since(problem, &clock, page.store.now(), &TimeZone::UTC);
    super::item(html, "since", &since);
    super::item(html, "blame", problem.blame.word());
    for owner in owners_of_problem(page.store, problem).iter().take(MAX_OWNERS) {
        super::item(html, "owner", &report::owner_line(owner));
    }
    let rules = page.rules_of(problem);
    if !rules.is_empty() {
        html.raw("<div><dt>rules</dt><dd>");
        for (at, rule) in rules.iter().enumerate() {
            if at > 0 {
                html.raw(", ");
            }
            html.element("a", &[("href", &format!("#rule-{}", rule.id))], rule.id);
        }
        html.raw("</dd></div>");
    }
    html.raw("<div><dt>more</dt><dd>");
    html.element("code", &[], &report::next_step(problem, page.source.name));
    html.raw("</dd></div></dl>");
    if let Some(refusal) = refusals.of_problem(problem) {
        cards::evidence(page, refusal, html);
    }
    evidence(page, problem, html);
    html.raw("</article></li>\n");
}

/// Adds the words of a client.
pub(super) fn quote(html: &mut Html, text: &str) {
    let end = text.char_indices().nth(MAX_QUOTE_CHARS).map_or(text.len(), |(at, _)| at);
    html.raw("<blockquote>");
    html.lines(text.get(..end).unwrap_or_default());
    html.raw("</blockquote>");
    if end < text.len() {
        let rest = count((text.len() - end) as u64);
        html.element("p", &[("class", "muted")], &format!("{rest} more bytes"));
    }
}

/// Adds the messages of a problem, drawn between client and server.
fn evidence(page: &Page<'_>, problem: &ProblemFact, html: &mut Html) {
    let row = |n: &Seq| page.store.row(page.store.row_of(*n)?);
    let mut messages: Vec<Seq> = problem.messages.clone();
    messages.sort_unstable();
    let facts: Vec<_> = messages.iter().filter_map(row).collect();
    if facts.is_empty() {
        return;
    }
    html.raw("<div class=\"ends muted\" aria-hidden=\"true\"><span>client</span><span>server</span></div>");
    html.raw("<ol class=\"ladder\">");
    let (mut before, zone) = (None, TimeZone::UTC);
    for fact in &facts {
        let row = LogRow::new(fact, before, page.store.clock(), &zone);
        before = Some(fact.at);
        let dir = match fact.dir {
            Some(Dir::Req) => "req",
            Some(Dir::Resp) => "resp",
            None => "life",
        };
        let (_, role) = row.kind();
        html.open("li", &[("class", format!("{dir} {}", class(role)).trim_end())]);
        html.open("span", &[("class", "when")]);
        if let Some(Seq(n)) = fact.n {
            html.element("a", &[("href", &format!("#m{n}"))], &format!("#{n}"));
            html.raw(" ");
        }
        html.element("span", &[("class", "muted")], &row.time());
        html.raw("</span>");
        html.element("span", &[("class", "arrow wire")], &cell(&report::arrow_text(&row.line)));
        html.open("span", &[("class", "note")]);
        let mut words = [row.delta(), cell(&row.remarks())].to_vec();
        words.retain(|word| !word.is_empty());
        html.text(&cut(&words.join("  "), 200, Keep::Head, "…"));
        html.raw("</span></li>");
    }
    html.raw("</ol>");
    let lost = messages.len() - facts.len();
    if lost > 0 {
        let command = page.source.command("log", " --body");
        super::left_out(html, &plural(lost as u64, "more message"), &command);
    }
    if let Some((words, command)) = unshown(page, problem, &facts) {
        html.open("p", &[("class", "left-out")]);
        html.text(&format!("{words}: "));
        html.element("code", &[], &command);
        html.close("p");
    }
}

/// Returns the number of occurrences without evidence on the page, in words, and the command that
/// prints all.
fn unshown(page: &Page<'_>, problem: &ProblemFact, facts: &[MessageFact]) -> Option<(String, String)> {
    let stream = problem.stream.0;
    match &problem.problem {
        Problem::Refused(_) => {
            let shown = facts.iter().filter(|fact| fact.kind == MessageKind::Nack).count() as u64;
            let left = problem.count.checked_sub(shown).filter(|left| *left > 0)?;
            let word = json::type_word(&problem.type_url);
            let place = if problem.others.is_empty() { format!(" stream:{stream}") } else { String::new() };
            let filter = format!(" --filter 'kind:nack{place} type:{word}'");
            let words = format!("{} in the recording", plural(left, "more refusal"));
            Some((words, page.source.command("log", &filter)))
        }
        Problem::Broken(finding) if finding.count > facts.len() as u64 => {
            let words = format!(
                "{} in the recording, {} above",
                plural(finding.count, "occurrence"),
                plural(facts.len() as u64, "message")
            );
            Some((
                words,
                page.source.command("lint", &format!(" --stream '#{stream}' --rule {}", finding.rule.id)),
            ))
        }
        _ => None,
    }
}
