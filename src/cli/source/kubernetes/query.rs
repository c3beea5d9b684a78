//! SOURCE `k8s:…` and `istio:…` as typed.

use crate::cli::error::CliError;
use crate::cli::source::prefixes::{self, MESH, PODS, PortKind, PrefixKind};
use crate::net::kubectl::is_object_name;
use xdscope_present::text::shell_word;

/// The namespace of istiod, unless SOURCE names another one.
const MESH_NAMESPACE: &str = "istio-system";

/// The label of istiods.
const ISTIOD: &str = "app=istiod";

/// The debug port of istiod.
const ISTIOD_DEBUG_PORT: u16 = 15014;

/// Ports of xDS, of which xdscope is a client: istiod with TLS and in plaintext, and Envoy Gateway.
const XDS_PORTS: [u16; 3] = [ISTIOD_XDS_PORT, 15010, 18000];

/// The port of istiod for xDS with TLS.
pub(super) const ISTIOD_XDS_PORT: u16 = 15012;

/// Workloads, by the words of kubectl.
const WORKLOADS: [(&str, &str); 16] = [
    ("deploy", "deployment"),
    ("deployment", "deployment"),
    ("deployments", "deployment"),
    ("deployment.apps", "deployment"),
    ("ds", "daemonset"),
    ("daemonset", "daemonset"),
    ("daemonsets", "daemonset"),
    ("sts", "statefulset"),
    ("statefulset", "statefulset"),
    ("statefulsets", "statefulset"),
    ("rs", "replicaset"),
    ("replicaset", "replicaset"),
    ("replicasets", "replicaset"),
    ("svc", "service"),
    ("service", "service"),
    ("services", "service"),
];

/// Which pods a source has, and which of their ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodQuery {
    /// `None`: the current namespace of kubectl, or all of them.
    pub(super) namespace: Option<String>,
    pub(super) pods: PodChoice,
    pub(super) port: Option<u16>,
    /// The kind of the port, if SOURCE states one.
    pub(super) kind: Option<PortKind>,
    /// The proxy whose dump istiods are asked for: `POD.NAMESPACE`.
    pub(super) proxy: Option<String>,
}

/// The pods of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PodChoice {
    Named(String),
    /// The pods of a deployment or its like: the kind for kubectl, and the name.
    Of(&'static str, String),
    /// The pods with a label.
    Labelled(&'static str),
    All,
}

impl PodQuery {
    /// Reads SOURCE. `None`: SOURCE is not about pods.
    ///
    /// # Errors
    /// A part of SOURCE is not the name of an object.
    pub(crate) fn read(source: &str) -> Result<Option<PodQuery>, CliError> {
        let Some(pods) = prefixes::pods_of(source) else { return Ok(None) };
        let kind = match prefixes::kind_of(source) {
            Some(PrefixKind::Port(kind)) => Some(kind),
            _ => None,
        };
        match (pods.strip_prefix(PODS), pods.strip_prefix(MESH)) {
            (Some(rest), _) => pod_query(rest, kind, source).map(Some),
            (None, Some(rest)) => mesh_query(rest, source).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Whether the port is one of xDS.
    pub(super) fn is_xds(&self) -> bool {
        self.port.is_some_and(|port| XDS_PORTS.contains(&port))
    }

    /// Whether one pod is named, whose errors are those of the source.
    pub(super) fn is_of_one_pod(&self) -> bool {
        matches!(self.pods, PodChoice::Named(_)) || self.proxy.is_some()
    }
}

fn pod_query(rest: &str, kind: Option<PortKind>, source: &str) -> Result<PodQuery, CliError> {
    let bad = |what: String| {
        CliError::usage(what).next("k8s:NAMESPACE/POD[:PORT]").next("k8s:NAMESPACE/deploy/NAME[:PORT]")
    };
    let (rest, port) = match rest.rsplit_once(':') {
        Some((rest, port)) => match port.parse::<u16>() {
            Ok(port @ 1..) => (rest, Some(port)),
            _ => return Err(bad(format!("not the number of a port: `{port}`"))),
        },
        None => (rest, None),
    };
    let mut parts = rest.split('/').map(str::to_owned);
    let namespace = parts.next().filter(|name| !name.is_empty());
    let pods = match (parts.next(), parts.next(), parts.next()) {
        (None, ..) => PodChoice::All,
        (Some(name), None, _) => PodChoice::Named(name),
        (Some(word), Some(name), None) if ["pod", "pods", "po"].contains(&&*word) => PodChoice::Named(name),
        (Some(word), Some(name), None) => {
            let known = WORKLOADS.iter().find(|(known, _)| *known == word);
            let Some((_, kind)) = known else {
                return Err(
                    bad(format!("not a kind of workload: `{word}`")).next("deploy, ds, sts, rs, svc or pod")
                );
            };
            PodChoice::Of(kind, name)
        }
        _ => return Err(bad(format!("too many parts: {}", shell_word(source)))),
    };
    let named = match &pods {
        PodChoice::Named(name) | PodChoice::Of(_, name) => Some(name),
        PodChoice::Labelled(_) | PodChoice::All => None,
    };
    for name in namespace.iter().chain(named) {
        if !is_object_name(name) {
            return Err(bad(format!("not the name of an object in Kubernetes: `{name}`")));
        }
    }
    Ok(PodQuery { namespace, pods, port, kind, proxy: None })
}

fn mesh_query(rest: &str, source: &str) -> Result<PodQuery, CliError> {
    let (namespace, proxy) = match rest.split_once('/') {
        Some((namespace, proxy)) => (namespace, Some(proxy.to_owned())),
        None => (rest, None),
    };
    let namespace = if namespace.is_empty() { MESH_NAMESPACE } else { namespace };
    for name in std::iter::once(namespace).chain(proxy.as_deref()) {
        if !is_object_name(name) {
            let error = CliError::usage(format!("not the name of an object in Kubernetes: `{name}`"));
            return Err(error.next(format!(
                "{MESH}, {MESH}NAMESPACE or {MESH}/POD.NAMESPACE, and not {}",
                shell_word(source)
            )));
        }
    }
    Ok(PodQuery {
        namespace: Some(namespace.to_owned()),
        pods: PodChoice::Labelled(ISTIOD),
        port: Some(ISTIOD_DEBUG_PORT),
        kind: Some(PortKind::Istiod),
        proxy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> PodQuery {
        PodQuery::read(source).expect(source).expect(source)
    }

    #[test]
    fn reads_pods_workloads_and_meshes() {
        let pod = read("k8s:shop/reviews-1:9901");
        assert_eq!((pod.namespace.as_deref(), pod.port), (Some("shop"), Some(9901)));
        assert_eq!(pod.pods, PodChoice::Named("reviews-1".into()));
        assert_eq!(read("k8s:shop/deploy/reviews").pods, PodChoice::Of("deployment", "reviews".into()));
        assert_eq!(read("k8s:shop/pod/reviews-1").pods, PodChoice::Named("reviews-1".into()));
        assert_eq!(read("k8s:").pods, PodChoice::All);
        assert_eq!(read("k8s:").namespace, None);
        assert_eq!(read("envoy:k8s:shop/web:8001").kind, Some(PortKind::Envoy));
        assert!(read("grpc:k8s:xds/cp-0:15010").is_xds());
        let mesh = read("istio:");
        assert_eq!(mesh.namespace.as_deref(), Some("istio-system"));
        assert_eq!(read("istio:/web-1.shop").proxy.as_deref(), Some("web-1.shop"));
        for other in ["envoy:127.0.0.1:15000", "session.xdsrec", "istiod:127.0.0.1:15014"] {
            assert_eq!(PodQuery::read(other).expect(other), None);
        }
    }

    #[test]
    fn names_that_are_not_of_objects_are_refused() {
        for source in [
            "k8s:shop/--kubeconfig=x",
            "k8s:$(id)/web",
            "k8s:shop/web;id",
            "k8s:shop/web:x",
            "k8s:shop/web:0",
            "k8s:shop/job/web",
            "k8s:a/deploy/b/c",
            "k8s:shop/-x",
            "istio:-x",
            "istio:/A B",
        ] {
            assert!(PodQuery::read(source).is_err(), "{source}");
        }
    }
}
