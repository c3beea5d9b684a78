//! A client that makes one mistake, over ADS.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tonic::transport::Endpoint;
use xdscope::net::rpc;
use xdscope_sources::peers::client;
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::{NodeFields, RequestFields};
use xdscope_wire::event::{ApiVersion, Kind, Method, TypeUrl, Variant};
use xdscope_wire::{ErrorDetail, Message, MessageBody, MessageShape};

/// A mistake of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFlaw {
    /// Accepts everything.
    NeverRefuses,
    /// Refuses everything of a type that it has a resource of.
    RefusesLater,
    /// Does not answer responses of a type that it has a resource of.
    StopsAnswering,
    /// The first request has no node.
    NoNode,
    /// Does not come back after the end of a stream.
    StaysAway,
    /// Comes back without the versions that it has.
    ForgetsVersions,
}

/// A running client.
pub struct FlawedClient {
    _runtime: tokio::runtime::Runtime,
}

impl FlawedClient {
    /// Subscribes to all clusters, and to endpoints of one.
    pub fn start(address: &str, is_delta: bool, flaw: ClientFlaw) -> FlawedClient {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let address = address.to_owned();
        runtime.spawn(async move {
            let mut client = Client { is_delta, flaw, held: BTreeMap::new(), versions: BTreeMap::new() };
            let mut pauses = tokio::time::interval(Duration::from_millis(100));
            loop {
                pauses.tick().await;
                let was_open = client.stream(&address).await.is_some();
                if was_open && flaw == ClientFlaw::StaysAway {
                    return;
                }
            }
        });
        FlawedClient { _runtime: runtime }
    }
}

struct Client {
    is_delta: bool,
    flaw: ClientFlaw,
    /// Versions of resources, by type and name.
    held: BTreeMap<TypeUrl, BTreeMap<String, String>>,
    /// Accepted versions.
    versions: BTreeMap<TypeUrl, String>,
}

impl Client {
    /// Plays one stream; `None` if it could not be opened.
    async fn stream(&mut self, address: &str) -> Option<()> {
        let variant = if self.is_delta { Variant::DeltaAds } else { Variant::Ads };
        let path = Method::path(variant, None, ApiVersion::V3)?;
        let channel = Endpoint::from_shared(format!("http://{address}")).ok()?.connect().await.ok()?;
        let (send, requests) = mpsc::channel(16);
        for (nth, kind) in [Kind::Cds, Kind::Eds].into_iter().enumerate() {
            send.send(self.first(kind, nth == 0)).await.ok()?;
        }
        let mut responses = rpc::open(channel, &path, requests).await.ok()?;
        while let Ok(Some(bytes)) = responses.message().await {
            let shape = if self.is_delta { MessageShape::DeltaResponse } else { MessageShape::SotwResponse };
            let mut catalog = Catalog::in_memory();
            let message = Message::parse(shape, &bytes, &mut catalog);
            let url = message.type_url();
            let has_resource = self.held.get(&url).is_some_and(|held| !held.is_empty());
            if self.flaw == ClientFlaw::StopsAnswering && has_resource {
                continue;
            }
            let refused = match self.flaw {
                ClientFlaw::NeverRefuses => false,
                ClientFlaw::RefusesLater => has_resource,
                _ => is_malformed(&bytes) || client::check(&message, &catalog).is_some(),
            };
            let Some(verdict) = self.verdict(&message, &catalog, refused) else { continue };
            send.send(verdict).await.ok()?;
        }
        Some(())
    }

    fn first(&self, kind: Kind, is_first: bool) -> Bytes {
        let url = kind.type_url(ApiVersion::V3).expect("a type");
        let node = NodeFields { id: "flawed", ..NodeFields::default() }.encode();
        let forgets = self.flaw == ClientFlaw::ForgetsVersions;
        let version = self.versions.get(&url).filter(|_| !forgets).cloned().unwrap_or_default();
        let held = self.held.get(&url).filter(|_| !forgets).cloned().unwrap_or_default();
        let names = match kind {
            Kind::Cds if self.is_delta => vec!["*"],
            Kind::Cds => Vec::new(),
            _ => vec!["xdscope-check"],
        };
        let fields = RequestFields {
            node: (is_first && self.flaw != ClientFlaw::NoNode).then_some(&node[..]),
            type_url: url.as_str(),
            names,
            version_info: &version,
            initial_versions: held.iter().map(|(name, version)| (&**name, &**version)).collect(),
            ..RequestFields::default()
        };
        fields.encode(self.is_delta).into()
    }

    fn verdict(&mut self, message: &Message, catalog: &Catalog, refused: bool) -> Option<Bytes> {
        let url = message.type_url();
        let (nonce, version) = match &message.body {
            MessageBody::SotwResponse(of) => (of.nonce.to_string(), of.version_info.to_string()),
            MessageBody::DeltaResponse(of) => (of.nonce.to_string(), of.system_version_info.to_string()),
            _ => return None,
        };
        if !refused {
            self.versions.insert(url.clone(), version);
            let held = self.held.entry(url.clone()).or_default();
            for id in message.resources().map(|list| list.blobs()).unwrap_or_default() {
                let entry = catalog.entry(*id);
                held.insert(catalog.text(entry.name).to_owned(), catalog.text(entry.version).to_owned());
            }
        }
        let error = ErrorDetail { code: 3, message: "refused".into(), details: Vec::new() };
        let accepted = self.versions.get(&url).cloned().unwrap_or_default();
        let is_endpoints = Kind::of_type_url(url.as_str()).is_some_and(|(kind, _)| kind == Kind::Eds);
        let fields = RequestFields {
            type_url: url.as_str(),
            names: if is_endpoints && !self.is_delta { vec!["xdscope-check"] } else { Vec::new() },
            version_info: &accepted,
            response_nonce: &nonce,
            error_detail: refused.then_some(&error),
            ..RequestFields::default()
        };
        Some(fields.encode(self.is_delta).into())
    }
}

/// Whether a response has the malformed payload that the check sends.
fn is_malformed(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|part| part == [0x12, 0x02, 0x0a, 0x7f])
}
