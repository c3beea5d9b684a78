//! Node, server and subscriptions of a client, from `--bootstrap` or `--like`.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::app::client::InitialSubscription;
use crate::app::process::open;
use crate::net::client::Server;
use crate::net::tls;
use crate::net::transport::Address;
use xdscope_engine::store::{Store, StreamFact, Wildcard};
use xdscope_present::text::shell_word;
use xdscope_schema::bootstrap;
use xdscope_schema::bootstrap::{BootstrapConfig, XdsServer};
use xdscope_schema::{Schema, read_json, yaml_error};
use xdscope_wire::event::{StreamId, Variant};

use super::connect::not_loaded;
use super::connect::reach;
use crate::cli::args::{ClientFlags, ConnectFlags, DescriptorFlags, SourceArgs, StreamPick, TimerFlags};
use crate::cli::error::CliError;
use crate::cli::source::offline;
use crate::cli::source::select;
use crate::cli::source::select::Picked;
use crate::cli::terminal::io::Io;

/// Full name of the message of a node.
const NODE: &str = "envoy.config.core.v3.Node";

/// A recorded client that serves as a model.
pub(crate) struct ClientModel {
    pub variant: Variant,
    /// Node in protobuf JSON.
    pub node: Value,
    pub wants: Vec<InitialSubscription>,
    /// Whether it subscribed to everything with an empty list.
    pub legacy_wildcard: bool,
    /// Address of its server.
    pub server: Option<String>,
}

pub(crate) fn read_bootstrap(path: &Path) -> Result<BootstrapConfig, CliError> {
    let failed = || CliError::unreadable(format!("cannot use the bootstrap {}", path.display()));
    let text = open::bootstrap(path).map_err(|error| failed().because(error))?;
    bootstrap::read(&text).map_err(|error| failed().because(error))
}

/// Reads `--node-file FILE`: a node in JSON or YAML, at the top or below `node`.
pub(crate) fn read_node(path: &Path) -> Result<Value, CliError> {
    let failed = || CliError::unreadable(format!("cannot use the node in {}", path.display()));
    let text = open::bootstrap(path).map_err(|error| failed().because(error))?;
    let value: Value = match read_json(text.as_bytes()) {
        Ok(value) => value,
        Err(_) => serde_saphyr::from_str(&text).map_err(|error| failed().because(yaml_error(&error)))?,
    };
    let node = if value["node"].is_object() { value["node"].clone() } else { value };
    if node.is_object() {
        Ok(node)
    } else {
        Err(failed().because("not an object").next("{\"id\": \"edge-1\", \"cluster\": \"edge\"}"))
    }
}

/// Returns the first server of a bootstrap, with the others as fallbacks. Connection flags apply to
/// all.
pub(crate) fn servers(
    upstreams: &[XdsServer],
    like: &Server,
    connect: &ConnectFlags,
) -> Result<Option<Server>, CliError> {
    let mut all = Vec::new();
    for upstream in upstreams {
        let (address, tls) = match &upstream.tls {
            Some(tls) if !connect.wants_tls() && !connect.plaintext => {
                let address = upstream.address.parse::<Address>();
                let address = address.map_err(|error| {
                    CliError::usage(format!("the bootstrap's server: {error}"))
                        .next("xdscope watch HOST:PORT")
                })?;
                (address, Some(tls::ClientTls::load(tls).map_err(not_loaded)?))
            }
            Some(_) => reach(&upstream.address, connect)?,
            // A server without TLS in the bootstrap is plaintext, also beyond loopback.
            None if !connect.wants_tls() => reach(&format!("http://{}", upstream.address), connect)?,
            None => reach(&upstream.address, connect)?,
        };
        let mut headers = upstream.headers.clone();
        headers.extend(like.headers.iter().cloned());
        all.push(Server {
            address,
            tls,
            authority: like.authority.clone().or_else(|| upstream.authority.clone()),
            headers,
            token: like.token.clone(),
            timeout: like.timeout,
            max_message: like.max_message,
            keepalive: like.keepalive,
            keepalive_timeout: like.keepalive_timeout,
            fallback: Vec::new(),
        });
    }
    let mut all = all.into_iter();
    let Some(first) = all.next() else { return Ok(None) };
    Ok(Some(Server { fallback: all.collect(), ..first }))
}

/// Reads `RECORDING#STREAM`. STREAM is a number or a node, and optional if there is one node only.
pub(crate) fn like(
    text: &str,
    flags: &ClientFlags,
    schema: &Schema,
    io: &mut Io<'_>,
) -> Result<ClientModel, CliError> {
    let (path, pick) = match text.rsplit_once('#') {
        Some((path, pick)) if !path.is_empty() && !pick.is_empty() => (path, Some(pick)),
        _ => (text, None),
    };
    let pick = pick.map(|pick| match pick.parse() {
        Ok(number) => StreamPick::Stream(number),
        Err(_) => StreamPick::Node(pick.to_owned()),
    });
    let args = SourceArgs {
        source: path.to_owned(),
        ask: Vec::new(),
        timeout: None,
        client: flags.clone(),
        keep_secrets: true,
        accept_broken: false,
        timers: TimerFlags {
            resource_timeout: Duration::from_secs(15),
            stale_after: Duration::from_secs(10),
            memory: 512_000_000,
        },
        descriptors: DescriptorFlags::default(),
    };
    let source = offline::open(&args, 0, &crate::cli::args::Global::silent(), io)?;
    let store =
        xdscope_sources::replay(source, offline::options(&args.timers), &xdscope_sources::Limit::All).0;
    let picked = Picked::of(pick.as_ref(), &store)?;
    let xds: Vec<&StreamFact> = picked.streams.iter().filter(|stream| stream.variant.is_some()).collect();
    let nodes: std::collections::BTreeSet<_> = xds.iter().filter_map(|stream| select::node(stream)).collect();
    if pick.is_none() && nodes.len() > 1 {
        let next = nodes
            .iter()
            .take(5)
            .map(|node| format!("--like {}", shell_word(&format!("{path}#{node}"))))
            .collect();
        return Err(CliError {
            next,
            ..CliError::usage(format!("{path} has {} nodes: select one", nodes.len()))
        });
    }
    let none = || {
        CliError::usage(format!("--like {text}: no xDS stream"))
            .next(format!("xdscope info {}", shell_word(path)))
    };
    let model = *xds.last().ok_or_else(none)?;
    let variant = model.variant.ok_or_else(none)?;
    let node = model.node.as_ref().and_then(|node| store.catalog().bytes(node.blob?));
    let node =
        node.ok_or_else(|| CliError::usage(format!("--like {text}: its node is not in the recording")))?;
    let (wants, legacy_wildcard) = wants(&store, model, variant);
    Ok(ClientModel {
        variant,
        node: schema.message_to_json(NODE, &node),
        wants,
        legacy_wildcard,
        server: model.server.clone(),
    })
}

/// Returns the subscriptions of a client at the end: on one stream, or on its newest stream of each
/// type.
fn wants(store: &Store, model: &StreamFact, variant: Variant) -> (Vec<InitialSubscription>, bool) {
    let mut legacy = false;
    let mut wants: Vec<InitialSubscription> = Vec::new();
    let node = select::node(model);
    let same = |stream: StreamId| {
        variant.is_aggregated() && stream == model.stream
            || !variant.is_aggregated()
                && store.stream(stream).is_some_and(|other| {
                    other.variant == Some(variant)
                        && select::node(&other) == node
                        && other.server == model.server
                })
    };
    for state in store.states().into_iter().rev().filter(|state| same(state.summary.stream)) {
        if wants.iter().any(|want| want.type_url == state.summary.type_url) {
            continue;
        }
        legacy |= state.subscription.wildcard == Wildcard::Legacy;
        let wildcard = match state.subscription.wildcard {
            Wildcard::None => false,
            Wildcard::Unknown => state.subscription.names.is_empty(),
            Wildcard::Legacy | Wildcard::Explicit | Wildcard::Ambiguous => true,
        };
        let names = state
            .subscription
            .names
            .iter()
            .filter(|name| &***name != "*")
            .map(|name| name.to_string())
            .collect();
        wants.push(InitialSubscription { type_url: state.summary.type_url, wildcard, names });
    }
    wants.sort_by_cached_key(|want| xdscope_present::report::type_order(&want.type_url));
    (wants, legacy)
}
