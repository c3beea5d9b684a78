use super::TypeUrl;

/// The prefix of every type URL in the published API (docs/protocol.md#a-01).
pub const TYPE_PREFIX: &str = "type.googleapis.com/";

/// Segments of a type URL of another API, with its domain.
const FOREIGN_URL_SEGMENTS: usize = 3;

/// The prefix of the debug types of Istio.
const DEBUG_PREFIX: &str = "istio.io/debug/";

/// Whether a type is asked for once: a server answers each request for a debug type of Istio at
/// once, so that an ACK would bring the next response.
pub fn is_asked_once(type_url: &TypeUrl) -> bool {
    type_url.as_str().starts_with(DEBUG_PREFIX)
}

/// Splits a type URL of another API, such as Istio's `istio.io/debug/syncz`, from the name of a
/// resource after it. `None` if the text does not begin with a domain.
///
/// The URL has at most three segments. The last label of a domain is lowercase, the last part of a
/// message name is not: `acme.v1.Widget/w` begins with a message name.
pub fn foreign_type_url(text: &str) -> Option<(&str, Option<&str>)> {
    let (domain, path) = text.split_once('/')?;
    let label = domain.rsplit_once('.').map(|(_, label)| label)?;
    let is_domain = !label.is_empty() && label.chars().all(|c| c.is_ascii_lowercase());
    if !is_domain || text.starts_with(TYPE_PREFIX) || path.is_empty() {
        return None;
    }
    let end = text.match_indices('/').nth(FOREIGN_URL_SEGMENTS - 1).map_or(text.len(), |(at, _)| at);
    let (url, name) = text.split_at(end);
    Some((url, name.strip_prefix('/')))
}

/// The API version of a transport or of a resource type.
///
/// The two are independent (docs/protocol.md#a-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ApiVersion {
    /// `envoy.api.v2`.
    V2,
    /// The current version.
    V3,
}

impl ApiVersion {
    /// Returns `v2` or `v3`.
    pub fn word(self) -> &'static str {
        match self {
            ApiVersion::V2 => "v2",
            ApiVersion::V3 => "v3",
        }
    }
}

/// A resource type with a short name, such as CDS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Listeners.
    Lds,
    /// Clusters.
    Cds,
    /// Route configurations.
    Rds,
    /// Endpoints (cluster load assignments).
    Eds,
    /// Secrets.
    Sds,
    /// Scoped route configurations.
    Srds,
    /// Virtual hosts.
    Vhds,
    /// Runtime layers.
    Rtds,
    /// Extension configurations.
    Ecds,
    /// Endpoints of a locality.
    Leds,
}

struct KindRow {
    kind: Kind,
    word: &'static str,
    label: &'static str,
    plural: &'static str,
    v3: &'static str,
    v2: Option<&'static str>,
}

/// In the order in which screens show the types.
const ROWS: [KindRow; 10] = [
    KindRow {
        kind: Kind::Lds,
        word: "lds",
        label: "LDS",
        plural: "listeners",
        v3: "envoy.config.listener.v3.Listener",
        v2: Some("envoy.api.v2.Listener"),
    },
    KindRow {
        kind: Kind::Cds,
        word: "cds",
        label: "CDS",
        plural: "clusters",
        v3: "envoy.config.cluster.v3.Cluster",
        v2: Some("envoy.api.v2.Cluster"),
    },
    KindRow {
        kind: Kind::Rds,
        word: "rds",
        label: "RDS",
        plural: "routes",
        v3: "envoy.config.route.v3.RouteConfiguration",
        v2: Some("envoy.api.v2.RouteConfiguration"),
    },
    KindRow {
        kind: Kind::Eds,
        word: "eds",
        label: "EDS",
        plural: "endpoints",
        v3: "envoy.config.endpoint.v3.ClusterLoadAssignment",
        v2: Some("envoy.api.v2.ClusterLoadAssignment"),
    },
    KindRow {
        kind: Kind::Sds,
        word: "sds",
        label: "SDS",
        plural: "secrets",
        v3: "envoy.extensions.transport_sockets.tls.v3.Secret",
        v2: Some("envoy.api.v2.auth.Secret"),
    },
    KindRow {
        kind: Kind::Srds,
        word: "srds",
        label: "SRDS",
        plural: "scoped-routes",
        v3: "envoy.config.route.v3.ScopedRouteConfiguration",
        v2: Some("envoy.api.v2.ScopedRouteConfiguration"),
    },
    KindRow {
        kind: Kind::Vhds,
        word: "vhds",
        label: "VHDS",
        plural: "virtual-hosts",
        v3: "envoy.config.route.v3.VirtualHost",
        v2: Some("envoy.api.v2.route.VirtualHost"),
    },
    KindRow {
        kind: Kind::Rtds,
        word: "rtds",
        label: "RTDS",
        plural: "runtimes",
        v3: "envoy.service.runtime.v3.Runtime",
        v2: Some("envoy.service.discovery.v2.Runtime"),
    },
    KindRow {
        kind: Kind::Ecds,
        word: "ecds",
        label: "ECDS",
        plural: "extension-configs",
        v3: "envoy.config.core.v3.TypedExtensionConfig",
        v2: None,
    },
    KindRow {
        kind: Kind::Leds,
        word: "leds",
        label: "LEDS",
        plural: "lb-endpoints",
        v3: "envoy.config.endpoint.v3.LbEndpoint",
        v2: None,
    },
];

impl Kind {
    /// All kinds, in the order in which screens show them.
    pub fn all() -> impl Iterator<Item = Kind> {
        ROWS.iter().map(|row| row.kind)
    }

    fn row(self) -> &'static KindRow {
        &ROWS[self as usize]
    }

    /// Returns the short name in tables, JSON and filters: `cds`.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// Returns the short name on screens: `CDS`.
    pub fn label(self) -> &'static str {
        self.row().label
    }

    /// Returns the full message name in an API version; ECDS and LEDS have none in v2.
    pub fn message(self, version: ApiVersion) -> Option<&'static str> {
        match version {
            ApiVersion::V3 => Some(self.row().v3),
            ApiVersion::V2 => self.row().v2,
        }
    }

    /// Returns the type URL in an API version.
    pub fn type_url(self, version: ApiVersion) -> Option<TypeUrl> {
        self.message(version).map(|m| TypeUrl::new(format!("{TYPE_PREFIX}{m}")))
    }

    /// Returns kind and API version of a full message name, given without the prefix.
    pub fn of_message(name: &str) -> Option<(Kind, ApiVersion)> {
        ROWS.iter().find_map(|row| {
            if row.v3 == name {
                Some((row.kind, ApiVersion::V3))
            } else if row.v2 == Some(name) {
                Some((row.kind, ApiVersion::V2))
            } else {
                None
            }
        })
    }

    /// Returns kind and API version of a type URL.
    pub fn of_type_url(url: &str) -> Option<(Kind, ApiVersion)> {
        Kind::of_message(url.strip_prefix(TYPE_PREFIX)?)
    }

    /// Parses a type as users write it: `cds`, `clusters`, `Cluster`, a message name or a type URL.
    ///
    /// Case does not matter, and neither do hyphens and a plural `s` of the long names.
    pub fn parse(word: &str) -> Option<Kind> {
        let word = word.strip_prefix(TYPE_PREFIX).unwrap_or(word);
        let singular = singular(word);
        let is_named = |row: &&KindRow| {
            let short = row.v3.rsplit('.').next().unwrap_or_default();
            row.word.eq_ignore_ascii_case(word)
                || row.v3.eq_ignore_ascii_case(word)
                || row.v2.is_some_and(|v2| v2.eq_ignore_ascii_case(word))
                || [row.plural, short].iter().any(|name| self::singular(name) == singular)
        };
        ROWS.iter().find(is_named).map(|row| row.kind)
    }

    /// Returns the words of all types that users write: `cds`, `clusters`.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ROWS.iter().flat_map(|row| [row.word, row.plural])
    }

    /// Whether a SotW response holds every subscribed resource of this type, so that absence means
    /// deletion (docs/protocol.md#e-32).
    pub fn full_state(self) -> bool {
        matches!(self, Kind::Lds | Kind::Cds)
    }

    /// Returns the number of the field with the resource's own name.
    ///
    /// `None` for LEDS, whose name is in the wrapper only.
    pub fn name_field(self) -> Option<u32> {
        (self != Kind::Leds).then_some(1)
    }
}

/// Returns the singular of a name, in small letters and without hyphens.
fn singular(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase());
    let name: String = letters.collect();
    name.strip_suffix('s').map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_enum_order() {
        for (i, row) in ROWS.iter().enumerate() {
            assert_eq!(row.kind as usize, i, "{}", row.word);
        }
    }

    #[test]
    fn parses_every_spelling_of_a_type() {
        for row in &ROWS {
            let url = format!("{TYPE_PREFIX}{}", row.v3);
            for word in [row.word, row.label, row.plural, row.v3, url.as_str()] {
                assert_eq!(Kind::parse(word), Some(row.kind), "{word}");
            }
        }
        for word in ["Cluster", "cluster", "CLUSTERS", "Clusters", "CDS", "Cds"] {
            assert_eq!(Kind::parse(word), Some(Kind::Cds), "{word}");
        }
        for word in ["virtual-host", "virtualhosts", "VirtualHost", "virtual_hosts"] {
            assert_eq!(Kind::parse(word), Some(Kind::Vhds), "{word}");
        }
        for word in ["nothing", "cd", "", "s", "v3.Cluster"] {
            assert_eq!(Kind::parse(word), None, "{word}");
        }
    }
}
