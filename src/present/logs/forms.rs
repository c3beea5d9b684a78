use super::Form;
use xdscope_wire::event::Kind;

pub(super) const ENVOY: &str = "Envoy";
pub(super) const ISTIO: &str = "istioctl";
const GO_CONTROL_PLANE: &str = "go-control-plane";
pub(super) const CORE: &str = "gRPC C-core";
pub(super) const GO: &str = "grpc-go";
pub(super) const JAVA: &str = "grpc-java";
const JS: &str = "grpc-js";

pub(super) const ENDED: &str = "The stream to the control plane ended. The client keeps its configuration and \
                     reconnects with exponential back-off; until then it gets no updates.";
pub(super) const ENDED_LOOK: &[&str] = &[
    "xdscope log SESSION --filter kind:close      how each stream ended, and which side ended it",
    "xdscope lint SESSION --rule regular-stream-age      whether the server limits the age of streams",
    "screen 2, Stream: its age, the silence before its end, the streams after it",
];
pub(super) const REFUSED: &str = "The client refused a push and keeps the configuration that it had. It tells the \
                       server in a NACK; usually nothing changes until the configuration is fixed.";
pub(super) const REFUSED_LOOK: &[&str] = &[
    "xdscope log SESSION --filter 'type:{type} kind:nack'      every NACK with its error",
    "screen 6, NACK: the refused field beside its last accepted value",
];
const ABSENT: &str = "The client asked for a resource and did not get it. A SotW server does not answer, so \
                      the client waits 15 s and assumes that the resource does not exist; a delta server \
                      reports it as removed.";
pub(super) const ABSENT_LOOK: &[&str] = &[
    "xdscope get SESSION {type} --subscriptions      which names were requested and not sent",
    "xdscope lint SESSION --rule name-not-delivered",
    "screen 7, Subs: which client asked for it, since when, and which side has to answer",
];
const NO_ROUTE_LOOK: &[&str] = &[
    "xdscope get SESSION rds -o yaml      the domains and matches that the client has",
    "xdscope status SESSION --filter type:rds      whether newer routes were refused or not sent",
];
const LARGE: &str = "A message is larger than its receiver accepts; the default limit of gRPC is 4 MiB. The \
                     stream ends, the client reconnects, and the server sends the same message again.";
const LARGE_LOOK: &[&str] = &[
    "xdscope lint SESSION --rule over-4mib      which message, and its largest resources",
    "xdscope log SESSION --filter 'size>4M'",
    "xdscope lint SESSION --rule delta-would-save      how much less delta would send",
];

/// Known texts, the more specific ones first.
pub(super) const FORMS: &[Form] = &[
    Form {
        who: ENVOY,
        title: "gRPC config stream closed: CODE, TEXT",
        pattern: r"gRPC config stream (?:to (?P<server>\S+) )?closed(?: since \d+s ago)?: (?P<code>\d+),\s*(?P<text>.*?)(?:\(previously .*)?$",
        kind: None,
        means: ENDED,
        look: ENDED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "gRPC config stream closed gracefully",
        pattern: r"gRPC config stream closed gracefully(?:,\s*(?P<text>.*))?$",
        kind: None,
        means: "The server closed the stream without an error. Envoy reconnects at once; nothing is lost.",
        look: ENDED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "gRPC config for TYPE rejected: TEXT",
        pattern: r"gRPC config for (?P<url>\S+) rejected: (?P<text>.*)",
        kind: None,
        means: REFUSED,
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "gRPC config: initial fetch timed out for TYPE",
        pattern: r"(?:gRPC|REST) config: initial fetch time(?:d )?out for (?P<url>\S+)",
        kind: None,
        means: "Envoy asked for this type and got no response within initial_fetch_timeout (15 s by \
                default), so it starts without it. Listeners and clusters that were warming on it become \
                active without it.",
        look: &[
            "xdscope status SESSION --filter type:{type}      whether it was requested, and what was sent",
            "xdscope lint SESSION --rule warming-stuck --rule name-not-delivered",
            "screen 8, Graph: which resources are warming, and what they wait for",
        ],
    },
    Form {
        who: ENVOY,
        title: "Ignoring unwatched type URL TYPE",
        pattern: r"Ignoring unwatched type URL (?P<url>\S+)",
        kind: None,
        means: "The server sent a type that this Envoy does not subscribe to, or no longer does.",
        look: &[
            "xdscope lint SESSION --rule response-type-unrequested",
            "xdscope log SESSION --filter type:{type}      whether it was requested on this stream",
        ],
    },
    Form {
        who: GO_CONTROL_PLANE,
        title: "ADS mode: not responding to request TYPE: \"NAME\" not listed",
        pattern: r#"not responding to request:?\s*(?P<url>type\.googleapis\.com/[\w.]+)?.*?"(?P<name>[^"]*)" not listed"#,
        kind: None,
        means: "The snapshot has a resource of this type that the request does not name. The server leaves \
                the request unanswered until the requested names include all names of the snapshot, so check \
                that the snapshot is consistent.",
        look: &[
            "xdscope get SESSION {type} --subscriptions      which names the client requests",
            "xdscope status SESSION -o wide      since when the client waits for the type",
            "xdscope get SESSION {type}/{name}      whether it was ever sent",
        ],
    },
    Form {
        who: "gRPC",
        title: "received message larger than max (SIZE vs. MAX)",
        pattern: r"(?i)(?:received|sent) message larger than max \((?P<size>\d+) vs\.? (?P<max>\d+)\)|received message larger than max",
        kind: None,
        means: LARGE,
        look: LARGE_LOOK,
    },
    Form {
        who: JAVA,
        title: "gRPC message exceeds maximum size MAX: SIZE",
        pattern: r"gRPC message exceeds maximum size (?P<max>\d+): (?P<size>\d+)",
        kind: None,
        means: LARGE,
        look: LARGE_LOOK,
    },
    Form {
        who: ENVOY,
        title: "Only unique values for domains are permitted. Duplicate entry of domain DOMAIN in route NAME",
        pattern: r"Only unique values for (?:domains|host) are permitted\.(?: Duplicate entry of domain (?P<text>\S+) in route (?P<name>\S+))?",
        kind: Some(Kind::Rds),
        means: "Two virtual hosts of one route configuration have the same domain, so Envoy refuses the \
                route configuration and keeps the previous one.",
        look: &[
            "xdscope get SESSION rds/{name} -o yaml      its virtual hosts",
            "screen 6, NACK: the refused resource beside the last accepted one",
        ],
    },
    Form {
        who: ENVOY,
        title: "Didn't find a registered implementation for 'NAME' with type URL: 'TYPE'",
        pattern: r"Did(?:n't| not) find a registered implementation for (?:[\w -]+: )?'(?P<name>[^']*)'(?: with type URL: '(?P<text>[^']*)')?",
        kind: None,
        means: "The configuration names an extension that this build of Envoy does not have: it is from \
                another version, it is a contrib extension, or its name is misspelt. Envoy refuses the \
                resource.",
        look: &[
            "xdscope log SESSION --filter 'kind:nack {name}'",
            "screen 6, NACK: the filter or transport socket that names it",
        ],
    },
    Form {
        who: ENVOY,
        title: "Protobuf message (type TYPE with unknown field set {N}) has unknown fields",
        pattern: r"(?:type (?P<type>[\w.]+)[^)]*unknown field set \{(?P<text>[^}]*)\}\) )?has unknown fields",
        kind: None,
        means: "The control plane sent fields that this Envoy does not know: it was built with a newer API. \
                By default Envoy rejects such fields in its bootstrap and only warns about them in xDS \
                resources.",
        look: &[
            "xdscope log SESSION --filter kind:nack      whether a push was refused because of them",
            "xdscope get SESSION {type} -o yaml      the unknown fields, by number",
        ],
    },
    Form {
        who: ENVOY,
        title: "MESSAGE: Proto constraint validation failed (TEXT)",
        pattern: r"Proto constraint validation failed \((?P<text>.*)\)",
        kind: None,
        means: "A field violates a constraint of the API: a required field is missing or a value is out of \
                range. Envoy refuses the resource.",
        look: &[
            "screen 6, NACK: the field, its value, and its constraint",
            "xdscope explain MESSAGE.FIELD      the constraints of a field",
        ],
    },
    Form {
        who: ENVOY,
        title: "route: unknown cluster 'NAME'",
        pattern: r"route: unknown (?:weighted )?cluster '(?P<name>[^']*)'",
        kind: Some(Kind::Cds),
        means: "A route refers to a cluster that Envoy does not have, and validate_clusters is set, so Envoy \
                refuses the route configuration. Send the cluster before the route.",
        look: &[
            "xdscope lint SESSION --rule route-unknown-cluster --rule break-before-make",
            "screen 8, Graph: routes that refer to missing clusters",
        ],
    },
    Form {
        who: ISTIO,
        title: "STALE (Never Acknowledged)",
        pattern: r"(?i)never acknowledged",
        kind: None,
        means: "The control plane has sent configuration of this type and this proxy has never acknowledged \
                it: the proxy refused every push, is still warming, or never received one.",
        look: &[
            "xdscope status SESSION -o wide      STALE, NACK or SENT, and which side has to act",
            "xdscope log SESSION --filter kind:nack",
        ],
    },
    Form {
        who: ISTIO,
        title: "STALE",
        pattern: r"\bSTALE\b",
        kind: None,
        means: "The control plane has sent an update that this proxy has not acknowledged: the proxy refused \
                it, is still warming, or never received it. istioctl reports a refused update as STALE too; \
                xdscope reports it as NACK.",
        look: &[
            "xdscope status SESSION      STALE or NACK, since when",
            "xdscope lint SESSION --rule response-unanswered --rule warming-stuck",
        ],
    },
    Form {
        who: ISTIO,
        title: "ERROR",
        pattern: r"(?:^|\s)ERROR(?:\s+\(.*\))?\s*$",
        kind: None,
        means: "The proxy has refused the last update of this type, and keeps the configuration that it had. The \
                control plane has the text of the NACK: `istio.io/debug/syncz` shows it.",
        look: &[
            "xdscope status SESSION      NACK, with the reason of the client",
            "xdscope log SESSION --filter kind:nack",
        ],
    },
    Form {
        who: ISTIO,
        title: "NOT SENT",
        pattern: r"NOT SENT",
        kind: None,
        means: "The control plane has sent no resources of this type: it has none for this proxy, or the \
                proxy did not request any.",
        look: &[
            "xdscope status SESSION      idle: not requested; WAIT or MISS: requested and not sent",
            "screen 7, Subs: which names were requested",
        ],
    },
    Form {
        who: ENVOY,
        title: "503 UH, no healthy upstream",
        pattern: r#"(?:\b503\b.*|flags\W+)\bUH\b|no[ _]healthy[ _]upstream(?: for '(?P<name>[^']*)')?"#,
        kind: Some(Kind::Cds),
        means: "The cluster exists and has no usable host: its endpoints were not sent or are empty, all of \
                them are unhealthy, or the cluster is still warming.",
        look: &[
            "xdscope get SESSION eds/{name} -o yaml      its endpoints and their health",
            "xdscope status SESSION --filter type:eds      whether they were requested and sent",
            "screen 8, Graph: the cluster, and the resources that it waits for",
        ],
    },
    Form {
        who: ENVOY,
        title: "503 NC, cluster_not_found",
        pattern: r#"(?:\b503\b.*|flags\W+)\bNC\b|cluster_not_found"#,
        kind: Some(Kind::Cds),
        means: "The route refers to a cluster that this Envoy does not have: it was not sent yet, was \
                removed while the route still uses it, was refused, or its name is misspelt.",
        look: &[
            "xdscope lint SESSION --rule route-unknown-cluster --rule break-before-make",
            "xdscope get SESSION cds      the clusters that Envoy has",
            "screen 8, Graph: routes that refer to missing clusters, and for how long",
        ],
    },
    Form {
        who: ENVOY,
        title: "404 or 503 NR, route_not_found",
        pattern: r#"(?:\b(?:404|503)\b.*|flags\W+)\bNR\b|route_not_found"#,
        kind: Some(Kind::Rds),
        means: "No route matches this request: no virtual host has its domain, no route of the virtual host \
                matches, or the listener still waits for its route configuration.",
        look: NO_ROUTE_LOOK,
    },
    Form {
        who: GO,
        title: "xds: resource \"NAME\" of type \"TYPE\" has been removed",
        pattern: r#"xds: resource "(?P<name>[^"]*)" of type "(?P<type>\w+?)(?:Resource)?" has been removed"#,
        kind: None,
        means: "The resource is missing from a state-of-the-world response, was removed by the server, or \
                was not sent within 15 s: grpc-go has one message for all three. Calls that need the \
                resource fail.",
        look: ABSENT_LOOK,
    },
    Form {
        who: CORE,
        title: "timeout obtaining resource from xDS server SERVER",
        pattern: r"timeout obtaining resource from xDS server (?P<text>\S+)",
        kind: None,
        means: ABSENT,
        look: ABSENT_LOOK,
    },
    Form {
        who: JAVA,
        title: "Timed out waiting for resource NAME from xDS server",
        pattern: r"Timed out waiting for resource (?P<name>\S+)",
        kind: None,
        means: ABSENT,
        look: ABSENT_LOOK,
    },
    Form {
        who: JS,
        title: "Listener NAME does not exist",
        pattern: r"\b(?P<type>Listener|RouteConfiguration|Cluster|ClusterLoadAssignment) (?P<name>\S+) does not exist",
        kind: None,
        means: ABSENT,
        look: ABSENT_LOOK,
    },
    Form {
        who: "gRPC",
        title: "resource does not exist",
        pattern: r"(?i)(?:(?P<type>[LRCE]DS) )?resource (?:(?P<name>\S+) )?(?:of type \S+ )?does not exist|\): does not exist",
        kind: None,
        means: ABSENT,
        look: ABSENT_LOOK,
    },
    Form {
        who: GO,
        title: "Sending NACK for resource type: \"TYPE\", version: \"V\", nonce: \"N\", reason: TEXT",
        pattern: r#"Sending NACK for resource type: "(?P<url>[^"]*)", version: "[^"]*", nonce: "[^"]*", reason: (?P<text>.*)"#,
        kind: None,
        means: REFUSED,
        look: REFUSED_LOOK,
    },
    Form {
        who: JAVA,
        title: "Sending NACK for TYPE update, nonce: N, current version: V",
        pattern: r"Sending NACK for (?P<type>\w+) update, nonce: \S+, current version:",
        kind: None,
        means: REFUSED,
        look: REFUSED_LOOK,
    },
    Form {
        who: CORE,
        title: "will NACK: nonce=N",
        pattern: r"will NACK: nonce=",
        kind: None,
        means: REFUSED,
        look: REFUSED_LOOK,
    },
    Form {
        who: GO,
        title: "ADS stream closed: TEXT",
        pattern: r"(?:ADS stream closed|create a new ADS streaming RPC): (?:rpc error: code = (?P<code>\w+) desc = )?(?P<text>.*)",
        kind: None,
        means: ENDED,
        look: ENDED_LOOK,
    },
    Form {
        who: JAVA,
        title: "ADS stream closed with status CODE: TEXT",
        pattern: r"ADS stream closed with (?:status )?(?P<code>[A-Z_]+)(?:[:.] ?(?:Cause: )?(?P<text>.*))?",
        kind: None,
        means: ENDED,
        look: ENDED_LOOK,
    },
    Form {
        who: JS,
        title: "ADS stream ended. code=CODE details= TEXT",
        pattern: r"ADS stream ended\. code=(?P<code>\d+) details= ?(?P<text>.*)",
        kind: None,
        means: ENDED,
        look: ENDED_LOOK,
    },
    Form {
        who: CORE,
        title: "ADS call status received (...): CODE: TEXT",
        pattern: r"ADS call status received .*?\): (?P<code>[A-Z_]+)(?:: ?(?P<text>.*))?$",
        kind: None,
        means: ENDED,
        look: ENDED_LOOK,
    },
    Form {
        who: "gRPC",
        title: "No matching route found in xDS route config",
        pattern: r"(?i)No matching route found in xDS route config|no matched route was found|Could not find xDS route matching RPC",
        kind: Some(Kind::Rds),
        means: "No route of the client's route configuration matches the method and the headers of this \
                call.",
        look: NO_ROUTE_LOOK,
    },
    Form {
        who: "gRPC",
        title: "could not find VirtualHost for NAME in RouteConfiguration",
        pattern: r"could not find VirtualHost for (?P<text>\S+)",
        kind: Some(Kind::Rds),
        means: "The route configuration has no virtual host with a domain that matches the target of the \
                client.",
        look: NO_ROUTE_LOOK,
    },
    Form {
        who: "gRPC",
        title: "EDS resource NAME contains no localities",
        pattern: r"(?:no children in weighted_target policy: )?EDS resource (?P<name>[^\s:]+):? contains (?:no|empty) localities|No usable endpoint from cluster(?:\(s\))?: \[?(?P<text>[^\]]*)|no children in weighted_target policy",
        kind: Some(Kind::Eds),
        means: "The client has the cluster and no usable endpoint: the server sent an empty assignment, or \
                one without usable endpoints.",
        look: &[
            "xdscope get SESSION eds/{name} -o yaml      its endpoints and their health",
            "xdscope status SESSION --filter type:eds      whether they were requested and sent",
            "screen 8, Graph: the cluster, and the resources that it waits for",
        ],
    },
    Form {
        who: CORE,
        title: "connections to all backends failing; last error: TEXT",
        pattern: r"connections to all backends failing; last error: (?P<text>.*)",
        kind: Some(Kind::Eds),
        means: "The client has endpoints and cannot connect to any of them. Compare the addresses with the \
                running servers: if they differ, the endpoints are outdated; else the cause is not in xDS.",
        look: &[
            "xdscope get SESSION eds -o yaml      the addresses that the client has",
            "xdscope log SESSION --filter type:eds      when they changed last",
        ],
    },
];
