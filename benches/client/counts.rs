//! The reference: a tonic client that decodes a response with prost, counts its resources, and
//! sends an ACK.

use bytes::{Buf, Bytes};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Endpoint;

use crate::clusters;

const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

/// Far above the data in flight, so that flow-control windows are not measured.
const WINDOW: u32 = 1 << 30;

/// Fields of a DiscoveryResponse that the client reads.
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(string, tag = "1")]
    version_info: String,
    #[prost(message, repeated, tag = "2")]
    resources: Vec<prost_types::Any>,
    #[prost(string, tag = "4")]
    type_url: String,
    #[prost(string, tag = "5")]
    nonce: String,
}

#[derive(Clone, Copy, Default)]
struct Counting;

impl Codec for Counting {
    type Encode = Bytes;
    type Decode = Response;
    type Encoder = Counting;
    type Decoder = Counting;

    fn encoder(&mut self) -> Counting {
        Counting
    }
    fn decoder(&mut self) -> Counting {
        Counting
    }
}

impl Encoder for Counting {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put(out, item);
        Ok(())
    }
}

impl Decoder for Counting {
    type Item = Response;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Response>, Status> {
        Response::decode(from).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}

/// Runs until the server ends the stream.
pub fn run(server: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let endpoint = Endpoint::from_shared(format!("http://{server}")).expect("an address");
        let endpoint = endpoint.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
        let channel = endpoint.connect().await.expect("a server");
        let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(usize::MAX);
        grpc.ready().await.expect("a server");
        let (send, requests) = mpsc::channel(4);
        // The gRPC prefix is added by tonic.
        let request = |version| {
            let mut request = clusters::request(clusters::CLUSTER, version);
            request.advance(5);
            request
        };
        send.send(request(0)).await.expect("a stream");
        let path = PathAndQuery::from_static(ADS);
        let asked = tonic::Request::new(ReceiverStream::new(requests));
        let mut responses = grpc.streaming(asked, path, Counting).await.expect("a stream").into_inner();
        let (mut version, mut count) = (0, 0);
        while let Ok(Some(response)) = responses.message().await {
            version += 1;
            count += response.resources.len();
            send.send(request(version)).await.expect("a stream");
        }
        std::hint::black_box(count);
    });
}
