//! A client that requests clusters and measures the responses.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::clusters;
use crate::recording::ADS;

/// Far above the data in flight, so that flow-control windows are not measured.
const WINDOW: u32 = 1 << 30;

/// Timeout of any server.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures the time for `bytes` of responses.
pub fn take(server: SocketAddr, bytes: usize) -> Option<Duration> {
    arrivals(server, &[bytes]).and_then(|arrived| arrived.last().copied())
}

/// Measures the arrival of each complete response; the sizes are known.
pub fn arrivals(server: SocketAddr, sizes: &[usize]) -> Option<Vec<Duration>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let arrived = tokio::time::timeout(PATIENCE, run(server, sizes)).await.ok()?;
        arrived.ok().filter(|arrived| arrived.len() == sizes.len())
    })
}

async fn run(server: SocketAddr, sizes: &[usize]) -> Result<Vec<Duration>, h2::Error> {
    let socket = TcpStream::connect(server).await.expect("a server");
    socket.set_nodelay(true).expect("a socket");
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
    let (send, connection) = builder.handshake(socket).await?;
    tokio::spawn(connection);
    let mut send = send.ready().await?;
    let request = http::Request::post(format!("http://{server}{ADS}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .expect("a request");
    let (response, mut requests) = send.send_request(request, false)?;
    let begun = Instant::now();
    requests.send_data(clusters::request(clusters::CLUSTER, 0), false)?;
    let mut body = response.await?.into_body();
    let (mut had, mut ends, mut arrived) = (0, 0, Vec::new());
    while arrived.len() < sizes.len() {
        let Some(chunk) = body.data().await else { break };
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        had += chunk.len();
        while let Some(size) = sizes.get(arrived.len()).filter(|size| had >= ends + **size) {
            ends += size;
            arrived.push(begun.elapsed());
        }
    }
    Ok(arrived)
}
