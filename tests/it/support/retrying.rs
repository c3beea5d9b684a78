//! A client that opens one stream after another, however each ends.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use xdscope_wire::pb::put_len_field;

use super::snapshot::CLUSTER;

/// Node id of the client.
pub const NODE: &str = "edge";

/// Opens `attempts` streams, with a pause after each. The client leaves a stream after `limit`.
pub fn retry(server: SocketAddr, attempts: u32, pause: Duration, limit: Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        for _ in 0..attempts {
            // Failures are what the tests are about.
            let _ = tokio::time::timeout(limit, stream(server)).await;
            tokio::time::sleep(pause).await;
        }
    });
}

/// Runs one stream: requests clusters, and acknowledges each response.
async fn stream(server: SocketAddr) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let stream = tokio::net::TcpStream::connect(server).await?;
    let (client, connection) = h2::client::handshake(stream).await?;
    let connection = tokio::spawn(connection);
    let mut client = client.ready().await?;
    let path = "envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
    let request = http::Request::post(format!("http://cp.test/{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())?;
    let (response, mut requests) = client.send_request(request, false)?;
    requests.send_data(message("", ""), false)?;
    let mut body = response.await?.into_body();
    while let Some(chunk) = body.data().await {
        let size = chunk?.len();
        let _ = body.flow_control().release_capacity(size);
        requests.send_data(message("1", "n1"), false)?;
    }
    body.trailers().await?;
    drop((client, requests, body));
    connection.await??;
    Ok(())
}

/// Returns a request for clusters, with the gRPC prefix.
fn message(version: &str, nonce: &str) -> Bytes {
    let (mut node, mut body) = (Vec::new(), Vec::new());
    put_len_field(&mut node, 1, NODE.as_bytes());
    put_len_field(&mut body, 1, version.as_bytes());
    put_len_field(&mut body, 2, &node);
    put_len_field(&mut body, 4, CLUSTER.as_bytes());
    put_len_field(&mut body, 5, nonce.as_bytes());
    let mut out = vec![0];
    out.extend(u32::try_from(body.len()).expect("a length").to_be_bytes());
    out.extend(body);
    out.into()
}
