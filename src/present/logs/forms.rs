use super::Form;
use crate::wire::event::Kind;

const ENVOY: &str = "Envoy";
const ISTIO: &str = "istioctl";
const GO_CONTROL_PLANE: &str = "go-control-plane";
const CORE: &str = "gRPC C-core";
const GO: &str = "grpc-go";
const JAVA: &str = "grpc-java";
const JS: &str = "grpc-js";

const ENDED: &str = "The stream to the control plane ended. What the client has stays in force, and it comes back by \
                     itself, with growing pauses; only what is sent meanwhile is missed.";
const ENDED_LOOK: &[&str] = &[
    "xdscope log SESSION --filter kind:close      how each stream ended, and by whom",
    "xdscope lint SESSION --rule regular-stream-age      whether it is only a maximum age",
    "screen 2, Stream: age, silence before the end, what came after",
];
const REFUSED: &str = "The client refused a push and keeps what it had before. The server is told so in a NACK; it \
                       usually changes nothing before somebody mends the config.";
const REFUSED_LOOK: &[&str] = &[
    "xdscope log SESSION --filter 'type:{type} kind:nack'      every refusal with its text",
    "screen 6, NACK: the field that was refused, against the last good one",
];
const ABSENT: &str = "The client asked for a resource and was not given it: SotW servers stay silent, so the client \
                      waits 15 s and presumes that it does not exist; delta servers say so.";
const ABSENT_LOOK: &[&str] = &[
    "xdscope get SESSION {type} --subscriptions      what was asked for and never came",
    "xdscope lint SESSION --rule name-not-delivered",
    "screen 7, Subs: who asked for it, since when, and who must speak",
];
const NO_ROUTE_LOOK: &[&str] = &[
    "xdscope get SESSION rds -o yaml      domains and matches, as the client has them",
    "xdscope status SESSION --filter type:rds      whether newer routes were refused or never came",
];
const LARGE: &str = "A message is larger than its receiver takes; the default of gRPC is 4 MiB. The stream ends, the \
                     client comes back, and is sent the same again.";
const LARGE_LOOK: &[&str] = &[
    "xdscope lint SESSION --rule over-4mib      which message, and its heaviest resources",
    "xdscope log SESSION --filter 'size>4M'",
    "xdscope lint SESSION --rule delta-would-save      whether delta would send less",
];

/// All texts, the more exact ones first.
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
        means: "The server ended the stream in order. Envoy comes back at once; nothing is lost.",
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
        means: "Envoy asked for this type and for initial_fetch_timeout (15 s) nothing came, so it starts without. \
                Listeners and clusters that warmed up on it stay empty or go on without.",
        look: &[
            "xdscope status SESSION --filter type:{type}      whether it was asked for, and what was sent",
            "xdscope lint SESSION --rule warming-stuck --rule name-not-delivered",
            "screen 8, Graph: what is warming, and on what",
        ],
    },
    Form {
        who: ENVOY,
        title: "Ignoring unwatched type URL TYPE",
        pattern: r"Ignoring unwatched type URL (?P<url>\S+)",
        kind: None,
        means: "The server sent a type that nothing in this Envoy asks for any more, or ever did.",
        look: &[
            "xdscope lint SESSION --rule response-type-unrequested",
            "xdscope log SESSION --filter type:{type}      whether it was asked for on this stream",
        ],
    },
    Form {
        who: GO_CONTROL_PLANE,
        title: "ADS mode: not responding to request TYPE: \"NAME\" not listed",
        pattern: r#"not responding to request:?\s*(?P<url>type\.googleapis\.com/[\w.]+)?.*?"(?P<name>[^"]*)" not listed"#,
        kind: None,
        means: "The snapshot holds a resource of this type that the request does not name, so the whole request goes \
                unanswered until the names asked for cover the snapshot: snapshot and references do not fit.",
        look: &[
            "xdscope get SESSION {type} --subscriptions      what the client names",
            "xdscope status SESSION -o wide      since when the type waits",
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
        means: "Two virtual hosts of one route configuration serve the same domain, so Envoy refuses all of it and \
                keeps the one before.",
        look: &[
            "xdscope get SESSION rds/{name} -o yaml      its virtual hosts",
            "screen 6, NACK: the refused one against the last good one",
        ],
    },
    Form {
        who: ENVOY,
        title: "Didn't find a registered implementation for 'NAME' with type URL: 'TYPE'",
        pattern: r"Did(?:n't| not) find a registered implementation for (?:[\w -]+: )?'(?P<name>[^']*)'(?: with type URL: '(?P<text>[^']*)')?",
        kind: None,
        means: "The config names an extension that this build of Envoy does not have: another version, a build \
                without contrib, or a misspelt name. The resource is refused.",
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
        means: "The control plane sent fields that this Envoy does not know: the plane was built against a newer API. \
                By default Envoy refuses static config for that and only warns of dynamic config.",
        look: &[
            "xdscope log SESSION --filter kind:nack      whether something was refused for it",
            "xdscope get SESSION {type} -o yaml      unknown fields stand there by number",
        ],
    },
    Form {
        who: ENVOY,
        title: "MESSAGE: Proto constraint validation failed (TEXT)",
        pattern: r"Proto constraint validation failed \((?P<text>.*)\)",
        kind: None,
        means: "A field breaks a constraint of the API (a missing field, a value out of range). The push is refused.",
        look: &[
            "screen 6, NACK: the field, its value, and its constraint",
            "xdscope explain MESSAGE.FIELD      the constraints of a field",
        ],
    },
    Form {
        who: ENVOY,
        title: "route: unknown cluster 'NAME'",
        pattern: r"route: unknown cluster '(?P<name>[^']*)'",
        kind: Some(Kind::Cds),
        means: "A route leads to a cluster that Envoy does not have, and it was told to check that: the routes are \
                refused. The cluster has to come before them.",
        look: &[
            "xdscope lint SESSION --rule route-unknown-cluster --rule break-before-make",
            "screen 8, Graph: routes that lead nowhere",
        ],
    },
    Form {
        who: ISTIO,
        title: "STALE (Never Acknowledged)",
        pattern: r"(?i)never acknowledged",
        kind: None,
        means: "The control plane has sent config of this type and this proxy has never answered it: it was refused \
                from the first push on, is still warming up, or the proxy never got it.",
        look: &[
            "xdscope status SESSION -o wide      STALE, NACK or SENT, and who owes what",
            "xdscope log SESSION --filter kind:nack",
        ],
    },
    Form {
        who: ISTIO,
        title: "STALE",
        pattern: r"\bSTALE\b",
        kind: None,
        means: "The control plane has sent an update that this proxy has not acknowledged: refused, still warming up, \
                or lost between them. A refusal also stands as STALE there; here it is a NACK.",
        look: &[
            "xdscope status SESSION      STALE or NACK, since when",
            "xdscope lint SESSION --rule response-unanswered --rule warming-stuck",
        ],
    },
    Form {
        who: ISTIO,
        title: "NOT SENT",
        pattern: r"NOT SENT",
        kind: None,
        means: "The control plane has sent nothing of this type: it has nothing of it for this proxy, or the proxy \
                never asked.",
        look: &[
            "xdscope status SESSION      idle: not asked for; WAIT or MISS: asked for, and nothing came",
            "screen 7, Subs: what was asked for",
        ],
    },
    Form {
        who: ENVOY,
        title: "503 UH, no healthy upstream",
        pattern: r#"(?:\b503\b.*|flags\W+)\bUH\b|no[ _]healthy[ _]upstream(?: for '(?P<name>[^']*)')?"#,
        kind: Some(Kind::Cds),
        means: "The cluster is there and has no host to send to: its endpoints never came or are empty, all of them \
                are unhealthy, or it is still warming up.",
        look: &[
            "xdscope get SESSION eds/{name} -o yaml      its endpoints, with their health",
            "xdscope status SESSION --filter type:eds      whether they were asked for and came",
            "screen 8, Graph: the cluster and what it waits for",
        ],
    },
    Form {
        who: ENVOY,
        title: "503 NC, cluster_not_found",
        pattern: r#"(?:\b503\b.*|flags\W+)\bNC\b|cluster_not_found"#,
        kind: Some(Kind::Cds),
        means: "The route leads to a cluster that this Envoy does not have: not sent yet, removed under the route, \
                refused, or misspelt.",
        look: &[
            "xdscope lint SESSION --rule route-unknown-cluster --rule break-before-make",
            "xdscope get SESSION cds      the clusters that it has",
            "screen 8, Graph: routes that lead nowhere, and for how long",
        ],
    },
    Form {
        who: ENVOY,
        title: "404 or 503 NR, route_not_found",
        pattern: r#"(?:\b(?:404|503)\b.*|flags\W+)\bNR\b|route_not_found"#,
        kind: Some(Kind::Rds),
        means: "No route takes this request: its host is in no virtual host, no match fits, or the listener still \
                waits for its routes.",
        look: NO_ROUTE_LOOK,
    },
    Form {
        who: GO,
        title: "xds: resource \"NAME\" of type \"TYPE\" has been removed",
        pattern: r#"xds: resource "(?P<name>[^"]*)" of type "(?P<type>\w+?)(?:Resource)?" has been removed"#,
        kind: None,
        means: "The resource was left out of a full response, said to be removed, or did not come within 15 s: \
                grpc-go has one text for all three, and fails calls that need it.",
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
        means: "No route of the client's route configuration takes this call: no match fits its method and headers.",
        look: NO_ROUTE_LOOK,
    },
    Form {
        who: "gRPC",
        title: "could not find VirtualHost for NAME in RouteConfiguration",
        pattern: r"could not find VirtualHost for (?P<text>\S+)",
        kind: Some(Kind::Rds),
        means: "The route configuration came, and no virtual host of it has a domain that fits the name that the client \
                was told to reach.",
        look: NO_ROUTE_LOOK,
    },
    Form {
        who: "gRPC",
        title: "EDS resource NAME contains no localities",
        pattern: r"(?:no children in weighted_target policy: )?EDS resource (?P<name>[^\s:]+):? contains (?:no|empty) localities|No usable endpoint from cluster(?:\(s\))?: \[?(?P<text>[^\]]*)|no children in weighted_target policy",
        kind: Some(Kind::Eds),
        means: "The client has the cluster and no endpoint of it to send to: its assignment came empty, or with none that \
                may be used.",
        look: &[
            "xdscope get SESSION eds/{name} -o yaml      its endpoints, with their health",
            "xdscope status SESSION --filter type:eds      whether they were asked for and came",
            "screen 8, Graph: the cluster and what it waits for",
        ],
    },
    Form {
        who: CORE,
        title: "connections to all backends failing; last error: TEXT",
        pattern: r"connections to all backends failing; last error: (?P<text>.*)",
        kind: Some(Kind::Eds),
        means: "The client has endpoints and can reach none of them. That is no matter of xDS unless the endpoints are \
                old ones: compare them with what runs.",
        look: &[
            "xdscope get SESSION eds -o yaml      the addresses that it has",
            "xdscope log SESSION --filter type:eds      when they last changed",
        ],
    },
];
