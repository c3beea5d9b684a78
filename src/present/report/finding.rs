use std::sync::Arc;

use super::row_note::caused_by;
use super::{Role, client_name};
use xdscope_engine::lint::{Finding, Sentence, Severity};
use xdscope_engine::store::ClientMarks;
use xdscope_wire::text::{count, type_label};

/// Returns the role of texts about a finding of this severity.
pub fn severity_role(severity: Severity) -> Role {
    match severity {
        Severity::Error => Role::Bad,
        Severity::Warn => Role::Warn,
        Severity::Info => Role::Muted,
    }
}

/// Returns the client and the type of a finding: `edge-gw-1 CDS`, or `#3 CDS` if the node is
/// unknown.
///
/// For a finding in a file without a session, returns the path in the file.
pub fn place(finding: &Finding, marks: &ClientMarks) -> String {
    if let Some(place) = &finding.place {
        return place.to_string();
    }
    let who = client_name(finding.node.as_deref(), finding.stream, marks);
    match finding.type_url.is_empty() {
        true => who,
        false => format!("{who} {}", type_label(finding.type_url.as_str())),
    }
}

/// Returns the first clause of a finding with names, without its count.
pub(super) fn finding_clause(finding: &Finding) -> String {
    let text = named(finding);
    text.split_once("; ").map_or(text.as_str(), |(clause, _)| clause).to_owned()
}

fn named(finding: &Finding) -> String {
    if finding.names.is_empty() || finding.rule.sentence == Sentence::WithNames {
        return finding.text.clone();
    }
    format!("{}: {}", super::names(&finding.names, 3), finding.text)
}

/// Returns the names that the text of the first occurrence leaves out: `: b, c and 2 more`.
fn names_of_others(finding: &Finding, text: &str) -> String {
    let others = finding.names.iter().filter(|name| !text.contains(&***name));
    let others: Vec<Arc<str>> = others.cloned().collect();
    match others.is_empty() || finding.rule.sentence != Sentence::WithNames {
        true => String::new(),
        false => format!(": {}", super::names(&others, 3)),
    }
}

/// Returns the sentence of a finding with names and count. `times` is the sign before the count.
pub fn finding(finding: &Finding, times: &str) -> String {
    let mut text = named(finding);
    if finding.guess {
        text.push_str(" (guess)");
    }
    if finding.count > 1 && finding.rule.sentence != Sentence::WithCount {
        match finding.varies {
            true => {
                let others = names_of_others(finding, &text);
                text.push_str(&format!("; {} more like it{others}", count(finding.count - 1)));
            }
            false => text.push_str(&format!(" {times}{}", count(finding.count))),
        }
        if let Some(rate) = finding.rate().filter(|rate| *rate >= 0.1) {
            let decimals = usize::from(rate < 10.0);
            text.push_str(&format!(", {rate:.decimals$}/s"));
        }
    }
    text + &caused_by(finding.caused_by.as_deref())
}
