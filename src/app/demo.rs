//! The demo: an embedded control plane and clients, the real tap between them.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::net::demo::{Scenario, run_client, run_together, serve};
use crate::net::tap::Address;
use crate::schema::Schema;

/// The bad configuration comes this long after the clients.
const THEN: Duration = Duration::from_secs(2);

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
        let first = scenario.mesh(&schema, seed).map_err(io::Error::other)?;
        let then = scenario.then(&first, &schema).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let upstream = Address::Tcp(listener.local_addr()?.to_string());
        let (tell, mut told) = tokio::sync::mpsc::channel::<String>(1);
        let (stop, mut stopped) = watch::channel(false);
        let thread = std::thread::Builder::new().name("demo".into()).spawn(move || {
            runtime.block_on(async move {
                let (set, meshes) = watch::channel(Arc::new(first));
                tokio::spawn(serve(listener, meshes));
                let story = async {
                    if let Some(tap) = told.recv().await {
                        for mut together in scenario.clients() {
                            let server = format!("http://{tap}");
                            let alone = if together.len() == 1 { together.pop() } else { None };
                            match alone {
                                Some(client) => tokio::spawn(run_client(client, server, schema.clone())),
                                None => tokio::spawn(run_together(together, server, schema.clone())),
                            };
                        }
                        tokio::time::sleep(THEN).await;
                        let mut mesh = then;
                        for version in 42.. {
                            // The control plane outlives this: it ends with the runtime.
                            let _ = set.send(Arc::new(mesh.clone()));
                            tokio::time::sleep(scenario.pace()).await;
                            match scenario.moved(&mesh, &schema, version) {
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::app::tap::{Front, Options, Running};
    use crate::engine::store::{self, TypeState};
    use crate::net::tap::Tls;
    use crate::wire::event::Kind;

    /// Runs a scenario through the tap until `done`; within a limit.
    fn until(scenario: Scenario, done: impl Fn(&store::Store) -> bool) {
        let schema = Schema::builtin();
        let demo = Demo::start(schema.clone(), scenario, 1).expect("a demo");
        let running = Running::start(
            Options {
                front: Front::Tap {
                    maps: vec![(Address::Tcp("127.0.0.1:0".into()), demo.upstream.clone())],
                    connect_timeout: Duration::from_secs(10),
                    tls: Tls::default(),
                    changes: None,
                },
                decode: true,
                record: None,
                keep_secrets: false,
                store: store::Options::default(),
                schema,
                verb: "demo",
            },
            None,
        )
        .expect("a tap");
        demo.connect(&running.tap.listening[0]);
        let shared = running.shared.clone().expect("decoded");
        let start = Instant::now();
        let (mut revision, mut is) = (u64::MAX, false);
        while !is && start.elapsed() < Duration::from_secs(90) {
            let now = shared.revision();
            if now == revision {
                std::thread::yield_now();
                std::thread::park_timeout(Duration::from_millis(20));
                continue;
            }
            revision = now;
            is = done(&shared.store());
        }
        running.stop();
        assert!(is, "{} did not come to it", scenario.word());
    }

    #[test]
    fn xdstp_names_come_through_the_tap() {
        until(Scenario::Xdstp, |store| {
            let states = store.states();
            let of = |node: &str, kind: Kind| {
                states.iter().find(|state| {
                    state.node.as_deref() == Some(node)
                        && Kind::of_type_url(state.type_url.as_str()).is_some_and(|(k, _)| k == kind)
                })
            };
            // The glob's five and the one that came later, with their endpoints; the other authority owes one.
            of("edge-gw-1", Kind::Cds).is_some_and(|state| state.resources == 6)
                && of("edge-gw-1", Kind::Eds).is_some_and(|state| state.resources == 6)
                && of("reviews-v2-6b8f", Kind::Cds).is_some_and(|state| {
                    state.resources == 1 && state.missing.iter().any(|name| name.contains("partner.example"))
                })
                && of("batch-9", Kind::Eds).is_some_and(|state| state.resources == 2)
        });
    }

    #[test]
    fn the_storm_comes_through_the_tap() {
        until(Scenario::Storm, |store| {
            let cells = store.summaries();
            let synced = cells.iter().filter(|cell| cell.state == TypeState::Synced);
            let resources: u64 = cells.iter().map(|cell| cell.resources).sum();
            store.streams().len() == 1000 && resources == 200_000 && synced.count() > 900
        });
    }
}
