//! A gRPC server of streams with messages as bytes.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::{Service, http};
use tonic::{Request, Response, Status, Streaming};
use xdscope::net::rpc::Raw;

/// The responses to one client.
pub type Responses = mpsc::Sender<Result<Bytes, Status>>;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A handler of streams, given the path, the requests, and the sender of responses.
pub trait Handler: Send + Sync + 'static {
    fn stream(&self, path: &str, requests: Streaming<Bytes>, responses: Responses) -> Boxed<()>;
}

/// A service that passes each stream, whatever its path, to one handler.
pub struct Streams<H> {
    handler: Arc<H>,
}

impl<H: Handler> Streams<H> {
    pub fn new(handler: H) -> Self {
        Streams { handler: Arc::new(handler) }
    }
}

impl<H> Clone for Streams<H> {
    fn clone(&self) -> Self {
        Streams { handler: self.handler.clone() }
    }
}

struct Method<H> {
    handler: Arc<H>,
    path: String,
}

impl<H: Handler> tonic::server::StreamingService<Bytes> for Method<H> {
    type Response = Bytes;
    type ResponseStream = ReceiverStream<Result<Bytes, Status>>;
    type Future = Boxed<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<Bytes>>) -> Self::Future {
        let (send, responses) = mpsc::channel(16);
        tokio::spawn(self.handler.stream(&self.path, request.into_inner(), send));
        Box::pin(async { Ok(Response::new(ReceiverStream::new(responses))) })
    }
}

impl<H: Handler, B> Service<http::Request<B>> for Streams<H>
where
    B: tonic::codegen::Body + Send + 'static,
    B::Error: Into<tonic::codegen::StdError> + Send + 'static,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Boxed<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let method = Method { handler: self.handler.clone(), path: request.uri().path().to_owned() };
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(Raw);
            Ok(grpc.streaming(method, request).await)
        })
    }
}
