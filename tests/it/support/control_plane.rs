//! The go-control-plane server of `tests/peers/control-plane`.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Command,
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{certs::ServerTls, peers::Peers, process::Talker, snapshot::Snapshot, wait::wait_for};

/// How to start it.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// Order the types on aggregated streams, and hold back answers that lack a requested name.
    pub ads: bool,
    /// Compress responses to clients which accept gzip.
    pub gzip: bool,
    /// The loopback port to listen on; 0 picks a free one.
    pub port: u16,
    pub tls: Option<ServerTls>,
    /// `v1` or `v1alpha`: the only version of server reflection; empty: both.
    pub reflection: &'static str,
    /// Answer REST polls too.
    pub rest: bool,
    /// Serve each type from a linear cache, which counts versions itself.
    pub linear: bool,
}

/// A running control plane, which serves the same snapshot to every client.
pub struct ControlPlane {
    talker: Talker,
    address: SocketAddr,
    rest: u16,
}

/// One thing that the server saw or did, in the server's own words. A stream is named by `delta` and `stream`
/// together: SotW and delta are counted apart, each from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Event {
    /// `open`, `request`, `response` or `close`; besides `ready`, and `done` and `failed` after a command.
    pub event: String,
    pub port: u16,
    pub message: String,
    /// In `ready`: where polls are answered.
    pub rest_port: u16,
    /// A poll or its answer; they have no stream.
    pub rest: bool,
    /// In `open`: what the client sent before its first message, `:authority` too.
    pub metadata: BTreeMap<String, Vec<String>>,
    pub delta: bool,
    pub stream: u64,
    /// The node's id, in requests (as the server knows it) and `close`.
    pub node: String,
    pub type_url: String,
    pub version: String,
    pub nonce: String,
    /// Requested names (SotW) or names of the resources in a response.
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

    /// Whether it accepts `response`.
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
        command.arg(format!("-port={}", flags.port)).arg(format!("-reflection={}", flags.reflection));
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it answers REST polls.
    pub fn rest_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.rest).into()
    }

    /// Serves `snapshot` from now on; open streams are told what is new to them.
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

    /// The present end of the events, to look for later ones from.
    pub fn mark(&self) -> usize {
        self.talker.count()
    }

    /// All events from `mark` on.
    pub fn events(&self, mark: usize) -> Vec<Event> {
        self.talker.lines(mark).iter().map(|line| parse(line)).collect()
    }

    /// The first event from `mark` on which is `wanted`.
    ///
    /// # Panics
    /// When none comes in time; the message says `what` was awaited.
    pub fn wait_for(&self, mark: usize, what: &str, wanted: impl Fn(&Event) -> bool) -> Event {
        wait_for(what, || self.events(mark).into_iter().find(&wanted))
    }

    /// The first response of `type_url` from `mark` on in `version`, once a client has accepted it.
    ///
    /// `version` is the one set in the snapshot: SotW's `version_info`, delta's `system_version_info`.
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
