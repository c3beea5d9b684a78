//! The rules of the protocol by number, as `explain` prints them.

/// The table of rules, which is compared with `docs/protocol.md`.
const ROWS: &str = include_str!("../../../tests/rows.txt");

/// One rule of the protocol.
pub(crate) struct ProtocolRow {
    /// The number, such as `E-07`.
    pub(crate) id: &'static str,
    /// The rule in one sentence.
    pub(crate) statement: &'static str,
    /// The public documents that state the rule, with their sections.
    pub(crate) source: String,
}

/// Finds a rule of the protocol by its number, in any case: `e-07`.
pub(crate) fn protocol_row(id: &str) -> Option<ProtocolRow> {
    ROWS.lines().find_map(|line| {
        let mut columns = line.split(" | ");
        let own = columns.next().filter(|own| own.eq_ignore_ascii_case(id))?;
        let (statement, source) = (columns.next()?, columns.next()?);
        Some(ProtocolRow { id: own, statement, source: source.replace(['[', ']'], "") })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_row_by_its_number() {
        let row = protocol_row("e-07").unwrap();
        assert_eq!(row.id, "E-07");
        assert!(row.statement.ends_with('.') && row.source.starts_with("xDS protocol, "), "{}", row.source);
        assert!(protocol_row("E-99").is_none() && protocol_row("E").is_none() && protocol_row("").is_none());
    }
}
