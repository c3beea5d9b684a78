//! Requests for endpoints of clusters that a fault has made up.

use super::*;

const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

impl Bench {
    fn ask(&mut self, nonce: &str, names: &[&str], unsubscribe: &[&str]) -> Vec<Out> {
        let fields = RequestFields {
            type_url: ENDPOINTS,
            names: names.to_vec(),
            unsubscribe: unsubscribe.to_vec(),
            response_nonce: nonce,
            ..RequestFields::default()
        };
        let bytes = fields.encode(self.is_delta);
        self.feed(Dir::Req, bytes)
    }

    /// Asks for endpoints. Returns the names that reach the server.
    #[track_caller]
    fn asked(&mut self, nonce: &str, names: &[&str], is_reported: bool) -> Vec<String> {
        let out = self.ask(nonce, names, &[]);
        let reported = matches!(out.first(), Some(Out::Report(Interference::Corrected)));
        assert_eq!((reported, out.len()), (is_reported, 1 + usize::from(is_reported)), "{out:?}");
        self.last_names()
    }
}

/// A client whose cluster `a` is called `wagon`, because of a fault.
fn renamed(is_delta: bool) -> Bench {
    let mut bench = Bench::new(is_delta, &["kind:push => rename a wagon times=1"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    bench
}

#[test]
fn server_never_hears_of_a_made_up_name() {
    let mut bench = renamed(false);
    assert_eq!(bench.asked("", &["wagon", "b"], true), ["b"]);
    assert_eq!(bench.asked("e1", &["wagon", "b"], false), ["b"], "the ACK is not reported again");
    assert_eq!(bench.asked("e1", &["wagon"], false), ["b"], "no request for all endpoints");
    let mut again = bench.again();
    assert_eq!(again.ask("", &["wagon"], &[]), [Out::Report(Interference::Corrected)], "nothing is left");
    assert_eq!(again.asked("", &["wagon", "b"], false), ["b"]);
    // The server sends the clusters once more, without the fault.
    again.push("2", "n2");
    assert_eq!(again.asked("", &["a", "b"], false), ["a", "b"]);
    assert_eq!(bench.again().asked("", &["wagon"], false), ["wagon"], "the client has chosen the name now");
}

#[test]
fn delta_server_never_hears_of_a_made_up_name() {
    let mut bench = renamed(true);
    assert_eq!(bench.asked("", &["wagon", "b"], true), ["b"]);
    bench.push("2", "n2");
    let out = bench.ask("", &["a"], &["wagon"]);
    assert_eq!((out.len(), bench.last_names()), (1, vec!["a".to_owned()]));
    let sent = String::from_utf8_lossy(bench.last_bytes()).into_owned();
    assert!(!sent.contains("wagon"), "{sent:?}");
    let mut bench = renamed(true);
    assert_eq!(bench.ask("", &["wagon"], &[]), [Out::Report(Interference::Corrected)]);
    assert_eq!(bench.ask("", &[], &["wagon"]), [], "given up, and never asked for");
    assert_eq!(bench.asked("", &["b"], false), ["b"]);
}

#[test]
fn streams_of_endpoints_are_armed_while_a_client_has_a_made_up_cluster() {
    use xdscope_engine::filter::WireStream;
    let bench = renamed(false);
    let concerns = |type_url: &str| {
        bench.memory.may_concern(&WireStream { type_url: Some(&type_url.into()), node: Some("") })
    };
    assert!(concerns(CLUSTER) && concerns(ENDPOINTS));
    assert!(!concerns("type.googleapis.com/envoy.config.listener.v3.Listener"));
    let changed = Bench::new(false, &["kind:push => set connect_timeout=9s"]);
    assert!(!changed.memory.may_concern(&WireStream { type_url: Some(&ENDPOINTS.into()), node: Some("") }));
}

#[test]
fn correction_names_the_fault_of_its_resource() {
    let faults = ["version:1 => set connect_timeout=9s", "version:2 => set connect_timeout=8s"];
    let mut bench = Bench::new(true, &faults);
    bench.request("", "", None);
    bench.push_of("1", "n1", &["a"]);
    bench.push_of("2", "n2", &["b"]);
    let memory = bench.memory.clone();
    let states = |name: &'static str| {
        let fields = RequestFields {
            type_url: CLUSTER,
            initial_versions: vec![(name, "1")],
            ..RequestFields::default()
        };
        let method = bench.method();
        let contents = contents::WireContents::read(&method, Dir::Req, fields.encode(true).into());
        memory.correction(&None, &contents.expect("a request")).expect("a correction").by
    };
    assert!(states("a").starts_with("fault 1:") && states("b").starts_with("fault 2:"));
}
