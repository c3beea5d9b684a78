//! The cards of NACKs, with the refused content beside the last good one.

use jiff::tz::TimeZone;

use crate::body_comparison::{BodyComparison, LinePair};
use crate::nack_card::{CardLine, NackCard, nack_message};
use crate::report;
use xdscope_engine::nack::{NackGroup, NackReport, nack_groups, nack_report};
use xdscope_engine::problems::{Problem, ProblemFact};
use xdscope_engine::store::{NackFact, WarmingFact};
use xdscope_wire::text::{count, plural, type_label};

use super::Page;
use super::html::{Html, bounded, cell, class};
use super::problems::quote;

/// Bytes of the cards.
const MAX_BYTES: usize = 300_000;
/// Cards of the page. Each needs the decoded contents of a push.
const MAX_CARDS: usize = 30;
/// Lines of a comparison.
const MAX_LINES: usize = 150;
/// Resources that a problem compares, the lines of each, and the fields that it names.
const MAX_COMPARED_OF_PROBLEM: usize = 2;
const MAX_LINES_OF_PROBLEM: usize = 8;
const MAX_FIELDS_OF_PROBLEM: usize = 4;
/// Labels of the lines of a card that a problem has too.
const FIELD_LABELS: [&str; 2] = ["resource", "field"];

/// NACKs that a client sent for one reason, with what is known about them.
pub(super) struct Refusal {
    group: NackGroup,
    found: NackReport,
    compared: Vec<BodyComparison>,
}

impl Refusal {
    /// Returns the id of the card.
    fn id(&self) -> String {
        format!("nack-{}", self.group.nacks.first().map_or(0, |nack| nack.n.0))
    }

    /// Returns node, type and version.
    fn title(&self) -> String {
        let group = &self.group;
        let node = group.node.as_deref().map_or_else(|| format!("#{}", group.stream.0), str::to_owned);
        let version = group.last().map(report::refused_version).unwrap_or_default();
        format!("{node} {} {version}", type_label(group.type_url.as_str())).trim_end().to_owned()
    }

    fn card<'a>(
        &'a self,
        page: &'a Page<'_>,
        warming: &'a [WarmingFact],
        zone: &'a TimeZone,
    ) -> NackCard<'a> {
        let (clock, now) = (page.store.clock(), page.store.now());
        NackCard { group: &self.group, report: &self.found, warming, clock, now, zone }
    }
}

/// The refusals of the page, and the number of those without a card.
pub(super) struct Refusals {
    list: Vec<Refusal>,
    more: usize,
}

impl Refusals {
    /// Decodes the refusals: open ones first, then the newest.
    pub(super) fn new(page: &Page<'_>) -> Refusals {
        let mut groups = nack_groups(page.store);
        groups.retain(|group| page.has(group.stream) && !group.nacks.is_empty());
        let more = groups.len().saturating_sub(MAX_CARDS);
        groups.truncate(MAX_CARDS);
        let refusal = |group: NackGroup| {
            let found = nack_report(page.store, page.schema, group.stream, &group.type_url, &group.nacks);
            let compared = found.subjects.iter().map(BodyComparison::new).collect();
            Refusal { group, found, compared }
        };
        Refusals { list: groups.into_iter().map(refusal).collect(), more }
    }

    /// Returns the refusal that a problem is about.
    pub(super) fn of_problem(&self, problem: &ProblemFact) -> Option<&Refusal> {
        if !matches!(problem.problem, Problem::Refused(_) | Problem::StillRefused(_)) {
            return None;
        }
        let is_evidence = |nack: &NackFact| problem.messages.contains(&nack.n);
        self.list.iter().find(|refusal| refusal.group.nacks.iter().any(is_evidence))
    }
}

/// Adds the cards, folded if the refusal is over. Drops the refusals whose cards do not fit.
pub(super) fn cards(page: &Page<'_>, refusals: &mut Refusals, html: &mut Html) {
    html.raw("<section id=\"nacks\" aria-labelledby=\"nacks-title\">");
    html.element("h2", &[("id", "nacks-title")], "NACKs");
    if refusals.list.is_empty() {
        html.element("p", &[("class", "muted")], "nothing was refused");
    }
    let dropped = bounded(html, MAX_BYTES, &refusals.list, |html, refusal| card(page, refusal, html));
    refusals.list.truncate(refusals.list.len() - dropped);
    let left = dropped + refusals.more;
    if left > 0 {
        let command = page.source.command("log", " --filter 'kind:nack' --body");
        super::left_out(html, &plural(left as u64, "more NACK"), &command);
    }
    html.raw("</section>\n");
}

fn card(page: &Page<'_>, refusal: &Refusal, html: &mut Html) {
    let group = &refusal.group;
    let Some(last) = group.last() else { return };
    let mut warming = page.store.warming_of(group.stream);
    warming.retain(|fact| fact.type_url == group.type_url);
    let zone = TimeZone::UTC;
    let texts = refusal.card(page, &warming, &zone);
    let role = if group.is_open { "bad" } else { "muted" };
    html.open("article", &[("class", &format!("card {role}")), ("id", &refusal.id())]);
    html.raw(if group.is_open { "<h3>" } else { "<details><summary><h3>" });
    let times = group.nacks.len() as u64;
    let word = if last.is_of_file() { "REJECTED" } else { "NACK" };
    let word = if times > 1 { format!("{word}×{}", count(times)) } else { word.to_owned() };
    html.element("span", &[("class", &format!("badge {role}"))], &word);
    html.raw(" ");
    html.text(&cell(&refusal.title()));
    html.raw("</h3>");
    if !group.is_open {
        let (text, _) = texts.recovery();
        html.element("span", &[("class", "muted")], &cell(&text));
        html.raw("</summary>");
    }
    quote(html, &nack_message(last));
    fields(html, texts.faults());
    for compared in &refusal.compared {
        comparison(html, compared, |pair| pair.is_shown, MAX_LINES);
    }
    fields(html, texts.history());
    html.raw(if group.is_open { "</article>\n" } else { "</details></article>\n" });
}

/// Adds the fields at fault and the changed lines of the refused resources, and links the card.
pub(super) fn evidence(page: &Page<'_>, refusal: &Refusal, html: &mut Html) {
    let mut lines = refusal.card(page, &[], &TimeZone::UTC).faults();
    lines.retain(|line| FIELD_LABELS.contains(&line.label));
    lines.truncate(MAX_FIELDS_OF_PROBLEM);
    fields(html, lines);
    for compared in refusal.compared.iter().take(MAX_COMPARED_OF_PROBLEM) {
        if compared.refused.is_some() {
            comparison(html, compared, |pair| pair.differs || pair.why.is_some(), MAX_LINES_OF_PROBLEM);
        }
    }
    html.raw("<p class=\"to-card\">");
    let label = format!("All of the refusal: {}", refusal.title());
    html.element("a", &[("href", &format!("#{}", refusal.id()))], &cell(&label));
    html.raw("</p>");
}

fn fields(html: &mut Html, lines: Vec<CardLine>) {
    if lines.is_empty() {
        return;
    }
    html.raw("<dl>");
    for line in lines {
        html.raw("<div>");
        html.element("dt", &[], line.label);
        html.element("dd", &[("class", class(line.role))], &cell(&line.text));
        html.raw("</div>");
    }
    html.raw("</dl>");
}

/// Adds the last good and the refused content, side by side: at most `most` of the lines that
/// `is_shown` accepts.
fn comparison(html: &mut Html, compared: &BodyComparison, is_shown: fn(&LinePair) -> bool, most: usize) {
    if compared.refused.is_none() {
        html.element("p", &[("class", "muted")], &cell(&compared.absence()));
        return;
    }
    let has_good = !compared.good.is_empty();
    html.open("table", &[("class", if has_good { "diff" } else { "diff one" })]);
    html.element("caption", &[], &cell(&compared.name));
    html.raw("<thead><tr>");
    if has_good {
        html.element("th", &[("scope", "col")], &cell(&compared.good_title().unwrap_or_default()));
    }
    html.raw("<th scope=\"col\">refused</th></tr></thead><tbody>");
    let mut skipped = 0;
    let mut shown = 0;
    for pair in &compared.pairs {
        if !is_shown(pair) || shown >= most {
            skipped += 1;
            continue;
        }
        gap(html, &mut skipped, has_good);
        shown += 1;
        line(html, compared, pair, has_good);
    }
    gap(html, &mut skipped, has_good);
    html.raw("</tbody></table>");
}

/// Says how many lines are left out.
fn gap(html: &mut Html, skipped: &mut u64, has_good: bool) {
    if *skipped > 0 {
        html.open("tr", &[("class", "gap")]);
        let text = format!("⋮ {}", plural(*skipped, "more line"));
        html.element("td", &[("colspan", if has_good { "2" } else { "1" })], &text);
        html.close("tr");
        *skipped = 0;
    }
}

fn line(html: &mut Html, compared: &BodyComparison, pair: &LinePair, has_good: bool) {
    let (left, right) = (compared.good_line(pair), compared.refused_line(pair));
    html.open("tr", &[("class", if pair.differs { "changed" } else { "same" })]);
    if has_good {
        let is_removed = pair.differs && left.is_some();
        html.open("td", &[("class", if is_removed { "removed" } else { "" })]);
        if is_removed {
            html.raw("<span class=\"sign\">-</span>");
        }
        html.text(&cell(left.unwrap_or_default()));
        html.raw("</td>");
    }
    let (sign, role) = match (&pair.why, right) {
        (Some(_), _) => ("✗", "bad"),
        (None, Some(_)) if pair.differs && has_good => ("+", "added"),
        _ => ("", ""),
    };
    html.open("td", &[("class", role)]);
    if !sign.is_empty() {
        html.element("span", &[("class", "sign")], sign);
    }
    html.text(&cell(right.unwrap_or_default()));
    if let Some(why) = &pair.why {
        html.element("span", &[("class", "why")], &cell(why));
    }
    html.raw("</td></tr>");
}
