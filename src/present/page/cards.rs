//! The cards of NACKs, with the refused content beside the last good one.

use jiff::tz::TimeZone;

use crate::body_comparison::{BodyComparison, LinePair};
use crate::nack_card::{CardLine, NackCard, nack_message};
use crate::report;
use xdscope_engine::nack::{NackGroup, nack_groups, nack_report};
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

/// Adds the cards: open refusals first, then the newest.
pub(super) fn cards(page: &Page<'_>, html: &mut Html) {
    html.raw("<section id=\"nacks\" aria-labelledby=\"nacks-title\">");
    html.element("h2", &[("id", "nacks-title")], "NACKs");
    let mut groups = nack_groups(page.store);
    groups.retain(|group| page.has(group.stream));
    if groups.is_empty() {
        html.element("p", &[("class", "muted")], "nothing was refused");
    }
    let first = groups.get(..groups.len().min(MAX_CARDS)).unwrap_or_default();
    let left = bounded(html, MAX_BYTES, first, |html, group| card(page, group, html));
    let left = left + groups.len() - first.len();
    if left > 0 {
        let command = page.source.command("log", " --filter 'kind:nack' --body");
        super::left_out(html, &plural(left as u64, "more NACK"), &command);
    }
    html.raw("</section>\n");
}

fn card(page: &Page<'_>, group: &NackGroup, html: &mut Html) {
    let (Some(last), Some(first)) = (group.last(), group.nacks.first()) else { return };
    let found = nack_report(page.store, page.schema, group.stream, &group.type_url, &group.nacks);
    let mut warming = page.store.warming_of(group.stream);
    warming.retain(|fact| fact.type_url == group.type_url);
    let texts = NackCard {
        group,
        report: &found,
        warming: &warming,
        clock: page.store.clock(),
        now: page.store.now(),
        zone: &TimeZone::UTC,
    };
    let role = if group.is_open { "bad" } else { "muted" };
    html.open("article", &[("class", &format!("card {role}")), ("id", &format!("nack-{}", first.n.0))]);
    html.raw("<h3>");
    let times = group.nacks.len() as u64;
    let word = if last.is_of_file() { "REJECTED" } else { "NACK" };
    let word = if times > 1 { format!("{word}×{}", count(times)) } else { word.to_owned() };
    html.element("span", &[("class", &format!("badge {role}"))], &word);
    html.raw(" ");
    let node = group.node.as_deref().map_or_else(|| format!("#{}", group.stream.0), str::to_owned);
    let version = report::refused_version(last);
    html.text(&cell(format!("{node} {} {version}", type_label(group.type_url.as_str())).trim_end()));
    html.raw("</h3>");
    quote(html, &nack_message(last));
    fields(html, texts.faults());
    for subject in &found.subjects {
        comparison(html, &BodyComparison::new(subject));
    }
    fields(html, texts.history());
    html.raw("</article>\n");
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

/// Adds the last good and the refused content, side by side.
fn comparison(html: &mut Html, compared: &BodyComparison) {
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
        if !pair.is_shown || shown >= MAX_LINES {
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
