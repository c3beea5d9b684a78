//! The tables of `docs/conformance.md`.

use super::{code, prose, table};
use crate::app::check::CLIENT_ROWS;
use crate::app::check::rows::SERVER_ROWS;
use crate::cli::read::protocol_rows::protocol_row;

pub(super) fn generate() -> String {
    let source = |ids: &[&str]| {
        let mut ids = ids.to_vec();
        ids.dedup();
        let sources = ids.iter().map(|id| {
            let row = protocol_row(id).unwrap_or_else(|| panic!("{id} is not a row of the protocol"));
            let page = id.split('-').next().unwrap_or_default().to_ascii_lowercase();
            let anchor = id.to_ascii_lowercase();
            format!("[{id}](protocol/{page}.md#{anchor}): {}", prose(&row.source))
        });
        sources.collect::<Vec<_>>().join("; ")
    };
    let of_server = SERVER_ROWS.iter().map(|row| {
        let variants: Vec<&str> = row.variants.iter().map(|variant| variant.word()).collect();
        let is_all = variants.len() == 4;
        let mut protocol: Vec<&str> = row.variants.iter().map(|variant| row.protocol(*variant)).collect();
        protocol.sort_unstable();
        let variants = if is_all { "all".to_owned() } else { variants.join(", ") };
        [code(row.id), prose(row.title), variants, source(&protocol)]
    });
    let of_client = CLIENT_ROWS.iter().map(|row| {
        let protocol = [row.protocol(false), row.protocol(true)];
        [code(row.id), prose(row.title), source(&protocol)]
    });
    [
        "### Rows of a control plane\n\n".to_owned(),
        table(["row", "expected", "variants", "source"], of_server),
        "\n### Rows of a client\n\n".to_owned(),
        table(["row", "expected", "source"], of_client),
    ]
    .concat()
}
