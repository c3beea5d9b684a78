//! What clients say that they have applied, held against what was sent: Envoy's config dump, and CSDS.

use crate::support::{
    bootstrap::Variant,
    control_plane::Flags,
    snapshot::{CLUSTER, ENDPOINTS, Snapshot, bad_clusters, bad_secret, SECRET, cluster, cluster_with_secret},
    world::World,
};

#[test]
fn probe_envoy() {
    let Some(world) = World::open("probe_envoy") else { return };
    for variant in [Variant::Ads, Variant::DeltaAds] {
    let mut plane = world.control_plane(Flags::default());
    let mut envoy = world.envoy(&format!("edge-{}", variant.word()), variant, plane.address());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ENDPOINTS, "1");
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2", [vec![cluster("echo", variant), cluster("cold", variant), cluster_with_secret("s", "sec", variant)], bad_clusters()].concat())
    .with(SECRET, "2", vec![bad_secret("sec", "KEYKEYKEY")]));
    plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    std::thread::sleep(std::time::Duration::from_secs(1));
    std::fs::write(world.folder().join(format!("dump-{}.json", variant.word())), envoy.get("/config_dump?include_eds")).unwrap();
    }
}

#[test]
fn probe_grpc() {
    let Some(world) = World::open("probe_grpc") else { return };
    let mut plane = world.control_plane(Flags::default());
    let mut client = world.grpc_client("cart", "shop", plane.address());
    plane.set(&Snapshot::grpc_chain("shop", client.backend()));
    assert_eq!(client.call("hello"), Ok("hello".into()));
    let mark = plane.mark();
    let bad = serde_json::json!({"name": "echo", "type": "EDS", "lb_policy": "MAGLEV", "eds_cluster_config": {}});
    plane.set(&Snapshot::grpc_chain("shop", client.backend()).with(CLUSTER, "2", vec![bad]));
    plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    std::fs::write(world.folder().join("csds.pb"), client.csds()).unwrap();
}
