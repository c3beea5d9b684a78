//! Seeded responses: realistic clusters of 300 to 600 bytes.

use bytes::Bytes;
use xdscope::pb::{put_len_field, put_tag, put_varint};

pub const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
const ROUTE: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";

fn text(number: u32, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, value.as_bytes());
    out
}

fn any(url: &str, value: &[u8]) -> Vec<u8> {
    let mut out = text(1, url);
    put_len_field(&mut out, 2, value);
    out
}

fn message(number: u32, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, value);
    out
}

/// An EDS cluster with a TLS transport socket and HTTP protocol options.
fn cluster(i: usize, timeout: u64) -> Vec<u8> {
    let name = format!("outbound|{}||service-{i:06}.ns-{}", 8000 + i % 100, i % 37);
    let mut seconds = Vec::new();
    put_tag(&mut seconds, 1, 0);
    put_varint(&mut seconds, timeout);
    let sni = text(4, &format!("outbound_.{}_._.service-{i:06}", 8000 + i % 100));
    let tls = any("type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", &sni);
    let socket = [text(1, "envoy.transport_sockets.tls"), message(3, &tls)].concat();
    let http = any(
        "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        &message(3, &message(1, &message(2, b""))),
    );
    let options =
        [text(1, "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"), message(2, &http)].concat();
    // type: EDS, eds_cluster_config: {eds_config: {ads: {}}, service_name}
    let eds = [message(1, &message(3, b"")), text(2, &name)].concat();
    let value = [
        text(1, &name),
        vec![0x10, 0x03],
        message(3, &eds),
        message(4, &seconds),
        message(24, &socket),
        message(36, &options),
    ]
    .concat();
    any(CLUSTER, &value)
}

/// One SotW CDS response of `count` clusters as a gRPC message; cluster `changed` has another timeout.
pub fn push(count: usize, version: usize, changed: usize) -> Bytes {
    let entries = (0..count).map(|i| cluster(i, if i == changed { 5 + version as u64 } else { 5 }));
    response(CLUSTER, version, entries)
}

fn response(url: &str, version: usize, entries: impl Iterator<Item = Vec<u8>>) -> Bytes {
    let mut body = text(1, &version.to_string());
    for entry in entries {
        put_len_field(&mut body, 2, &entry);
    }
    body.extend(text(4, url));
    body.extend(text(5, &format!("nonce-{version}")));
    grpc(&body)
}

/// What a sidecar of a mesh gets at its start, CDS, EDS, LDS and RDS of `count` services, and then an update of
/// one cluster.
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

/// One delta CDS response with one cluster.
pub fn delta_push(version: usize) -> Bytes {
    let i = version % 1000;
    let name = format!("outbound|{}||service-{i:06}.ns-{}", 8000 + i % 100, i % 37);
    let resource =
        [text(1, &version.to_string()), message(2, &cluster(i, version as u64)), text(3, &name)].concat();
    let mut body = text(1, &version.to_string());
    put_len_field(&mut body, 2, &resource);
    body.extend(text(4, CLUSTER));
    body.extend(text(5, &format!("nonce-{version}")));
    grpc(&body)
}

/// A delta request: the first one with a node, later ones ACKs.
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

/// A SotW request: the first one with a node, later ones ACKs. `url` is that of the push it answers.
pub fn request(url: &str, version: usize) -> Bytes {
    let mut body = Vec::new();
    if version == 0 {
        put_len_field(&mut body, 2, &[text(1, "bench"), text(2, "bench")].concat());
    } else {
        body.extend(text(1, &version.to_string()));
    }
    body.extend(text(4, url));
    if version > 0 {
        body.extend(text(5, &format!("nonce-{version}")));
    }
    grpc(&body)
}

/// The type of the push of a version in [`start`].
pub fn type_of(version: usize) -> &'static str {
    match version {
        2 => ENDPOINTS,
        3 => LISTENER,
        4 => ROUTE,
        _ => CLUSTER,
    }
}

fn grpc(body: &[u8]) -> Bytes {
    let mut out = vec![0];
    out.extend((body.len() as u32).to_be_bytes());
    out.extend(body);
    out.into()
}
