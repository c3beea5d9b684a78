use super::replay;
use xdscope_engine::store::{EventKind, Store};
use xdscope_wire::event::Seq;

/// Returns the events of a message, without the order of types.
fn events(store: &Store, n: u64) -> Vec<(&'static str, Vec<String>)> {
    let row = store.row_of(Seq(n)).and_then(|row| store.row(row)).expect("a message");
    let events = row.details.events.into_iter().filter(|event| event.kind != EventKind::TypeOrder);
    let texts = |names: Vec<std::sync::Arc<str>>| names.iter().map(|name| name.to_string()).collect();
    events.map(|event| (event.kind.word(), texts(event.names))).collect()
}

fn event(word: &'static str, names: &[&str]) -> Vec<(&'static str, Vec<String>)> {
    vec![(word, names.iter().map(|name| (*name).to_owned()).collect())]
}

#[test]
fn wildcard_of_a_partial_stream_is_not_an_event() {
    let store = replay("node n\nstream 1 sotw cds\npartial 1\n> names=[*] v=1 n=a\n> names=[a] v=1 n=a\n");
    assert_eq!(events(&store, 1), []);
    assert_eq!(events(&store, 2), event("wildcard_dropped", &[]));
}

#[test]
fn requests_after_an_update_are_not_on_demand() {
    let store = replay(
        "node n1
         stream 1 delta-ads
         > cds sub=[\"*\"]
         < cds n=1 [a@1]
         > cds n=1
         > eds sub=[a]
         < eds n=2 [a@1]
         > eds n=2
         advance 60s
         < cds n=3 [b@1 c@1]
         > cds n=3
         > eds sub=[b]
         > eds sub=[c]
         advance 60s
         < eds n=4 [b@1]
         > eds sub=[late] n=4
         > cds sub=[d]",
    );
    assert_eq!((events(&store, 9), events(&store, 10)), (vec![], vec![]), "two requests for one update");
    assert_eq!(
        events(&store, 12),
        event("on_demand", &["late"]),
        "a response of the same type does not cause a demand"
    );
    assert_eq!(events(&store, 13), event("on_demand", &["d"]));
}

#[test]
fn names_beside_a_wildcard_are_on_demand() {
    let store = replay(
        "node n1
         stream 1 delta-ads
         > cds sub=[\"*\"]
         < cds n=1 [a@1]
         > cds n=1
         > lds sub=[\"*\"]
         < lds n=2 [l@1]
         > lds n=2
         > cds sub=[late]
         > cds sub=[\"xdstp://a/envoy.config.cluster.v3.Cluster/x\"]
         stream 2 delta vhds
         2 >
         2 > sub=[\"r/foo.com\"]
         2 < n=3 [\"r/foo.com\"@1]
         2 > n=3",
    );
    assert_eq!(events(&store, 7), event("on_demand", &["late"]), "the listener needs no named cluster");
    assert_eq!(events(&store, 8), [], "the listener may refer to a structured name");
    assert_eq!((events(&store, 9), events(&store, 10)), (vec![], event("on_demand", &["r/foo.com"])));
    assert_eq!(events(&store, 12), [], "an empty request for virtual hosts is not a wildcard");
}

#[test]
fn first_names_and_wildcards_are_not_on_demand() {
    let store = replay("node n1\nstream 1 delta cds\n> sub=[a]\nadvance 60s\n> sub=[\"*\"]\n");
    assert_eq!((events(&store, 1), events(&store, 2)), (vec![], event("wildcard_entered", &[])));
}

#[test]
fn another_control_plane_after_a_reconnect_is_an_event() {
    let store = replay(
        "node n1
         stream 1 sotw cds
         >
         < v=1 n=a [A] cp=one
         close status=14
         stream 2 sotw cds
         > v=1
         < v=1 n=a [A] cp=two
         > v=1 n=a",
    );
    assert_eq!(events(&store, 2), []);
    assert_eq!(events(&store, 4), event("control_plane_changed", &["one", "two"]));
    let planes = store.streams().into_iter().map(|stream| (stream.plane_changes, stream.planes.len()));
    assert_eq!(planes.collect::<Vec<_>>(), [(0, 1), (0, 1)], "a stream counts its own changes");
}

#[test]
fn events_outlast_the_content_of_messages() {
    let mut script = String::from("node n1\nstream 1 sotw cds\n> names=[*]\n> names=[a]\n");
    for n in 0..6000 {
        script.push_str(&format!("< v={n} n={n} [a~{n}]\n> v={n} n={n} names=[a]\n"));
    }
    let script = xdscope_sources::script::parse(&script, "test.xds").expect("a script");
    let loaded = xdscope_sources::script::load(&script, &super::NoCodec).expect("frames");
    let options = super::Options { history: 1, ..super::Options::default() };
    let mut store = Store::new(loaded.catalog, loaded.clock, options);
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    assert!(store.dropped() > 2, "{}", store.dropped());
    assert_eq!(events(&store, 2), event("wildcard_dropped", &[]));
}

#[test]
fn types_that_are_sent_together_have_an_order() {
    let store = replay(
        "node n1
         stream 1 ads
         > cds
         > lds
         < cds v=1 n=a [A]
         < lds v=1 n=b [L]
         > cds v=1 n=a
         > lds v=1 n=b
         < lds v=2 n=c [L~2]
         advance 5s
         < cds v=2 n=d [A~2]",
    );
    let order = |n| {
        let row = store.row_of(Seq(n)).and_then(|row| store.row(row)).expect("a message");
        let order = row.details.events.into_iter().find(|event| event.kind == EventKind::TypeOrder);
        order.map(|event| {
            event.names.iter().filter_map(|url| url.rsplit('.').next().map(str::to_owned)).collect()
        })
    };
    let both: Vec<String> = vec!["Cluster".into(), "Listener".into()];
    assert_eq!((order(3), order(4)), (None::<Vec<String>>, Some(both)));
    assert_eq!((order(7), order(8)), (None, None), "a type that comes again starts the next push");
}

#[test]
fn errors_of_resources_end_when_they_arrive() {
    let script = "node n1\nstream 1 sotw eds\n> names=[a q]\n< v=1 n=A [a] errors={q:\"no such cluster\"}\n";
    let url = |store: &Store| store.states()[0].summary.type_url.clone();
    let error = |store: &Store| {
        let fact = store.resource(store.stream_ids().next()?, &url(store), "q")?;
        fact.error.map(|error| (error.n, error.message.to_string(), error.is_absent))
    };
    assert_eq!(error(&replay(script)), Some((Seq(2), "no such cluster".to_owned(), true)));
    let store = replay(&format!("{script}> v=1 n=A names=[a q]\n< v=2 n=B [q]\n"));
    assert_eq!(error(&store), None);
    assert_eq!(events(&store, 4), event("came_into_existence", &["q"]));
}

#[test]
fn another_node_on_a_stream_is_an_event() {
    let store = replay(
        "node n1 cluster=a
         stream 1 ads
         > cds
         > lds
         > eds names=[x] node={cluster: b}
         > rds names=[r] node={cluster: b}
         > cds node={id: n2, cluster: b}",
    );
    assert_eq!(events(&store, 3), event("node_changed", &["cluster"]));
    assert_eq!(events(&store, 4), []);
    assert_eq!(events(&store, 5), event("node_changed", &["id"]));
}
