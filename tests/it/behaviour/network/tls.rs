//! Runs real peers through xdscope with TLS on one leg or both: they behave as without the tap, and
//! the recording states the negotiated TLS parameters.

use serde_json::Value;

use crate::support::{
    bootstrap::Variant,
    certs::{Ca, ClientTls, Pair, ServerTls},
    control_plane::{ControlPlane, Flags},
    grpc_client::Kind,
    snapshot::{CLUSTER, ENDPOINTS, LISTENER, ROUTE, Snapshot, bad_clusters, cluster},
    tap::{Recording, Tap},
    wait::wait_for,
    world::World,
};

/// Server name of the control plane, and of the tap in its place.
pub(crate) const NAME: &str = "cp.test";

/// Certificates of all peers, issued by one CA.
pub(crate) struct Certs {
    ca: Ca,
    plane: Pair,
    tap: Pair,
    /// The certificate that the tap presents to the control plane.
    tap_client: Pair,
    client: Pair,
}

impl Certs {
    pub(crate) fn new(world: &World) -> Self {
        let ca = Ca::new(world.folder(), "root");
        let names = [NAME, "localhost", "127.0.0.1"];
        let (plane, tap) = (ca.issue("plane", &names), ca.issue("tap", &names));
        let client = ca.issue("edge", &["spiffe://mesh/edge"]);
        let tap_client = ca.issue("debugger", &["debugger.test"]);
        Certs { ca, plane, tap, tap_client, client }
    }

    /// Returns the TLS settings of the control plane, which requires client certificates.
    pub(crate) fn server(&self) -> Option<ServerTls> {
        Some(ServerTls { own: self.plane.clone(), client_ca: Some(self.ca.file.clone()) })
    }

    pub(crate) fn client(&self) -> ClientTls {
        ClientTls { ca: self.ca.file.clone(), own: Some(self.client.clone()), sni: NAME }
    }

    /// Returns the flags of the client leg.
    pub(crate) fn listen(&self) -> Vec<String> {
        let (own, ca) = (&self.tap, self.ca.file.display());
        vec![
            format!("--listen-cert={}", own.cert.display()),
            format!("--listen-key={}", own.key.display()),
            format!("--listen-client-ca={ca}"),
        ]
    }

    /// Returns the flags of the server leg.
    pub(crate) fn dial(&self) -> Vec<String> {
        let (own, ca) = (&self.tap_client, self.ca.file.display());
        vec![
            format!("--cacert={ca}"),
            format!("--cert={}", own.cert.display()),
            format!("--key={}", own.key.display()),
        ]
    }
}

pub(crate) fn tap(world: &World, plane: &ControlPlane, args: &[Vec<String>]) -> Tap {
    let args: Vec<&str> = args.iter().flatten().map(String::as_str).collect();
    world.tap(plane.address(), &args)
}

/// Returns the xDS streams of a recording.
pub(crate) fn streams(recording: &Recording) -> Vec<Value> {
    let all = recording.objects("info", &[]).into_iter();
    all.filter(|object| object["object"] == "stream" && object["variant"].is_string()).collect()
}

#[test]
fn passes_envoy_over_ads_with_mutual_tls() {
    run_envoy_lifecycle("passes_envoy_over_ads_with_mutual_tls", Variant::Ads);
}

#[test]
fn passes_envoy_over_delta_ads_with_mutual_tls() {
    run_envoy_lifecycle("passes_envoy_over_delta_ads_with_mutual_tls", Variant::DeltaAds);
}

/// Applies, breaks and repairs a configuration, and reconnects.
fn run_envoy_lifecycle(test: &str, variant: Variant) {
    let Some(world) = World::open(test) else { return };
    let certs = Certs::new(&world);
    let mut plane = world.control_plane(Flags { tls: certs.server(), ..Flags::default() });
    let tap = tap(&world, &plane, &[certs.listen(), certs.dial()]);
    let mut envoy = world.envoy_tls("edge-1", variant, tap.address(), &certs.client());
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    for type_url in [CLUSTER, ENDPOINTS, LISTENER, ROUTE] {
        plane.wait_for_ack(0, type_url, "1");
    }
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2", [vec![cluster("echo", variant)], bad_clusters()].concat()));
    let nack = plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    wait_for("the NACK among the tap's lines", || tap.log().contains("bad-1").then_some(()));
    plane.set(&chain.clone().with(CLUSTER, "3", vec![cluster("echo", variant)]));
    plane.wait_for_ack(mark, CLUSTER, "3");
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's CDS request", |e| e.is_request(CLUSTER));
    assert!(tap.says("TLSv1.2 with the client, TLSv1.3 with the server"), "{}", tap.log());
    let recording = tap.stop();

    let messages = recording.messages();
    let refused: Vec<_> = messages.iter().filter(|m| m["kind"] == "nack").collect();
    let text = nack.error.expect("an error_detail").message;
    assert!(refused.iter().any(|m| m["error"]["message"] == text.as_str()), "{refused:?}");
    let streams = streams(&recording);
    assert!(streams.len() >= 2, "{streams:?}");
    assert_eq!(streams[0]["end"]["message"], "scripted");
    assert_eq!(streams[1]["reconnect_of"], streams[0]["stream"]);
    let (client, server) = (&streams[0]["tls"]["client"], &streams[0]["tls"]["server"]);
    // Envoy offers TLS 1.2 at most; the other leg is negotiated by the tap and the control plane.
    for (leg, version) in [(client, "TLSv1.2"), (server, "TLSv1.3")] {
        assert_eq!(
            (&leg["version"], &leg["alpn"], &leg["sni"]),
            (&version.into(), &"h2".into(), &NAME.into())
        );
        assert_eq!((&leg["client_certificate_asked"], &leg["verified"]), (&true.into(), &true.into()));
        assert_eq!(leg["server_certificate"]["issuer"], "CN=root");
        assert_eq!(leg["server_certificate"]["names"][0], NAME);
    }
    assert_eq!(client["server_certificate"]["subject"], "CN=tap");
    assert_eq!(client["client_certificate"]["names"][0], "spiffe://mesh/edge");
    assert_eq!(server["server_certificate"]["subject"], "CN=plane");
    assert_eq!(server["client_certificate"]["subject"], "CN=debugger");
    let lost = streams[0]["tls"]["not_kept"].as_str().unwrap_or_default();
    assert!(lost.contains("(debugger.test), not the client's (spiffe://mesh/edge)"), "{lost}");
    let shown = recording.text("info", &[]);
    assert!(shown.contains("client leg  tls  TLSv1.2, ALPN h2, SNI cp.test"), "{shown}");
    assert!(shown.contains(lost), "{shown}");
}

#[test]
fn passes_envoy_with_tls_on_client_leg() {
    let Some(world) = World::open("passes_envoy_with_tls_on_client_leg") else { return };
    let certs = Certs::new(&world);
    let mut plane = world.control_plane(Flags::default());
    let tap = tap(&world, &plane, &[certs.listen(), vec!["--plaintext".into()]]);
    let mut envoy = world.envoy_tls("edge-1", Variant::Sotw, tap.address(), &certs.client());
    plane.set(&Snapshot::chain(Variant::Sotw, envoy.admin()));
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let recording = tap.stop();
    assert_eq!(recording.state("rds")["state"], "synced");
    let streams = streams(&recording);
    assert!(streams.iter().all(|stream| stream["tls"]["client"]["alpn"] == "h2"), "{streams:?}");
    assert!(streams.iter().all(|stream| stream["tls"]["server"].is_null()), "{streams:?}");
    let lost = streams[0]["tls"]["not_kept"].as_str().unwrap_or_default();
    assert!(lost.starts_with("the server sees no certificate"), "{lost}");
}

#[test]
fn passes_envoy_with_tls_on_server_leg() {
    let Some(world) = World::open("passes_envoy_with_tls_on_server_leg") else { return };
    let certs = Certs::new(&world);
    let mut plane = world.control_plane(Flags { tls: certs.server(), ..Flags::default() });
    let tap = tap(&world, &plane, &[certs.dial(), vec![format!("--servername={NAME}")]]);
    let mut envoy = world.envoy("edge-1", Variant::Delta, tap.address());
    plane.set(&Snapshot::chain(Variant::Delta, envoy.admin()));
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let recording = tap.stop();
    assert_eq!(recording.state("rds")["state"], "synced");
    let streams = streams(&recording);
    assert!(streams.iter().all(|stream| stream["tls"]["server"]["sni"] == NAME), "{streams:?}");
    assert!(streams.iter().all(|stream| stream["tls"]["client"].is_null()), "{streams:?}");
}

#[test]
fn passes_grpc_core_with_mutual_tls() {
    run_grpc_lifecycle("passes_grpc_core_with_mutual_tls", Kind::Core);
}

#[test]
fn passes_grpc_go_with_mutual_tls() {
    run_grpc_lifecycle("passes_grpc_go_with_mutual_tls", Kind::Go);
}

#[test]
fn passes_grpc_js_with_mutual_tls_on_server_leg() {
    run_grpc_lifecycle("passes_grpc_js_with_mutual_tls_on_server_leg", Kind::Js);
}

fn run_grpc_lifecycle(test: &str, kind: Kind) {
    let Some(world) = World::open(test) else { return };
    let certs = Certs::new(&world);
    let mut plane = world.control_plane(Flags { tls: certs.server(), ..Flags::default() });
    let (own, legs): (_, &[&str]) = match kind {
        Kind::Js => (None, &["server"]),
        _ => (Some(certs.client()), &["client", "server"]),
    };
    let listen = if own.is_some() { certs.listen() } else { Vec::new() };
    let tap = tap(&world, &plane, &[listen, certs.dial()]);
    let mut client = world.grpc_client_of(kind, "app-1", "echo.test", tap.address(), own.as_ref());
    let chain = Snapshot::grpc_chain("echo.test", client.backend());
    plane.set(&chain);
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    for type_url in [LISTENER, ROUTE, CLUSTER, ENDPOINTS] {
        plane.wait_for_ack(0, type_url, "1");
    }
    // Every gRPC client rejects a cluster whose EDS has no source, and keeps the old one.
    let mark = plane.mark();
    let mut bad = cluster("echo", Variant::Ads);
    bad["lb_policy"] = "MAGLEV".into();
    plane.set(&chain.clone().with(CLUSTER, "2", vec![bad]));
    let nack = plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    plane.set(&chain.clone().with(CLUSTER, "3", vec![cluster("echo", Variant::Ads)]));
    plane.wait_for_ack(mark, CLUSTER, "3");
    let mark = plane.mark();
    plane.close_streams(14, "scripted");
    plane.wait_for(mark, "a new stream's LDS request", |e| e.is_request(LISTENER));
    assert_eq!(client.call("again"), Ok("again".to_owned()));
    let recording = tap.stop();
    let state = recording.state("cds");
    let text = nack.error.expect("an error_detail").message;
    let refused: Vec<_> = recording.messages().into_iter().filter(|m| m["kind"] == "nack").collect();
    assert!(refused.iter().any(|m| m["error"]["message"] == text.as_str()), "{refused:?} {state}");
    let streams = streams(&recording);
    assert!(streams.len() >= 2, "{streams:?}");
    for leg in legs {
        let leg = &streams[0]["tls"][leg];
        assert_eq!((&leg["version"], &leg["alpn"]), (&"TLSv1.3".into(), &"h2".into()), "{leg}");
        // The client dials an address: no server name exists, so the other leg has none either.
        assert_eq!(leg["sni"], Value::Null, "{leg}");
    }
    let (lost, theirs) = (streams[0]["tls"]["not_kept"].as_str(), "spiffe://mesh/edge");
    assert_eq!(lost.is_some_and(|text| text.contains(theirs)), own.is_some(), "{lost:?}");
}

/// The legs under TLS.
#[derive(Clone, Copy)]
enum Legs {
    Client,
    Server,
    Both,
}

impl Certs {
    /// Returns the tap's flags for these legs; with TLS on one leg, the other is explicitly plain.
    fn flags(&self, legs: Legs) -> Vec<Vec<String>> {
        match legs {
            Legs::Client => vec![self.listen(), vec!["--plaintext".into()]],
            Legs::Server => vec![self.dial(), vec![format!("--servername={NAME}")]],
            Legs::Both => vec![self.listen(), self.dial()],
        }
    }
}

#[test]
fn envoy_reconnects_with_tls_on_client_leg() {
    run_envoy_restart("envoy_reconnects_with_tls_on_client_leg", Variant::Ads, Legs::Client);
}

#[test]
fn envoy_reconnects_with_tls_on_server_leg() {
    run_envoy_restart("envoy_reconnects_with_tls_on_server_leg", Variant::Ads, Legs::Server);
}

#[test]
fn envoy_reconnects_over_delta_with_tls() {
    run_envoy_restart("envoy_reconnects_over_delta_with_tls", Variant::DeltaAds, Legs::Both);
}

#[test]
fn grpc_core_reconnects_with_tls_on_client_leg() {
    let test = "grpc_core_reconnects_with_tls_on_client_leg";
    run_grpc_restart(test, Kind::Core, Legs::Client);
}

#[test]
fn grpc_core_reconnects_with_tls() {
    run_grpc_restart("grpc_core_reconnects_with_tls", Kind::Core, Legs::Both);
}

#[test]
fn grpc_core_reconnects_with_tls_on_server_leg() {
    run_grpc_restart("grpc_core_reconnects_with_tls_on_server_leg", Kind::Core, Legs::Server);
}

#[test]
fn grpc_go_reconnects_with_tls_on_client_leg() {
    run_grpc_restart("grpc_go_reconnects_with_tls_on_client_leg", Kind::Go, Legs::Client);
}

#[test]
fn grpc_go_reconnects_with_tls_on_server_leg() {
    run_grpc_restart("grpc_go_reconnects_with_tls_on_server_leg", Kind::Go, Legs::Server);
}

#[test]
fn grpc_go_reconnects_with_tls() {
    run_grpc_restart("grpc_go_reconnects_with_tls", Kind::Go, Legs::Both);
}

#[test]
fn grpc_js_reconnects_with_tls_on_server_leg() {
    run_grpc_restart("grpc_js_reconnects_with_tls_on_server_leg", Kind::Js, Legs::Server);
}

fn run_envoy_restart(test: &str, variant: Variant, legs: Legs) {
    let Some(world) = World::open(test) else { return };
    let certs = Certs::new(&world);
    let tls = (!matches!(legs, Legs::Client)).then(|| certs.server()).flatten();
    let mut plane = world.control_plane(Flags { tls: tls.clone(), ..Flags::default() });
    let tap = tap(&world, &plane, &certs.flags(legs));
    let mut envoy = match legs {
        Legs::Server => world.envoy("edge-1", variant, tap.address()),
        Legs::Client | Legs::Both => world.envoy_tls("edge-1", variant, tap.address(), &certs.client()),
    };
    let chain = Snapshot::chain(variant, envoy.admin());
    plane.set(&chain);
    envoy.wait_live();
    plane.wait_for_ack(0, ROUTE, "1");
    let port = plane.address().port();
    drop(plane);
    let mut plane = world.control_plane(Flags { port, tls, ..Flags::default() });
    plane.set(&chain);
    plane.wait_for(0, "a request to the restarted server", |e| e.is_request(CLUSTER));
    let bad = [vec![cluster("echo", variant)], bad_clusters()].concat();
    let texts = reject_and_repair(&mut plane, &chain, bad, cluster("echo", variant));
    assert_restarted(&tap.stop(), &texts, &["lds", "rds", "cds", "eds"]);
}

fn run_grpc_restart(test: &str, kind: Kind, legs: Legs) {
    let Some(world) = World::open(test) else { return };
    let certs = Certs::new(&world);
    let tls = (!matches!(legs, Legs::Client)).then(|| certs.server()).flatten();
    let mut plane = world.control_plane(Flags { tls: tls.clone(), ..Flags::default() });
    let tap = tap(&world, &plane, &certs.flags(legs));
    let own = (!matches!(legs, Legs::Server)).then(|| certs.client());
    let mut client = world.grpc_client_of(kind, "app-1", "echo.test", tap.address(), own.as_ref());
    let chain = Snapshot::grpc_chain("echo.test", client.backend());
    plane.set(&chain);
    assert_eq!(client.call("hello"), Ok("hello".to_owned()));
    plane.wait_for_ack(0, ENDPOINTS, "1");
    let port = plane.address().port();
    drop(plane);
    let mut plane = world.control_plane(Flags { port, tls, ..Flags::default() });
    plane.set(&chain);
    plane.wait_for(0, "a request to the restarted server", |e| e.is_request(CLUSTER));
    let mut bad = cluster("echo", Variant::Ads);
    bad["lb_policy"] = "MAGLEV".into();
    let texts = reject_and_repair(&mut plane, &chain, vec![bad], cluster("echo", Variant::Ads));
    assert_eq!(client.call("again"), Ok("again".to_owned()));
    assert_restarted(&tap.stop(), &texts, &["lds", "rds", "cds", "eds"]);
}

/// Rejects and repairs a push, and returns the error texts.
fn reject_and_repair(
    plane: &mut ControlPlane,
    chain: &Snapshot,
    bad: Vec<Value>,
    good: Value,
) -> Vec<String> {
    let mark = plane.mark();
    plane.set(&chain.clone().with(CLUSTER, "2", bad));
    let nack = plane.wait_for(mark, "a NACK", |e| e.is_nack(CLUSTER));
    plane.set(&chain.clone().with(CLUSTER, "3", vec![good]));
    plane.wait_for_ack(mark, CLUSTER, "3");
    vec![nack.error.expect("an error_detail").message]
}

/// Asserts that the stream reconnected after the restart, that the new stream has its resources,
/// and that the error texts are recorded unchanged.
fn assert_restarted(recording: &Recording, texts: &[String], kinds: &[&str]) {
    let streams = streams(recording);
    let (first, last) = (&streams[0], streams.last().expect("a stream"));
    assert!(streams.len() >= 2 && !first["end"].is_null(), "{streams:?}");
    assert!(last["reconnect_of"].is_number(), "{last}");
    let refused: Vec<_> = recording.messages().into_iter().filter(|m| m["kind"] == "nack").collect();
    for text in texts {
        assert!(refused.iter().any(|m| m["error"]["message"] == text.as_str()), "{text} {refused:?}");
    }
    assert!(refused.iter().all(|m| m["stream"] == last["stream"]), "{refused:?}");
    for kind in kinds {
        let state = recording.state(kind);
        assert_eq!((&state["stream"], &state["state"]), (&last["stream"], &"synced".into()), "{state}");
    }
    assert_eq!(recording.state("cds")["in_force"], "3");
}
