//! The demo: an embedded control plane and clients, the real tap between them.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::net::demo::{Mesh, Scenario, run_client, serve};
use crate::net::tap::Address;
use crate::schema::Schema;

/// The bad configuration comes this long after the clients.
const THEN: Duration = Duration::from_secs(2);

/// Endpoints move this often.
const MOVES: Duration = Duration::from_secs(4);

/// The embedded control plane and, once told where to connect, its clients.
pub struct Demo {
    pub upstream: Address,
    tell: tokio::sync::mpsc::Sender<String>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Demo {
    /// Starts the control plane on a free loopback port. The same seed gives the same resources.
    pub fn start(schema: Arc<Schema>, scenario: Scenario, seed: u64) -> io::Result<Demo> {
        let good = Mesh::good(&schema, seed).map_err(io::Error::other)?;
        let bad = good.bad(&schema).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let upstream = Address::Tcp(listener.local_addr()?.to_string());
        let (tell, mut told) = tokio::sync::mpsc::channel::<String>(1);
        let (stop, mut stopped) = watch::channel(false);
        let thread = std::thread::Builder::new().name("demo".into()).spawn(move || {
            runtime.block_on(async move {
                let (set, meshes) = watch::channel(Arc::new(good));
                tokio::spawn(serve(listener, meshes));
                let story = async {
                    if let Some(tap) = told.recv().await {
                        for client in scenario.clients() {
                            tokio::spawn(run_client(client, format!("http://{tap}"), schema.clone()));
                        }
                        tokio::time::sleep(THEN).await;
                        let mut mesh = bad;
                        for version in 42.. {
                            // The control plane outlives this: it ends with the runtime.
                            let _ = set.send(Arc::new(mesh.clone()));
                            tokio::time::sleep(MOVES).await;
                            match mesh.moved(&schema, version) {
                                Ok(moved) => mesh = moved,
                                Err(error) => tracing::error!("{error}"),
                            }
                        }
                    }
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    () = story => {}
                    _ = stopped.changed() => {}
                }
            });
        })?;
        Ok(Demo { upstream, tell, stop, thread: Some(thread) })
    }

    /// Lets the clients connect to the tap.
    pub fn connect(&self, tap: &Address) {
        // Only a demo that has stopped can't be told.
        let _ = self.tell.try_send(tap.to_string());
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
