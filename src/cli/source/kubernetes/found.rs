//! The pods of a source, as kubectl finds them.

use crate::cli::args::KubernetesFlags;
use crate::cli::error::{CliError, Exit};
use crate::cli::source::prefixes::PortKind;
use crate::net::kubectl::{
    Failure, Forward, ForwardTarget, Kubectl, ObjectError, Pod, is_selector, selector_of,
};
use xdscope_present::text::shell_word;
use xdscope_wire::text::{display_safe, plural};

use super::kinds::{self, KnownPort};
use super::query::{PodChoice, PodQuery};
use super::reach::{kubectl, kubectl_failed};

/// A port of a pod that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundPod {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) port: u16,
    pub(super) kind: PortKind,
}

impl FoundPod {
    fn new(pod: &Pod, KnownPort { port, kind }: KnownPort) -> FoundPod {
        FoundPod { namespace: pod.namespace.clone(), name: pod.name.clone(), port, kind }
    }

    /// Returns the port behind a forward, which begins with the first connection.
    pub(super) fn forward(&self, flags: &KubernetesFlags) -> Forward {
        let FoundPod { namespace, name, port, .. } = self.clone();
        Forward::new(ForwardTarget { kubectl: kubectl(flags), namespace, pod: name, port })
    }

    /// Returns namespace and name.
    pub(super) fn shown(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// Finds the ports of a source: one at least.
///
/// # Errors
/// kubectl fails, no such pod runs, or the port of a pod is not known.
pub(super) fn find(
    query: &PodQuery,
    flags: &KubernetesFlags,
    source: &str,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<FoundPod>, CliError> {
    let pods = running(query, flags, source, is_over)?;
    let is_of_all = query.pods == PodChoice::All;
    let mut found = Vec::new();
    for pod in &pods {
        let known = match (query.kind, query.port) {
            (Some(kind), Some(port)) => Some(KnownPort { port, kind }),
            (None, Some(port)) => Some(kinds::of_port(pod, port, flags.preset)),
            (kind, None) => kinds::of_pod(pod, flags.preset)
                .map(|known| KnownPort { kind: kind.unwrap_or(known.kind), ..known }),
        };
        match known {
            // A table of proxies has no place for other programs.
            Some(known) if is_of_all && query.port.is_none() && !is_proxy(known.kind) => {}
            Some(known) => found.push(FoundPod::new(pod, known)),
            None if is_of_all => {}
            None => return Err(unknown_port(pod, query, flags)),
        }
    }
    if found.is_empty() {
        let text = format!(
            "{}: none of {} is a known proxy",
            display_safe(source),
            plural(pods.len() as u64, "pod")
        );
        let error = CliError::new(Exit::Connection, text).next("k8s:NAMESPACE/POD:PORT, with its admin port");
        return Err(match flags.preset {
            Some(_) => error.next("the call without --as"),
            None => error,
        });
    }
    found.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    Ok(found)
}

fn is_proxy(kind: PortKind) -> bool {
    matches!(kind, PortKind::Envoy | PortKind::Csds)
}

fn unknown_port(pod: &Pod, query: &PodQuery, flags: &KubernetesFlags) -> CliError {
    let why = match flags.preset {
        Some(_) => "is not such a pod",
        None => "does not say which of its ports is an admin port",
    };
    let text = format!("pod {}/{} {why}: {}", pod.namespace, pod.name, kinds::listed(pod));
    let port = pod.ports().next().map_or("PORT".to_owned(), |port| port.port.to_string());
    let name = match &query.pods {
        PodChoice::Of(kind, name) => format!("{kind}/{name}"),
        _ => pod.name.clone(),
    };
    let error = CliError::usage(display_safe(&text).into_owned());
    let error = error.next(format!("k8s:{}/{name}:{port}   if an Envoy's admin port", pod.namespace));
    error.next(format!("k8s:{}/{name}:{port} --as grpc   if a gRPC server with CSDS", pod.namespace))
}

/// Finds the pods of a source that run: one at least.
///
/// # Errors
/// kubectl fails, or no such pod runs.
pub(super) fn running(
    query: &PodQuery,
    flags: &KubernetesFlags,
    source: &str,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<Pod>, CliError> {
    check(query, flags)?;
    let kubectl = kubectl(flags);
    let search = Search { kubectl: &kubectl, query, flags, is_over };
    let pods = search.pods().map_err(|error| match error {
        SearchError::Kubectl(failure) => {
            let error = kubectl_failed(&failure, source);
            let place = query.namespace.as_ref().map(|name| format!(" -n {name}")).unwrap_or_default();
            match error.next.is_empty() && failure.is_not_found() {
                true => error.next(format!("kubectl get pods{place}")),
                false => error,
            }
        }
        SearchError::Object(error) => {
            CliError::new(Exit::Connection, format!("{}: {error}", display_safe(source)))
        }
    })?;
    let count = pods.len();
    let (running, others): (Vec<Pod>, Vec<Pod>) = pods.into_iter().partition(Pod::is_running);
    if !running.is_empty() {
        return Ok(running);
    }
    let why = match others.first() {
        None => "there are no such pods".to_owned(),
        Some(pod) if count == 1 => {
            let phase = if pod.phase.is_empty() { "not running" } else { &pod.phase };
            format!("pod {}/{} is {phase}", pod.namespace, pod.name)
        }
        Some(pod) => format!("none of {count} pods runs; {} is {}", pod.name, pod.phase),
    };
    let text = display_safe(&format!("{source}: {why}")).into_owned();
    Err(CliError::new(Exit::Connection, text).next(search.command()))
}

/// Refuses flags that do not fit SOURCE.
fn check(query: &PodQuery, flags: &KubernetesFlags) -> Result<(), CliError> {
    if let Some(selector) = &flags.selector {
        if !is_selector(selector) {
            let error = CliError::usage(format!("not a selector of labels: `{selector}`"));
            return Err(error.next("-l app=reviews"));
        }
        if let PodChoice::Named(name) = &query.pods {
            let error = CliError::usage(format!("-l has no effect: SOURCE names the pod {name}"));
            return Err(error.next("k8s:NAMESPACE -l SELECTOR"));
        }
    }
    if flags.all_namespaces
        && let Some(namespace) = &query.namespace
    {
        let error = CliError::usage(format!("-A has no effect: SOURCE is about the namespace {namespace}"));
        return Err(error.next("k8s: -A"));
    }
    Ok(())
}

/// The reason why pods cannot be found.
enum SearchError {
    Kubectl(Failure),
    Object(ObjectError),
}

impl From<Failure> for SearchError {
    fn from(failure: Failure) -> SearchError {
        SearchError::Kubectl(failure)
    }
}

impl From<ObjectError> for SearchError {
    fn from(error: ObjectError) -> SearchError {
        SearchError::Object(error)
    }
}

/// A search for pods.
struct Search<'a> {
    kubectl: &'a Kubectl,
    query: &'a PodQuery,
    flags: &'a KubernetesFlags,
    is_over: &'a dyn Fn() -> bool,
}

impl Search<'_> {
    fn get(&self, what: &[&str]) -> Result<Vec<u8>, Failure> {
        self.kubectl.get(self.query.namespace.as_deref(), what, self.is_over)
    }

    fn pods(&self) -> Result<Vec<Pod>, SearchError> {
        let own = match &self.query.pods {
            PodChoice::Named(name) => return Ok(Pod::read(&self.get(&["pod", name])?)?),
            PodChoice::Of(kind, name) => Some(selector_of(&self.get(&[kind, name])?)?),
            PodChoice::Labelled(label) => Some((*label).to_owned()),
            PodChoice::All => None,
        };
        let terms: Vec<String> = own.into_iter().chain(self.flags.selector.clone()).collect();
        let selector = format!("--selector={}", terms.join(","));
        let mut what = vec!["pods"];
        if !terms.is_empty() {
            what.push(&selector);
        }
        if self.flags.all_namespaces {
            what.push("--all-namespaces");
        }
        Ok(Pod::read(&self.get(&what)?)?)
    }

    /// Returns the command that lists what was looked for.
    fn command(&self) -> String {
        let mut command = "kubectl get pods".to_owned();
        match &self.query.namespace {
            Some(namespace) => command.push_str(&format!(" -n {namespace}")),
            None if self.flags.all_namespaces => command.push_str(" -A"),
            None => {}
        }
        if let Some(selector) = &self.flags.selector {
            command.push_str(&format!(" -l {}", shell_word(selector)));
        }
        command
    }
}
