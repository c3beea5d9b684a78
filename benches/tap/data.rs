//! Messages of the scenarios.

use bytes::Bytes;
use xdscope_wire::pb::put_len_field;

pub use crate::clusters::{CLUSTER, push, request};
use crate::clusters::{any, cluster, grpc, message, response, text};

const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
const ROUTE: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";

/// Returns the initial configuration of a sidecar, CDS, EDS, LDS and RDS of `count` services, and
/// then an update of one cluster.
pub fn start(count: usize) -> Vec<Bytes> {
    let name = |i: usize| format!("outbound|{}||service-{i:06}.ns-{}", 8000 + i % 100, i % 37);
    let listener = |i| {
        let socket = [text(2, "10.0.0.1"), vec![0x18, (i % 100) as u8]].concat();
        any(LISTENER, &[text(1, &name(i)), message(2, &message(1, &socket))].concat())
    };
    let route = |i| {
        let to = [message(1, &text(1, "/")), message(2, &text(1, &name(i)))].concat();
        let host = [text(1, &name(i)), text(2, "*"), message(3, &to)].concat();
        any(ROUTE, &[text(1, &name(i)), message(2, &host)].concat())
    };
    let endpoints = |i| {
        let socket = [text(2, "10.0.0.1"), vec![0x18, (i % 100) as u8]].concat();
        let one = message(2, &message(1, &message(1, &message(1, &socket))));
        any(ENDPOINTS, &[text(1, &name(i)), message(2, &one)].concat())
    };
    vec![
        push(count, 1, 0),
        response(ENDPOINTS, 2, (0..count).map(endpoints)),
        response(LISTENER, 3, (0..count / 5).map(listener)),
        response(ROUTE, 4, (0..count / 5).map(route)),
        push(count, 5, count / 2),
    ]
}

/// Returns a delta CDS response with one cluster, whose content depends on the version.
pub fn delta_push(version: usize, nonce: usize) -> Bytes {
    let i = version % 1000;
    let name = format!("outbound|{}||service-{i:06}.ns-{}", 8000 + i % 100, i % 37);
    let resource =
        [text(1, &version.to_string()), message(2, &cluster(i, version as u64)), text(3, &name)].concat();
    let mut body = text(1, &version.to_string());
    put_len_field(&mut body, 2, &resource);
    body.extend(text(4, CLUSTER));
    body.extend(text(5, &format!("nonce-{nonce}")));
    grpc(&body)
}

/// Returns a delta request: the first one with a node, later ones as ACKs.
pub fn delta_request(version: usize) -> Bytes {
    let mut body = Vec::new();
    if version == 0 {
        put_len_field(&mut body, 1, &[text(1, "bench"), text(2, "bench")].concat());
    }
    body.extend(text(2, CLUSTER));
    if version > 0 {
        body.extend(text(6, &format!("nonce-{version}")));
    }
    grpc(&body)
}

/// Returns the first delta request of a node. After a reconnect it lists what the node has.
pub fn delta_start(node: u64, resources: u64) -> Bytes {
    let mut body = Vec::new();
    put_len_field(&mut body, 1, &[text(1, &format!("node-{node}")), text(2, "soak")].concat());
    body.extend(text(2, CLUSTER));
    for i in 0..resources {
        let entry = [text(1, &format!("kept-{i}")), text(2, &format!("{node}"))].concat();
        put_len_field(&mut body, 5, &entry);
    }
    grpc(&body)
}

/// Returns a NACK of a SotW response.
pub fn refusal(url: &str, version: usize) -> Bytes {
    let mut body = text(1, "");
    body.extend(text(4, url));
    body.extend(text(5, &format!("nonce-{version}")));
    put_len_field(&mut body, 6, &[vec![8, 13], text(2, "Error adding/updating cluster(s)")].concat());
    grpc(&body)
}

/// Returns the type of the push of a version in [`start`].
pub fn type_of(version: usize) -> &'static str {
    match version {
        2 => ENDPOINTS,
        3 => LISTENER,
        4 => ROUTE,
        _ => CLUSTER,
    }
}
