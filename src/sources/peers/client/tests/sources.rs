//! Several servers, each with its own names and its own variant.

use super::*;
use xdscope_schema::links::SourceKind;

const B: &str = "xdstp://b/envoy.config.endpoint.v3.ClusterLoadAssignment/x";
const C: &str = "xdstp://c/envoy.config.endpoint.v3.ClusterLoadAssignment/x";
const GLOB: &str = "xdstp://b/envoy.config.endpoint.v3.ClusterLoadAssignment/all/*";

fn profile(variant: Variant) -> ServerProfile {
    ServerProfile { variant, legacy_wildcard: false }
}

/// The streams and requests of a client by server. Streams open at once.
#[derive(Default)]
struct Servers {
    lanes: BTreeMap<Lane, (u32, String)>,
    said: Vec<String>,
}

impl Servers {
    fn run(&mut self, client: &mut Client, catalog: &mut Catalog) {
        loop {
            let effects: Vec<Effect> = client.effects().collect();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Open { lane, server, path } => {
                        self.lanes.insert(lane, (server, path));
                        client.handle_opened(lane, catalog);
                    }
                    Effect::Close { lane } => self.said.push(format!("close {}", lane.0)),
                    Effect::Send { lane, bytes } => {
                        let (server, path) = &self.lanes[&lane];
                        let method = Method::of_path(path).expect("a method");
                        let delta = method.variant.is_delta();
                        let shape =
                            if delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
                        let message = Message::parse(shape, &bytes, catalog);
                        let names = message.request().expect("a request").names;
                        let names: Vec<&str> = names.iter().map(|name| catalog.text(*name)).collect();
                        self.said.push(format!("{server} {} {}", method.variant.word(), names.join(" ")));
                    }
                }
            }
        }
    }
}

/// A response with these clusters, each of which refers to the endpoints of the same name.
fn clusters(client: &mut Client, catalog: &mut Catalog, delta: bool, names: &[&str]) {
    let mut out = Vec::new();
    for name in names {
        let mut value = Vec::new();
        put_len_field(&mut value, 1, name.as_bytes());
        let mut any = Vec::new();
        put_len_field(&mut any, 1, CDS.as_bytes());
        put_len_field(&mut any, 2, &value);
        if delta {
            let mut resource = Vec::new();
            put_len_field(&mut resource, 2, &any);
            put_len_field(&mut resource, 3, name.as_bytes());
            any = resource;
        }
        put_len_field(&mut out, 2, &any);
    }
    put_len_field(&mut out, 4, CDS.as_bytes());
    put_len_field(&mut out, 5, b"n");
    let shape = if delta { MessageShape::DeltaResponse } else { MessageShape::SotwResponse };
    let message = Arc::new(Message::parse(shape, &out, catalog));
    client.handle_response(Time::ZERO, Lane(0), message, Ruling::Accept, catalog);
}

/// docs/protocol.md#k-24, docs/protocol.md#k-25
#[test]
fn uses_variant_of_each_server() {
    for (main, first) in [(Variant::DeltaAds, true), (Variant::Ads, false)] {
        let config = Config {
            structured: true,
            profiles: [(1, profile(Variant::Ads)), (2, profile(Variant::DeltaAds))].into(),
            authorities: [("b".to_owned(), 1)].into(),
            others: xdscope_schema::bootstrap::FallbackServer::Server(2),
            ..following(main)
        };
        let (mut client, mut catalog) = (Client::new(config), Catalog::in_memory());
        let mut servers = Servers::default();
        client.wildcard(Time::ZERO, &CDS.into(), true, &mut catalog).expect("a stream");
        servers.run(&mut client, &mut catalog);
        clusters(&mut client, &mut catalog, first, &["plain", B, C, GLOB]);
        servers.run(&mut client, &mut catalog);
        let mut said = servers.said;
        said.sort_unstable();
        let word = main.word();
        let mut wanted = vec![
            format!("0 {word} *"),
            format!("0 {word} {}", if first { "" } else { "*" }),
            format!("0 {word} plain"),
            // No SotW stream requests the glob (docs/protocol.md#k-26).
            format!("1 ads {B}"),
            format!("2 delta-ads {C}"),
        ];
        wanted.sort_unstable();
        assert_eq!(said, wanted);
    }
}

/// Whether a glob is supported depends on its own server (docs/protocol.md#k-26).
#[test]
fn subscribes_to_globs_over_delta_only() {
    let config = Config {
        structured: true,
        profiles: [(1, profile(Variant::DeltaAds))].into(),
        authorities: [("b".to_owned(), 1)].into(),
        ..config(Variant::Ads)
    };
    let (mut client, mut catalog) = (Client::new(config), Catalog::in_memory());
    let glob = catalog.intern(GLOB);
    client.subscribe(Time::ZERO, &EDS.into(), &[glob], &mut catalog).expect("a stream");
    let mut servers = Servers::default();
    servers.run(&mut client, &mut catalog);
    assert_eq!(servers.said, [format!("1 delta-ads {GLOB}")]);
    let other = catalog.intern(&GLOB.replace("//b/", "//c/"));
    let refused = client.subscribe(Time::ZERO, &EDS.into(), &[other], &mut catalog);
    assert!(matches!(refused, Err(Refused::Name(BadName::GlobInSotw(_)))), "{refused:?}");
}

/// A name with a source beside it, and types with a source (docs/protocol.md#k-23,
/// docs/protocol.md#i-06).
#[test]
fn selects_server_by_type_and_locator() {
    let config = Config {
        structured: true,
        profiles: [(1, profile(Variant::Sotw)), (2, profile(Variant::Delta))].into(),
        kinds: [(Kind::Cds, 1)].into(),
        beside: [(B.to_owned(), 2)].into(),
        authorities: [("b".to_owned(), 0)].into(),
        ..config(Variant::DeltaAds)
    };
    let (mut client, mut catalog) = (Client::new(config), Catalog::in_memory());
    let mut servers = Servers::default();
    client.wildcard(Time::ZERO, &CDS.into(), true, &mut catalog).expect("a stream");
    for name in [B, C, "plain"] {
        let name = catalog.intern(name);
        client.subscribe(Time::ZERO, &EDS.into(), &[name], &mut catalog).expect("a stream");
    }
    servers.run(&mut client, &mut catalog);
    let mut paths: Vec<_> = servers.lanes.values().map(|(server, path)| format!("{server} {path}")).collect();
    paths.sort_unstable();
    let service = "/envoy.service";
    assert_eq!(
        paths,
        [
            format!("0 {service}.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"),
            format!("1 {service}.cluster.v3.ClusterDiscoveryService/StreamClusters"),
            format!("2 {service}.endpoint.v3.EndpointDiscoveryService/DeltaEndpoints"),
        ]
    );
    servers.said.sort_unstable();
    assert_eq!(servers.said, [format!("0 delta-ads plain {C}"), "1 sotw *".into(), format!("2 delta {B}")]);
}

/// Follows one reference from each cluster.
fn referring_to(main: Variant, to: Reference) -> Config {
    let links: Links = Arc::new(move |_: &[u8]| vec![to.clone()]);
    Config { links: Some(links), ..config(main) }
}

fn secret(cluster: &str) -> Reference {
    let (source, cluster) = (Some(SourceKind::Grpc), Some(cluster.into()));
    Reference { kind: Kind::Sds, name: "cert".into(), source, cluster, routes: None, is_validated: false }
}

/// Returns the requests of a client that receives a cluster, and the names that it did not request.
fn said(config: Config) -> (Vec<String>, Vec<Unrequested>) {
    let delta = config.profile.variant.is_delta();
    let (mut client, mut catalog) = (Client::new(config), Catalog::in_memory());
    let mut servers = Servers::default();
    client.wildcard(Time::ZERO, &CDS.into(), true, &mut catalog).expect("a stream");
    servers.run(&mut client, &mut catalog);
    clusters(&mut client, &mut catalog, delta, &["a"]);
    servers.run(&mut client, &mut catalog);
    servers.said.sort_unstable();
    (servers.said, client.unmapped().map(|(_, cause)| cause.clone()).collect())
}

/// docs/protocol.md#i-05, docs/protocol.md#i-06
#[test]
fn requests_names_from_stated_cluster_and_never_over_ads() {
    let clusters = [(("sds-grpc".into(), Variant::Sotw), 1)];
    let known = Config {
        clusters: clusters.into(),
        profiles: [(1, profile(Variant::Sotw))].into(),
        ..referring_to(Variant::DeltaAds, secret("sds-grpc"))
    };
    assert_eq!(
        said(known),
        (vec!["0 delta-ads ".into(), "0 delta-ads *".into(), "1 sotw cert".into()], vec![])
    );
    let (ads, unrequested) = said(referring_to(Variant::DeltaAds, secret("sds-grpc")));
    assert_eq!(ads, ["0 delta-ads ", "0 delta-ads *"]);
    assert_eq!(unrequested, [Unrequested::Cluster("sds-grpc".into())]);
    // A single server with a stream per type stands for all clusters.
    let (separate, unrequested) = said(referring_to(Variant::Delta, secret("sds-grpc")));
    assert_eq!(separate, ["0 delta ", "0 delta *", "0 delta cert"]);
    assert_eq!(unrequested, []);
}

/// docs/protocol.md#c-01
#[test]
fn does_not_request_names_from_files() {
    let file = Reference { source: Some(SourceKind::Path), cluster: None, ..secret("") };
    assert_eq!(said(referring_to(Variant::Ads, file)), (vec!["0 ads *".into(), "0 ads *".into()], vec![]));
}

/// Scoped routes are requested as a wildcard, virtual hosts by an empty list:
/// docs/protocol.md#f-33.
#[test]
fn follows_scoped_routes_and_virtual_hosts_like_envoy() {
    let to = |kind, name: &str| Reference {
        kind,
        name: name.into(),
        source: None,
        cluster: None,
        routes: None,
        is_validated: false,
    };
    let scopes = to(Kind::Srds, "*");
    let (delta, _) = said(referring_to(Variant::DeltaAds, scopes.clone()));
    assert_eq!(delta, ["0 delta-ads ", "0 delta-ads *", "0 delta-ads *"]);
    let (separate, _) = said(referring_to(Variant::Sotw, scopes));
    assert_eq!(separate, ["0 sotw *", "0 sotw *", "0 sotw *"]);
    let hosts = to(Kind::Vhds, "shop/*");
    let (delta, _) = said(referring_to(Variant::DeltaAds, hosts.clone()));
    assert_eq!(delta, ["0 delta-ads ", "0 delta-ads ", "0 delta-ads *"]);
    // SotW has no virtual hosts.
    let (sotw, _) = said(referring_to(Variant::Ads, hosts));
    assert_eq!(sotw, ["0 ads *", "0 ads *"]);
}
