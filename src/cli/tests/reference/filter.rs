//! The filter language, as `help filter` explains it.

use super::{code, prose, table};
use crate::cli::command::help;
use crate::cli::read::explain;
use xdscope_engine::filter::{Filter, FilterField, RowKind};
use xdscope_engine::store::MessageKind;

/// Lists the rows that an expression applies to.
fn applies_to(example: &str) -> String {
    let filter = Filter::parse(example).expect("a valid example");
    let rows = RowKind::ALL.into_iter().filter(|rows| filter.check(*rows).is_ok());
    rows.map(RowKind::word).collect::<Vec<_>>().join(", ")
}

pub(super) fn generate() -> String {
    let fields = FilterField::in_use().map(|field| {
        let examples: Vec<&str> = help::field_example(field).split("  ").collect();
        let shown: Vec<String> = examples.iter().map(|example| code(example)).collect();
        [shown.join(", "), prose(help::field_meaning(field)), applies_to(examples[0])]
    });
    let kinds = MessageKind::ALL
        .into_iter()
        .map(|kind| [code(&format!("kind:{}", kind.word())), prose(explain::kind_meaning(kind))]);
    format!(
        "\n## Fields\n\n{}\n## Kinds of messages\n\n{}\n",
        table(["term", "matches", "rows"], fields),
        table(["term", "matches"], kinds)
    )
}
