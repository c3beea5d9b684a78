//! Fields of warming resources, and of clusters that routes point to in vain.

use super::Presence::*;
use super::Shape::*;
use super::{Field, field, known};

pub(super) const WARMING: &[Field] = &[
    field(Always, "name", Text, "the cluster or listener"),
    field(Always, "since", Time, "time of the response that started the warming"),
    field(Always, "response", Count, "number of that response"),
    field(
        Always,
        "update",
        Bool,
        "whether the client had the resource before, so that an earlier version is in use",
    ),
    known(Always, "withheld", Count, "number of the response whose verdict the client withholds meanwhile"),
    field(Always, "waits_for", List(&Object(WAITS)), "resources that it waits for"),
    field(Maybe, "other_waits", List(&Text), "what else the admin port of the client says that it waits for"),
    field(Maybe, "caused_by", Text, "fault or person of xdscope that caused it"),
    known(
        Always,
        "owes",
        Text,
        "side that has to act: `server`, or `client` if it has not requested what the resource waits for; unknown in a dump",
    ),
];

const WAITS: &[Field] = &[
    field(Always, "type", Text, "short word of the type"),
    field(Always, "name", Text, "requested name"),
    known(Always, "since", Time, "when the wait began"),
    known(
        Always,
        "asked",
        Count,
        "number of the first request; unknown if the client did not ask, or not again after an update",
    ),
    field(Always, "again", Bool, "whether the client has the resource and needs it once more"),
    known(Always, "absent", Count, "number of the response that says that the resource does not exist"),
];

pub(super) const UNAVAILABLE: &[Field] = &[
    field(Always, "name", Text, "the cluster"),
    field(Always, "state", Text, "its state, such as `warming` or `dangling`"),
    known(Always, "since", Time, "since when requests that are routed to the cluster get 503"),
];

pub(super) const OTHER_SOURCE: &[Field] = &[
    field(Always, "path", Text, "path of the field with the name"),
    field(Always, "type", Text, "short word of the type"),
    field(Always, "name", Text, "referenced name"),
    field(
        Always,
        "source",
        Words(|| vec!["GRPC", "DELTA_GRPC", "REST", "path"]),
        "`path`: a file; others: `api_type` of the server",
    ),
    known(Always, "place", Text, "the file, or the cluster of the server"),
];
