//! The same seed gives the same demo, another one another; each name that is asked for is there, but those that
//! the story leaves out.

use crate::schema::Schema;
use crate::wire::event::Kind;

use super::{Mesh, Scenario, Storm};

fn facts(mesh: &Mesh) -> String {
    format!("{:?} {:?}", mesh.versions, mesh.resources)
}

#[test]
fn a_seed_tells_all_of_it() {
    let schema = Schema::builtin();
    for scenario in Scenario::ALL.into_iter().filter(|scenario| *scenario != Scenario::Storm) {
        let story = |seed| {
            let mesh = scenario.mesh(&schema, seed).expect("a mesh");
            let then = scenario.then(&mesh, &schema).expect("a mesh");
            let moved = scenario.moved(&then, &schema, 42).expect("a mesh");
            assert_ne!(facts(&then), facts(&moved), "{}", scenario.word());
            facts(&mesh) + &facts(&then) + &facts(&moved)
        };
        assert_eq!(story(1), story(1), "{}", scenario.word());
        assert_ne!(story(1), story(2), "{}", scenario.word());
    }
    let storm = Storm { streams: 20, resources: 600, together: 5 };
    let story = |seed| {
        let mesh = storm.mesh(&schema, seed).expect("a mesh");
        facts(&mesh) + &facts(&storm.moved(&mesh, &schema, 2).expect("a mesh"))
    };
    assert_eq!(story(1), story(1));
    assert_ne!(story(1), story(2));
}

#[test]
fn the_storm_is_as_large_as_it_says() {
    let connections = Scenario::Storm.clients();
    let clients: Vec<_> = connections.iter().flatten().collect();
    assert_eq!((connections.len(), clients.len()), (20, 1000));
    let names = clients.iter().flat_map(|client| &client.asks).filter(|(kind, _)| *kind == Kind::Eds);
    let mut names: Vec<_> = names.flat_map(|(_, names)| names).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 100_000, "each endpoint is somebody's");
    let mesh = Scenario::Storm.mesh(&Schema::builtin(), 1).expect("a mesh");
    for kind in [Kind::Cds, Kind::Eds] {
        assert_eq!(mesh.resources.get(&kind).map(|known| known.len()), Some(100_000));
    }
    assert!(names.iter().all(|name| mesh.resources[&Kind::Eds].contains_key(*name)));
}

#[test]
fn a_glob_means_what_is_under_it() {
    let mesh = Scenario::Xdstp.mesh(&Schema::builtin(), 1).expect("a mesh");
    let count = |name: &str| mesh.wanted(Kind::Cds, false, &[name.to_owned()].into()).len();
    assert_eq!(count("xdstp://shop.example/envoy.config.cluster.v3.Cluster/shop/*"), 5);
    assert_eq!(count("xdstp://shop.example/envoy.config.cluster.v3.Cluster/shop/cart"), 1);
    assert_eq!(count("xdstp://partner.example/envoy.config.cluster.v3.Cluster/shop/*"), 0);
    assert_eq!(count("*"), 0, "a star alone is another thing");
}
