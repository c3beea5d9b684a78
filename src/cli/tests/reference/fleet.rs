//! The tables of a fleet, from their columns.

use super::{code, prose, table};

pub(super) fn generate() -> String {
    let mut out = String::new();
    for tables in xdscope_fleet::tables() {
        let about = tables.about();
        let columns = tables.columns.iter();
        let rows = columns.map(|column| {
            [column.id.to_string(), code(column.name), column.kind.word().to_owned(), prose(column.about())]
        });
        out.push_str(&format!("\n## {}\n\n{}\n\n", tables.name, prose(about)));
        out.push_str(&table(["id", "column", "type", "meaning"], rows));
    }
    out + "\n"
}
