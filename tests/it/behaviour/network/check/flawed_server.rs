//! A control plane that makes one mistake: the server of `serve`, whose messages are changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_stream::StreamExt;
use tonic::transport::server::TcpIncoming;
use tonic::{Status, Streaming};
use xdscope_engine::store;
use xdscope_schema::Schema;
use xdscope_sources::peers::server::{Faults, Next, Plan, ServerStream, Snapshot};
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::RequestFields;
use xdscope_wire::event::{Kind, Time};
use xdscope_wire::pb::{Fields, put_len_field};
use xdscope_wire::{Message, MessageBody, MessageShape};

use crate::support::grpc_server::{Handler, Responses, Streams};

/// A mistake of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Responses of a type are not sent.
    Silent(Kind),
    /// Nothing is sent after the first response of a type on a stream.
    OnlyFirst,
    /// Requests that change a subscription are ignored after the first one of a type.
    IgnoresChanges,
    /// Requests for the wildcard are ignored on streams after the first of a path.
    NoWildcard,
    /// Only clusters are answered on streams after the first.
    OneType,
    /// Responses have no nonce.
    NoNonce,
    /// All responses have one nonce.
    OneNonce,
    /// The first resource of a response states another type.
    OtherType,
    /// The first resource of a response is there twice.
    Duplicate,
    /// The first response of clusters waits for one of routes.
    RoutesFirst,
    /// A request with an unknown name ends the stream.
    EndsAtUnknown,
    /// Unknown names are not reported, and requests with very many names are ignored.
    IgnoresUnknown,
    /// An empty list of names stands for the wildcard, whenever it comes.
    EmptyIsWildcard,
    /// Each ACK is answered with the response again.
    AnswersAcks,
    /// Refused responses are sent again.
    ResendsRefused,
    /// Nothing is answered after a NACK.
    StopsAtNack,
    /// Requests with an old nonce are answered.
    AnswersStale,
    /// Requests with an old nonce are ignored, with what they subscribe to.
    IgnoresStale,
    /// Streams after the first two of a path, which are to find names and to begin a row, are
    /// ended at their first request.
    EndsLaterStreams,
    /// Streams after the first N of a path get no response.
    SilentLater(usize),
    /// First requests that state versions are ignored.
    IgnoresHeld,
    /// Times to live for all clients.
    UnannouncedTtl,
    /// A change keeps the version.
    OneVersion,
    /// A removed name stays, as far as clients are told.
    HidesRemovals,
}

/// A running server.
pub struct FlawedServer {
    pub address: String,
    plan: watch::Sender<Arc<Plan>>,
    faults: Faults,
    _runtime: tokio::runtime::Runtime,
}

struct Doors {
    flaw: Flaw,
    plan: watch::Sender<Arc<Plan>>,
    /// Streams opened so far, by path.
    opened: Mutex<HashMap<String, usize>>,
    begun: Instant,
}

/// Returns what a script serves at its end.
fn plan(text: &str, faults: Faults) -> Arc<Plan> {
    let schema = Schema::builtin();
    let script = script::parse(text, "resources.xds").expect("a script");
    let loaded = script::load(&script, &SchemaCodec(schema.clone())).expect("a session");
    let store = xdscope_sources::replay_all(loaded, store::Options::default(), &schema);
    let all = Snapshot::from_store(&store, &store.streams()).with_faults(faults);
    Arc::new(Plan::Snapshots { by_node: BTreeMap::new(), all: Arc::new(all) })
}

impl FlawedServer {
    pub fn start(text: &str, flaw: Flaw) -> FlawedServer {
        let faults = Faults {
            resend_refused: (flaw == Flaw::ResendsRefused).then_some(Duration::from_millis(50)),
            ignore_unknown_names: flaw == Flaw::IgnoresUnknown,
            ..Faults::default()
        };
        let (plan, _) = watch::channel(plan(text, faults));
        let doors = Doors { flaw, plan: plan.clone(), opened: Mutex::default(), begun: Instant::now() };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        runtime.spawn(
            tonic::transport::Server::builder()
                .serve_with_incoming(Streams::new(doors), TcpIncoming::from(listener)),
        );
        FlawedServer { address, plan, faults, _runtime: runtime }
    }

    /// Serves another script from now on.
    pub fn serve(&self, text: &str) {
        let next = plan(text, self.faults);
        let before = self.plan.borrow().clone();
        let next = Arc::try_unwrap(next).expect("the only one").after(&before);
        self.plan.send_replace(Arc::new(next));
    }
}

impl Handler for Doors {
    fn stream(
        &self,
        path: &str,
        requests: Streaming<Bytes>,
        responses: Responses,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let nth = {
            let mut opened = self.opened.lock().expect("the count");
            let count = opened.entry(path.to_owned()).or_default();
            *count += 1;
            *count - 1
        };
        let plan = self.plan.subscribe();
        let served = self.plan.borrow().clone();
        let flawed = FlawedStream {
            flaw: self.flaw,
            nth,
            is_delta: path.rsplit('/').next().is_some_and(|method| method.starts_with("Delta")),
            stream: ServerStream::open(path, served, Time::ZERO).expect("a method of xDS"),
            begun: self.begun,
            responses,
            sent: HashMap::new(),
            nonces: HashMap::new(),
            types: BTreeSet::new(),
            kept: Vec::new(),
            is_over: false,
        };
        Box::pin(flawed.run(requests, plan))
    }
}

/// A stream of the server.
struct FlawedStream {
    flaw: Flaw,
    nth: usize,
    is_delta: bool,
    stream: ServerStream,
    begun: Instant,
    responses: Responses,
    /// The newest response of each type.
    sent: HashMap<String, Bytes>,
    /// The nonces of each type, in order.
    nonces: HashMap<String, Vec<String>>,
    /// The types of the requests so far.
    types: BTreeSet<String>,
    /// Responses that wait for another one.
    kept: Vec<Bytes>,
    /// Nothing is answered any more.
    is_over: bool,
}

/// The parts of a request that flaws look at.
struct Seen {
    type_url: String,
    names: Vec<String>,
    unsubscribe: Vec<String>,
    nonce: String,
    version: String,
    is_nack: bool,
    holds: bool,
    is_first: bool,
}

impl Seen {
    fn changes(&self) -> bool {
        !self.names.is_empty() || !self.unsubscribe.is_empty()
    }
}

impl FlawedStream {
    fn now(&self) -> Time {
        Time::ZERO.after(self.begun.elapsed())
    }

    async fn run(mut self, mut requests: Streaming<Bytes>, mut plan: watch::Receiver<Arc<Plan>>) {
        loop {
            let wait = loop {
                match self.stream.next(self.now()) {
                    Next::Send(pieces) => {
                        let bytes = pieces.concat().into();
                        if !self.respond(bytes).await {
                            return;
                        }
                    }
                    Next::At(at) => break at.since(self.now()),
                    _ => break Duration::from_secs(60),
                }
            };
            let next = tokio::time::timeout(wait, async {
                tokio::select! {
                    request = requests.next() => Some(request),
                    _ = plan.changed() => None,
                }
            });
            match next.await {
                Ok(Some(Some(Ok(request)))) => {
                    if !self.request(request).await {
                        return;
                    }
                }
                Ok(Some(_)) => return,
                Ok(None) => {
                    let plan = plan.borrow_and_update().clone();
                    let now = self.now();
                    self.stream.handle_plan(now, plan);
                }
                // Something is due.
                Err(_) => {}
            }
        }
    }

    fn seen(&mut self, bytes: &[u8]) -> Seen {
        let shape = if self.is_delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
        let mut catalog = Catalog::in_memory();
        let message = Message::parse(shape, bytes, &mut catalog);
        let text = |names: &[xdscope_wire::event::Sym]| {
            names.iter().map(|name| catalog.text(*name).to_owned()).collect::<Vec<String>>()
        };
        let (names, unsubscribe, nonce, version, holds) = match &message.body {
            MessageBody::SotwRequest(of) => (
                text(&of.resource_names),
                Vec::new(),
                of.response_nonce.to_string(),
                of.version_info.to_string(),
                false,
            ),
            MessageBody::DeltaRequest(of) => (
                text(&of.subscribe),
                text(&of.unsubscribe),
                of.response_nonce.to_string(),
                String::new(),
                !of.initial_resource_versions.is_empty(),
            ),
            other => panic!("not a request: {other:?}"),
        };
        let type_url = message.type_url().to_string();
        let is_first = self.types.insert(type_url.clone());
        let is_nack = message.error_detail().is_some();
        Seen { type_url, names, unsubscribe, nonce, version, is_nack, holds, is_first }
    }

    /// Handles a request. Returns false at the end of the stream.
    async fn request(&mut self, bytes: Bytes) -> bool {
        let seen = self.seen(&bytes);
        let nonces = self.nonces.get(&seen.type_url).cloned().unwrap_or_default();
        let is_old = !seen.nonce.is_empty() && nonces.last().is_some_and(|last| *last != seen.nonce);
        let mut bytes = bytes;
        let is_unknown = seen.names.iter().any(|name| name.starts_with("xdscope-check-unknown"));
        let is_ignored = match self.flaw {
            Flaw::IgnoresChanges => !seen.is_first && (seen.changes() || !self.is_delta) && !seen.is_nack,
            Flaw::NoWildcard if self.nth > 0 => {
                seen.names.is_empty() && seen.is_first || seen.names.iter().any(|name| name == "*")
            }
            Flaw::OneType if self.nth > 0 => {
                self.types.len() > 1 && self.types.first() != Some(&seen.type_url)
            }
            Flaw::IgnoresUnknown => seen.names.len() > 100,
            Flaw::IgnoresStale => is_old && seen.changes(),
            Flaw::IgnoresHeld => seen.holds,
            Flaw::EndsAtUnknown if is_unknown => return self.end().await,
            Flaw::EndsLaterStreams if self.nth > 1 => return self.end().await,
            _ => self.is_over,
        };
        if seen.is_nack && self.flaw == Flaw::StopsAtNack {
            self.is_over = true;
        }
        if is_ignored {
            return true;
        }
        if self.flaw == Flaw::EmptyIsWildcard && seen.names.is_empty() && !self.is_delta {
            let fields = RequestFields {
                type_url: &seen.type_url,
                names: vec!["*"],
                response_nonce: &seen.nonce,
                version_info: &seen.version,
                ..RequestFields::default()
            };
            bytes = fields.encode(false).into();
        }
        if self.flaw == Flaw::UnannouncedTtl && seen.is_first {
            bytes = with_features(&bytes, self.is_delta);
        }
        let now = self.now();
        self.stream.handle_request(now, &bytes);
        let is_ack = !seen.nonce.is_empty() && !seen.is_nack && !is_old;
        let again = match self.flaw {
            Flaw::AnswersAcks => is_ack && nonces.len() < 4,
            Flaw::AnswersStale => is_old,
            _ => false,
        };
        match self.sent.get(&seen.type_url).cloned() {
            Some(sent) if again => {
                let nonce = format!("again-{}", nonces.len());
                self.send(with_field(&sent, 5, nonce.as_bytes()), &seen.type_url).await
            }
            _ => true,
        }
    }

    async fn end(&mut self) -> bool {
        let _ = self.responses.send(Err(Status::internal("a flaw"))).await;
        false
    }

    /// Sends a response, as the flaw changes it. Returns false at the end of the stream.
    async fn respond(&mut self, bytes: Bytes) -> bool {
        let url = text_field(&bytes, 4);
        let is = |kind: Kind| Kind::of_type_url(&url).is_some_and(|(of, _)| of == kind);
        let nth = self.nonces.get(&url).map_or(0, Vec::len);
        let bytes = match self.flaw {
            Flaw::Silent(kind) if is(kind) => return true,
            Flaw::OnlyFirst if nth > 0 => return true,
            Flaw::SilentLater(n) if self.nth >= n => return true,
            Flaw::HidesRemovals if nth > 0 => return true,
            Flaw::NoNonce => with_field(&bytes, 5, b""),
            Flaw::OneNonce => with_field(&bytes, 5, b"constant"),
            Flaw::OneVersion if !self.is_delta => with_field(&bytes, 1, b"constant"),
            Flaw::OneVersion => with_one_version(&bytes),
            Flaw::Duplicate => with_first_twice(&bytes),
            Flaw::OtherType => with_other_type(&bytes, self.is_delta),
            Flaw::RoutesFirst
                if is(Kind::Cds) && !self.sent.keys().any(|url| url.ends_with("RouteConfiguration")) =>
            {
                self.kept.push(bytes);
                return true;
            }
            _ => bytes,
        };
        if !self.send(bytes, &url).await {
            return false;
        }
        if is(Kind::Rds) {
            for kept in std::mem::take(&mut self.kept) {
                let url = text_field(&kept, 4);
                if !self.send(kept, &url).await {
                    return false;
                }
            }
        }
        true
    }

    async fn send(&mut self, bytes: Bytes, url: &str) -> bool {
        self.nonces.entry(url.to_owned()).or_default().push(text_field(&bytes, 5));
        self.sent.insert(url.to_owned(), bytes.clone());
        self.responses.send(Ok(bytes)).await.is_ok()
    }
}

/// Returns the last text in a field.
fn text_field(bytes: &[u8], number: u32) -> String {
    let fields = Fields::new(bytes).map_while(Result::ok);
    fields
        .filter(|field| field.number == number)
        .last()
        .map(|field| field.text().into_owned())
        .unwrap_or_default()
}

/// Copies a message whose fields all have a length.
fn edited(bytes: &[u8], mut edit: impl FnMut(u32, &[u8], &mut Vec<u8>)) -> Bytes {
    let mut out = Vec::new();
    for field in Fields::new(bytes).map_while(Result::ok) {
        edit(field.number, field.bytes(), &mut out);
    }
    out.into()
}

fn with_field(bytes: &[u8], wanted: u32, value: &[u8]) -> Bytes {
    edited(bytes, |number, own, out| put_len_field(out, number, if number == wanted { value } else { own }))
}

/// Gives each resource of a delta response one version.
fn with_one_version(bytes: &[u8]) -> Bytes {
    edited(bytes, |number, own, out| {
        let one = if number == 2 { with_field(own, 1, b"constant") } else { Bytes::copy_from_slice(own) };
        put_len_field(out, number, &one);
    })
}

fn with_first_twice(bytes: &[u8]) -> Bytes {
    let mut is_first = true;
    edited(bytes, |number, own, out| {
        put_len_field(out, number, own);
        if number == 2 && std::mem::take(&mut is_first) {
            put_len_field(out, number, own);
        }
    })
}

/// Gives the first resource another type.
fn with_other_type(bytes: &[u8], is_delta: bool) -> Bytes {
    const OTHER: &[u8] = b"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";
    let mut is_first = true;
    edited(bytes, |number, own, out| {
        let is_resource = number == 2 && std::mem::take(&mut is_first);
        let other = match (is_resource, is_delta) {
            (false, _) => Bytes::copy_from_slice(own),
            (true, false) => with_field(own, 1, OTHER),
            (true, true) => edited(own, |number, any, out| {
                let any = if number == 2 { with_field(any, 1, OTHER) } else { Bytes::copy_from_slice(any) };
                put_len_field(out, number, &any);
            }),
        };
        put_len_field(out, number, &other);
    })
}

/// Adds the features of times to live to the node of a request.
fn with_features(bytes: &[u8], is_delta: bool) -> Bytes {
    let node = if is_delta { 1 } else { 2 };
    edited(bytes, |number, own, out| {
        let mut own = own.to_vec();
        if number == node {
            for feature in ["xds.config.supports-resource-ttl", "xds.config.supports-resource-in-sotw"] {
                put_len_field(&mut own, 10, feature.as_bytes());
            }
        }
        put_len_field(out, number, &own);
    })
}
