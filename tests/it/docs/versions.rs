//! Runs xdscope as a client of services and types of version two (docs/protocol.md#a-14).
//!
//! Real peers no longer support version two, so a scripted server does.

use std::{
    future::Future,
    net::SocketAddr,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex},
    thread,
};

use bytes::Bytes;
use tokio_stream::StreamExt;
use tonic::transport::server::TcpIncoming;
use xdscope_wire::content::Catalog;
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Message, MessageBody, MessageShape};

use crate::support::grpc_server::{Handler, Responses, Streams};
use crate::support::tap::xdscope;

const V2: &str = "type.googleapis.com/envoy.api.v2.Cluster";
const V3: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// Answers the first request of each stream with one resource of the requested type.
#[derive(Clone, Default)]
struct Old {
    /// Requested paths and types.
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Handler for Old {
    fn stream(
        &self,
        path: &str,
        mut requests: tonic::Streaming<Bytes>,
        responses: Responses,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (asked, path) = (self.asked.clone(), path.to_owned());
        Box::pin(async move {
            let delta = path.contains("/Delta");
            let shape = if delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
            let mut first = true;
            while let Some(Ok(bytes)) = requests.next().await {
                let message = Message::parse(shape, &bytes, &mut Catalog::in_memory());
                assert!(!matches!(message.body, MessageBody::Undecodable { .. }));
                if std::mem::take(&mut first) {
                    let url = message.type_url().as_str().to_owned();
                    asked.lock().expect("the requests").push((path.clone(), url.clone()));
                    let _ = responses.send(Ok(response(&url, delta).into())).await;
                }
            }
        })
    }
}

fn response(url: &str, delta: bool) -> Vec<u8> {
    let (mut cluster, mut any, mut resource, mut out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    put_len_field(&mut cluster, 1, b"old");
    put_len_field(&mut any, 1, url.as_bytes());
    put_len_field(&mut any, 2, &cluster);
    put_len_field(&mut out, 1, b"1");
    if delta {
        put_len_field(&mut resource, 1, b"1");
        put_len_field(&mut resource, 2, &any);
        put_len_field(&mut resource, 3, b"old");
    } else {
        resource = any;
    }
    put_len_field(&mut out, 2, &resource);
    put_len_field(&mut out, 4, url.as_bytes());
    put_len_field(&mut out, 5, b"n");
    out
}

/// Serves until the test ends.
fn serve(server: Old) -> SocketAddr {
    let (send, receive) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            send.send(socket.local_addr().expect("its address")).expect("a test");
            let serving = tonic::transport::Server::builder();
            let _ = serving.serve_with_incoming(Streams::new(server), TcpIncoming::from(socket)).await;
        });
    });
    receive.recv().expect("an address")
}

#[test]
fn service_and_type_versions_are_independent() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("service_and_type_versions_are_independent");
    std::fs::create_dir_all(&folder).expect("a folder");
    let server = Old::default();
    let address = serve(server.clone()).to_string();
    let run = |args: &[&str]| {
        let output = xdscope(&folder).args(args).output().expect("xdscope runs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let ads = "/envoy.service.discovery.v2.AggregatedDiscoveryService";
    let cds = "/envoy.api.v2.ClusterDiscoveryService";
    for (variant, flags, path, url) in [
        ("ads", &["--transport-api-version", "v2"][..], &*format!("{ads}/StreamAggregatedResources"), V2),
        ("delta-ads", &["--api", "v2"], &format!("{ads}/DeltaAggregatedResources"), V2),
        ("sotw", &["--api", "v2"], &format!("{cds}/StreamClusters"), V2),
        ("delta", &["--api", "v2", "--resource-api-version", "v3"], &format!("{cds}/DeltaClusters"), V3),
        (
            "sotw",
            &["--resource-api-version", "v2"],
            "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters",
            V2,
        ),
    ] {
        let flags = [flags, &["--no-expand", "--variant", variant]].concat();
        let (code, out, err) = run(&[&["get", &address, "cds", "-o", "jsonl"], &flags[..]].concat());
        assert_eq!((code, out.contains(url), out.contains("old")), (Some(0), true, true), "{out}{err}");
        let asked = server.asked.lock().expect("the requests").pop();
        assert_eq!(asked, Some((path.to_owned(), url.to_owned())));
    }
    // A type named in full has its own version.
    let (code, _, err) = run(&["get", &address, "envoy.api.v2.Cluster", "--no-expand"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(server.asked.lock().expect("the requests").pop().map(|(_, url)| url).as_deref(), Some(V2));
    let (code, _, err) = run(&["get", &address, "ecds/x", "--api", "v2"]);
    assert_eq!((code, err.contains("ecds does not exist in API v2")), (Some(2), true), "{err}");
}

/// The rules find nothing about the client except the old version.
#[test]
fn v2_session_has_only_deprecation_findings() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("v2_session_has_only_deprecation_findings");
    std::fs::create_dir_all(&folder).expect("a folder");
    let address = serve(Old::default()).to_string();
    let args = ["lint", &address, "--api", "v2", "--node-cluster", "x", "-o", "jsonl"];
    let output =
        xdscope(&folder).args(args).args(["--resource-timeout", "1s"]).output().expect("xdscope runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let client = |line: &&str| line.contains("\"blame\":\"client\"") && !line.contains("transport-v2");
    assert_eq!(text.lines().filter(client).count(), 0, "{text}");
    assert!(text.contains("transport-v2"), "{text}");
}
