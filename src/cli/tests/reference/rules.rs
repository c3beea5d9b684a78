//! The rules of `lint`, from their manuals.

use super::{code, prose, table};
use crate::cli::read::protocol_rows::{ProtocolRow, protocol_row};
use xdscope_engine::lint::{Rule, Severity, rules};

/// Links the statements of the protocol table; a rule of good practice has none.
fn statements(rule: &Rule) -> String {
    let link = |row: ProtocolRow| {
        let statement = prose(row.statement.trim_end_matches('.'));
        format!("[{statement}](../protocol.md#{})", row.id.to_lowercase())
    };
    rule.rows.split(", ").filter_map(protocol_row).map(link).collect::<Vec<_>>().join("<br>")
}

pub(super) fn generate() -> String {
    let mut out = String::new();
    for severity in Severity::ALL {
        let rules = rules()
            .filter(|rule| rule.severity == severity)
            .map(|rule| [code(rule.id), prose(rule.title()), prose(&rule.reference()), statements(rule)]);
        let table = table(["rule", "finding", "public source", "statement of the protocol"], rules);
        out.push_str(&format!("\n## Severity {}\n\n{table}", severity.word()));
    }
    out.push('\n');
    out
}
