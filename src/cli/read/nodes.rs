//! `get SOURCE nodes`: the clients, with their identity, locality, features and control plane.

use std::io::Write;

use xdscope_engine::store::{Store, StreamFact};
use xdscope_present::table::{Columns, TableLooks};
use xdscope_present::{json, node};
use xdscope_schema::Schema;
use xdscope_wire::discovery::NodeInfo;

use crate::cli::args::{Format, GetArgs};
use crate::cli::error::CliError;
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::source::select::Picked;

/// The word that selects nodes in place of a type.
pub(crate) const WORD: &str = "nodes";

/// Whether a word asks for the nodes: singular or plural, in any case.
pub(crate) fn is_word(word: &str) -> bool {
    word.eq_ignore_ascii_case(WORD) || word.eq_ignore_ascii_case("node")
}

/// A stream, and its node.
type NodeRow<'a> = (&'a StreamFact, &'a NodeInfo);

/// The streams with a node, newest last.
pub(crate) struct NodeRows<'a> {
    pub args: &'a GetArgs,
    pub picked: &'a Picked,
    pub store: &'a Store,
    pub schema: &'a Schema,
}

impl NodeRows<'_> {
    /// Writes one row, object or YAML document per stream with a node, and returns their number.
    pub(crate) fn write(&self, looks: ObjectLooks, out: &mut dyn Write) -> Result<usize, CliError> {
        let mut rows: Vec<NodeRow<'_>> = Vec::new();
        for stream in &self.picked.streams {
            rows.extend(stream.node.as_deref().map(|node| (stream, node)));
        }
        match self.args.format {
            Some(format) if format.is_of_objects() => {
                let mut objects = Objects::new(out, format, looks);
                for (stream, _) in &rows {
                    objects.put(&json::stream_with_node(stream, self.store, self.schema))?;
                }
                objects.finish()?;
            }
            Some(Format::Name | Format::Tree) => {
                return Err(CliError::usage("nodes are printed as -o table, wide, json, jsonl or yaml"));
            }
            _ => self.table(&rows, looks.table, out)?,
        }
        Ok(rows.len())
    }

    fn table(&self, rows: &[NodeRow<'_>], looks: TableLooks, out: &mut dyn Write) -> Result<(), CliError> {
        let columns = Columns::<NodeRow<'_>>::new()
            .text("NODE", |(_, node)| node.id.clone())
            .number("STREAM", |(stream, _)| stream.stream.0.to_string())
            .text("CLUSTER", |(_, node)| node.cluster.clone())
            .text("LOCALITY", |(_, info)| node::locality(&info.locality))
            .text("USER AGENT", |(_, node)| {
                format!("{} {}", node.user_agent, node.user_agent_version).trim().to_owned()
            })
            .text("CONTROL PLANE", |(stream, _)| stream.control_plane.as_deref().unwrap_or("-").to_owned())
            .number("CHANGES", |(stream, _)| stream.plane_changes.to_string());
        let columns = match self.args.format {
            Some(Format::Wide) => columns.text("FEATURES", |(_, node)| node.client_features.join(" ")),
            _ => columns.number("FEATURES", |(_, node)| node.client_features.len().to_string()),
        };
        Ok(columns.write(rows, looks, out)?)
    }
}
