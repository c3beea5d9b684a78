use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_stream::StreamExt;
use tonic::Streaming;
use tonic::transport::server::TcpIncoming;

use crate::net::rpc::{Handler, Responses, Streams};
use crate::wire::content::Catalog;
use crate::wire::event::{ApiVersion, Kind};
use crate::wire::pb::put_len_field;
use crate::wire::{Body, Message, Shape};

use super::Mesh;
use super::mesh::Resource;
use super::tour::CUT;

/// How long the control plane waits before it sends again what was refused: the fault it demonstrates.
const RESEND: Duration = Duration::from_secs(10);

/// How long the streams of one node live: the fault it demonstrates.
const LIFE: Duration = Duration::from_secs(2);

/// Serves every variant on `listener`: what `meshes` holds, again whenever it changes. Ends when
/// `meshes` is dropped by its sender.
pub async fn serve(
    listener: TcpListener,
    meshes: watch::Receiver<Arc<Mesh>>,
) -> Result<(), tonic::transport::Error> {
    let mut stop = meshes.clone();
    let stopped = async move { while stop.changed().await.is_ok() {} };
    tonic::transport::Server::builder()
        .serve_with_incoming_shutdown(
            Streams::new(ControlPlane { meshes }),
            TcpIncoming::from(listener),
            stopped,
        )
        .await
}

struct ControlPlane {
    meshes: watch::Receiver<Arc<Mesh>>,
}

impl Handler for ControlPlane {
    fn stream(
        &self,
        path: &str,
        requests: Streaming<Bytes>,
        responses: Responses,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let delta = path.rsplit('/').next().is_some_and(|method| method.starts_with("Delta"));
        let meshes = self.meshes.clone();
        Box::pin(async move {
            // An error here is the client going away, which ends the stream's task and nothing else.
            let _ = answer(delta, meshes, requests, responses).await;
        })
    }
}

/// What one client wants of one type, and what it was sent.
#[derive(Default)]
struct Want {
    all: bool,
    names: BTreeSet<String>,
    /// The version of the type that was sent last.
    version: String,
    /// Delta: the version of each resource that was sent.
    sent: BTreeMap<String, String>,
}

struct Session {
    delta: bool,
    catalog: Catalog,
    wants: BTreeMap<Kind, Want>,
    nonce: u32,
    /// The node whose streams do not last.
    cut: bool,
    responses: Responses,
}

type Gone = Result<(), ()>;

async fn answer(
    delta: bool,
    mut meshes: watch::Receiver<Arc<Mesh>>,
    mut requests: Streaming<Bytes>,
    responses: Responses,
) -> Gone {
    let (catalog, wants) = (Catalog::in_memory(), BTreeMap::new());
    let mut session = Session { delta, catalog, wants, nonce: 0xa800, cut: false, responses };
    let mut again = tokio::time::interval(RESEND);
    let mut refused = BTreeSet::new();
    let life = tokio::time::sleep(LIFE);
    tokio::pin!(life);
    loop {
        let mesh = meshes.borrow_and_update().clone();
        tokio::select! {
            request = requests.next() => {
                let Some(Ok(bytes)) = request else { return Ok(()) };
                if let Some((kind, nack, news)) = session.take(&bytes) {
                    if nack { refused.insert(kind); } else { refused.remove(&kind); }
                    if news { session.send(&mesh, kind, true).await?; }
                }
            }
            changed = meshes.changed() => {
                changed.map_err(|_| ())?;
                let mesh = meshes.borrow().clone();
                for kind in session.wants.keys().copied().collect::<Vec<_>>() {
                    session.send(&mesh, kind, false).await?;
                }
            }
            _ = again.tick() => {
                for kind in refused.clone() {
                    session.send(&mesh, kind, true).await?;
                }
            }
            () = &mut life, if session.cut => {
                let end = tonic::Status::unavailable("keepalive timeout");
                return session.responses.send(Err(end)).await.map_err(|_| ());
            }
        }
    }
}

impl Session {
    /// Takes a request: its type, whether it refuses, and whether it asks for something new.
    fn take(&mut self, bytes: &[u8]) -> Option<(Kind, bool, bool)> {
        let shape = if self.delta { Shape::DeltaRequest } else { Shape::SotwRequest };
        let message = Message::parse(shape, bytes, &mut self.catalog);
        let (kind, _) = Kind::of_type_url(message.type_url().as_str())?;
        self.cut |= message.node().is_some_and(|node| node.id == CUT);
        let first = !self.wants.contains_key(&kind);
        let want = self.wants.entry(kind).or_default();
        let text = |names: &[crate::wire::event::Sym]| -> BTreeSet<String> {
            names.iter().map(|name| self.catalog.text(*name).to_owned()).collect()
        };
        let news = match &message.body {
            Body::SotwRequest(request) => {
                let names = text(&request.resource_names);
                let grown = !names.is_subset(&want.names);
                want.all = want.all || (first && names.is_empty());
                want.names = names;
                first || grown
            }
            Body::DeltaRequest(request) => {
                let names = text(&request.subscribe);
                want.all = want.all || (first && names.is_empty());
                want.names.extend(names);
                for name in text(&request.unsubscribe) {
                    want.names.remove(&name);
                }
                first || !request.subscribe.is_empty()
            }
            _ => return None,
        };
        Some((kind, message.error_detail().is_some(), news))
    }

    /// Sends what is wanted of a type: all of it, in delta what is new. Unless asked, only a new version.
    async fn send(&mut self, mesh: &Mesh, kind: Kind, asked: bool) -> Gone {
        let Some(want) = self.wants.get_mut(&kind) else { return Ok(()) };
        let Some(version) = mesh.versions.get(&kind).filter(|version| asked || **version != want.version)
        else {
            return Ok(());
        };
        let mut chosen = mesh.wanted(kind, want.all, &want.names);
        chosen.retain(|(name, r)| !self.delta || asked || want.sent.get(*name) != Some(&r.version));
        // A type of which nothing exists is not answered: the name stays missing, as with real servers.
        if chosen.is_empty() {
            return Ok(());
        }
        want.version.clone_from(version);
        self.nonce += 1;
        let mut out = Vec::new();
        put_len_field(&mut out, 1, version.as_bytes());
        let chosen: Vec<(String, &Resource)> = chosen.into_iter().map(|(n, r)| (n.clone(), r)).collect();
        for (name, Resource { version, any }) in chosen {
            if self.delta {
                let mut resource = Vec::new();
                put_len_field(&mut resource, 1, version.as_bytes());
                put_len_field(&mut resource, 2, any);
                put_len_field(&mut resource, 3, name.as_bytes());
                put_len_field(&mut out, 2, &resource);
                want.sent.insert(name, version.clone());
            } else {
                put_len_field(&mut out, 2, any);
            }
        }
        let url = kind.type_url(ApiVersion::V3).unwrap_or_default();
        put_len_field(&mut out, 4, url.as_str().as_bytes());
        put_len_field(&mut out, 5, format!("{:04x}", self.nonce).as_bytes());
        let mut identifier = Vec::new();
        put_len_field(&mut identifier, 1, b"xdscope-demo");
        put_len_field(&mut out, if self.delta { 7 } else { 6 }, &identifier);
        self.responses.send(Ok(out.into())).await.map_err(|_| ())
    }
}
