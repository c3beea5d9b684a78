//! Kinds of pods, by their containers and labels: which port is read, and how.

use crate::cli::args::PodPreset;
use crate::cli::source::prefixes::PortKind;
use crate::net::kubectl::Pod;

/// A port of a pod that xdscope can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownPort {
    pub(super) port: u16,
    pub(super) kind: PortKind,
}

const fn known(port: u16, kind: PortKind) -> KnownPort {
    KnownPort { port, kind }
}

const ISTIO_PROXY: KnownPort = known(15000, PortKind::Envoy);
const ZTUNNEL: KnownPort = known(15000, PortKind::Ztunnel);
const ISTIOD: KnownPort = known(15014, PortKind::Istiod);
const ENVOY_GATEWAY: KnownPort = known(19000, PortKind::Envoy);

/// Names that containers give to the admin port of an Envoy.
const ADMIN_NAMES: [&str; 3] = ["admin", "envoy-admin", "admin-http"];

/// Names that containers give to the port of CSDS.
const CSDS_NAMES: [&str; 3] = ["csds", "grpc-admin", "xds-admin"];

/// The usual admin port of an Envoy.
const ADMIN_PORT: u16 = 9901;

/// Returns the port of a pod to read. `None`: the pod has none that is known.
pub(super) fn of_pod(pod: &Pod, preset: Option<PodPreset>) -> Option<KnownPort> {
    match preset {
        Some(PodPreset::Istio) => istio(pod),
        Some(PodPreset::EnvoyGateway) => envoy_gateway(pod),
        Some(PodPreset::Grpc) => csds(pod),
        None => istio(pod).or_else(|| envoy_gateway(pod)).or_else(|| admin(pod)),
    }
}

/// Returns how to read a port that was typed.
pub(super) fn of_port(pod: &Pod, port: u16, preset: Option<PodPreset>) -> KnownPort {
    let by_pod = of_pod(pod, preset).filter(|known| known.port == port);
    let by_number = match (preset, port) {
        (Some(PodPreset::Grpc), _) => PortKind::Csds,
        (_, 15014) => PortKind::Istiod,
        _ => PortKind::Envoy,
    };
    by_pod.unwrap_or(known(port, by_number))
}

/// Lists the ports that the containers of a pod name, for an error.
pub(super) fn listed(pod: &Pod) -> String {
    let word = |port: &crate::net::kubectl::ContainerPort| match port.name.as_str() {
        "" => port.port.to_string(),
        name => format!("{} ({name})", port.port),
    };
    let ports: Vec<String> = pod.ports().take(12).map(word).collect();
    match ports.is_empty() {
        true => "its containers name no port".to_owned(),
        false => format!("its containers name {}", ports.join(", ")),
    }
}

fn istio(pod: &Pod) -> Option<KnownPort> {
    let has_image = |word: &str| pod.containers.iter().any(|container| image(&container.image) == word);
    if pod.label("app") == "ztunnel" || has_image("ztunnel") {
        return Some(ZTUNNEL);
    }
    if pod.label("app") == "istiod" || has_image("pilot") {
        return Some(ISTIOD);
    }
    (pod.container("istio-proxy").is_some() || has_image("proxyv2")).then_some(ISTIO_PROXY)
}

fn envoy_gateway(pod: &Pod) -> Option<KnownPort> {
    let is_proxy = pod.label("app.kubernetes.io/managed-by") == "envoy-gateway"
        && pod.label("app.kubernetes.io/component") == "proxy";
    (is_proxy && pod.container("envoy").is_some()).then_some(ENVOY_GATEWAY)
}

fn csds(pod: &Pod) -> Option<KnownPort> {
    let named = pod.ports().find(|port| CSDS_NAMES.contains(&port.name.as_str()))?;
    Some(known(named.port, PortKind::Csds))
}

fn admin(pod: &Pod) -> Option<KnownPort> {
    let is_admin = |name: &str, port: u16| ADMIN_NAMES.contains(&name) || port == ADMIN_PORT;
    let named = pod.ports().find(|port| is_admin(&port.name, port.port))?;
    Some(known(named.port, PortKind::Envoy))
}

/// Returns the last word of the name of an image: `proxyv2` of `docker.io/istio/proxyv2:1.29`.
fn image(reference: &str) -> &str {
    let name = reference.rsplit('/').next().unwrap_or(reference);
    name.split([':', '@']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(labels: serde_json::Value, containers: serde_json::Value) -> Pod {
        let pod = json!({ "metadata": { "name": "a", "namespace": "b", "labels": labels }, "spec": { "containers": containers } });
        Pod::read(pod.to_string().as_bytes()).expect("a pod").remove(0)
    }

    #[test]
    fn pods_are_known_by_their_containers() {
        let sidecar = pod(
            json!({ "app": "reviews" }),
            json!([
                { "name": "app", "image": "app:1", "ports": [{ "containerPort": 8080, "name": "http" }] },
                { "name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.29.0" },
            ]),
        );
        assert_eq!(of_pod(&sidecar, None), Some(ISTIO_PROXY));
        assert_eq!(of_pod(&sidecar, Some(PodPreset::EnvoyGateway)), None);
        let ztunnel =
            pod(json!({ "app": "ztunnel" }), json!([{ "name": "istio-proxy", "image": "x/ztunnel:1" }]));
        assert_eq!(of_pod(&ztunnel, None), Some(ZTUNNEL));
        assert_eq!(of_port(&ztunnel, 15000, None), ZTUNNEL);
        let istiod = pod(json!({ "app": "istiod" }), json!([{ "name": "discovery", "image": "x/pilot:1" }]));
        assert_eq!(of_pod(&istiod, None), Some(ISTIOD));
        let labels = json!({ "app.kubernetes.io/managed-by": "envoy-gateway", "app.kubernetes.io/component": "proxy" });
        assert_eq!(
            of_pod(&pod(labels, json!([{ "name": "envoy", "image": "x/envoy:1" }])), None),
            Some(ENVOY_GATEWAY)
        );
        let own = pod(
            json!({}),
            json!([{ "name": "edge", "ports": [{ "containerPort": 8001, "name": "admin" }] }]),
        );
        assert_eq!(of_pod(&own, None), Some(known(8001, PortKind::Envoy)));
        let plain = pod(
            json!({}),
            json!([{ "name": "app", "ports": [{ "containerPort": 8080, "name": "http" }, { "containerPort": 9090 }] }]),
        );
        assert_eq!(of_pod(&plain, None), None);
        assert_eq!(listed(&plain), "its containers name 8080 (http), 9090");
        assert_eq!(of_port(&plain, 50051, Some(PodPreset::Grpc)), known(50051, PortKind::Csds));
    }
}
