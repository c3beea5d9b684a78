//! gRPC with messages as bytes, which [`xdscope_wire`] builds and reads without generated types.

use bytes::{Buf, BufMut, Bytes};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http;
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

/// The largest response in bytes. tonic reserves the length that a server announces at once.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// A codec that passes messages on unchanged.
#[derive(Clone, Copy, Default)]
pub struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }
    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// Opens a bidirectional stream at `path`.
///
/// The end of `requests` half-closes the stream.
///
/// # Errors
///
/// The status with which the server refused the stream, or UNAVAILABLE without a connection.
pub async fn open(
    channel: Channel,
    path: &str,
    requests: mpsc::Receiver<Bytes>,
) -> Result<Streaming<Bytes>, Status> {
    open_with(channel, path, MetadataMap::new(), requests).await
}

/// Opens a bidirectional stream at `path` with initial metadata.
///
/// # Errors
///
/// As for [`open`].
pub async fn open_with(
    channel: Channel,
    path: &str,
    metadata: MetadataMap,
    requests: mpsc::Receiver<Bytes>,
) -> Result<Streaming<Bytes>, Status> {
    let path = http::uri::PathAndQuery::try_from(path).map_err(|e| Status::internal(e.to_string()))?;
    let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(MAX_RESPONSE_BYTES);
    grpc.ready().await.map_err(|e| Status::unavailable(e.to_string()))?;
    let mut request = Request::new(ReceiverStream::new(requests));
    *request.metadata_mut() = metadata;
    let response = grpc.streaming(request, path, Raw).await?;
    Ok(response.into_inner())
}

/// Sends one empty request to `path`, and returns the response, of `limit` bytes at most.
///
/// # Errors
///
/// The status of the server, or UNAVAILABLE without a connection.
pub async fn unary(channel: Channel, path: &str, metadata: MetadataMap, limit: u64) -> Result<Bytes, Status> {
    let path = http::uri::PathAndQuery::try_from(path).map_err(|e| Status::internal(e.to_string()))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(limit);
    grpc.ready().await.map_err(|e| Status::unavailable(e.to_string()))?;
    let mut request = Request::new(Bytes::new());
    *request.metadata_mut() = metadata;
    Ok(grpc.unary(request, path, Raw).await?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Announces a message of 4 GB on each stream, and ends it.
    async fn announce(listener: tokio::net::TcpListener) {
        let (socket, _) = listener.accept().await.expect("a connection");
        let mut connection = h2::server::handshake(socket).await.expect("HTTP/2");
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let head = http::Response::builder().header("content-type", "application/grpc").body(());
            let mut body = respond.send_response(head.expect("a head"), false).expect("an open stream");
            body.send_data(Bytes::from_static(&[0, 255, 255, 255, 255]), true).expect("an open stream");
        }
    }

    #[tokio::test]
    async fn refuses_lengths_that_a_server_only_announces() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(announce(listener));
        let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}"));
        let channel = endpoint.expect("an address").connect().await.expect("a server");
        let (_requests, ready) = mpsc::channel(1);
        let mut responses = open(channel, "/a.B/C", ready).await.expect("a stream");
        let status = responses.message().await.expect_err("too large");
        assert_eq!(status.code(), tonic::Code::OutOfRange, "{status}");
    }
}
