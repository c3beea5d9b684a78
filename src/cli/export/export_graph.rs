//! `export --to dot|mermaid`: the resource graph of one client.

use std::collections::BTreeSet;

use xdscope_engine::graph::{self, Graph};
use xdscope_present::graph::{dot, mermaid};
use xdscope_present::report;
use xdscope_present::text::shell_word;
use xdscope_sources::ReplayPosition;
use xdscope_wire::event::StreamId;
use xdscope_wire::text::plural;

use crate::cli::args::{ExportArgs, ExportTo, Global};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::output_file::to_file;
use crate::cli::source;
use crate::cli::source::select;
use crate::cli::source::select::Picked;
use crate::cli::terminal::io::Io;

pub(crate) fn run(args: &ExportArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.filter.is_some() {
        let error = CliError::usage("--filter selects messages, and a graph shows resources");
        return Err(error.next(format!("xdscope export {} --node NAME", shell_word(&args.source.source))));
    }
    if !matches!(args.from, ReplayPosition::Start) {
        let error = CliError::usage("--from selects messages, and a graph shows one moment");
        return Err(error.next("--until WHEN, for the graph of an earlier moment"));
    }
    let (store, folded) = source::store_at(&args.source, &args.until, global, io)?;
    let schema = folded.schema;
    let picked = Picked::of(args.streams.pick().as_ref(), &store)?;
    let continued: BTreeSet<StreamId> = picked.streams.iter().filter_map(|of| of.reconnect_of).collect();
    // A client that has reconnected is one client.
    let newest = picked.streams.iter().filter(|stream| !continued.contains(&stream.stream));
    let clients: BTreeSet<Vec<StreamId>> =
        newest.map(|stream| graph::streams_of(&store, stream.stream)).collect();
    // Leave out streams that ended: they say nothing about what the client has now.
    let clients: Vec<&Vec<StreamId>> = clients
        .iter()
        .filter(|one| {
            !clients.iter().any(|other| other.len() > one.len() && one.iter().all(|s| other.contains(s)))
        })
        .collect();
    let [streams] = clients.as_slice() else {
        let names: BTreeSet<String> = picked.streams.iter().map(report::node_name).collect();
        let error = CliError::usage(match clients.len() {
            0 => "no streams".to_owned(),
            n => format!("a graph shows one client, and the source has {}", plural(n as u64, "client")),
        });
        let more = names.len().saturating_sub(select::MAX_LISTED_NODES);
        let more =
            (more > 0).then(|| format!("{more} more: xdscope status {}", shell_word(&args.source.source)));
        let next = names.iter().take(select::MAX_LISTED_NODES).map(|name| select::flag(name)).chain(more);
        return Err(CliError { next: next.collect(), ..error });
    };
    let graph = Graph::of(&store, &schema, streams);
    let node = picked.streams.iter().find(|stream| streams.contains(&stream.stream));
    let title = node.map(report::node_name).unwrap_or_default();
    let now = (!store.clock().untimed).then(|| store.now());
    let text = match args.to {
        ExportTo::Mermaid => mermaid(&graph, &title, now),
        _ => dot(&graph, &title, now),
    };
    match &args.output {
        None => io.stdout.write_all(text.as_bytes())?,
        Some(path) => {
            let source = &args.source.source;
            to_file(path, args.to, source, args.force, io, |out| Ok(out.write_all(text.as_bytes())?))?;
        }
    }
    io.flush()?;
    if !global.quiet && args.output.is_some() {
        io.say(&format!("{} of {title}", plural(graph.nodes.len() as u64, "resource")));
    }
    Ok(Exit::Yes)
}

#[cfg(test)]
mod tests {
    use crate::cli::Exit;
    use crate::cli::tests::{run, show};

    const GATEWAY: &str = "tests/fixtures/tui/gateway.xds";

    #[test]
    fn writes_graph_of_one_client() {
        insta::assert_snapshot!("dot", show(&["export", GATEWAY, "--to", "dot", "--stream", "edge-gw-1"]));
        insta::assert_snapshot!("mermaid", show(&["export", GATEWAY, "--to", "mermaid", "--stream", "#1"]));
    }

    #[test]
    fn rejects_several_clients_and_message_filters() {
        let output = run(&["export", GATEWAY, "--to", "dot"]);
        assert_eq!(output.exit, Exit::Usage);
        assert!(
            output.err.contains("2 clients") && output.err.contains("--node 'edge-gw-1'"),
            "{}",
            output.err
        );
        let output = run(&["export", GATEWAY, "--to", "dot", "--stream", "#1", "--filter", "type:cds"]);
        assert_eq!(output.exit, Exit::Usage);
        let output = run(&["export", GATEWAY, "--to", "mermaid", "--stream", "#1", "--from", "+10s"]);
        assert!(output.exit == Exit::Usage && output.err.contains("--until"), "{}", output.err);
    }

    #[test]
    fn graph_shows_moment_of_until() {
        let output = run(&["export", GATEWAY, "--to", "dot", "--stream", "#1", "--until", "+30s"]);
        assert!(output.out.contains("fraud-check") && !output.out.contains("warming"), "{}", output.out);
    }

    #[test]
    fn counts_a_client_that_has_reconnected_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("again.xds");
        let text = "node a\nstream 1 ads\n+0s 1 > cds\n+1s 1 close status=14 \"gone\"\n\
                    stream 2 ads\n+2s 2 > cds\nnode b\nstream 3 ads\n+3s 3 > cds\n";
        std::fs::write(&file, text).unwrap();
        let output = run(&["export", file.to_str().unwrap(), "--to", "dot"]);
        assert!(output.err.contains("the source has 2 clients"), "{}", output.err);
    }
}
