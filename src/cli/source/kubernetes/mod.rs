//! SOURCE `k8s:…` and `istio:…`: ports of pods, which the user's own kubectl forwards.
//!
//! kubectl finds the pods and forwards to them. Behind the forwards, ports are read like those that
//! users type, and control planes are asked likewise.

mod found;
mod kinds;
mod query;
mod reach;
mod server;
mod verbs;

use std::path::PathBuf;

use crate::app::live_copy::LiveCopy;
use crate::app::ports::{self, FindPods, PodPorts, PortGroup, PortSource};
use crate::cli::args::{Global, KubernetesFlags};
use crate::cli::error::{CliError, Exit};
use crate::net::client::Server;
use crate::net::transport::Address;
use xdscope_present::text::shell_word;
use xdscope_sources::max_response_bytes;

use super::ports::{PortSettings, failed, server as server_of_port};
use super::wanted_copy::WantedCopy;

use found::{FoundPod, find};
pub(crate) use query::PodQuery;
use reach::guard;
pub(crate) use server::connect;
pub(crate) use verbs::settle;

/// Reads the ports of pods, and goes on reading if the verb does.
///
/// # Errors
/// kubectl finds no such pods, or no port can be reached.
pub(super) fn copy(
    wanted: &WantedCopy<'_>,
    query: PodQuery,
    parent: Option<PathBuf>,
    global: &Global,
) -> Result<LiveCopy, CliError> {
    guard()?;
    let flags = &wanted.connect.kubernetes;
    let pods = find(&query, flags, wanted.name, &|| false)?;
    let Some(first) = pods.first().cloned() else { return Err(CliError::new(Exit::Defect, "no pods")) };
    let settings = PortSettings::new(wanted, parent, global)?;
    let source = match query.is_of_one_pod() {
        true => {
            let servers = pods.iter().map(|pod| forwarded(pod, flags, wanted));
            let servers = servers.collect::<Result<Vec<Server>, CliError>>()?;
            PortSource::One(settings.group(String::new(), first.kind, servers, query.proxy.clone()))
        }
        false => {
            let groups = groups(&pods, &settings, wanted)?;
            let find = search(query, &settings, wanted);
            PortSource::Pods(Box::new(PodPorts::new(groups, find, max_response_bytes(wanted.memory))))
        }
    };
    let kind = first.kind;
    let copied = ports::open(settings.options(wanted), source);
    copied.map_err(|error| {
        let shown = failed(error, kind, "", wanted);
        let asks_port = |next: &String| next.starts_with("curl ") || next.starts_with("xdscope doctor ");
        match shown.next.iter().any(asks_port) {
            // A command without the forward reaches nothing.
            true => CliError { next: vec![by_hand(&first, flags)], ..shown },
            false => shown,
        }
    })
}

/// Returns the command that forwards to a pod without xdscope.
fn by_hand(pod: &FoundPod, flags: &KubernetesFlags) -> String {
    let FoundPod { namespace, name, port, .. } = pod;
    let mut command = format!("kubectl port-forward -n {namespace} pod/{name} {port}");
    for (flag, value) in [("context", &flags.context), ("as", &flags.as_user)] {
        if let Some(value) = value {
            command.push_str(&format!(" --{flag} {}", shell_word(value)));
        }
    }
    command
}

/// Returns the port of a pod behind a forward, which begins with the first connection.
fn forwarded(pod: &FoundPod, flags: &KubernetesFlags, wanted: &WantedCopy<'_>) -> Result<Server, CliError> {
    server_of_port(Address::Pod(pod.forward(flags)), false, wanted)
}

/// Returns a reader for each pod.
fn groups(
    pods: &[FoundPod],
    settings: &PortSettings,
    wanted: &WantedCopy<'_>,
) -> Result<Vec<PortGroup>, CliError> {
    let group = |pod: &FoundPod| {
        let server = forwarded(pod, &wanted.connect.kubernetes, wanted)?;
        Ok(settings.group(pod.shown(), pod.kind, vec![server], None))
    };
    pods.iter().map(group).collect()
}

/// Returns what looks for pods again, on the thread that reads them.
fn search(query: PodQuery, settings: &PortSettings, wanted: &WantedCopy<'_>) -> FindPods {
    let (settings, name, memory) = (settings.clone(), wanted.name.to_owned(), wanted.memory);
    let (connect, descriptors) = (wanted.connect.clone(), wanted.descriptors.clone());
    let use_of = wanted.use_of;
    Box::new(move |is_over| {
        let wanted = WantedCopy { name: &name, connect: &connect, descriptors: &descriptors, use_of, memory };
        let pods = find(&query, &connect.kubernetes, &name, is_over);
        let found = pods.and_then(|pods| groups(&pods, &settings, &wanted));
        found.map_err(|error| error.message)
    })
}
