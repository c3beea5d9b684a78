//! Resources in refused pushes, and what is in force.

use xdscope_engine::nack::RestUse;
use xdscope_engine::store::{ResourceFact, Store};
use xdscope_wire::event::{ApiVersion, Kind, StreamId};

use super::replay;

const ENVOY: &str = "node n agent=\"envoy/1.40.0\"\nstream 1 ads\n";
const DELTA: &str = "node n agent=\"envoy/1.40.0\"\nstream 1 delta-ads\n";
const ONE_BY_ONE: &str = "nack=\"Error adding/updating cluster(s) b: why\"";

fn cluster(store: &Store, name: &str) -> ResourceFact {
    let url = Kind::Cds.type_url(ApiVersion::V3).unwrap();
    store.resource(StreamId(1), &url, name).unwrap_or_else(|| panic!("no {name}"))
}

/// The version in force, and whether the NACK names the resource; `-` for none.
fn described(store: &Store, name: &str) -> String {
    let fact = cluster(store, name);
    let in_force = fact.in_force.map_or("-".to_owned(), |known| known.version.to_string());
    let refusal = fact.refusal.map_or("-", |refusal| match (refusal.is_named, refusal.rest) {
        (true, _) => "named",
        (false, RestUse::Used) => "used",
        (false, RestUse::NotUsed) => "not used",
        (false, RestUse::Unknown) => "unknown",
    });
    format!("{in_force} {refusal}")
}

fn counts(store: &Store) -> (u64, u64, u64) {
    let url = Kind::Cds.type_url(ApiVersion::V3).unwrap();
    let state = store.state(StreamId(1), &url).unwrap();
    let summary = store.summaries_of(StreamId(1)).into_iter().find(|fact| fact.type_url == url).unwrap();
    let counts = (state.summary.resources, state.summary.refused, state.summary.refused_unnamed);
    assert_eq!(counts, (summary.resources, summary.refused, summary.refused_unnamed));
    counts
}

const FIRST: &str = "> cds\n< cds v=1 n=1 [a b c]\n> cds v=1 n=1\n";

#[test]
fn envoy_uses_the_valid_rest_of_a_refused_push() {
    let text = format!("{ENVOY}{FIRST}< cds v=2 n=2 [a~2 b~2 d]\n> cds v=1 n=2 {ONE_BY_ONE}");
    let store = replay(&text);
    let all = ["a", "b", "d"].map(|name| described(&store, name));
    assert_eq!(all, ["2 used", "1 named", "2 used"]);
    assert_eq!(cluster(&store, "c").in_force, None, "the response omits c");
    assert_eq!(counts(&store), (3, 1, 0));
    // A later refusal keeps what was used of the earlier one.
    let store = replay(&format!(
        "{text}\n< cds v=3 n=3 [a~3 b~3 d]\n> cds v=1 n=3 nack=\"Error adding/updating cluster(s) a: why\""
    ));
    let all = ["a", "b", "d"].map(|name| described(&store, name));
    assert_eq!(all, ["2 named", "3 used", "3 used"]);
    // An accepted response replaces everything.
    let store = replay(&format!("{text}\n< cds v=3 n=3 [a~3 b~3]\n> cds v=3 n=3"));
    assert_eq!(["a", "b"].map(|name| described(&store, name)), ["3 -", "3 -"]);
    assert_eq!(counts(&store), (2, 0, 0));
}

#[test]
fn whole_refusals_keep_the_earlier_versions_and_omitted_resources() {
    let dump = "nack=\"goo.gle/debugstr \\nname: \\\"b\\\"\\n: Proto constraint validation failed (X)\"";
    let store = replay(&format!("{ENVOY}{FIRST}< cds v=2 n=2 [a~2 b~2 d]\n> cds v=1 n=2 {dump}"));
    let all = ["a", "b", "c", "d"].map(|name| described(&store, name));
    assert_eq!(all, ["1 not used", "1 named", "1 not used", "- not used"]);
    assert!(cluster(&store, "c").refusal.is_some_and(|refusal| refusal.is_removal));
    assert_eq!(counts(&store), (3, 1, 2), "d is not in force, c is");
}

#[test]
fn nack_without_a_name_is_about_all_resources() {
    let store = replay(&format!("{ENVOY}{FIRST}< cds v=2 n=2 [a~2 b~2]\n> cds v=1 n=2 nack=\"why\""));
    assert_eq!(["a", "b", "c"].map(|name| described(&store, name)), ["1 named", "1 named", "1 not used"]);
    assert_eq!(counts(&store), (3, 2, 0));
}

#[test]
fn unknown_clients_keep_the_earlier_versions() {
    let text = "node n\nstream 1 ads\n> eds names=[a b]\n< eds v=1 n=1 [a b]\n> eds v=1 n=1 names=[a b]
         < eds v=2 n=2 [a~2 b~2]\n> eds v=1 n=2 names=[a b] nack=\"why\"";
    let store = replay(text);
    let url = Kind::Eds.type_url(ApiVersion::V3).unwrap();
    let fact = store.resource(StreamId(1), &url, "a").unwrap();
    assert!(fact.refused && fact.in_force.is_some_and(|known| &*known.version == "1"));
}

#[test]
fn delta_removals_of_partly_used_pushes_take_effect() {
    let text = format!(
        "{DELTA}> cds\n< cds n=1 [a@1 b@1 c@1]\n> cds n=1\n< cds n=2 [a~2@2 b~2@2] rm=[c]\n> cds n=2 {ONE_BY_ONE}"
    );
    let store = replay(&text);
    assert_eq!(["a", "b", "c"].map(|name| described(&store, name)), ["2 used", "1 named", "- -"]);
    assert_eq!(counts(&store), (2, 1, 0));
    let store = replay(&text.replace("Error adding/updating", "Invalid duration in"));
    assert_eq!(["a", "b", "c"].map(|name| described(&store, name)), ["1 named", "1 named", "1 not used"]);
    assert_eq!(counts(&store), (3, 2, 0));
}

#[test]
fn nack_keeps_the_version_in_force_whatever_it_states() {
    let start = "node n\nstream 1 sotw cds\n> cds\n< v=5 n=1 [a]\n> v=5 n=1\n< v=6 n=2 [a~2]\n";
    for stated in ["5", "6", ""] {
        let store = replay(&format!("{start}> v={stated} n=2 nack=\"bad\""));
        let state = &store.states()[0];
        assert_eq!(state.versions.in_force.as_deref(), Some("5"), "{stated}");
        assert_eq!(state.verdicts.nacks[0].keeps.as_deref(), Some("5"), "{stated}");
    }
    let store = replay("node n\nstream 1 sotw cds\n> cds\n< v=6 n=2 [a]\n> v=6 n=2 nack=\"bad\"");
    let state = &store.states()[0];
    assert_eq!((&state.versions.in_force, &state.verdicts.nacks[0].keeps), (&None, &None));
}
