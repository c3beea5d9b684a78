//! The reference: h2 with prepared bytes.

use std::io::Write as _;

use bytes::Bytes;
use tokio::net::TcpListener;

/// Sends `pushes` to each client, until killed.
pub fn run(pushes: Vec<Bytes>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        writeln!(std::io::stderr(), "listening on {address}").expect("somebody reads it");
        loop {
            let (socket, _) = listener.accept().await.expect("a client");
            // The client may disconnect at any time.
            let _ = serve(socket, &pushes).await;
        }
    });
}

async fn serve(socket: tokio::net::TcpStream, pushes: &[Bytes]) -> Result<(), h2::Error> {
    socket.set_nodelay(true).expect("a socket");
    let mut connection = h2::server::handshake(socket).await?;
    while let Some(request) = connection.accept().await {
        let (request, mut answer) = request?;
        let pushes = pushes.to_vec();
        tokio::spawn(async move {
            request.into_body().data().await?.ok()?;
            let head = http::Response::builder().header("content-type", "application/grpc").body(()).ok()?;
            let mut out = answer.send_response(head, false).ok()?;
            for push in pushes {
                out.send_data(push, false).ok()?;
            }
            // The stream stays open.
            std::future::pending::<Option<()>>().await
        });
    }
    Ok(())
}
