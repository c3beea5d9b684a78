use super::{ApiVersion, Kind, TypeUrl};

/// A transport variant, or a source without a gRPC stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// SotW, all types on one stream.
    Ads,
    /// Delta, all types on one stream.
    DeltaAds,
    /// SotW, one stream per type.
    Sotw,
    /// Delta, one stream per type.
    Delta,
    /// REST-JSON polling.
    Rest,
    /// A file holding one DiscoveryResponse.
    File,
    /// The applied configuration of a client (a config dump, CSDS), as a delta stream of all types.
    Dump,
}

impl Variant {
    /// All variants.
    pub const ALL: [Variant; 7] = [
        Variant::Ads,
        Variant::DeltaAds,
        Variant::Sotw,
        Variant::Delta,
        Variant::Rest,
        Variant::File,
        Variant::Dump,
    ];

    /// Returns the name in `--variant`, tables and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Variant::Ads => "ads",
            Variant::DeltaAds => "delta-ads",
            Variant::Sotw => "sotw",
            Variant::Delta => "delta",
            Variant::Rest => "rest",
            Variant::File => "file",
            Variant::Dump => "dump",
        }
    }

    /// Parses the name that [`word`](Variant::word) returns.
    pub fn parse(word: &str) -> Option<Variant> {
        Variant::ALL.into_iter().find(|v| v.word() == word)
    }

    /// Whether the messages are the delta pair (docs/protocol.md#b-05).
    pub fn is_delta(self) -> bool {
        matches!(self, Variant::DeltaAds | Variant::Delta | Variant::Dump)
    }

    /// Whether one stream carries every type (docs/protocol.md#i-01).
    pub fn is_aggregated(self) -> bool {
        matches!(self, Variant::Ads | Variant::DeltaAds | Variant::Dump)
    }
}

/// The variant, type and API version that the path of an xDS method implies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// Transport variant.
    pub variant: Variant,
    /// The type of a single-type method; `None` for an aggregated one.
    pub kind: Option<Kind>,
    /// API version of the service.
    pub transport: ApiVersion,
}

/// An xDS service: its full name in each API version, and the noun in its method names.
struct Service {
    kind: Kind,
    /// The noun in its REST path.
    rest: &'static str,
    v3: &'static str,
    v2: Option<&'static str>,
    noun: &'static str,
    sotw: bool,
}

const ADS: [(&str, ApiVersion); 2] = [
    ("envoy.service.discovery.v3.AggregatedDiscoveryService", ApiVersion::V3),
    ("envoy.service.discovery.v2.AggregatedDiscoveryService", ApiVersion::V2),
];

const SERVICES: [Service; 10] = [
    Service {
        kind: Kind::Lds,
        rest: "listeners",
        v3: "envoy.service.listener.v3.ListenerDiscoveryService",
        v2: Some("envoy.api.v2.ListenerDiscoveryService"),
        noun: "Listeners",
        sotw: true,
    },
    Service {
        kind: Kind::Cds,
        rest: "clusters",
        v3: "envoy.service.cluster.v3.ClusterDiscoveryService",
        v2: Some("envoy.api.v2.ClusterDiscoveryService"),
        noun: "Clusters",
        sotw: true,
    },
    Service {
        kind: Kind::Rds,
        rest: "routes",
        v3: "envoy.service.route.v3.RouteDiscoveryService",
        v2: Some("envoy.api.v2.RouteDiscoveryService"),
        noun: "Routes",
        sotw: true,
    },
    Service {
        kind: Kind::Eds,
        rest: "endpoints",
        v3: "envoy.service.endpoint.v3.EndpointDiscoveryService",
        v2: Some("envoy.api.v2.EndpointDiscoveryService"),
        noun: "Endpoints",
        sotw: true,
    },
    Service {
        kind: Kind::Sds,
        rest: "secrets",
        v3: "envoy.service.secret.v3.SecretDiscoveryService",
        v2: Some("envoy.service.discovery.v2.SecretDiscoveryService"),
        noun: "Secrets",
        sotw: true,
    },
    Service {
        kind: Kind::Srds,
        rest: "scoped-routes",
        v3: "envoy.service.route.v3.ScopedRoutesDiscoveryService",
        v2: Some("envoy.api.v2.ScopedRoutesDiscoveryService"),
        noun: "ScopedRoutes",
        sotw: true,
    },
    Service {
        kind: Kind::Vhds,
        rest: "virtual-hosts",
        v3: "envoy.service.route.v3.VirtualHostDiscoveryService",
        v2: Some("envoy.api.v2.VirtualHostDiscoveryService"),
        noun: "VirtualHosts",
        sotw: false,
    },
    Service {
        kind: Kind::Rtds,
        rest: "runtime",
        v3: "envoy.service.runtime.v3.RuntimeDiscoveryService",
        v2: Some("envoy.service.discovery.v2.RuntimeDiscoveryService"),
        noun: "Runtime",
        sotw: true,
    },
    Service {
        kind: Kind::Ecds,
        rest: "extension_configs",
        v3: "envoy.service.extension.v3.ExtensionConfigDiscoveryService",
        v2: None,
        noun: "ExtensionConfigs",
        sotw: true,
    },
    Service {
        kind: Kind::Leds,
        rest: "locality-endpoints",
        v3: "envoy.service.endpoint.v3.LocalityEndpointDiscoveryService",
        v2: None,
        noun: "LocalityEndpoints",
        sotw: false,
    },
];

impl Method {
    /// The path that stands for a dump.
    pub const DUMP: &str = "dump:";

    /// Parses a gRPC path, `/package.Service/Method`.
    ///
    /// `None` if the method is not a subscription, so that the stream is opaque
    /// (docs/protocol.md#a-19): other services, and the unary `Fetch*` methods.
    pub fn parse(path: &str) -> Option<Method> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        if let Some((_, transport)) = ADS.iter().find(|(name, _)| *name == service) {
            let variant = match method {
                "StreamAggregatedResources" => Variant::Ads,
                "DeltaAggregatedResources" => Variant::DeltaAds,
                _ => return None,
            };
            return Some(Method { variant, kind: None, transport: *transport });
        }
        // Some editions of the protocol document have SRDS in the singular; the published service
        // is in the plural (docs/protocol.md#a-04).
        let service = service.replace(".ScopedRouteDiscoveryService", ".ScopedRoutesDiscoveryService");
        SERVICES.iter().find_map(|row| {
            let transport = if row.v3 == service {
                ApiVersion::V3
            } else if row.v2 == Some(service.as_str()) {
                ApiVersion::V2
            } else {
                return None;
            };
            let (verb, noun) = method.split_at_checked(method.find(row.noun)?)?;
            if noun != row.noun {
                return None;
            }
            let variant = match verb {
                "Stream" => Variant::Sotw,
                "Delta" => Variant::Delta,
                _ => return None,
            };
            Some(Method { variant, kind: Some(row.kind), transport })
        })
    }

    /// Parses the path of any source: gRPC, REST (docs/protocol.md#d-01), a dump
    /// ([`Method::DUMP`]), or a file, written `file:` and the type URL of its content if known
    /// (docs/protocol.md#c-01).
    ///
    /// A REST path of an unknown name has no kind: its messages state their type.
    pub fn of_path(path: &str) -> Option<Method> {
        if let Some(method) = Method::parse(path) {
            return Some(method);
        }
        let method = |variant, kind, transport| Method { variant, kind, transport };
        if path == Method::DUMP {
            return Some(method(Variant::Dump, None, ApiVersion::V3));
        }
        if let Some(url) = path.strip_prefix("file:") {
            let known = Kind::of_type_url(url);
            if known.is_none() && !url.is_empty() {
                return None;
            }
            let transport = known.map_or(ApiVersion::V3, |(_, transport)| transport);
            return Some(method(Variant::File, known.map(|(kind, _)| kind), transport));
        }
        let (version, noun) = path.strip_prefix('/')?.split_once("/discovery:")?;
        let transport = [ApiVersion::V2, ApiVersion::V3].into_iter().find(|v| v.word() == version)?;
        let kind = match noun {
            "runtime" => Some(Kind::Rtds),
            noun => Kind::parse(&noun.replace('_', "-")),
        };
        let is_name = !noun.is_empty() && !noun.contains('/');
        is_name.then(|| method(Variant::Rest, kind, transport))
    }

    /// Returns the published path of a streaming method or of REST polls.
    ///
    /// `None` where the API has none: SotW VHDS and LEDS, v2 ECDS.
    pub fn path(variant: Variant, kind: Option<Kind>, transport: ApiVersion) -> Option<String> {
        if variant == Variant::Dump {
            return None;
        }
        if variant.is_aggregated() {
            let service = ADS.iter().find(|(_, v)| *v == transport)?.0;
            let verb = if variant.is_delta() { "Delta" } else { "Stream" };
            return Some(format!("/{service}/{verb}AggregatedResources"));
        }
        let row = SERVICES.iter().find(|row| Some(row.kind) == kind)?;
        let service = match transport {
            ApiVersion::V3 => row.v3,
            ApiVersion::V2 => row.v2?,
        };
        match variant {
            Variant::Sotw if row.sotw => Some(format!("/{service}/Stream{}", row.noun)),
            Variant::Rest if row.sotw => Some(format!("/{}/discovery:{}", transport.word(), row.rest)),
            Variant::Delta => Some(format!("/{service}/Delta{}", row.noun)),
            _ => None,
        }
    }

    /// Returns the type that a single-type method implies, in the method's own API version
    /// (docs/protocol.md#i-02).
    pub fn implied_type(&self) -> Option<TypeUrl> {
        self.kind?.type_url(self.transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_published_paths() {
        for transport in [ApiVersion::V2, ApiVersion::V3] {
            for variant in [Variant::Ads, Variant::DeltaAds, Variant::Sotw, Variant::Delta, Variant::Rest] {
                for kind in Kind::all() {
                    let Some(path) = Method::path(variant, Some(kind), transport) else { continue };
                    let read = Method::of_path(&path).unwrap_or_else(|| panic!("{path}"));
                    assert_eq!(read.variant, variant, "{path}");
                    assert_eq!(read.transport, transport, "{path}");
                    if !variant.is_aggregated() {
                        assert_eq!(read.kind, Some(kind), "{path}");
                    }
                }
            }
        }
    }

    #[test]
    fn accepts_both_spellings_of_srds() {
        let singular = "/envoy.service.route.v3.ScopedRouteDiscoveryService/StreamScopedRoutes";
        assert_eq!(Method::parse(singular).and_then(|m| m.kind), Some(Kind::Srds));
    }

    #[test]
    fn rejects_methods_that_are_not_xds() {
        for path in [
            "/grpc.health.v1.Health/Watch",
            "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats",
            "/envoy.service.discovery.v3.AggregatedDiscoveryService/Other",
            "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters",
            "nonsense",
        ] {
            assert_eq!(Method::parse(path), None, "{path}");
        }
    }

    #[test]
    fn unknown_rest_path_has_no_type() {
        let read = Method::of_path("/v3/discovery:monitoringassignments").expect("a REST path");
        assert_eq!((read.variant, read.kind, read.implied_type()), (Variant::Rest, None, None));
        for path in ["/v3/discovery:", "/v4/discovery:clusters", "/v3/discovery:a/b", "/discovery:clusters"] {
            assert_eq!(Method::of_path(path), None, "{path}");
        }
    }
}
