//! `get SOURCE nodes`: the clients, with their identity, locality, features and control plane.

use std::io::Write;

use xdscope_engine::store::{Store, StreamFact};
use xdscope_present::{json, node};
use xdscope_schema::Schema;

use crate::cli::args::{Format, GetArgs};
use crate::cli::error::CliError;
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::output::table::{Cell, Table};
use crate::cli::source::select::Picked;
use crate::cli::terminal::io::Style;

/// The word that selects nodes in place of a type.
pub(crate) const WORD: &str = "nodes";

/// Whether a word asks for the nodes: singular or plural, in any case.
pub(crate) fn is_word(word: &str) -> bool {
    word.eq_ignore_ascii_case(WORD) || word.eq_ignore_ascii_case("node")
}

/// The streams with a node, newest last.
pub(crate) struct NodeRows<'a> {
    pub args: &'a GetArgs,
    pub picked: &'a Picked,
    pub store: &'a Store,
    pub schema: &'a Schema,
    pub style: Style,
}

impl NodeRows<'_> {
    /// Writes one row, object or YAML document per stream with a node, and returns their number.
    pub(crate) fn write(&self, terminal: bool, out: &mut dyn Write) -> Result<usize, CliError> {
        let streams: Vec<&StreamFact> =
            self.picked.streams.iter().filter(|stream| stream.node.is_some()).collect();
        match self.args.format {
            Some(format) if format.is_of_objects() => {
                let headers = !self.args.rows.no_headers;
                let looks = ObjectLooks { style: self.style, headers, terminal };
                self.objects(&streams, Objects::new(out, format, looks))?;
            }
            Some(Format::Name | Format::Tree) => {
                return Err(CliError::usage("nodes are printed as -o table, wide, json, jsonl or yaml"));
            }
            _ => self.table(&streams, out)?,
        }
        Ok(streams.len())
    }

    fn objects(&self, streams: &[&StreamFact], mut objects: Objects<'_>) -> Result<(), CliError> {
        for stream in streams {
            objects.put(&json::stream_with_node(stream, self.store, self.schema))?;
        }
        Ok(objects.finish()?)
    }

    fn table(&self, streams: &[&StreamFact], out: &mut dyn Write) -> Result<(), CliError> {
        let is_wide = self.args.format == Some(Format::Wide);
        let mut titles =
            vec!["NODE", ">STREAM", "CLUSTER", "LOCALITY", "USER AGENT", "CONTROL PLANE", ">CHANGES"];
        titles.push(if is_wide { "FEATURES" } else { ">FEATURES" });
        let headers = !self.args.rows.no_headers && !streams.is_empty();
        let mut table = Table::new(out, self.style, headers, &titles);
        for stream in streams {
            let Some(info) = &stream.node else { continue };
            let agent = format!("{} {}", info.user_agent, info.user_agent_version);
            let features = match is_wide {
                true => info.client_features.join(" "),
                false => info.client_features.len().to_string(),
            };
            table.row(vec![
                Cell::new(&info.id),
                Cell::new(stream.stream.0.to_string()),
                Cell::new(&info.cluster),
                Cell::new(node::locality(&info.locality)),
                Cell::new(agent.trim()),
                Cell::new(stream.control_plane.as_deref().unwrap_or("-")),
                Cell::new(stream.plane_changes.to_string()),
                Cell::new(features),
            ])?;
        }
        Ok(table.finish()?)
    }
}
