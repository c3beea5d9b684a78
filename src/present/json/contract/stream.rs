//! Fields of streams.

use xdscope_wire::GapCause;
use xdscope_wire::event::{Side, Variant};

use super::Presence::*;
use super::Shape::*;
use super::admin::ADMIN;
use super::{Field, TEXTS, field, known};

pub(super) const STREAM: &[Field] = &[
    field(Always, "stream", Count, "number of the stream"),
    known(Always, "node", Text, "node id, once known"),
    field(Always, "method", Text, "gRPC method path"),
    field(Maybe, "variant", words!(Variant), "transport variant; absent if the stream is not xDS"),
    known(Always, "peer", Text, "address of the client"),
    known(Always, "server", Text, "address of the server"),
    field(Maybe, "node_from", Count, "number of the request that states the node"),
    field(Maybe, "control_plane", Text, "identifier of the newest control plane"),
    field(
        Maybe,
        "control_planes",
        List(&Object(PLANE)),
        "first 16 control planes in order, if there were several",
    ),
    field(Maybe, "control_plane_changes", Count, "number of changes of the control plane"),
    field(Maybe, "node_info", Object(NODE), "`status`, `info`: node of the client"),
    field(
        Maybe,
        "admin",
        Object(ADMIN),
        "`status` of `envoy:HOST:PORT`: what the other pages of the port say",
    ),
    field(Maybe, "file_format", Text, "format of the content of a file: YAML, JSON, …"),
    field(Maybe, "tls", Object(TLS), "legs with TLS"),
    field(Always, "opened", Time, "time of the opening, null if it was not recorded"),
    field(Maybe, "closed", Time, "when it ended"),
    field(Maybe, "end", Object(STREAM_END), "how it ended"),
    field(Maybe, "reconnect_of", Count, "the previous stream of the client"),
    field(Maybe, "account", Object(ACCOUNT), "what became of the resources that the client had before"),
    field(Always, "messages", Count, "number of messages"),
    field(Always, "bytes_in", Count, "bytes from client to server"),
    field(Always, "bytes_out", Count, "bytes from server to client"),
    field(Always, "gaps", Count, "messages lost in the copy, or too large to be kept"),
    field(
        Maybe,
        "not_kept",
        List(&Object(NOT_KEPT)),
        "what exceeds a limit, or cannot be read, and is not kept",
    ),
    field(Maybe, "keepalive", Object(KEEPALIVE), "HTTP/2 keepalive PINGs of one side"),
];

pub(super) const NOT_KEPT: &[Field] = &[
    field(
        Always,
        "what",
        words!(GapCause),
        "why they are missing: what there is too much of, or what cannot be read; `cut`: the stream ended in a response",
    ),
    field(Always, "messages", Count, "number of messages; of streams if `what` is `streams`"),
    field(Always, "bytes", Count, "number of bytes; with `cut` the length of the whole response"),
];

const PLANE: &[Field] = &[
    field(Always, "identifier", Text, "control_plane.identifier"),
    field(Always, "n", Count, "number of the first response"),
    field(Always, "time", Time, "time of the response"),
];

const NODE: &[Field] = &[
    field(Always, "id", Text, "id"),
    field(Always, "cluster", Text, "cluster"),
    field(Always, "region", Text, "locality.region"),
    field(Always, "zone", Text, "locality.zone"),
    field(Always, "sub_zone", Text, "locality.sub_zone"),
    field(Always, "user_agent", Text, "user_agent_name"),
    field(Always, "user_agent_version", Text, "version of the user agent"),
    field(Always, "client_features", TEXTS, "client_features"),
    field(Always, "metadata", Any, "metadata, with the names of the API"),
    field(Always, "extensions", Any, "extensions"),
];

const ACCOUNT: &[Field] = &[
    field(Always, "claimed", Count, "resources that the client claimed to have: the sum of the next five"),
    field(Always, "kept", Count, "claimed, and not mentioned by the server"),
    field(Always, "resent", Count, "claimed, and sent again by the server"),
    field(Always, "removed", Count, "claimed, and removed by the server"),
    field(Always, "left_behind", Count, "claimed, and not subscribed by the client"),
    field(
        Always,
        "owed",
        Count,
        "claimed at another version than the server had sent last, and not sent since",
    ),
    field(Always, "unclaimed", Count, "had on the stream before, and neither claimed nor requested again"),
    field(Always, "left", List(&Object(LEFT)), "the first resources that were left behind or not claimed"),
];

const LEFT: &[Field] = &[
    field(Always, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Always, "name", Text, "name"),
];

const KEEPALIVE: &[Field] = &[
    known(Always, "by", words!(Side), "side that sends them"),
    field(Always, "every", Number, "interval in seconds"),
    field(Always, "last", Time, "time of the newest"),
];

pub(super) const END: &[Field] = &[
    known(Always, "by", words!(Side), "side that ended it"),
    field(Maybe, "code", Integer, "gRPC code"),
    field(Maybe, "message", Text, "gRPC message"),
    field(Maybe, "reset", Count, "HTTP/2 error code"),
    field(Maybe, "goaway", Count, "HTTP/2 error code of the GOAWAY that ended it"),
    field(Maybe, "note", Text, "other facts, such as a GOAWAY or a broken connection"),
    field(Maybe, "text", Text, "code, message, reset and note in words"),
];

/// The end in the object of a stream.
const STREAM_END: &[Field] = &[
    END[0],
    END[1],
    END[2],
    END[3],
    END[4],
    END[5],
    END[6],
    field(Maybe, "caused_by", Text, "fault of xdscope that ended it"),
];

const TLS: &[Field] = &[
    field(Maybe, "client", Object(LEG), "from the client to the tap"),
    field(Maybe, "server", Object(LEG), "from the tap to the server"),
    field(Maybe, "not_kept", Text, "what mutual TLS loses between them"),
];

const LEG: &[Field] = &[
    known(Always, "version", Text, "TLS version"),
    known(Always, "alpn", Text, "negotiated protocol"),
    known(Always, "sni", Text, "requested server name"),
    known(Always, "server_certificate", Object(CERTIFICATE), "certificate as presented"),
    known(Always, "client_certificate", Object(CERTIFICATE), "certificate as presented"),
    field(Always, "client_certificate_asked", Bool, "whether the server requested a client certificate"),
    field(Always, "verified", Bool, "whether the certificates were verified"),
];

pub(super) const CERTIFICATE: &[Field] = &[
    field(Always, "subject", Text, "subject"),
    field(Always, "names", TEXTS, "subject alternative names"),
    field(Always, "issuer", Text, "issuer"),
    field(Always, "not_before", Text, "RFC 3339"),
    field(Always, "not_after", Text, "RFC 3339"),
    field(Always, "serial", Text, "serial number in hex"),
];
