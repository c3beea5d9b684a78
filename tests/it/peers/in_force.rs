//! Compares what xdscope says is in force after refused pushes with the config dump of a real Envoy.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{
    bootstrap::Variant,
    control_plane::{ControlPlane, Flags},
    envoy::Envoy,
    snapshot::{
        CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, cluster, dumped_cluster, endpoints, listener, route,
    },
    tap::Recording,
    wait::wait_for,
    world::World,
};

#[test]
fn envoy_uses_valid_rest_of_refused_pushes() {
    check("envoy_uses_valid_rest_of_refused_pushes", Variant::Ads);
}

#[test]
fn envoy_uses_valid_rest_of_refused_delta_pushes() {
    check("envoy_uses_valid_rest_of_refused_delta_pushes", Variant::DeltaAds);
}

/// Refuses one of three listeners, then all clusters of a push because of one broken constraint.
fn check(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let mut envoy = world.envoy("edge-1", variant, tap.address());
    let backend = envoy.admin();
    let good = Snapshot::chain(variant, backend)
        .with(LISTENER, "1", vec![listener("in", "r-in", variant), listener("side", "r-in", variant)])
        .with(ROUTE, "1", vec![route("r-in", "echo"), route("r-two", "echo")]);
    plane.set(&good);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");

    let mut bad = listener("in", "r-two", variant);
    bad.as_object_mut().expect("an object").remove("address");
    let listeners = vec![bad, listener("side", "r-two", variant), listener("extra", "r-in", variant)];
    let mixed = good.with(LISTENER, "2", listeners);
    refuse(&mut plane, &mixed, LISTENER);
    let expected = [("extra", "r-in"), ("in", "r-in"), ("side", "r-two")];
    wait_for("Envoy's listeners", || {
        (routes_of(&envoy) == BTreeMap::from(expected.map(owned))).then_some(())
    });

    let clusters = vec![cluster("echo", variant), cluster("more", variant), dumped_cluster("zero", "note")];
    let both = vec![endpoints("echo", backend), endpoints("more", backend)];
    refuse(&mut plane, &mixed.with(CLUSTER, "2", clusters).with(ENDPOINTS, "2", both), CLUSTER);
    assert_eq!(clusters_of(&envoy), ["echo"]);

    let recording = tap.stop();
    let used = |fact: &Value| fact["in_force"] == fact["version"];
    let earlier =
        |fact: &Value| fact["in_force"] == fact["acked_version"] && fact["in_force"] != fact["version"];
    let nothing = |fact: &Value| fact["in_force"].is_null();
    assert_fact(&recording, "lds/in", json!({ "named": true, "rest": "used" }), earlier);
    assert_fact(&recording, "lds/side", json!({ "named": false, "rest": "used" }), used);
    assert_fact(&recording, "lds/extra", json!({ "named": false, "rest": "used" }), used);
    assert_fact(&recording, "cds/more", json!({ "named": false, "rest": "not_used" }), nothing);
    assert_fact(&recording, "cds/zero", json!({ "named": true, "rest": "not_used" }), nothing);
    assert_eq!(recording.state("lds")["resources"], 3);
    assert_eq!(recording.state("cds")["resources"], 1);
    assert_views(&recording);
}

fn owned((name, route): (&str, &str)) -> (String, String) {
    (name.to_owned(), route.to_owned())
}

/// Serves a snapshot and waits for the NACK of a type.
fn refuse(plane: &mut ControlPlane, snapshot: &Snapshot, type_url: &str) {
    let mark = plane.mark();
    plane.set(snapshot);
    plane.wait_for(mark, "a NACK", |event| event.is_nack(type_url));
}

fn section(envoy: &Envoy, name: &str) -> Value {
    let dump: Value = serde_json::from_str(&envoy.get("/config_dump")).expect("a config dump");
    let mut sections = dump["configs"].as_array().expect("sections").iter();
    let is = |section: &&Value| section["@type"].as_str().is_some_and(|url| url.ends_with(name));
    sections.rfind(is).cloned().unwrap_or_default()
}

/// Returns the route of each listener that Envoy uses.
fn routes_of(envoy: &Envoy) -> BTreeMap<String, String> {
    let dump = section(envoy, "ListenersConfigDump");
    let active = |entry: &Value| {
        let filters = &entry["active_state"]["listener"]["filter_chains"][0]["filters"];
        let route = filters[0]["typed_config"]["rds"]["route_config_name"].as_str()?;
        Some((entry["name"].as_str()?.to_owned(), route.to_owned()))
    };
    dump["dynamic_listeners"].as_array().into_iter().flatten().filter_map(active).collect()
}

/// Returns the names of the clusters from CDS.
fn clusters_of(envoy: &Envoy) -> Vec<String> {
    let dump = section(envoy, "ClustersConfigDump");
    let lists = ["dynamic_active_clusters", "dynamic_warming_clusters"];
    let entries = lists.iter().filter_map(|list| dump[list].as_array()).flatten();
    entries.filter_map(|entry| Some(entry["cluster"]["name"].as_str()?.to_owned())).collect()
}

fn assert_fact(recording: &Recording, name: &str, refusal: Value, in_force: impl Fn(&Value) -> bool) {
    let facts = recording.objects("get", &[name]);
    let [fact] = facts.as_slice() else { panic!("{name}: {facts:#?}") };
    for (field, value) in refusal.as_object().expect("fields") {
        assert_eq!(fact["refusal"][field], *value, "{name}: {fact:#}");
    }
    assert!(in_force(fact), "{name}: {fact:#}");
}

/// The tree, the graph and the orphans follow the listeners in force.
fn assert_views(recording: &Recording) {
    let tree = recording.text("get", &["-o", "tree"]);
    let of = |name: &str| {
        let from = tree.find(&format!("─ {name}  ")).unwrap_or_else(|| panic!("no {name} in {tree}"));
        let rest = &tree[from..];
        let lines = rest.lines().skip(1).take_while(|line| line.starts_with([' ', '│']));
        lines.filter(|line| line.contains("→ RDS")).map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = of("in");
    assert!(lines.iter().any(|line| line.contains("would add") && line.ends_with("RDS r-two")), "{tree}");
    assert!(lines.iter().any(|line| !line.contains("would") && line.contains("RDS r-in  present")), "{tree}");
    assert!(of("side").iter().any(|line| line.contains("RDS r-two  present")), "{tree}");
    assert!(!tree.contains("orphan"), "{tree}");
    let dot = recording.text("export", &["--to", "dot"]);
    assert!(dot.contains("NACK, "), "{dot}");
    assert!(dot.contains("in a refused push, not named, accepted"), "{dot}");
    assert!(dot.contains("in a refused push, not named, none in force"), "{dot}");
}
