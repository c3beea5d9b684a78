//! The rules of `lint`, from their manuals.

use super::{code, prose, table};
use crate::engine::lint::{Rule, Severity, rules};

/// Returns the public document that the manual cites.
fn reference(rule: &Rule) -> String {
    let manual = rule.manual();
    let (_, reference) = manual.split_once("\nReference: ").expect("a reference in the manual");
    reference.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
}

/// Links the rows of the protocol table; a rule of good practice has none.
fn rows(rule: &Rule) -> String {
    let is_row = |row: &&str| row.contains('-');
    let link = |row: &str| format!("[{row}](../protocol.md#{})", row.to_lowercase());
    rule.rows.split(", ").filter(is_row).map(link).collect::<Vec<_>>().join(", ")
}

pub(super) fn generate() -> String {
    let mut out = String::new();
    for severity in Severity::ALL {
        let rules = rules()
            .filter(|rule| rule.severity == severity)
            .map(|rule| [code(rule.id), prose(rule.title()), prose(&reference(rule)), rows(rule)]);
        let table = table(["rule", "finding", "public source", "protocol table"], rules);
        out.push_str(&format!("\n## Severity {}\n\n{table}", severity.word()));
    }
    out.push('\n');
    out
}
