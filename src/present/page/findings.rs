//! The findings by rule, with the manual of each rule.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::report;
use xdscope_engine::lint::{Finding, Rule, Severity};
use xdscope_wire::text::{plural, time_of_day_secs};

use super::Page;
use super::html::{Html, bounded, cell, class};

/// Bytes of the findings.
const MAX_BYTES: usize = 250_000;
/// Findings that a rule lists.
const MAX_FINDINGS: usize = 20;

/// Adds the rules that were broken, the most severe first.
pub(super) fn findings(page: &Page<'_>, html: &mut Html) {
    html.raw("<section id=\"findings\" aria-labelledby=\"findings-title\">");
    html.element("h2", &[("id", "findings-title")], "Rules");
    let mut by_rule: BTreeMap<&str, (&'static Rule, Vec<&Finding>)> = BTreeMap::new();
    for finding in page.findings {
        by_rule.entry(finding.rule.id).or_insert((finding.rule, Vec::new())).1.push(finding);
    }
    if by_rule.is_empty() {
        html.element("p", &[("class", "muted")], "no finding");
    }
    let mut rules: Vec<_> = by_rule.into_values().collect();
    rules.sort_by_key(|(rule, findings)| std::cmp::Reverse(worst(rule, findings)));
    let left = bounded(html, MAX_BYTES, &rules, |html, (rule, findings)| of_rule(page, rule, findings, html));
    if left > 0 {
        super::left_out(html, &plural(left as u64, "more rule"), &page.source.command("lint", ""));
    }
    html.raw("</section>\n");
}

/// Returns the highest severity of findings of a rule.
fn worst(rule: &Rule, findings: &[&Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or(rule.severity)
}

fn of_rule(page: &Page<'_>, rule: &Rule, findings: &[&Finding], html: &mut Html) {
    let severity = worst(rule, findings);
    let role = class(report::severity_role(severity));
    html.open("article", &[("class", &format!("card {role}")), ("id", &format!("rule-{}", rule.id))]);
    html.raw("<h3>");
    html.element("span", &[("class", &format!("badge {role}"))], severity.word());
    html.raw(" ");
    html.text(rule.id);
    html.raw("</h3>");
    html.element("p", &[], rule.title());
    html.raw("<ul class=\"findings\">");
    for finding in findings.iter().take(MAX_FINDINGS) {
        html.raw("<li>");
        html.element("strong", &[], &cell(&report::place(finding, &page.marks)));
        if let Some(at) = finding.at {
            html.raw(" ");
            html.element("a", &[("href", &format!("#m{}", at.0))], &format!("#{}", at.0));
        }
        html.raw(" ");
        let time = time_of_day_secs(finding.first, page.store.clock(), &TimeZone::UTC);
        html.element("span", &[("class", "muted")], &time);
        html.raw(" ");
        html.text(&cell(&report::finding(finding, "×")));
        html.raw("</li>");
    }
    html.raw("</ul>");
    if findings.len() > MAX_FINDINGS {
        let more = plural((findings.len() - MAX_FINDINGS) as u64, "more finding");
        super::left_out(html, &more, &page.source.command("lint", &format!(" --rule {}", rule.id)));
    }
    html.raw("<details><summary>manual</summary><pre>");
    for line in rule.manual().trim_end().lines() {
        html.text(line);
        html.raw("\n");
    }
    html.raw("</pre></details></article>\n");
}
