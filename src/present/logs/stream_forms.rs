//! Texts about streams, connections, polls and requests.

use super::Form;
use super::forms::{ABSENT_LOOK, ENDED, ENDED_LOOK, ENVOY, GO, REFUSED, REFUSED_LOOK};
use xdscope_wire::event::Kind;

const ISTIOD: &str = "istiod";
const ZTUNNEL: &str = "ztunnel";
const CONSUL: &str = "Consul";

const PINGS: &str = "The client sent keepalive PINGs more often than its peer allows, so the peer ended the \
                     connection with GOAWAY ENHANCE_YOUR_CALM. Servers of gRPC allow a PING each 5 minutes by \
                     default: raise the client's keepalive time, or lower MinTime of the server.";
const PINGS_LOOK: &[&str] = &[
    "xdscope log SESSION --filter kind:close      which side ended the streams, and at which age",
    "screen 2, Stream: the PINGs of the connection, and the streams after the end",
];

/// Known texts about streams, connections, polls and requests.
pub(super) const FORMS: &[Form] = &[
    Form {
        who: GO,
        title: "rpc error: code = CODE desc = TEXT",
        pattern: r"^\W*rpc error: code = (?P<code>\w+) desc = (?P<text>.*)",
        kind: None,
        means: "A call of a Go program, such as the stream to the control plane, ended with this status. The \
                client keeps its configuration and reconnects.",
        look: ENDED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "REST update for PATH rejected: TEXT",
        pattern: r"REST (?:config )?update for (?P<url>\S+) rejected: (?P<text>.*)",
        kind: None,
        means: REFUSED,
        look: REFUSED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "REST config update failed: TEXT",
        pattern: r"REST (?:config )?update (?:for (?P<url>\S+) )?failed: (?P<text>.*)",
        kind: None,
        means: "A REST poll had no usable answer: the management server did not answer with 200, or was not \
                reached. Envoy keeps its configuration and polls again after refresh_delay.",
        look: &[
            "xdscope log SESSION      the polls and their HTTP statuses",
            "xdscope doctor SERVER      whether the server answers",
        ],
    },
    Form {
        who: ISTIOD,
        title: "Expired nonce received NONCE, sent NONCE",
        pattern: r"(?:ADS:(?P<type>\w+): )?.*?Expired nonce (?P<text>received [^,\s]+, sent \S+)",
        kind: None,
        means: "A request has the nonce of a response that a newer response has replaced: both crossed on \
                the wire. The server ignores the request and waits for the one with the newest nonce; only \
                many of them for one client are a fault.",
        look: &[
            "xdscope lint SESSION --rule nonce-unknown --rule late-nack",
            "xdscope log SESSION --filter type:{type}      the requests with an older nonce",
        ],
    },
    Form {
        who: ISTIOD,
        title: "ADS:TYPE: ACK ERROR NODE CODE:TEXT",
        pattern: r"ADS:(?P<type>\w+): ACK ERROR \S+ (?P<text>.*)",
        kind: None,
        means: REFUSED,
        look: REFUSED_LOOK,
    },
    Form {
        who: ISTIOD,
        title: "ADS: ADDRESS NODE terminated with stream: TEXT",
        pattern: r"\bx?ADS: \S+ \S+ terminated(?: with (?:stream|error):? ?|,? ?)?(?P<text>.*)",
        kind: None,
        means: ENDED,
        look: ENDED_LOOK,
    },
    Form {
        who: CONSUL,
        title: "got error response from envoy proxy: TEXT",
        pattern: r"got error response from envoy proxy:?.*?(?:typeUrl=(?P<url>[\w./]+).*?)?(?:error=(?P<text>.*))?$",
        kind: None,
        means: REFUSED,
        look: REFUSED_LOOK,
    },
    Form {
        who: CONSUL,
        title: "this server has too many xDS streams open, please try another",
        pattern: r"too many xDS streams open",
        kind: None,
        means: "The server spreads clients over all servers and has ended the stream, with RESOURCE_EXHAUSTED: \
                the client connects to another server. Only many such ends for one client are a fault.",
        look: ENDED_LOOK,
    },
    Form {
        who: "gRPC and Envoy",
        title: "GOAWAY ENHANCE_YOUR_CALM: too_many_pings",
        pattern: r"(?i)too[_ ]many[_ ]pings|ENHANCE_YOUR_CALM|GOAWAY received; error code: 11\b",
        kind: None,
        means: PINGS,
        look: PINGS_LOOK,
    },
    Form {
        who: ZTUNNEL,
        title: "XDS client connection error: gRPC connection error: TEXT",
        pattern: r"XDS client connection error: (?:gRPC connection error: ?)?(?:status: (?P<code>\w+), )?(?P<text>.*)",
        kind: None,
        means: ENDED,
        look: ENDED_LOOK,
    },
    Form {
        who: ZTUNNEL,
        title: "timed out waiting for workload 'NAME' from xds",
        pattern: r"timed out waiting for workload '(?P<name>.*)' from xds",
        kind: None,
        means: "The proxy asked for a workload on demand and got no answer in time: the control plane does \
                not know the workload, or the stream was not connected. Connections of the workload fail.",
        look: &[
            "xdscope log SESSION --filter {name}      whether the name was requested and sent",
            "xdscope status SESSION      whether the stream is open, and which answers are owed",
        ],
    },
    Form {
        who: ENVOY,
        title: "odcds: on-demand discovery for cluster NAME timed out",
        pattern: r"odcds: on-demand discovery for cluster (?P<name>\S+) timed out",
        kind: Some(Kind::Cds),
        means: "A request needed a cluster that Envoy asked for on demand, and the cluster did not come \
                within the timeout. The request gets 503; a later request asks again.",
        look: &[
            "xdscope get SESSION cds/{name} --subscriptions      whether it was requested and sent",
            "xdscope lint SESSION --rule name-not-delivered",
        ],
    },
    Form {
        who: GO,
        title: "xds: error received from xDS stream: TEXT",
        pattern: r"error received from xDS stream: (?P<text>.*)|failed to create an ADS stream: ",
        kind: None,
        means: ENDED,
        look: ENDED_LOOK,
    },
    Form {
        who: ENVOY,
        title: "upstream connect error or disconnect/reset before headers. reset reason: protocol error",
        pattern: r"reset before headers\.(?:.*)reset reason: (?P<text>protocol error)",
        kind: None,
        means: "The management server does not speak HTTP/2 as Envoy expects: it serves HTTP/1.1 or TLS on \
                this port, or a proxy between answers. The cluster of the control plane needs \
                http2_protocol_options, and a TLS transport socket if the server has TLS.",
        look: &[
            "xdscope doctor SERVER      what the server speaks on this port",
            "xdscope lint BOOTSTRAP      whether the cluster of the control plane has HTTP/2",
        ],
    },
    Form {
        who: GO,
        title: "Decompressor is not installed for grpc-encoding \"ENCODING\"",
        pattern: r#"(?i)decompressor is not installed for grpc-encoding "(?P<text>[^"]*)""#,
        kind: None,
        means: "The peer compressed a message in a way that this program cannot read: import the package of \
                the encoding (google.golang.org/grpc/encoding/gzip), or switch compression off. The stream \
                ends with UNIMPLEMENTED.",
        look: ENDED_LOOK,
    },
    Form {
        who: GO,
        title: "resource name \"NAME\" of type \"TYPE\" not found in received response",
        pattern: r#"resource name "(?P<name>[^"]*)" of type "(?P<type>\w+?)(?:Resource)?" not found in received response"#,
        kind: None,
        means: "A response has all resources of the type and not this one, so the client regards it as \
                removed. Calls that need the resource fail.",
        look: ABSENT_LOOK,
    },
];
