//! `get`: one row per resource, in a wide table with columns for `xdstp` names where one is shown.

use std::io::Write;

use xdscope_engine::owners::owners_of_resource;
use xdscope_engine::store::ResourceFact;
use xdscope_engine::structured::{MemberFact, StructuredFact};
use xdscope_present::report::{self, Role};
use xdscope_present::structured as text;
use xdscope_present::table::{Cell, Columns, Style, Table, TableLooks};
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::{shown_name, size, type_label};

use super::Get;
use crate::cli::error::CliError;
use crate::cli::output::words::resource_state;

/// A resource, or an entry of a list that is no resource of its own.
struct ResourceRow {
    /// The resource or the list.
    fact: ResourceFact,
    structured: Option<StructuredFact>,
    entry: Option<MemberFact>,
}

impl ResourceRow {
    fn group(&self) -> (StreamId, &TypeUrl) {
        (self.fact.stream, &self.fact.type_url)
    }

    fn authority(&self) -> Option<&str> {
        self.structured.as_ref().map(|structured| structured.parts.authority.as_str())
    }

    fn name(&self) -> String {
        match &self.entry {
            Some(entry) => text::member_name(&self.fact.name, entry),
            None => shown_name(&self.fact.name).to_owned(),
        }
    }

    fn version(&self) -> String {
        let version = match &self.entry {
            Some(entry) => text::member_version(entry),
            None => self.fact.standing().map(|version| &**version),
        };
        version.unwrap_or("-").to_owned()
    }

    fn acked(&self) -> String {
        let version = if self.entry.is_some() { None } else { self.fact.acked_version.as_deref() };
        version.unwrap_or("-").to_owned()
    }

    fn origin(&self) -> &'static str {
        if self.entry.is_some() { "list" } else { self.fact.origin.word() }
    }
}

/// Returns the cells of resources; an entry of a list has none.
fn of_resource<T: Into<Cell>>(cell: impl Fn(&ResourceFact) -> T) -> impl Fn(&ResourceRow) -> Cell {
    move |row| match row.entry {
        Some(_) => Cell::new(""),
        None => cell(&row.fact).into(),
    }
}

/// Returns the cells of `xdstp` names.
fn of_name(text: impl Fn(&StructuredFact) -> String) -> impl Fn(&ResourceRow) -> String {
    move |row| row.structured.as_ref().map(&text).unwrap_or_default()
}

impl Get<'_> {
    fn columns(&self, is_wide: bool, style: Style) -> Columns<'_, ResourceRow> {
        let mut columns = Columns::new()
            .text("TYPE", |row: &ResourceRow| type_label(row.fact.type_url.as_str()))
            .role(Role::Muted)
            .text("NAME", ResourceRow::name)
            .text("VER", ResourceRow::version)
            .text("STATE", move |row: &ResourceRow| self.state(row, is_wide));
        if is_wide {
            columns = self.add_wide_columns(columns, style.pick("→", "->"));
        }
        let selected = self.states.iter().filter(|state| self.is_selected(&state.summary.type_url));
        let mut streams: Vec<StreamId> = selected.map(|state| state.summary.stream).collect();
        streams.dedup();
        if streams.len() > 1 {
            columns = columns.text("NODE", |row: &ResourceRow| {
                format!("{} #{}", row.fact.node.as_deref().unwrap_or("-"), row.fact.stream.0)
            });
        }
        // Whether a selected type has refused resources.
        if self.reasons.is_any(|state| self.is_selected(&state.summary.type_url)) {
            columns = columns.text("REASON", of_resource(|fact| self.reasons.brief(fact))).role(Role::Bad);
        }
        columns
    }

    /// Adds what `-o wide` shows of resources, and columns of `xdstp` names and owners where a row
    /// has any.
    fn add_wide_columns<'a>(
        &'a self,
        columns: Columns<'a, ResourceRow>,
        arrow: &'static str,
    ) -> Columns<'a, ResourceRow> {
        let hash =
            |fact: &ResourceFact| fact.hash.as_deref().unwrap_or("-").chars().take(12).collect::<String>();
        let error =
            |fact: &ResourceFact| fact.error.as_deref().map(report::resource_error).unwrap_or_default();
        let owners =
            move |fact: &ResourceFact| report::owners(&owners_of_resource(self.store.catalog(), fact));
        columns
            .text("ACKED", ResourceRow::acked)
            .text("ORIGIN", ResourceRow::origin)
            .number("SIZE", of_resource(|fact| size(fact.size)))
            .text("HASH", of_resource(hash))
            .text("ALIASES", of_resource(|fact| fact.aliases.join(" ")))
            .text("TTL", of_resource(|fact| self.ttl(fact)))
            .text("ERROR", of_resource(error))
            .optional_text("AUTHORITY", of_name(|name| text::authority(&name.parts.authority).to_owned()))
            .optional_text("PARAMETERS", of_name(|name| text::parameters(&name.parts)))
            .optional_text("DIRECTIVES", of_name(|name| text::directives(&name.parts)))
            .optional_text(
                "MEMBERS",
                of_name(|name| name.members.as_ref().map(text::members).unwrap_or_default()),
            )
            .optional_text("LEADS TO", of_name(|name| text::leads_to(name).unwrap_or_default()))
            .optional_text("HOPS", of_name(move |name| text::hops(&name.hops, arrow).unwrap_or_default()))
            .optional_text("OWNER", of_resource(owners))
    }

    /// Returns the state of a resource. `is_wide` adds what a warming one waits for.
    fn state(&self, row: &ResourceRow, is_wide: bool) -> (String, Role) {
        if let Some(entry) = &row.entry {
            return (text::member_state(entry.state), Role::Muted);
        }
        let (state, role) = resource_state(&row.fact);
        match self.graphs.warming(&row.fact) {
            None => (state, role),
            Some(_) if !is_wide => (format!("{state}, warming"), Role::Warn),
            Some(warming) => (format!("{state}, warming: {}", report::warming_needs(warming)), Role::Warn),
        }
    }

    /// Writes rows as they come. Returns the number of resources.
    pub(super) fn rows(&self, looks: TableLooks, out: &mut dyn Write) -> Result<usize, CliError> {
        let columns = self.columns(false, looks.style);
        let mut table = Table::new(out, looks, columns.headings());
        let printed = self.each(&mut |fact| {
            let row = ResourceRow { fact, structured: None, entry: None };
            Ok(table.row(columns.cells(&row))?)
        })?;
        table.finish()?;
        Ok(printed)
    }

    /// Writes rows with all columns. Returns the number of resources.
    pub(super) fn wide_rows(&self, looks: TableLooks, out: &mut dyn Write) -> Result<usize, CliError> {
        let structured = self.structured_names();
        let mut resources = Vec::new();
        let printed = self.each(&mut |fact| {
            let structured = structured.of(&fact);
            resources.push(ResourceRow { fact, structured, entry: None });
            Ok(())
        })?;
        group_by_authority(&mut resources);
        let mut rows = Vec::new();
        for resource in resources {
            let list = resource.fact.clone();
            let members = resource.structured.as_ref().and_then(|structured| structured.members.as_ref());
            let entries: Vec<MemberFact> =
                members.into_iter().flat_map(text::other_entries).cloned().collect();
            rows.push(resource);
            for entry in entries {
                rows.push(ResourceRow { fact: list.clone(), structured: None, entry: Some(entry) });
            }
        }
        self.columns(true, looks.style).write(&rows, looks, out)?;
        Ok(printed)
    }
}

/// Brings the names of an authority together within each stream and type. Plain names come first.
fn group_by_authority(rows: &mut [ResourceRow]) {
    for group in rows.chunk_by_mut(|a, b| a.group() == b.group()) {
        group.sort_by(|a, b| a.authority().cmp(&b.authority()));
    }
}
