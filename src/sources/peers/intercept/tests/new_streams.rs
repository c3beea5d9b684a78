//! First requests of new streams, after faults on earlier ones.

use super::*;

const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

fn corrected() -> Out {
    Out::Report(Interference::Corrected)
}

impl Bench {
    /// The first request of a delta stream, of a client with resources in these versions.
    fn reconnect(&mut self, has: &[(&'static str, &'static str)]) -> Vec<Out> {
        // Clusters are requested by the wildcard.
        let names = has.iter().map(|(name, _)| *name).filter(|_| self.type_url != CLUSTER);
        self.request_names(&names.collect::<Vec<_>>(), has)
    }

    /// Sends a request for names, which states the versions of resources.
    fn request_names(&mut self, names: &[&'static str], has: &[(&'static str, &'static str)]) -> Vec<Out> {
        let fields = RequestFields {
            type_url: self.type_url,
            names: names.to_vec(),
            initial_versions: has.to_vec(),
            ..RequestFields::default()
        };
        let bytes = fields.encode(true);
        self.feed(Dir::Req, bytes)
    }

    /// Returns the resources that the last request states.
    fn last_claims(&self) -> Vec<String> {
        let mut catalog = xdscope_wire::content::Catalog::in_memory();
        let shape = xdscope_wire::MessageShape::DeltaRequest;
        let message = xdscope_wire::Message::parse(shape, self.last_bytes(), &mut catalog);
        let xdscope_wire::MessageBody::DeltaRequest(request) = &message.body else { panic!("a request") };
        request.initial_resource_versions.keys().map(|name| catalog.text(*name).to_owned()).collect()
    }
}

#[test]
fn altered_delta_resource_is_not_stated_until_it_is_sent_again() {
    let mut bench = Bench::new(true, &["kind:push => set connect_timeout=9s times=1"]);
    bench.request("", "", None);
    bench.push_of("1", "n1", &["a"]);
    assert_eq!(bench.push_of("1", "n2", &["b"]), [Out::Push("1".into(), "n2".into(), vec!["b".into()])]);
    let mut again = bench.again();
    assert_eq!(again.reconnect(&[("a", "1"), ("b", "1")]), [corrected(), request("", "")]);
    assert_eq!(again.last_claims(), ["b"]);
    assert_eq!(again.reconnect(&[("a", "1")]), [request("", "")], "only the first request of the stream");
    again.push_of("1", "n3", &["a"]);
    let mut last = again.again();
    assert_eq!(last.reconnect(&[("a", "1"), ("b", "1")]), [request("", "")]);
    assert_eq!(last.last_claims(), ["a", "b"]);
}

#[test]
fn name_of_a_fault_does_not_reach_the_server_and_leaves_the_client() {
    let mut bench = Bench::new(true, &["kind:push => rename a wagon times=1"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    let mut again = bench.again();
    assert_eq!(again.reconnect(&[("wagon", "1"), ("b", "1")]), [corrected(), request("", "")]);
    assert_eq!(again.last_claims(), ["b"]);
    let names = vec!["a".to_owned(), "-wagon".to_owned()];
    let sent = [corrected(), Out::Push("1".into(), "n2".into(), names)];
    assert_eq!(again.push_of("1", "n2", &["a"]), sent);
    assert_eq!(again.push("2", "n3"), [push("2", "n3")]);
}

#[test]
fn endpoints_of_an_altered_cluster_are_not_stated() {
    let mut bench = Bench::new(true, &["kind:push => set connect_timeout=9s times=1"]);
    bench.request("", "", None);
    bench.push_of("1", "n1", &["a"]);
    let mut again = bench.again();
    again.type_url = ENDPOINTS;
    assert_eq!(again.reconnect(&[("a", "1"), ("b", "1")]), [corrected(), request("", "")]);
    assert_eq!(again.last_claims(), ["b"]);
    again.type_url = CLUSTER;
    again.reconnect(&[("a", "1")]);
    again.push_of("1", "n2", &["a"]);
    assert!(again.memory.is_empty());
}

/// The server may answer before the client requests the endpoints.
#[test]
fn endpoints_of_a_cluster_that_was_sent_again_are_not_stated() {
    let mut bench = Bench::new(true, &["kind:push => set connect_timeout=9s times=1"]);
    bench.request("", "", None);
    bench.push_of("1", "n1", &["a"]);
    bench.type_url = ENDPOINTS;
    assert_eq!(bench.request_names(&["a"], &[]), [request("", "")]);
    let mut again = bench.again();
    again.type_url = CLUSTER;
    again.reconnect(&[("a", "1")]);
    again.push_of("1", "n2", &["a"]);
    assert!(!again.memory.is_empty(), "the cluster warms");
    again.type_url = ENDPOINTS;
    assert_eq!(again.reconnect(&[("a", "1"), ("b", "1")]), [corrected(), request("", "")]);
    assert_eq!(again.last_claims(), ["b"]);
    assert!(again.memory.is_empty());
}

#[test]
fn version_that_the_server_never_sent_is_its_own_again() {
    let mut bench = Bench::new(false, &["kind:push => set version=77 times=1"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    assert_eq!(bench.again().request("77", "", None), [corrected(), request("1", "")]);
    assert_eq!(bench.again().request("1", "", None), [request("1", "")]);
    bench.push("2", "n2");
    assert_eq!(bench.again().request("77", "", None), [corrected(), request("1", "")], "a NACK of 2");
}

#[test]
fn version_of_an_altered_push_is_not_stated() {
    for fault in ["=> set connect_timeout=9s", "=> omit a", "=> rename a c", "=> remove a"] {
        let mut bench = Bench::new(false, &[&format!("kind:push {fault} times=1")]);
        bench.request("", "", None);
        bench.push("1", "n1");
        assert_eq!(bench.again().request("1", "", None), [corrected(), request("", "")], "{fault}");
        bench.push("2", "n2");
        assert_eq!(bench.again().request("2", "", None), [request("2", "")], "{fault}");
    }
    for fault in ["=> repeat a", "=> pad 10kB", "=> duplicate", "=> reannounce a"] {
        let mut bench = Bench::new(false, &[&format!("kind:push {fault} times=1")]);
        bench.request("", "", None);
        bench.push("1", "n1");
        assert_eq!(bench.again().request("1", "", None), [request("1", "")], "{fault}");
    }
}

#[test]
fn streams_of_other_types_and_clients_are_not_concerned() {
    use xdscope_engine::filter::WireStream;
    let mut bench = Bench::new(true, &["kind:push => set connect_timeout=9s times=1"]);
    bench.request("", "", None);
    bench.push_of("1", "n1", &["a"]);
    let (cds, eds) = (CLUSTER.into(), "type.googleapis.com/envoy.config.endpoint.v3.x".into());
    for (type_url, node, is_concerned) in [
        (None, None, true),
        (Some(&cds), Some(""), true),
        (Some(&eds), None, false),
        (Some(&cds), Some("edge-2"), false),
    ] {
        let stream = WireStream { type_url, node };
        assert_eq!(bench.memory.may_concern(&stream), is_concerned, "{stream:?}");
    }
}
