//! `get -o wide`: one row per resource, with columns for `xdstp` names where one is shown.

use std::io::Write;

use xdscope_engine::owners::owners_of_resource;
use xdscope_engine::store::ResourceFact;
use xdscope_engine::structured::{MemberFact, StructuredFact};
use xdscope_present::report::{self, Role};
use xdscope_present::structured as text;
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::{shown_name, size, type_label};

use super::Get;
use crate::cli::error::CliError;
use crate::cli::output::table::{Cell, Table};
use crate::cli::output::words::resource_state;
use crate::cli::terminal::io::Style;

/// A column for `xdstp` names: its title, and the text of a name.
type Column = (&'static str, fn(&StructuredFact, Style) -> String);

/// The columns for `xdstp` names. A column without any text is left out.
const COLUMNS: [Column; 6] = [
    ("AUTHORITY", |fact, _| text::authority(&fact.parts.authority).to_owned()),
    ("PARAMETERS", |fact, _| text::parameters(&fact.parts)),
    ("DIRECTIVES", |fact, _| text::directives(&fact.parts)),
    ("MEMBERS", |fact, _| fact.members.as_ref().map(text::members).unwrap_or_default()),
    ("LEADS TO", |fact, _| text::leads_to(fact).unwrap_or_default()),
    ("HOPS", |fact, style| text::hops(&fact.hops, style.pick("→", "->")).unwrap_or_default()),
];

/// Titles of the columns for all names; `>` aligns to the right.
const FIRST_COLUMNS: [&str; 11] =
    ["TYPE", "NAME", "VER", "STATE", "ACKED", "ORIGIN", ">SIZE", "HASH", "ALIASES", "TTL", "ERROR"];

/// Writes the rows. `nodes` adds the column of nodes.
pub(super) fn write(
    get: &Get<'_>,
    nodes: bool,
    style: Style,
    out: &mut dyn Write,
) -> Result<usize, CliError> {
    let mut facts = Vec::new();
    let printed = get.each(&mut |fact| {
        facts.push(fact.clone());
        Ok(())
    })?;
    let structured = get.structured_names();
    let mut rows: Vec<WideRow> =
        facts.into_iter().map(|fact| WideRow::new(get, structured.of(&fact), fact)).collect();
    let shown: Vec<Column> = COLUMNS.into_iter().filter(|column| has_text(&rows, column, style)).collect();
    if !shown.is_empty() {
        group_by_authority(&mut rows);
    }
    let mut titles = FIRST_COLUMNS.to_vec();
    titles.extend(shown.iter().map(|(title, _)| *title));
    let has_owners = rows.iter().any(|row| !row.owners.is_empty());
    if has_owners {
        titles.push("OWNER");
    }
    if nodes {
        titles.push("NODE");
    }
    let has_reasons = get.has_reasons();
    if has_reasons {
        titles.push("REASON");
    }
    let mut table = Table::new(out, style, get.has_headers(), &titles);
    for WideRow { fact, structured, owners } in &rows {
        let mut cells = get.first_cells(fact, true);
        cells.extend([
            Cell::new(fact.acked_version.as_deref().unwrap_or("-")),
            Cell::new(fact.origin.word()),
            Cell::new(size(fact.size)),
            Cell::new(fact.hash.as_deref().unwrap_or("-").chars().take(12).collect::<String>()),
            Cell::new(fact.aliases.join(" ")),
            Cell::new(get.ttl(fact)),
            Cell::new(fact.error.as_deref().map(report::resource_error).unwrap_or_default()),
        ]);
        let text = |(_, text): &Column| structured.as_ref().map_or_else(String::new, |of| text(of, style));
        cells.extend(shown.iter().map(|column| Cell::new(text(column))));
        cells.extend(has_owners.then(|| Cell::new(owners.as_str())));
        cells.extend(nodes.then(|| node(fact)));
        if has_reasons {
            cells.push(Cell::role(get.reasons.brief(fact), Role::Bad));
        }
        table.row(cells)?;
        let members = structured.as_ref().and_then(|of| of.members.as_ref());
        for entry in members.into_iter().flat_map(text::other_entries) {
            let mut cells = entry_cells(fact, entry);
            cells.extend(shown.iter().map(|_| Cell::new("")));
            cells.extend(has_owners.then(|| Cell::new("")));
            cells.extend(nodes.then(|| node(fact)));
            cells.extend(has_reasons.then(|| Cell::new("")));
            table.row(cells)?;
        }
    }
    if printed > 0 {
        table.finish()?;
    }
    Ok(printed)
}

/// Formats an entry of a list that is no resource of its own.
fn entry_cells(list: &ResourceFact, entry: &MemberFact) -> Vec<Cell> {
    let mut cells = vec![
        Cell::role(type_label(list.type_url.as_str()), Role::Muted),
        Cell::new(text::member_name(&list.name, entry)),
        Cell::new(text::member_version(entry).unwrap_or("-")),
        Cell::role(text::member_state(entry.state), Role::Muted),
        Cell::new("-"),
        Cell::new("list"),
    ];
    cells.resize_with(FIRST_COLUMNS.len(), || Cell::new(""));
    cells
}

/// A resource, the facts of its `xdstp` name, and its owners.
struct WideRow {
    fact: ResourceFact,
    structured: Option<StructuredFact>,
    owners: String,
}

impl WideRow {
    fn new(get: &Get<'_>, structured: Option<StructuredFact>, fact: ResourceFact) -> WideRow {
        let owners = report::owners(&owners_of_resource(get.store.catalog(), &fact));
        WideRow { fact, structured, owners }
    }

    fn group(&self) -> (StreamId, &TypeUrl) {
        (self.fact.stream, &self.fact.type_url)
    }
}

fn has_text(rows: &[WideRow], (_, text): &Column, style: Style) -> bool {
    rows.iter().filter_map(|row| row.structured.as_ref()).any(|of| !text(of, style).is_empty())
}

/// Brings the names of an authority together within each stream and type. Plain names come first.
fn group_by_authority(rows: &mut [WideRow]) {
    for group in rows.chunk_by_mut(|a, b| a.group() == b.group()) {
        group.sort_by(|a, b| authority(a).cmp(&authority(b)));
    }
}

fn authority(row: &WideRow) -> Option<&str> {
    row.structured.as_ref().map(|of| of.parts.authority.as_str())
}

impl Get<'_> {
    /// Formats type, name, version and state. `wide` adds what a warming resource waits for.
    pub(super) fn first_cells(&self, fact: &ResourceFact, wide: bool) -> Vec<Cell> {
        let (mut state, mut role) = resource_state(fact);
        if let Some(warming) = self.graphs.warming(fact) {
            let needs = if wide { format!(": {}", report::warming_needs(warming)) } else { String::new() };
            (state, role) = (format!("{state}, warming{needs}"), Role::Warn);
        }
        vec![
            Cell::role(type_label(fact.type_url.as_str()), Role::Muted),
            Cell::new(shown_name(&fact.name)),
            Cell::new(fact.standing().map_or("-", |version| version)),
            Cell::role(state, role),
        ]
    }
}

pub(super) fn node(fact: &ResourceFact) -> Cell {
    Cell::new(format!("{} #{}", fact.node.as_deref().unwrap_or("-"), fact.stream.0))
}
