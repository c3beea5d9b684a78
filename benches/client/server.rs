//! A control plane for one client, which measures the time until each ACK.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use tokio::net::TcpListener;

pub struct Server {
    pub address: SocketAddr,
    /// Time from the first byte of each push to the complete ACK.
    pub acked: mpsc::Receiver<Duration>,
}

impl Server {
    /// Waits for the client in a separate thread.
    pub fn start(pushes: Vec<Bytes>) -> Server {
        let (told, address) = mpsc::channel();
        let (took, acked) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                told.send(listener.local_addr().expect("its address")).expect("somebody waits");
                // The client may disconnect at any time.
                let _ = serve(listener, pushes, took).await;
            });
        });
        Server { address: address.recv().expect("a server"), acked }
    }
}

async fn serve(
    listener: TcpListener,
    pushes: Vec<Bytes>,
    took: mpsc::Sender<Duration>,
) -> Result<(), h2::Error> {
    let (socket, _) = listener.accept().await.expect("a client");
    socket.set_nodelay(true).expect("a socket");
    let mut connection = h2::server::handshake(socket).await?;
    while let Some(request) = connection.accept().await {
        let (request, mut answer) = request?;
        let (pushes, took) = (pushes.clone(), took.clone());
        tokio::spawn(async move {
            let mut asked = request.into_body();
            let mut buffer = BytesMut::new();
            message(&mut asked, &mut buffer).await?;
            let head = http::Response::builder().header("content-type", "application/grpc").body(()).ok()?;
            let mut out = answer.send_response(head, false).ok()?;
            for push in pushes {
                let begun = Instant::now();
                out.send_data(push, false).ok()?;
                message(&mut asked, &mut buffer).await?;
                took.send(begun.elapsed()).ok()?;
            }
            while message(&mut asked, &mut buffer).await.is_some() {}
            Some(())
        });
    }
    Ok(())
}

/// Takes the next message off the requests.
async fn message(asked: &mut h2::RecvStream, buffer: &mut BytesMut) -> Option<()> {
    loop {
        if buffer.len() >= 5 {
            let length = buffer.get(1..5).map(|mut length| length.get_u32() as usize)?;
            if buffer.len() >= 5 + length {
                buffer.advance(5 + length);
                return Some(());
            }
        }
        let chunk = asked.data().await?.ok()?;
        let _ = asked.flow_control().release_capacity(chunk.len());
        buffer.extend_from_slice(&chunk);
    }
}
