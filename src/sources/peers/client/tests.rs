//! The client against a scripted server, with simulated time.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

mod ahead;
mod sources;

use super::*;
use xdscope_engine::lint::Reference;
use xdscope_wire::content::UsedContent;
use xdscope_wire::event::ApiVersion;
use xdscope_wire::pb::{put_len_field, put_tag, put_varint};
use xdscope_wire::{MessageBody, MessageShape};

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const EDS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

/// A client whose streams open at once, and its requests as text.
struct Play {
    client: Client,
    catalog: Catalog,
    now: Time,
    delta: bool,
    said: Vec<String>,
}

fn config(variant: Variant) -> Config {
    let mut node = Vec::new();
    put_len_field(&mut node, 1, b"me");
    Config {
        profile: ServerProfile { variant, legacy_wildcard: false },
        profiles: BTreeMap::new(),
        transport: ApiVersion::V3,
        poll_delay: Duration::from_secs(8),
        node,
        ack_delay: Duration::ZERO,
        links: None,
        structured: false,
        kinds: BTreeMap::new(),
        own: BTreeMap::new(),
        clusters: BTreeMap::new(),
        beside: BTreeMap::new(),
        authorities: BTreeMap::new(),
        others: xdscope_schema::bootstrap::FallbackServer::Plain,
        seed: 1,
    }
}

/// Every cluster refers to the endpoints of the same name.
fn following(variant: Variant) -> Config {
    let links: Links = Arc::new(|any: &[u8]| {
        let value = xdscope_wire::pb::Fields::new(any).map_while(Result::ok).find(|field| field.number == 2);
        let cluster = value.map(|field| field.bytes().to_vec()).unwrap_or_default();
        let name =
            xdscope_wire::pb::Fields::new(&cluster).map_while(Result::ok).find(|field| field.number == 1);
        let to = |name: String| Reference {
            kind: Kind::Eds,
            name,
            source: None,
            cluster: None,
            routes: None,
            is_validated: false,
        };
        name.map(|name| to(name.text().into_owned())).into_iter().collect()
    });
    Config { links: Some(links), ..config(variant) }
}

impl Play {
    fn new(config: Config) -> Play {
        let delta = config.profile.variant.is_delta();
        let (client, catalog) = (Client::new(config), Catalog::in_memory());
        Play { client, catalog, now: Time::ZERO, delta, said: Vec::new() }
    }

    fn names(&mut self, names: &[&str]) -> Vec<Sym> {
        names.iter().map(|name| self.catalog.intern(name)).collect()
    }

    fn wildcard(&mut self, url: &str, wanted: bool) {
        self.client.wildcard(self.now, &url.into(), wanted, &mut self.catalog).expect("a stream");
        self.run();
    }

    fn subscribe(&mut self, url: &str, names: &[&str]) {
        let names = self.names(names);
        self.client.subscribe(self.now, &url.into(), &names, &mut self.catalog).expect("a stream");
        self.run();
    }

    fn unsubscribe(&mut self, url: &str, names: &[&str]) {
        let names = self.names(names);
        self.client.unsubscribe(self.now, &url.into(), &names, &mut self.catalog);
        self.run();
    }

    fn respond(&mut self, url: &str, version: &str, nonce: &str, names: &[&str], ruling: Ruling) {
        self.respond_with(url, version, nonce, names, &[], None, ruling);
    }

    #[expect(clippy::too_many_arguments, reason = "a response has these")]
    fn respond_with(
        &mut self,
        url: &str,
        version: &str,
        nonce: &str,
        names: &[&str],
        removed: &[&str],
        ttl: Option<u64>,
        ruling: Ruling,
    ) {
        let mut out = Vec::new();
        put_len_field(&mut out, 1, version.as_bytes());
        for name in names {
            let mut value = Vec::new();
            put_len_field(&mut value, 1, name.as_bytes());
            let mut any = Vec::new();
            put_len_field(&mut any, 1, url.as_bytes());
            put_len_field(&mut any, 2, &value);
            if !self.delta {
                put_len_field(&mut out, 2, &any);
                continue;
            }
            let mut resource = Vec::new();
            put_len_field(&mut resource, 1, version.as_bytes());
            put_len_field(&mut resource, 2, &any);
            put_len_field(&mut resource, 3, name.as_bytes());
            if let Some(ttl) = ttl {
                let mut duration = Vec::new();
                put_tag(&mut duration, 1, xdscope_wire::pb::WIRE_VARINT);
                put_varint(&mut duration, ttl);
                put_len_field(&mut resource, 6, &duration);
            }
            put_len_field(&mut out, 2, &resource);
        }
        put_len_field(&mut out, 4, url.as_bytes());
        put_len_field(&mut out, 5, nonce.as_bytes());
        removed.iter().for_each(|name| put_len_field(&mut out, 6, name.as_bytes()));
        let shape = if self.delta { MessageShape::DeltaResponse } else { MessageShape::SotwResponse };
        let message = Arc::new(Message::parse(shape, &out, &mut self.catalog));
        let lane = self
            .client
            .tracks
            .get(&TrackKey { url: url.into(), server: 0 })
            .map_or(Lane(0), |track| track.lane);
        self.client.handle_response(self.now, lane, message, ruling, &mut self.catalog);
        self.run();
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.client.handle_timeout(self.now, &mut self.catalog);
        self.run();
    }

    /// Plays the effects, and drops all contents to which the client does not refer.
    fn run(&mut self) {
        loop {
            let effects: Vec<Effect> = self.client.effects().collect();
            if effects.is_empty() {
                let mut used = UsedContent::default();
                self.client.mark(&mut used);
                self.catalog.retain(used);
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Open { lane, .. } => self.client.handle_opened(lane, &self.catalog),
                    Effect::Close { lane } => self.said.push(format!("close {}", lane.0)),
                    Effect::Send { bytes, .. } => {
                        let text = self.text(&bytes);
                        self.said.push(text);
                    }
                }
            }
        }
    }

    /// A request as text: type, node, version, names, nonce, NACK.
    fn text(&mut self, bytes: &[u8]) -> String {
        let shape = if self.delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
        let message = Message::parse(shape, bytes, &mut self.catalog);
        let url = message.type_url();
        let kind = Kind::of_type_url(url.as_str()).map_or("?", |(kind, _)| kind.word());
        let mut out = kind.to_owned();
        let list = |names: &[Sym]| {
            names.iter().map(|name| self.catalog.text(*name).to_owned()).collect::<Vec<_>>().join(",")
        };
        if message.node().is_some() {
            out.push_str(" node");
        }
        let mut add = |sign: &str, text: String| {
            if !text.is_empty() {
                out.push_str(&format!(" {sign}{text}"));
            }
        };
        match &message.body {
            MessageBody::SotwRequest(request) => {
                add("v", request.version_info.to_string());
                add("=", list(&request.resource_names));
                add("n", request.response_nonce.to_string());
            }
            MessageBody::DeltaRequest(request) => {
                add("+", list(&request.subscribe));
                add("-", list(&request.unsubscribe));
                let held = request.initial_resource_versions.iter();
                let held = held.map(|(name, version)| {
                    format!("{}@{}", self.catalog.text(*name), self.catalog.text(*version))
                });
                add("has ", held.collect::<Vec<_>>().join(","));
                add("n", request.response_nonce.to_string());
            }
            other => panic!("{other:?}"),
        }
        if let Some(error) = message.error_detail() {
            out.push_str(&format!(" NACK {}", error.message));
        }
        out
    }

    /// The subscription as seen by a server that only reads requests.
    fn told(&mut self, server: &mut std::collections::BTreeSet<String>) {
        for said in std::mem::take(&mut self.said) {
            let words: Vec<&str> = said.split(' ').collect();
            let of = |sign: char| {
                let word = words.iter().find_map(|word| word.strip_prefix(sign));
                word.unwrap_or_default().split(',').filter(|name| !name.is_empty()).map(str::to_owned)
            };
            if self.delta {
                server.extend(of('+'));
                of('-').for_each(|name| {
                    server.remove(&name);
                });
            } else {
                *server = of('=').collect();
            }
        }
    }

    /// The requests since the last call.
    #[track_caller]
    fn says(&mut self, wanted: &[&str]) {
        assert_eq!(std::mem::take(&mut self.said), wanted);
    }
}

#[test]
fn sotw_requests_have_all_names() {
    let mut play = Play::new(config(Variant::Ads));
    play.wildcard(CDS, true);
    play.says(&["cds node =*"]);
    play.respond(CDS, "1", "a", &["x", "y"], Ruling::Accept);
    play.says(&["cds v1 =* na"]);
    play.subscribe(EDS, &["x"]);
    play.says(&["eds =x"]);
    play.respond(EDS, "1", "b", &["x"], Ruling::Accept);
    play.subscribe(EDS, &["y"]);
    play.says(&["eds v1 =x nb", "eds v1 =x,y nb"]);
    play.unsubscribe(EDS, &["x", "y"]);
    play.says(&["eds v1 nb"]);
    play.wildcard(CDS, false);
    play.says(&["cds v1 na"]);
}

#[test]
fn nack_reports_accepted_version() {
    let mut play = Play::new(config(Variant::Ads));
    play.wildcard(CDS, true);
    play.respond(CDS, "1", "a", &["x"], Ruling::Accept);
    play.respond(CDS, "2", "b", &["x", "z"], Ruling::refuse("no"));
    play.says(&["cds node =*", "cds v1 =* na", "cds v1 =* nb NACK no"]);
    // A repeated response is rejected later (docs/protocol.md#e-30).
    play.respond(CDS, "3", "c", &["x", "z"], Ruling::refuse("no"));
    play.says(&[]);
    play.pass(Duration::from_secs(2));
    play.says(&["cds v1 =* nc NACK no"]);
    play.respond(CDS, "4", "d", &["x"], Ruling::Accept);
    play.says(&["cds v4 =* nd"]);
}

#[test]
fn merges_changes_into_pending_verdict() {
    let mut play = Play::new(config(Variant::Sotw));
    play.subscribe(EDS, &["x"]);
    play.respond(EDS, "1", "a", &["x"], Ruling::Hold);
    play.subscribe(EDS, &["y"]);
    play.says(&["eds node =x"]);
    play.client.rule(play.now, &EDS.into(), None, Ruling::Accept, &mut play.catalog);
    play.run();
    play.says(&["eds v1 =x,y na"]);
    // Delta requests have no version.
    let mut play = Play::new(config(Variant::Delta));
    play.subscribe(EDS, &["x"]);
    play.respond(EDS, "1", "a", &["x"], Ruling::Hold);
    play.subscribe(EDS, &["y"]);
    play.says(&["eds node +x", "eds +y"]);
}

#[test]
fn new_stream_sends_versions_without_nonce() {
    let mut play = Play::new(config(Variant::Ads));
    play.wildcard(CDS, true);
    play.respond(CDS, "1", "a", &["x"], Ruling::Accept);
    play.respond(CDS, "2", "b", &["x"], Ruling::Hold);
    play.said.clear();
    play.client.handle_ended(play.now, Lane(0), &mut play.catalog);
    play.pass(Duration::from_secs(1));
    play.says(&["cds node v1 =*"]);
    let mut play = Play::new(config(Variant::DeltaAds));
    play.wildcard(CDS, true);
    play.subscribe(EDS, &["x", "y"]);
    play.respond(CDS, "1", "a", &["x"], Ruling::Accept);
    play.respond(EDS, "7", "b", &["x"], Ruling::Accept);
    play.says(&["cds node +*", "eds +x,y", "cds na", "eds nb"]);
    play.client.handle_ended(play.now, Lane(0), &mut play.catalog);
    play.pass(Duration::from_secs(1));
    play.says(&["cds node +* has x@1", "eds +x,y has x@7"]);
}

#[test]
fn uses_legacy_wildcard_only_before_names() {
    let legacy =
        |variant| Config { profile: ServerProfile { variant, legacy_wildcard: true }, ..config(variant) };
    let mut play = Play::new(legacy(Variant::Ads));
    play.wildcard(CDS, true);
    play.respond(CDS, "1", "a", &["x"], Ruling::Accept);
    play.says(&["cds node", "cds v1 na"]);
    play.subscribe(CDS, &["z"]);
    play.says(&["cds v1 =*,z na"]);
    let mut play = Play::new(legacy(Variant::Ads));
    play.wildcard(CDS, true);
    play.wildcard(CDS, false);
    play.says(&["cds node", "cds =*", "cds"]);
    let mut play = Play::new(legacy(Variant::DeltaAds));
    play.wildcard(CDS, true);
    play.wildcard(CDS, false);
    play.says(&["cds node", "cds -*"]);
}

#[test]
fn follows_and_drops_references_before_verdict() {
    for variant in [Variant::Ads, Variant::DeltaAds] {
        let mut play = Play::new(following(variant));
        play.wildcard(CDS, true);
        play.respond(CDS, "1", "a", &["x", "y"], Ruling::Accept);
        let delta = variant.is_delta();
        play.says(if delta {
            &["cds node +*", "eds +x,y", "cds na"]
        } else {
            &["cds node =*", "eds =x,y", "cds v1 =* na"]
        });
        if delta {
            play.respond_with(CDS, "2", "b", &[], &["y"], None, Ruling::Accept);
            play.says(&["eds -y", "cds nb"]);
        } else {
            play.respond(CDS, "2", "b", &["x"], Ruling::Accept);
            play.says(&["eds =x", "cds v2 =* nb"]);
        }
        play.respond(CDS, "3", "c", &["z"], Ruling::refuse("no"));
        assert_eq!(play.said.len(), 1, "what is refused is not followed");
    }
}

#[test]
fn reports_unanswered_subscriptions() {
    let mut play = Play::new(config(Variant::DeltaAds));
    play.subscribe(EDS, &["x", "y", "z"]);
    let left = |play: &Play| play.client.unanswered().len();
    assert_eq!(left(&play), 3);
    play.respond_with(EDS, "1", "a", &["x"], &["y"], Some(10), Ruling::Accept);
    assert_eq!(left(&play), 1, "one came, one does not exist");
    assert_eq!(play.client.due(), Some(Time::from_secs_f64(10.0)));
    play.pass(Duration::from_secs(11));
    assert_eq!(left(&play), 2, "the TTL expired (docs/protocol.md#g-02)");
    play.wildcard(CDS, true);
    assert_eq!(left(&play), 3);
}

#[test]
fn refuses_types_without_stream() {
    let vhds: TypeUrl = Kind::Vhds.type_url(ApiVersion::V3).expect("v3");
    for (variant, has) in
        [(Variant::Ads, false), (Variant::Sotw, false), (Variant::Delta, true), (Variant::DeltaAds, true)]
    {
        let mut play = Play::new(config(variant));
        assert_eq!(
            play.client.subscribe(Time::ZERO, &vhds, &[], &mut play.catalog).is_ok(),
            has,
            "{variant:?}"
        );
    }
}

#[test]
fn ignores_response_without_subscription() {
    let mut play = Play::new(config(Variant::Ads));
    play.wildcard(CDS, true);
    play.said.clear();
    play.respond(EDS, "1", "a", &["x"], Ruling::Accept);
    play.says(&[]);
}

#[test]
fn nacks_protocol_errors_with_resource_name() {
    let mut play = Play::new(config(Variant::Ads));
    let any = |url: &str, name: &str| {
        let (mut value, mut any) = (Vec::new(), Vec::new());
        put_len_field(&mut value, 1, name.as_bytes());
        put_len_field(&mut any, 1, url.as_bytes());
        put_len_field(&mut any, 2, &value);
        any
    };
    let mut check_of = |anys: &[Vec<u8>]| {
        let mut out = Vec::new();
        anys.iter().for_each(|any| put_len_field(&mut out, 2, any));
        put_len_field(&mut out, 4, CDS.as_bytes());
        let message = Message::parse(MessageShape::SotwResponse, &out, &mut play.catalog);
        check(&message, &play.catalog)
    };
    assert_eq!(check_of(&[any(CDS, "x"), any(CDS, "y")]), None);
    assert_eq!(check_of(&[any(CDS, "x"), any(CDS, "x")]).as_deref(), Some("x: duplicate resource name"));
    let wrong = check_of(&[any(EDS, "x")]).expect("a refusal");
    assert!(wrong.starts_with("x: type ") && wrong.contains("in a response of"), "{wrong}");
}

/// One poll at a time, each with the whole subscription (docs/protocol.md#d-02,
/// docs/protocol.md#d-03).
#[test]
fn polls_one_at_a_time_with_verdict() {
    let mut play = Play::new(config(Variant::Rest));
    play.wildcard(CDS, true);
    play.subscribe(EDS, &["x"]);
    play.says(&["cds node =*", "eds node =x"]);
    play.respond(CDS, "1", "", &["x"], Ruling::Accept);
    play.says(&["cds node v1 =*"]);
    // The server has no news.
    play.client.handle_unchanged(play.now, Lane(0));
    play.pass(Duration::from_secs(7));
    play.says(&[]);
    play.pass(Duration::from_secs(4));
    play.says(&["cds node v1 =*"]);
    play.pass(Duration::from_secs(60));
    play.says(&[]);
    // Every poll repeats the error until another response arrives; a repeated response is not news.
    play.respond(CDS, "2", "n", &["y"], Ruling::refuse("no"));
    play.says(&["cds node v1 =* nn NACK no"]);
    play.respond(CDS, "2", "n", &["y"], Ruling::refuse("no"));
    play.says(&[]);
    play.pass(Duration::from_secs(1));
    play.pass(Duration::from_secs(11));
    play.says(&["cds node v1 =* nn NACK no"]);
    play.respond(CDS, "3", "", &["x"], Ruling::Accept);
    play.says(&["cds node v3 =*"]);
}

#[test]
fn subscription_change_aborts_held_poll() {
    let mut play = Play::new(config(Variant::Rest));
    play.subscribe(EDS, &["x"]);
    play.subscribe(EDS, &["y"]);
    play.says(&["eds node =x", "close 0"]);
    play.pass(Duration::ZERO);
    play.says(&["eds node =x,y"]);
    play.respond(EDS, "1", "", &["x", "y"], Ruling::Accept);
    play.client.handle_unchanged(play.now, Lane(0));
    play.said.clear();
    play.subscribe(EDS, &["z"]);
    play.says(&["eds node v1 =x,y,z"]);
    // Nothing is left to poll for.
    play.client.handle_unchanged(play.now, Lane(0));
    play.unsubscribe(EDS, &["x", "y", "z"]);
    play.pass(Duration::from_secs(60));
    play.says(&[]);
    assert_eq!(play.client.due(), None);
}

/// A name that is unsubscribed from while a verdict waits is not part of the verdict.
#[test]
fn stops_polling_without_subscription() {
    let mut play = Play::new(config(Variant::Rest));
    play.subscribe(EDS, &["a"]);
    play.respond(EDS, "1", "a", &["a", "b"], Ruling::refuse("no"));
    play.says(&["eds node =a", "eds node =a na NACK no"]);
    play.respond(EDS, "2", "b", &["a", "b"], Ruling::refuse("no"));
    play.unsubscribe(EDS, &["a"]);
    play.pass(Duration::from_secs(60));
    play.says(&[]);
    play.subscribe(EDS, &["c"]);
    play.says(&["eds node =c nb NACK no"]);
}

#[test]
fn repeats_failed_poll_after_back_off() {
    let mut play = Play::new(config(Variant::Rest));
    play.wildcard(CDS, true);
    play.respond(CDS, "1", "", &["x"], Ruling::Accept);
    play.said.clear();
    play.client.handle_ended(play.now, Lane(0), &mut play.catalog);
    assert!(play.client.due().is_some_and(|due| due > play.now));
    play.pass(Duration::from_secs(1));
    play.says(&["cds node v1 =*"]);
}

#[test]
fn does_not_poll_while_response_is_held() {
    let mut play = Play::new(config(Variant::Rest));
    play.wildcard(CDS, true);
    play.respond(CDS, "1", "", &["x"], Ruling::Hold);
    play.said.clear();
    play.pass(Duration::from_secs(60));
    play.says(&[]);
    play.client.rule(play.now, &CDS.into(), None, Ruling::Accept, &mut play.catalog);
    play.run();
    play.says(&["cds node v1 =*"]);
}

/// docs/protocol.md#d-05, docs/protocol.md#d-06
#[test]
fn refuses_ads_and_delta_over_rest() {
    let mut play = Play::new(config(Variant::Rest));
    for (url, why) in [
        (Kind::Vhds.type_url(ApiVersion::V3).expect("v3"), "no delta over REST"),
        ("type.googleapis.com/own.Type".into(), "no ADS over REST"),
    ] {
        let refused = play.client.subscribe(Time::ZERO, &url, &[], &mut play.catalog).expect_err("no path");
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

/// Services and types have independent versions (docs/protocol.md#a-14).
#[test]
fn supports_v2_services() {
    let v2 = |variant| Config { transport: ApiVersion::V2, ..config(variant) };
    for (variant, wanted) in [
        (Variant::Ads, "/envoy.service.discovery.v2.AggregatedDiscoveryService/StreamAggregatedResources"),
        (Variant::Delta, "/envoy.api.v2.ClusterDiscoveryService/DeltaClusters"),
        (Variant::Rest, "/v2/discovery:clusters"),
    ] {
        for url in [CDS, "type.googleapis.com/envoy.api.v2.Cluster"] {
            let mut client = Client::new(v2(variant));
            client.subscribe(Time::ZERO, &url.into(), &[], &mut Catalog::in_memory()).expect("a stream");
            let effects: Vec<Effect> = client.effects().collect();
            assert!(matches!(&effects[0], Effect::Open { path, .. } if path == wanted), "{effects:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// After any events, a server that only reads requests has the client's subscription.
    #[test]
    fn server_ends_with_client_subscription(
        steps in prop::collection::vec((0u8..7, 0usize..4), 1..40),
        variant in prop::sample::select(&[
            Variant::Ads, Variant::DeltaAds, Variant::Sotw, Variant::Delta, Variant::Rest,
        ]),
    ) {
        let mut play = Play::new(config(variant));
        let all = ["a", "b", "c", "d"];
        let (mut wanted, mut nonce) = (std::collections::BTreeSet::new(), 0);
        let mut server = std::collections::BTreeSet::new();
        play.subscribe(EDS, &["a"]);
        wanted.insert("a");
        for (step, which) in steps {
            match step {
                0 | 1 => {
                    play.subscribe(EDS, &[all[which]]);
                    wanted.insert(all[which]);
                }
                2 => {
                    play.unsubscribe(EDS, &[all[which]]);
                    wanted.remove(all[which]);
                }
                3 | 4 => {
                    nonce += 1;
                    let ruling = if step == 3 { Ruling::Accept } else { Ruling::refuse("no") };
                    if variant == Variant::Rest {
                        // The poll has its response: only the next poll counts.
                        server.clear();
                    }
                    play.respond(EDS, &nonce.to_string(), &format!("n{nonce}"), &all[..which], ruling);
                }
                5 => {
                    server.clear();
                    play.client.handle_ended(play.now, Lane(0), &mut play.catalog);
                    play.pass(Duration::from_secs(60));
                }
                _ => play.pass(Duration::from_secs(60)),
            }
            play.told(&mut server);
        }
        play.pass(Duration::from_secs(60));
        let wanted: std::collections::BTreeSet<String> = wanted.into_iter().map(str::to_owned).collect();
        play.told(&mut server);
        prop_assert_eq!(server, wanted);
    }
}
