//! Marks of clients with one node id.

use std::sync::Arc;

use super::replay;
use xdscope_engine::store::{ClientMark, Store};
use xdscope_present::report::Rows;
use xdscope_wire::event::StreamId;

#[track_caller]
fn marks(text: &str, expected: &[Option<ClientMark>]) {
    let marks = replay(text).client_marks();
    let found = (1..=expected.len() as u32).map(|stream| marks.get(StreamId(stream)).cloned());
    assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn clients_are_told_apart_by_what_differs() {
    let (cluster, server) =
        (|name: &str| ClientMark::Cluster(name.into()), |name: &str| Some(ClientMark::Server(name.into())));
    let ask = |stream: u32, variant: &str| format!("stream {stream} {variant}\n{stream} > cds\n");
    let two = |a: &str, b: &str| format!("{a}\n{}{b}\n{}", ask(1, "ads"), ask(2, "ads"));
    marks(&two("node n cluster=a", "node n cluster=b"), &[Some(cluster("a")), Some(cluster("b"))]);
    marks(&two("node n cluster=a", "node n"), &[Some(cluster("a")), Some(cluster(""))]);
    marks(&two("node n\nserver x", "server y"), &[server("x"), server("y")]);
    marks(&two("node n", ""), &[Some(ClientMark::Stream), Some(ClientMark::Stream)]);
    marks(&two("node n", "node m"), &[None, None]);
    // A reconnect goes on with its client.
    marks(&two("node n", "1 close status=14"), &[None, None]);
    let third = format!(
        "{}1 close status=14\nnode n cluster=a\n{}",
        two("node n cluster=a", "node n cluster=b"),
        ask(3, "ads")
    );
    marks(&third, &[Some(cluster("a")), Some(cluster("b")), Some(cluster("a"))]);
    // Three clients, of which no two differ in one thing.
    let three = format!("{}server z\n{}", two("node n cluster=a", "node n cluster=b"), ask(3, "ads"));
    marks(&three, &[Some(ClientMark::Stream), Some(ClientMark::Stream), Some(ClientMark::Stream)]);
}

/// Streams of one type each are one client, also at several servers.
#[test]
fn streams_of_a_type_each_are_one_client() {
    let types = "node n\nstream 1 sotw cds\n> names=[a]\nserver y\nstream 2 sotw eds\n> names=[a]\n";
    marks(types, &[None, None]);
    let mixed = format!("{types}server cp\nstream 3 ads\n3 > cds\n");
    let stream = Some(ClientMark::Stream);
    marks(&mixed, &[stream.clone(), stream.clone(), stream]);
}

/// An Envoy fetches its secrets on a stream beside the aggregated one.
#[test]
fn a_stream_of_secrets_beside_an_aggregated_one_is_of_the_same_client() {
    let both = "node n\nstream 1 ads\n> cds\nstream 2 delta sds\n> sub=[s]\n";
    marks(both, &[None, None]);
    assert_eq!(replay(both).client_marks().beside(StreamId(2)), Some(StreamId(1)));
    let second = format!("{both}stream 3 ads\n> cds\n");
    let stream = Some(ClientMark::Stream);
    marks(&second, &[stream.clone(), stream.clone(), stream]);
}

/// Clients keep their places while the memory drops the streams with which they began.
#[test]
fn order_of_clients_does_not_depend_on_memory() {
    let stream = |n: u32, node: &str| {
        format!("node {node}\nstream {n} ads\n{n} > cds\n{n} < cds v=1 n=a [A]\n{n} > cds v=1 n=a\n")
    };
    let mut text = stream(1, "often") + &stream(2, "once");
    for n in 3..1500 {
        let before = if n == 3 { 1 } else { n - 1 };
        text += &format!("{before} close status=14\n{}", stream(n, "often"));
    }
    let rows = |store: &Store| {
        let streams = store.streams().into_iter().map(Arc::new).collect();
        let rows = Rows::build(streams, Vec::new(), &store.client_marks()).rows;
        rows.into_iter().map(|row| (row.name, row.reconnects)).collect::<Vec<_>>()
    };
    let mut store = replay(&text);
    let whole = rows(&store);
    assert_eq!(whole, [("often".to_owned(), 1497), ("once".to_owned(), 0)]);
    store.drop_old_facts(|_| {});
    assert!(store.dropped_streams() > 100, "{}", store.dropped_streams());
    assert_eq!(rows(&store), whole);
}
