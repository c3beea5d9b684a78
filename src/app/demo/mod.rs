//! The demo: a control plane and its clients on loopback, with the tap between them.
//!
//! The control plane is [`xdscope_sources::peers::server`] behind [`crate::net::serve`], the
//! clients are [`xdscope_sources::peers::client`]: both misbehave only where a [`Scenario`] says
//! so.

mod client;
mod mesh;
mod scenario;
mod storm;
#[cfg(test)]
mod tests;
mod tour;
mod xdstp;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tonic::transport::Endpoint;

use crate::net::serve::{self, Control};
use crate::net::tap::{ListenError, Tap};
use crate::net::transport::Address;
use xdscope_engine::analysis;
use xdscope_schema::Schema;

pub use mesh::MeshError;
pub use scenario::Scenario;

/// The time from the first connection to the first change of the configuration.
const FIRST_CHANGE: Duration = Duration::from_secs(2);

/// The reason why the demo cannot start.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error(transparent)]
    Mesh(#[from] MeshError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("cannot start the demo's thread")]
    Thread(#[source] io::Error),
}

/// A running demo. Dropping it stops the control plane and the clients.
pub struct Demo {
    /// The address of the control plane.
    pub upstream: Address,
    connect: mpsc::Sender<Address>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    _control_plane: Tap,
}

impl Demo {
    /// Starts the control plane on a free loopback port. The same seed gives the same resources.
    ///
    /// # Errors
    /// The descriptors lack the types of the demo, or there is no port or thread to be had.
    pub fn start(schema: Arc<Schema>, scenario: Scenario, seed: u64) -> Result<Demo, DemoError> {
        let mut first = scenario.first(&schema, seed)?;
        let control = Control::new(scenario::plan(&mut first));
        let config = serve::Config {
            listen: Address::Tcp("127.0.0.1:0".into()),
            queue: None,
            tls: None,
            control: control.clone(),
            say: Arc::new(|_| ()),
            schema: schema.clone(),
        };
        let control_plane = serve::start(config)?;
        let upstream = control_plane.listening[0].clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(DemoError::Thread)?;
        let (connect, mut connected) = mpsc::channel::<Address>(1);
        let (stop, mut stopped) = watch::channel(false);
        let second = scenario.second(&first, &schema)?;
        let thread = std::thread::Builder::new().name("demo".into()).spawn(move || {
            runtime.block_on(async move {
                let play = async {
                    if let Some(tap) = connected.recv().await {
                        connect_nodes(scenario, &tap, &schema);
                        tokio::time::sleep(FIRST_CHANGE).await;
                        change(scenario, second, &control, &schema).await;
                    }
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    () = play => {}
                    _ = stopped.changed() => {}
                }
            });
        });
        let thread = Some(thread.map_err(DemoError::Thread)?);
        Ok(Demo { upstream, connect, stop, thread, _control_plane: control_plane })
    }

    /// Lets the clients connect to the tap.
    pub fn connect(&self, tap: &Address) {
        // Fails only after the demo has stopped.
        let _ = self.connect.try_send(tap.clone());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the demo's thread panicked");
        }
    }
}

/// Starts the clients. Each connection is opened when its first stream is.
fn connect_nodes(scenario: Scenario, tap: &Address, schema: &Arc<Schema>) {
    let links = analysis::rules(schema).links;
    for nodes in scenario.connections() {
        let channel = match Endpoint::from_shared(format!("http://{tap}")) {
            Ok(endpoint) => endpoint.connect_lazy(),
            Err(error) => return tracing::error!("cannot connect to {tap}: {error}"),
        };
        for node in nodes {
            tokio::spawn(client::run(node, channel.clone(), schema.clone(), links.clone()));
        }
    }
}

/// Changes the configuration again and again, forever.
async fn change(scenario: Scenario, mut mesh: mesh::Mesh, control: &Control, schema: &Schema) {
    for version in 42.. {
        control.serve(scenario::plan(&mut mesh));
        tokio::time::sleep(scenario.interval()).await;
        match scenario.next(&mesh, schema, version) {
            Ok(next) => mesh = next,
            Err(error) => tracing::error!("{error}"),
        }
    }
}
