//! A running gRPC client with its own backend: C-core (`tests/peers/client.py`), grpc-go
//! (`xds-client`), grpc-js (`tests/peers/js`) or grpc-java (`tests/peers/java`).

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Command,
};

use base64::Engine as _;
use serde_json::Value;

use super::{
    bootstrap,
    certs::ClientTls,
    peers::{self, Peers},
    process::Talker,
    wait::wait_for,
};

/// An implementation of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Core,
    Go,
    /// grpc-js: its bootstrap does not support TLS to an xDS server.
    Js,
    Java,
}

/// Any of the clients.
pub struct GrpcClient {
    talker: Talker,
    backend: SocketAddr,
}

impl GrpcClient {
    pub(super) fn start(
        peers: &Peers,
        folder: &Path,
        kind: Kind,
        node: &str,
        target: &str,
        xds: SocketAddr,
        tls: Option<&ClientTls>,
    ) -> Self {
        let config = folder.join(format!("{node}.json"));
        fs::write(&config, bootstrap::grpc(node, xds, tls).to_string()).expect("a bootstrap");
        let mut command = match kind {
            Kind::Core => {
                let mut command = Command::new(&peers.python);
                command.arg(peers::sources().join("client.py"));
                command
            }
            Kind::Go => Command::new(&peers.go_client),
            Kind::Js => {
                let mut command = Command::new("node");
                command.current_dir(peers::js()).arg(peers::sources().join("js/client.mjs"));
                // The client would look for the control plane behind a proxy.
                for proxy in ["grpc_proxy", "https_proxy", "http_proxy"] {
                    command.env_remove(proxy);
                }
                command
            }
            Kind::Java => {
                let mut command = Command::new("java");
                // Starts faster, and leaves the processors to others.
                command.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ".:lib/*", "Client"]);
                command.current_dir(peers::java());
                command
            }
        };
        command.arg(config).arg(format!("xds:///{target}"));
        let mut talker = Talker::start(&mut command, &folder.join(format!("{node}.log")));
        let backend = line(&mut talker, 0)["backend"].as_u64().and_then(|port| u16::try_from(port).ok());
        let backend = (Ipv4Addr::LOCALHOST, backend.expect("the backend's port")).into();
        Self { talker, backend }
    }

    /// Returns the address of the echo server, to put into endpoints.
    pub fn backend(&self) -> SocketAddr {
        self.backend
    }

    /// Calls the target once without waiting for the result.
    pub fn ask(&mut self, text: &str) {
        self.talker.tell(text);
    }

    /// Calls the target once, and waits for its names to resolve. Returns the echo of `text`, or
    /// the failure code.
    pub fn call(&mut self, text: &str) -> Result<String, String> {
        let next = self.talker.count();
        self.ask(text);
        let answer = line(&mut self.talker, next);
        match (&answer["ok"], &answer["error"]) {
            (Value::String(echo), _) => Ok(echo.clone()),
            (_, Value::String(code)) => Err(code.clone()),
            _ => panic!("not an answer: {answer}"),
        }
    }

    /// Returns the `ClientStatusResponse` of the client's CSDS service in binary protobuf (C-core
    /// and grpc-go only).
    pub fn csds(&mut self) -> Vec<u8> {
        let next = self.talker.count();
        self.talker.tell("!csds");
        let answer = line(&mut self.talker, next);
        let text = answer["csds"].as_str().unwrap_or_else(|| panic!("not an answer: {answer}"));
        base64::engine::general_purpose::STANDARD.decode(text).expect("base64")
    }
}

fn line(talker: &mut Talker, number: usize) -> Value {
    let line = wait_for("a line of the gRPC client", || {
        talker.child.assert_running();
        talker.lines(number).into_iter().next()
    });
    serde_json::from_str(&line).expect("JSON")
}
