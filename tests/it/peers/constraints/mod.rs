//! Compares the verdict of xdscope's constraint checks with the verdict of a real Envoy.

mod envoy;
mod places;
mod rules;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use prost_reflect::prost::Message as _;
use serde_json::{Value, json};
use xdscope_engine::nack;
use xdscope_schema::{Schema, list_violations};

use self::envoy::{Judge, Verdict};
use self::places::Place;
use self::values::Values;
use crate::support::world::World;

const ROUTES: &str = "envoy.config.route.v3.RouteConfiguration";
const MANAGER: &str = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const ROUTER: &str = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

/// Returns a route configuration with one route, which takes the fields of `action`.
fn routes(action: Value) -> Value {
    let route = json!({ "match": { "prefix": "/" }, "route": action });
    json!({ "name": "r", "virtual_hosts": [{ "name": "v", "domains": ["*"], "routes": [route] }] })
}

/// Returns a bootstrap with one listener that serves `routes` and the cluster `c` that they name.
fn bootstrap(routes: &Value) -> Value {
    let manager = json!({
        "@type": format!("type.googleapis.com/{MANAGER}"),
        "stat_prefix": "s",
        "route_config": routes,
        "http_filters": [{ "name": "router", "typed_config": { "@type": ROUTER } }],
    });
    json!({ "static_resources": {
        "listeners": [{
            "name": "l",
            "address": { "socket_address": { "address": "127.0.0.1", "port_value": 0 } },
            "filter_chains": [{ "filters": [{ "name": "hcm", "typed_config": manager }] }],
        }],
        "clusters": [{ "name": "c", "connect_timeout": "1s" }],
    } })
}

#[test]
fn header_constraints_agree_with_envoy() {
    let Some(world) = World::open("header_constraints_agree_with_envoy") else { return };
    let schema = Schema::builtin();
    let weighted = |header: Option<&str>| {
        let mut clusters = json!({ "clusters": [{ "name": "c", "weight": 1 }] });
        if let Some(header) = header {
            clusters["header_name"] = json!(header);
        }
        routes(json!({ "weighted_clusters": clusters }))
    };
    let mirror = |policy: Value| routes(json!({ "cluster": "c", "request_mirror_policies": [policy] }));
    let rewrite = |header: &str| routes(json!({ "cluster": "c", "host_rewrite_header": header }));
    let cluster_header = |header: &str| routes(json!({ "cluster_header": header }));
    let mut accepted = 0;
    let cases = [
        weighted(None),
        weighted(Some("x-random")),
        weighted(Some("x random")),
        weighted(Some("x\nrandom")),
        mirror(json!({ "cluster": "c" })),
        mirror(json!({ "cluster_header": "x-mirror" })),
        mirror(json!({ "cluster_header": "x\u{0}mirror" })),
        rewrite(""),
        rewrite("x-host"),
        rewrite("x\rhost"),
        cluster_header(""),
        cluster_header("x-cluster"),
        cluster_header("x\ncluster"),
    ];
    for case in &cases {
        let bytes = schema.encode(ROUTES, case).expect("a route configuration");
        let ours: Vec<_> = schema
            .violations(ROUTES, &bytes)
            .expect("a known type")
            .iter()
            .map(ToString::to_string)
            .collect();
        let refusal = world.envoy_refusal(&bootstrap(case));
        assert_eq!(ours.is_empty(), refusal.is_none(), "{case}: xdscope {ours:?}, Envoy {refusal:?}");
        accepted += usize::from(refusal.is_none());
    }
    assert!(accepted > 0 && accepted < cases.len(), "Envoy accepted {accepted} of {}", cases.len());
}

/// Kinds of rules that cannot be compared, with the reason.
const UNCOMPARED_KINDS: [(&str, &str); 14] = [
    ("double.gt", "occurs only in access logs, which Envoy sends"),
    ("double.lt of a wrapper", "occurs only in a load balancing policy, where Envoy checks no constraints"),
    ("float.gte of a wrapper", "occurs only in a load balancing policy, where Envoy checks no constraints"),
    ("int32.gt", "occurs only in a retry priority, which Envoy checks for a request"),
    ("map.values.double.gte", "occurs only in load reports"),
    ("map.values.double.lte", "occurs only in load reports"),
    ("map.values.string.min_len", "occurs only in rate limit quota reports"),
    ("message.required=false of a wrapper", "rejects nothing"),
    ("message.skip=true", "rejects nothing"),
    ("repeated.items.string.min_bytes", "occurs only in the v2 API, which Envoy does not take"),
    ("string.min_bytes", "occurs only in the v2 API, which Envoy does not take"),
    ("string.min_bytes in a oneof", "occurs only in the v2 API, which Envoy does not take"),
    ("uint32.ignore_empty=true", "occurs only in a message that no configuration holds"),
    ("uint64.gt", "occurs only in tap requests to the admin interface"),
];

/// Fields for which Envoy rejects more values than the constraints do, with the reason.
const STRICTER_FIELDS: [(&str, &str); 1] = [(
    "envoy.extensions.filters.http.jwt_authn.v3.RemoteJwks.cache_duration",
    "Envoy doubles the duration, which must stay a valid duration",
)];

/// Fields that have another name in this Envoy than in the built-in descriptors.
const RENAMED_FIELDS: [&str; 2] = ["default_api_protocol", "api_protocol"];

/// A resource with one field or oneof at a boundary of its constraints.
struct Case {
    root: &'static str,
    field: String,
    kinds: Vec<String>,
    resource: Vec<u8>,
}

/// How many cases of a kind of rule Envoy accepted and rejected.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    accepted: usize,
    rejected: usize,
}

/// Returns the cases for the fields and oneofs of the message at a place.
fn cases_at(place: &Place, values: &mut Values<'_>, schema: &Schema) -> Vec<Case> {
    let base = place.base(values, schema);
    let mut cases = Vec::new();
    for field in place.message.fields() {
        let kinds = rules::kinds(&field);
        // Envoy checks all durations.
        let is_duration =
            field.kind().as_message().is_some_and(|of| of.full_name() == "google.protobuf.Duration");
        if kinds.is_empty() && !is_duration {
            continue;
        }
        for value in values.candidates(&field) {
            let mut message = base.clone();
            match value {
                Some(value) => message.set_field(&field, value),
                None => message.clear_field(&field),
            }
            let resource = place.resource(values, schema, message).encode_to_vec();
            let field = field.full_name().to_owned();
            cases.push(Case { root: place.root, field, kinds: kinds.clone(), resource });
        }
    }
    for oneof in rules::required_oneofs(&place.message) {
        let mut without = base.clone();
        oneof.fields().for_each(|field| without.clear_field(&field));
        for message in [without, base.clone()] {
            let resource = place.resource(values, schema, message).encode_to_vec();
            let (field, kinds) = (oneof.full_name().to_owned(), vec![rules::REQUIRED_ONEOF.to_owned()]);
            cases.push(Case { root: place.root, field, kinds, resource });
        }
    }
    cases
}

/// Compares the verdicts on a case. Returns a description of a difference.
fn difference(case: &Case, verdict: &Verdict, schema: &Schema) -> Option<String> {
    let ours = schema.violations(case.root, &case.resource).expect("a known type");
    let is_rejected = matches!(verdict, Verdict::Broken(_));
    let is_stricter = STRICTER_FIELDS.iter().any(|(field, _)| *field == case.field) && is_rejected;
    if is_rejected == ours.is_empty() && !is_stricter {
        let body = schema.message_to_json(case.root, &case.resource).to_string();
        let ours = list_violations(&ours);
        return Some(format!("{}: xdscope: {ours:?}, Envoy: {verdict:.500?}\n  {body:.1000}", case.field));
    }
    // Envoy names the first broken constraint, unless it cuts the text off.
    let (Verdict::Broken(text), Some(first)) = (verdict, ours.first()) else { return None };
    let names = [Arc::from("r")];
    let is_named = !text.contains("constraint validation")
        || nack::refuses_field(text, &names, "r", &first.path)
        || RENAMED_FIELDS.iter().any(|name| first.path.ends_with(name));
    (!is_named).then(|| format!("{}: xdscope: {first}, Envoy names another field: {text:.1000}", case.field))
}

/// The result of the comparison so far.
#[derive(Default)]
struct Comparison {
    cases: usize,
    tallies: BTreeMap<String, Tally>,
    differences: Vec<String>,
}

impl Comparison {
    fn add(&mut self, case: &Case, verdict: &Verdict, schema: &Schema) {
        self.cases += 1;
        for kind in &case.kinds {
            let tally = self.tallies.entry(kind.clone()).or_default();
            match verdict {
                Verdict::Broken(_) => tally.rejected += 1,
                Verdict::Unusable(_) | Verdict::Accepted => tally.accepted += 1,
            }
        }
        self.differences.extend(difference(case, verdict, schema));
    }

    /// Whether Envoy accepted a case of a kind of rule and rejected another.
    fn has_both(&self, kind: &str) -> bool {
        self.tallies.get(kind).is_some_and(|tally| tally.accepted > 0 && tally.rejected > 0)
    }
}

#[test]
fn constraints_agree_with_envoy() {
    let Some(world) = World::open("constraints_agree_with_envoy") else { return };
    let schema = Schema::builtin();
    // Loads all types, so that all descriptors belong to one pool.
    drop(schema.descriptor_set());
    let mut judge = Judge::start(&world, &schema);
    let mut values = Values::new(&schema);
    let mut starts = places::starts(&schema, &judge.extensions);
    starts.retain(|place| place.is_resource() || judge.takes(place, &mut values));
    let mut comparison = Comparison::default();
    for place in places::all(starts) {
        for case in cases_at(&place, &mut values, &schema) {
            let verdict = judge.verdict(case.root, &case.resource);
            if !verdict.is_unreached() {
                comparison.add(&case, &verdict, &schema);
            }
        }
    }
    // Each bootstrap takes an Envoy of its own.
    for place in places::in_bootstrap(&schema) {
        for case in cases_at(&place, &mut values, &schema) {
            if case.kinds.iter().any(|kind| places::occurs_in_bootstraps_only(kind)) {
                let body = schema.message_to_json(case.root, &case.resource);
                comparison.add(&case, &envoy::verdict_on_bootstrap(&world, &body), &schema);
            }
        }
    }
    let Comparison { cases, differences, .. } = &comparison;
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} of {cases} verdicts differ:\n{shown}", differences.len());
    let known: BTreeMap<&str, &str> = UNCOMPARED_KINDS.into_iter().collect();
    let all = rules::all_kinds(&schema);
    let is_missing = |kind: &&String| !comparison.has_both(kind) && !known.contains_key(kind.as_str());
    let missing: Vec<&String> = all.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "compare these kinds of rules too, or say why not: {missing:#?}");
    let stale: Vec<&&str> =
        known.keys().filter(|kind| comparison.has_both(kind) || !all.contains(**kind)).collect();
    assert!(stale.is_empty(), "remove these kinds of rules from the list: {stale:?}");
}
