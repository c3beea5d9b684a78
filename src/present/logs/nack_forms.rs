//! Texts of NACKs, with or without what a log writes before them.

use super::Form;
use super::forms::{CORE, ENVOY, GO, JAVA, REFUSED, REFUSED_LOOK};
use xdscope_wire::event::Kind;

/// Known texts of NACKs.
pub(super) const FORMS: &[Form] = &[
    Form {
        who: ENVOY,
        title: "Error adding/updating TYPE(s) NAME: TEXT",
        pattern: r"Error adding/updating (?P<type>listener|cluster)\(s\) (?P<name>\S+): (?P<text>.*)",
        kind: None,
        means: REFUSED,
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "MESSAGEValidationError.FIELD: TEXT",
        pattern: r"(?:^|[^(\w])(?P<type>\w+)ValidationError\.(?P<text>\w+(?:\[[^\]]*\])?: .*)",
        kind: None,
        means: "A field violates a constraint of the API: a required field is missing or a value is out of \
                range. The client refuses the resource.",
        look: &[
            "screen 6, NACK: the field, its value, and its constraint",
            "xdscope explain MESSAGE.FIELD      the constraints of a field",
        ],
    },
    Form {
        who: ENVOY,
        title: "Unable to unpack as TYPE: TEXT",
        pattern: r"Unable to unpack as (?P<type>[\w.]+): (?P<text>.*)",
        kind: None,
        means: "The bytes of an Any are not a message of its type: the control plane encodes another message, \
                or the bytes are broken. Envoy refuses the response.",
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "cannot create an EDS cluster without an EDS config",
        pattern: r"cannot create an EDS cluster without an EDS config|eds_cluster_config set in a non-EDS cluster",
        kind: Some(Kind::Cds),
        means: "The type of the cluster and eds_cluster_config contradict each other: a cluster of type EDS \
                needs the field, and other clusters may not have it. Envoy refuses the cluster.",
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "malformed IP address: TEXT",
        pattern: r"malformed IP address: (?P<text>\S+)",
        kind: None,
        means: "An endpoint or a listener has a host name where Envoy needs an IP address. Send the resolved \
                address, or make the cluster STRICT_DNS or LOGICAL_DNS.",
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "duplicate TYPE NAME found",
        pattern: r"duplicate (?:(?P<type>cluster|listener)|name) (?P<name>\S+) found",
        kind: None,
        means: "One response has two resources of this name, so Envoy refuses the response.",
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "Unexpected TYPE (expecting NAME): OTHER",
        pattern: r"Unexpected (?P<type>EDS|RDS|SDS|SRDS|VHDS) (?:cluster|configuration|secret|scope) \(expecting (?P<name>[^)]+)\): (?P<text>\S+)",
        kind: None,
        means: "A response for the subscription of one resource has another one, so Envoy refuses the \
                response. The server has answered with a resource that nobody asked for by this name: on a \
                stream of one type it may have mixed up two clients or two subscriptions.",
        look: &[
            "xdscope get SESSION {type} --subscriptions      which names the client requests",
            "xdscope log SESSION --filter 'type:{type} kind:nack'      every NACK with its error",
        ],
    },
    Form {
        who: ENVOY,
        title: "error adding listener: 'NAME' has duplicate address 'ADDRESS' as existing listener",
        pattern: r"error adding listener:? '(?P<name>[^']*)' has duplicate address(?: '(?P<text>[^']*)')?",
        kind: Some(Kind::Lds),
        means: "Another listener has the same address already, so Envoy refuses this one. Send the listeners \
                with addresses of their own, or remove the old one in the same response.",
        look: &[
            "xdscope get SESSION lds -o yaml      the addresses of the listeners",
            "screen 6, NACK: the refused listener beside its last accepted version",
        ],
    },
    Form {
        who: ENVOY,
        title: "Only unique names for routes are supported. Duplicate entry of route with name 'NAME'",
        pattern: r"Only unique names for routes are supported\.(?: Duplicate entry of route with name '?(?P<text>[^'\s]+))?",
        kind: Some(Kind::Rds),
        means: "Two routes have one name where each name may occur once, so Envoy refuses the route \
                configuration and keeps the previous one.",
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "vhds: only 'DELTA_GRPC' is supported as an api_type",
        pattern: r"vhds: only '(?P<text>DELTA_GRPC)' is supported as an api_type",
        kind: Some(Kind::Vhds),
        means: "A route configuration asks for VHDS from a config source that is not delta gRPC. VHDS exists \
                in delta only, so Envoy refuses the route configuration: set api_type DELTA_GRPC, or use ADS \
                over delta.",
        look: &[
            "xdscope log SESSION --filter 'type:rds kind:nack'      the refused route configuration",
            "xdscope get SESSION rds -o yaml      its vhds.config_source",
        ],
    },
    Form {
        who: ENVOY,
        title: "scope key conflict found, first scope is NAME, second scope is NAME",
        pattern: r"scope key conflict found, first scope is (?P<name>[^,]+), second scope is (?P<text>.*)",
        kind: Some(Kind::Srds),
        means: "Two scoped route configurations have the same key, so that a request would fit both. Envoy \
                refuses the response; with delta, remove the old scope in the response that adds the new one.",
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "Only a single wildcard domain is permitted in route NAME",
        pattern: r"Only a single wildcard domain is permitted(?: in route (?P<name>\S+))?",
        kind: Some(Kind::Rds),
        means: "Two virtual hosts of the route configuration have the domain *, so Envoy refuses the route \
                configuration and keeps the previous one.",
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "cannot bind 'ADDRESS': TEXT",
        pattern: r"cannot bind '(?P<text>[^']*': .*)",
        kind: Some(Kind::Lds),
        means: "The operating system does not give Envoy the address of the listener: another process or \
                listener has the port, or the address is not one of the machine, or Envoy lacks the right. \
                Envoy refuses the listener.",
        look: &[
            "xdscope get SESSION lds -o yaml      the addresses of the listeners",
            "screen 6, NACK: the refused listener beside its last accepted version",
        ],
    },
    Form {
        who: ENVOY,
        title: "FIELD: value must be TEXT",
        pattern: r"^\W*(?P<text>\w+(?:\[[^\]]*\])?: value (?:must|does|length|is) .*)",
        kind: None,
        means: "A field violates a constraint of the API: a required field is missing or a value is out of \
                range. The client refuses the resource.",
        look: &[
            "screen 6, NACK: the field, its value, and its constraint",
            "xdscope explain MESSAGE.FIELD      the constraints of a field",
        ],
    },
    Form {
        who: CORE,
        title: "xDS response validation errors: [TEXT]",
        pattern: r"xDS response validation errors: \[(?P<text>.*?)\]?$",
        kind: None,
        means: "The client refused resources of a response, and lists each with its place in the response. \
                It uses the other resources, and keeps the earlier versions of the refused ones.",
        look: REFUSED_LOOK,
    },
    Form {
        who: CORE,
        title: "field:FIELD error:TEXT",
        pattern: r"^\W*field:(?P<text>\S+ errors?:.*?)\]?$",
        kind: None,
        means: "A field of a resource has a value that the client does not support or accept: the client \
                refuses the resource, and keeps its earlier version.",
        look: REFUSED_LOOK,
    },
    Form {
        who: GO,
        title: "error parsing \"TEXT\" response: resource \"NAME\": TEXT",
        pattern: r#"error parsing "[^"]*" response: (?:resource "(?P<name>[^"]*)": )?(?P<text>.*)"#,
        kind: None,
        means: "The client refused resources of a response. It uses the other resources, and keeps the \
                earlier versions of the refused ones.",
        look: REFUSED_LOOK,
    },
    Form {
        who: JAVA,
        title: "TYPE response MESSAGE 'NAME' validation error: TEXT",
        pattern: r"(?P<type>[A-Z]{1,2}DS) response \w+ '(?P<name>[^']*)' validation error: (?P<text>.*)",
        kind: None,
        means: "The client refused one resource of a response. It uses the other resources, and keeps the \
                earlier version of the refused one.",
        look: REFUSED_LOOK,
    },
];
