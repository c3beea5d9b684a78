//! Realistic clusters for all benchmarks, of 300 to 600 bytes, derived from their numbers.

use bytes::Bytes;
use xdscope_wire::pb::{put_len_field, put_tag, put_varint};

pub const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

pub fn text(number: u32, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, value.as_bytes());
    out
}

pub fn any(url: &str, value: &[u8]) -> Vec<u8> {
    let mut out = text(1, url);
    put_len_field(&mut out, 2, value);
    out
}

pub fn message(number: u32, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, value);
    out
}

/// Returns an EDS cluster with a TLS transport socket and HTTP protocol options, in an `Any`.
pub fn cluster(i: usize, timeout: u64) -> Vec<u8> {
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

/// Returns a SotW CDS response of `count` clusters as a gRPC message; cluster `changed` has another
/// timeout.
pub fn push(count: usize, version: usize, changed: usize) -> Bytes {
    let entries = (0..count).map(|i| cluster(i, if i == changed { 5 + version as u64 } else { 5 }));
    response(CLUSTER, version, entries)
}

/// Returns a SotW response of these resources as a gRPC message.
pub fn response(url: &str, version: usize, entries: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Bytes {
    let mut body = text(1, &version.to_string());
    for entry in entries {
        put_len_field(&mut body, 2, entry.as_ref());
    }
    body.extend(text(4, url));
    body.extend(text(5, &format!("nonce-{version}")));
    grpc(&body)
}

/// Returns a SotW request: the first one with a node, later ones as ACKs; `url` is the type of the
/// acknowledged push.
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

pub fn grpc(body: &[u8]) -> Bytes {
    let mut out = vec![0];
    out.extend((body.len() as u32).to_be_bytes());
    out.extend(body);
    out.into()
}
