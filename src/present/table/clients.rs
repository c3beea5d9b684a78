//! Clients as rows, with the state of each type.

use xdscope_engine::store::{SummaryFact, TypeState};
use xdscope_wire::event::{Clock, Time, Variant};
use xdscope_wire::text::{age, type_label};

use super::{Cell, Columns};
use crate::report::{self, Role, Row, Rows};

/// The moment, the clock and the symbols of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct ClientColumns {
    /// The moment that ages count to.
    pub now: Time,
    /// The clock of the source.
    pub clock: Clock,
    /// The symbol between a state and a number: `×`.
    pub times: &'static str,
    /// The word for types without a state.
    pub idle: &'static str,
}

impl ClientColumns {
    /// Returns the columns of the matrix: the client, its variant, its types, and how it ended.
    pub fn columns<'a>(self, matrix: &Rows) -> Columns<'a, Row> {
        let role = |row: &Row| {
            if row.is_closed() || row.variant.is_none() { Role::Muted } else { Role::Plain }
        };
        let mut columns: Columns<'a, Row> = Columns::new()
            .text("NODE", move |row: &Row| (row.title(), role(row)))
            .text("VARIANT", |row: &Row| row.variant.map_or("opaque", Variant::word))
            .role(Role::Muted);
        for (at, url) in matrix.types.iter().enumerate() {
            let title = type_label(url.as_str());
            columns = columns.text(title, move |row: &Row| self.type_cell(row, at));
        }
        columns = columns.text("", move |row: &Row| self.end(row)).role(Role::Muted);
        columns
    }

    /// Returns the state of a type, by its place among the types of the matrix.
    pub fn type_cell(&self, row: &Row, at: usize) -> Cell {
        match row.cells.get(at) {
            _ if is_opaque(row) => Cell::role(row.opaque(), Role::Muted).last(),
            Some(Some(fact)) => self.state(fact),
            _ => Cell::role(self.idle, Role::Muted),
        }
    }

    /// Returns state and age of a type. A closed stream shows its last state.
    fn state(&self, fact: &SummaryFact) -> Cell {
        let (_, role) = report::state_word(fact.state);
        let cell = Cell::role(report::state_text(fact.state, fact, self.times), role);
        let has_age = !matches!(fact.state, TypeState::Idle | TypeState::Closed);
        match has_age && !self.clock.untimed {
            true => cell.with_aside(age(self.now.since(fact.since))),
            false => cell,
        }
    }

    fn end(&self, row: &Row) -> String {
        match row.is_closed() {
            true => report::ended(row, (!self.clock.untimed).then_some(self.now)),
            false if is_opaque(row) => row.opaque(),
            false => String::new(),
        }
    }
}

/// Whether a client has no xDS stream; one that has ended says how.
fn is_opaque(row: &Row) -> bool {
    row.variant.is_none() && !row.is_closed()
}
