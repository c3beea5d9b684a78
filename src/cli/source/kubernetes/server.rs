//! A control plane in a pod, of which xdscope is a client: its port, identity, token and root
//! certificate.

use serde_json::json;

use crate::cli::args::{Global, KubernetesFlags, PodServer, Verb};
use crate::cli::error::{CliError, Exit};
use crate::cli::source::prefixes::{self, PortKind};
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Busy;
use crate::net::kubectl::{Kubectl, Pod, ServiceAccountToken, is_object_name, root_certificate};
use crate::net::token::Token;
use crate::net::transport::Address;
use xdscope_wire::text::display_safe;

use super::found::{FoundPod, running};
use super::query::{ISTIOD_XDS_PORT, PodChoice, PodQuery};
use super::reach::{guard, kubectl, kubectl_failed};
use super::verbs::{VerbServer, server_of};

/// The audience of tokens for istiod.
const AUDIENCE: &str = "istio-ca";

/// The ConfigMap with the root certificate of the mesh, which istiod writes to each namespace.
const ROOT_CONFIG_MAP: &str = "istio-ca-root-cert";

/// The service account of a client that is not a proxy.
const NOBODY: &str = "default";

/// The roles of the agent, which begin the id of a node.
const ROLES: [&str; 3] = ["sidecar", "router", "waypoint"];

/// Finds the control plane in a pod that a verb is a client of, and prepares to be that client.
///
/// # Errors
/// kubectl finds no such pod, or gives no token or root certificate.
pub(crate) fn connect(verb: &mut Verb, global: &Global, io: &mut Io<'_>) -> Result<(), CliError> {
    let Some(VerbServer { source, client, connect }) = server_of(verb) else { return Ok(()) };
    if !prefixes::is_pod_server(source) {
        return Ok(());
    }
    let Some(mut query) = PodQuery::read(source)? else { return Ok(()) };
    let flags = connect.kubernetes.clone();
    if flags.istio.is_some() && !query.is_xds() {
        query.port = Some(ISTIOD_XDS_PORT);
    }
    if query.kind == Some(PortKind::Istiod) {
        query.port = Some(ISTIOD_XDS_PORT);
    }
    let Some(port) = query.port else {
        let error = CliError::usage(format!("{source} does not say which port has xDS"));
        return Err(error.next(format!("{source}:15010")));
    };
    guard()?;
    let busy = Busy::start(&format!("looking for {source}"), global, io);
    let mut pods = running(&query, &flags, source, &|| false)?;
    pods.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    let count = pods.len();
    let Some(pod) = pods.into_iter().next() else { return Ok(()) };
    let mesh = match &flags.istio {
        Some(proxy) => Some(Mesh::find(proxy, &pod, port, &flags, source)?),
        None => None,
    };
    drop(busy);
    if count > 1 && !global.quiet {
        let name = format!("{}/{}", pod.namespace, pod.name);
        io.say(&display_safe(&format!("asking pod {name}, one of {count}")));
    }
    let found = FoundPod { namespace: pod.namespace, name: pod.name, port, kind: PortKind::Envoy };
    let address = Address::Pod(found.forward(&flags));
    let mut server = PodServer { address, root: None, name: None, token: None };
    if let Some(mesh) = mesh {
        client.node_of_pod = Some(mesh.node);
        (server.root, server.name, server.token) = (mesh.root, mesh.name, mesh.token);
    }
    connect.kubernetes.server = Some(server);
    Ok(())
}

/// The identity of a client of istiod, and how the client verifies istiod.
struct Mesh {
    node: serde_json::Value,
    root: Option<String>,
    name: Option<String>,
    token: Option<Token>,
}

impl Mesh {
    /// Asks kubectl for what a proxy has. Port 15010 wants neither token nor TLS.
    fn find(
        proxy: &str,
        istiod: &Pod,
        port: u16,
        flags: &KubernetesFlags,
        source: &str,
    ) -> Result<Mesh, CliError> {
        let kubectl = kubectl(flags);
        let failed = |failure| kubectl_failed(&failure, source);
        let client = client_pod(proxy, istiod, &kubectl, source)?;
        let node = node_of(&client);
        if port != ISTIOD_XDS_PORT {
            return Ok(Mesh { node, root: None, name: None, token: None });
        }
        let answer = kubectl.get(Some(&istiod.namespace), &["configmap", ROOT_CONFIG_MAP], &|| false);
        let root = root_certificate(&answer.map_err(failed)?);
        let root = root.map_err(|error| {
            CliError::new(Exit::Connection, format!("{}: {ROOT_CONFIG_MAP}: {error}", display_safe(source)))
        })?;
        let token = ServiceAccountToken::new(kubectl, &client.namespace, &client.service_account, AUDIENCE);
        let token = Token::ServiceAccount(token.map_err(failed)?);
        let name = match istiod.label("istio.io/rev") {
            "" | "default" => format!("istiod.{}.svc", istiod.namespace),
            revision => format!("istiod-{revision}.{}.svc", istiod.namespace),
        };
        Ok(Mesh { node, root: Some(root), name: Some(name), token: Some(token) })
    }
}

/// Returns the pod whose proxy xdscope is for istiod. Without one, xdscope is nobody in particular
/// in the namespace of istiod.
fn client_pod(proxy: &str, istiod: &Pod, kubectl: &Kubectl, source: &str) -> Result<Pod, CliError> {
    if proxy.is_empty() {
        return Ok(Pod {
            namespace: istiod.namespace.clone(),
            name: "xdscope".to_owned(),
            ip: "127.0.0.1".to_owned(),
            service_account: NOBODY.to_owned(),
            ..Pod::default()
        });
    }
    let bad = || {
        CliError::usage(format!("not the namespace and name of a pod: `{proxy}`"))
            .next("--istio=shop/reviews-1")
    };
    let (namespace, name) = proxy.split_once('/').ok_or_else(bad)?;
    if !is_object_name(namespace) || !is_object_name(name) {
        return Err(bad());
    }
    let query = PodQuery {
        namespace: Some(namespace.to_owned()),
        pods: PodChoice::Named(name.to_owned()),
        port: None,
        kind: None,
        proxy: None,
    };
    let flags = KubernetesFlags {
        context: kubectl.context.clone(),
        as_user: kubectl.user.clone(),
        ..KubernetesFlags::default()
    };
    let mut pods = running(&query, &flags, source, &|| false)?;
    let pod = pods.pop().ok_or_else(bad)?;
    Ok(match is_object_name(&pod.service_account) {
        true => pod,
        false => Pod { service_account: NOBODY.to_owned(), ..pod },
    })
}

/// Returns the node that the agent of a pod states, as far as the pod tells it.
fn node_of(pod: &Pod) -> serde_json::Value {
    let Pod { namespace, name, labels, ip, service_account, .. } = pod;
    let args = pod.container("istio-proxy").map(|container| container.args.as_slice()).unwrap_or_default();
    let role = args.iter().find(|arg| ROLES.contains(&arg.as_str())).map_or(ROLES[0], String::as_str);
    let ip = if ip.is_empty() { "127.0.0.1" } else { ip };
    json!({
        "id": format!("{role}~{ip}~{name}.{namespace}~{namespace}.svc.cluster.local"),
        "metadata": {
            "NAME": name,
            "NAMESPACE": namespace,
            "SERVICE_ACCOUNT": service_account,
            "LABELS": labels,
            "CLUSTER_ID": "Kubernetes",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_those_of_the_agent() {
        let pod = json!({
            "metadata": { "name": "edge-1", "namespace": "shop", "labels": { "istio": "edge" } },
            "spec": { "serviceAccountName": "edge", "containers": [
                { "name": "istio-proxy", "args": ["proxy", "router", "--domain", "x"] },
            ] },
            "status": { "podIP": "10.0.0.7" },
        });
        let pod = Pod::read(pod.to_string().as_bytes()).expect("a pod").remove(0);
        let node = node_of(&pod);
        assert_eq!(node["id"], "router~10.0.0.7~edge-1.shop~shop.svc.cluster.local");
        assert_eq!(node["metadata"]["LABELS"]["istio"], "edge");
        assert_eq!(node["metadata"]["SERVICE_ACCOUNT"], "edge");
    }
}
