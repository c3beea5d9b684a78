//! The scenarios: their resources follow from the seed, and they look as described through the tap.

use std::time::Instant;

use super::mesh::Mesh;
use super::storm::Storm;
use super::*;
use crate::app::tap::{Front, Options, Running};
use crate::net::tap::Tls;
use xdscope_engine::store::{self, TypeState};
use xdscope_sources::peers::server::{Next, ServerStream};
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::RequestFields;
use xdscope_wire::event::{ApiVersion, Kind, Time};
use xdscope_wire::{Message, MessageShape};

/// A run that takes longer hangs: a busy machine needs a minute and a half.
const LONGEST_RUN: Duration = Duration::from_secs(400);

fn facts(mesh: &Mesh) -> String {
    format!("{mesh:?}")
}

#[test]
fn gives_the_same_resources_for_the_same_seed() {
    let schema = Schema::builtin();
    for scenario in Scenario::ALL.into_iter().filter(|scenario| !matches!(scenario, Scenario::Storm(_))) {
        let meshes = |seed| {
            let first = scenario.first(&schema, seed).expect("a mesh");
            let second = scenario.second(&first, &schema).expect("a mesh");
            let next = scenario.next(&second, &schema, 42).expect("a mesh");
            assert_ne!(facts(&second), facts(&next), "{}", scenario.word());
            facts(&first) + &facts(&second) + &facts(&next)
        };
        assert_eq!(meshes(1), meshes(1), "{}", scenario.word());
        assert_ne!(meshes(1), meshes(2), "{}", scenario.word());
    }
    let storm = Storm { streams: 20, resources: 600, streams_per_connection: 5 };
    let meshes = |seed| {
        let first = storm.first(&schema, seed).expect("a mesh");
        facts(&first) + &facts(&storm.with_moved_endpoints(&first, &schema, 2).expect("a mesh"))
    };
    assert_eq!(meshes(1), meshes(1));
    assert_ne!(meshes(1), meshes(2));
}

#[test]
fn storm_has_the_announced_size() {
    let connections = Scenario::Storm(Storm::FULL).connections();
    let nodes: Vec<_> = connections.iter().flatten().collect();
    assert_eq!((connections.len(), nodes.len()), (20, 1000));
    let names = nodes.iter().flat_map(|node| &node.subscriptions).filter(|(kind, _)| *kind == Kind::Eds);
    let mut names: Vec<&str> = names.flat_map(|(_, names)| names).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 100_000, "each assignment has a subscriber");
    let mesh = Scenario::Storm(Storm::FULL).first(&Schema::builtin(), 1).expect("a mesh");
    for kind in [Kind::Cds, Kind::Eds] {
        assert_eq!(mesh.names(kind).count(), 100_000);
    }
    assert!(mesh.names(Kind::Eds).eq(names));
}

#[test]
fn answers_globs_with_their_members() {
    let mut mesh = Scenario::Xdstp.first(&Schema::builtin(), 1).expect("a mesh");
    let plan = Arc::new(scenario::plan(&mut mesh));
    let url = Kind::Cds.type_url(ApiVersion::V3).expect("a v3 type");
    let count = |name: &str| {
        let path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
        let mut stream = ServerStream::open(path, plan.clone(), Time::ZERO).expect("a streaming method");
        let request = RequestFields { type_url: url.as_str(), names: vec![name], ..RequestFields::default() };
        stream.handle_request(Time::ZERO, &request.encode(true));
        let Next::Send(pieces) = stream.next(Time::ZERO) else { return 0 };
        let response =
            Message::parse(MessageShape::DeltaResponse, &pieces.concat(), &mut Catalog::in_memory());
        response.resources().map_or(0, |list| list.len())
    };
    assert_eq!(count("xdstp://shop.example/envoy.config.cluster.v3.Cluster/shop/*"), 5);
    assert_eq!(count("xdstp://shop.example/envoy.config.cluster.v3.Cluster/shop/cart"), 1);
    assert_eq!(count("xdstp://partner.example/envoy.config.cluster.v3.Cluster/shop/*"), 0);
    assert_eq!(count("*"), 5, "a star alone is the wildcard");
}

/// Runs a scenario through the tap until `done`, or for so long that something hangs.
fn run_until(scenario: Scenario, done: impl Fn(&store::Store) -> bool) {
    let schema = Schema::builtin();
    let demo = Demo::start(schema.clone(), scenario, 1).expect("a demo");
    let running = Running::start(
        Options {
            front: Front::Tap {
                maps: vec![(Address::Tcp("127.0.0.1:0".into()), demo.upstream.clone())],
                connect_timeout: Duration::from_secs(10),
                tls: Tls::default(),
                changes: None,
                faults: None,
                desk: None,
            },
            decode: true,
            record: None,
            keep_secrets: false,
            copies: Default::default(),
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
    let (mut revision, mut is_done) = (u64::MAX, false);
    while !is_done && start.elapsed() < LONGEST_RUN {
        let now = shared.revision();
        if now == revision {
            std::thread::yield_now();
            std::thread::park_timeout(Duration::from_millis(20));
            continue;
        }
        revision = now;
        is_done = done(&shared.store());
    }
    running.stop();
    assert!(is_done, "{} did not get there in time", scenario.word());
}

#[test]
fn delivers_xdstp_names_through_the_tap() {
    run_until(Scenario::Xdstp, |store| {
        let states = store.states();
        let of = |node: &str, kind: Kind| {
            states.iter().find(|state| {
                state.summary.node.as_deref() == Some(node)
                    && Kind::of_type_url(state.summary.type_url.as_str()).is_some_and(|(k, _)| k == kind)
            })
        };
        // Six clusters match the glob, one of them new; the other authority does not answer.
        of("edge-gw-1", Kind::Cds).is_some_and(|state| state.summary.resources == 6)
            && of("edge-gw-1", Kind::Eds).is_some_and(|state| state.summary.resources == 6)
            && of("reviews-v2-6b8f", Kind::Cds).is_some_and(|state| {
                state.summary.resources == 1
                    && state.subscription.missing.iter().any(|name| name.contains("partner.example"))
            })
            && of("batch-9", Kind::Eds).is_some_and(|state| state.summary.resources == 2)
    });
}

#[test]
fn delivers_the_storm_through_the_tap() {
    // All streams, with a tenth of the resources: an unoptimised control plane is slow.
    let storm = Storm { resources: 10_000, ..Storm::FULL };
    run_until(Scenario::Storm(storm), |store| {
        let cells = store.summaries();
        let synced = cells.iter().filter(|cell| cell.state == TypeState::Synced);
        let resources: u64 = cells.iter().map(|cell| cell.resources).sum();
        store.streams().len() == 1000 && resources == 20_000 && synced.count() > 900
    });
}
