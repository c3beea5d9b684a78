//! The go-control-plane server of `tests/peers/control-plane`.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Command,
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    certs::ServerTls,
    peers::Peers,
    process::{Talker, free_port},
    snapshot::Snapshot,
    wait::wait_for,
};

/// Options of the server.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// Order the types on aggregated streams, and delay responses that lack a requested name.
    pub ads: bool,
    /// Compress responses to clients that accept gzip.
    pub gzip: bool,
    /// The loopback port to listen on; 0 picks one on which the server can start again.
    pub port: u16,
    pub tls: Option<ServerTls>,
    /// Supported version of server reflection, `v1` or `v1alpha`; empty for both.
    pub reflection: &'static str,
    /// Answer REST polls too.
    pub rest: bool,
    /// Serve each type from a linear cache, which counts versions itself.
    pub linear: bool,
}

/// A running control plane, which serves one snapshot to all clients.
pub struct ControlPlane {
    talker: Talker,
    address: SocketAddr,
    rest: u16,
}

/// An event of the server, in the server's words.
///
/// A stream is identified by `delta` and `stream` together: SotW and delta streams are numbered
/// separately, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Event {
    /// `open`, `request`, `response` or `close`; also `ready`, and `done` and `failed` after a
    /// command.
    pub event: String,
    pub port: u16,
    pub message: String,
    /// In `ready`: the port for REST polls.
    pub rest_port: u16,
    /// Whether the event is a poll or its response, which have no stream.
    pub rest: bool,
    /// In `open`: the request headers, with `:authority`.
    pub metadata: BTreeMap<String, Vec<String>>,
    pub delta: bool,
    pub stream: u64,
    /// Node id, in requests (as the server knows it) and `close`.
    pub node: String,
    pub type_url: String,
    pub version: String,
    pub nonce: String,
    /// Requested names (SotW), or names of the resources in a response.
    pub names: Vec<String>,
    pub subscribe: Vec<String>,
    pub unsubscribe: Vec<String>,
    pub initial_versions: BTreeMap<String, String>,
    pub removed: Vec<String>,
    pub error: Option<Rejection>,
}

/// The `error_detail` of a NACK.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Rejection {
    pub code: i32,
    pub message: String,
}

impl Event {
    pub fn is_response(&self, type_url: &str) -> bool {
        self.event == "response" && self.type_url == type_url
    }

    pub fn is_request(&self, type_url: &str) -> bool {
        self.event == "request" && self.type_url == type_url
    }

    pub fn is_nack(&self, type_url: &str) -> bool {
        self.is_request(type_url) && self.error.is_some()
    }

    /// Whether the event is an ACK of `response`.
    pub fn is_ack_of(&self, response: &Self) -> bool {
        self.is_request(&response.type_url)
            && self.error.is_none()
            && (self.delta, self.stream, &self.nonce) == (response.delta, response.stream, &response.nonce)
    }
}

impl ControlPlane {
    pub(super) fn start(peers: &Peers, folder: &Path, flags: Flags) -> Self {
        let mut command = Command::new(&peers.control_plane);
        command.arg(format!("-ads={}", flags.ads)).arg(format!("-gzip={}", flags.gzip));
        let port = if flags.port == 0 { free_port() } else { flags.port };
        command.arg(format!("-port={port}")).arg(format!("-reflection={}", flags.reflection));
        if flags.rest {
            command.arg("-rest");
        }
        if flags.linear {
            command.arg("-linear");
        }
        if let Some(tls) = &flags.tls {
            command.arg("-cert").arg(&tls.own.cert).arg("-key").arg(&tls.own.key);
            if let Some(ca) = &tls.client_ca {
                command.arg("-client-ca").arg(ca);
            }
        }
        let mut talker = Talker::start(&mut command, &folder.join("control-plane.log"));
        let ready = wait_for("the control plane's first line", || {
            talker.child.assert_running();
            talker.lines(0).first().map(|line| parse(line))
        });
        assert_eq!(ready.event, "ready", "{}", ready.message);
        let address = (Ipv4Addr::LOCALHOST, ready.port).into();
        Self { talker, address, rest: ready.rest_port }
    }

    /// Returns the address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address for REST polls.
    pub fn rest_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.rest).into()
    }

    /// Serves `snapshot` from now on; open streams get the changes.
    pub fn set(&mut self, snapshot: &Snapshot) {
        self.command(&json!({ "set": snapshot.to_json() }));
    }

    /// Ends every open stream with a gRPC status.
    pub fn close_streams(&mut self, code: i32, message: &str) {
        self.command(&json!({ "close": { "code": code, "message": message } }));
    }

    fn command(&mut self, command: &Value) {
        let mark = self.mark();
        self.talker.tell(&command.to_string());
        let answer =
            self.wait_for(mark, "an answer to a command", |e| e.event == "done" || e.event == "failed");
        assert_eq!(answer.event, "done", "{}", answer.message);
    }

    /// Returns the current number of events, from which to wait for later ones.
    pub fn mark(&self) -> usize {
        self.talker.count()
    }

    /// Returns all events from `mark` on.
    pub fn events(&self, mark: usize) -> Vec<Event> {
        self.talker.lines(mark).iter().map(|line| parse(line)).collect()
    }

    /// Waits for the first event from `mark` on that is `wanted`.
    ///
    /// # Panics
    /// Panics on timeout; the message names `what` was awaited.
    pub fn wait_for(&self, mark: usize, what: &str, wanted: impl Fn(&Event) -> bool) -> Event {
        wait_for(what, || self.events(mark).into_iter().find(&wanted))
    }

    /// Waits for the first response of `type_url` from `mark` on in `version`, and for its ACK by a
    /// client.
    ///
    /// `version` is the snapshot's: `version_info` in SotW, `system_version_info` in delta.
    pub fn wait_for_ack(&self, mark: usize, type_url: &str, version: &str) -> Event {
        wait_for(&format!("an ACK of {type_url} {version}"), || {
            let events = self.events(mark);
            let acked = |r: &&Event| {
                r.is_response(type_url) && r.version == version && events.iter().any(|e| e.is_ack_of(r))
            };
            events.iter().find(acked).cloned()
        })
    }
}

fn parse(line: &str) -> Event {
    serde_json::from_str(line).unwrap_or_else(|e| panic!("not an event ({e}): {line}"))
}
