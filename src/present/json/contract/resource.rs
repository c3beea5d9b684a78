//! Fields of resources.

use xdscope_engine::nack::RestUse;
use xdscope_engine::store::{AbsentBy, Origin, ResourceState};

use super::Presence::*;
use super::Shape::*;
use super::owner::OWNER;
use super::stream::CERTIFICATE;
use super::{Field, OWED_AGAIN, RECLASSIFICATION, RESOURCE_ERROR, TEXTS, field, known, warming, xdstp};

pub(super) const RESOURCE: &[Field] = &[
    field(Always, "stream", Count, "number of the stream"),
    field(Always, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Always, "name", Text, "name"),
    field(Always, "aliases", TEXTS, "other names of the resource"),
    known(Always, "version", Text, "version of the response (SotW) or of the resource"),
    known(Always, "acked_version", Text, "version that the client accepted"),
    field(Always, "state", words!(ResourceState), "state; `xdscope help states` explains the states"),
    field(
        Always,
        "refused",
        Bool,
        "whether the newest content was refused, by a NACK that names the resource or names none",
    ),
    known(Always, "in_force", Text, "version that the client uses; empty if its version is unknown"),
    field(
        Maybe,
        "refusal",
        Object(REFUSED_PUSH),
        "the refused push with the newest content or with the removal, or before content without an answer",
    ),
    field(Maybe, "absent_by", words!(AbsentBy), "source of the absence"),
    field(
        Maybe,
        "pending_reclassification",
        Object(RECLASSIFICATION),
        "the request that unsubscribed the name under a wildcard: the server owes the resource or its removal",
    ),
    field(
        Maybe,
        "owed_again",
        Object(OWED_AGAIN),
        "what the server owes although the client has the resource",
    ),
    field(Maybe, "unreadable", Bool, "the newest content cannot be decoded as its type"),
    field(Maybe, "stream_down", Bool, "the client has the resource, and its stream is closed"),
    field(Always, "origin", words!(Origin), "why the resource was sent"),
    known(Always, "hash", Text, "content hash: equal within one source for equal content"),
    field(Always, "size", Count, "bytes"),
    field(Maybe, "ttl_deadline", Time, "when its time to live expires"),
    field(Maybe, "ttl", Object(TTL), "time to live, and how it changed"),
    field(Maybe, "error", Object(RESOURCE_ERROR), "why the server does not send the resource"),
    field(Maybe, "xdstp", Object(xdstp::XDSTP), "parts and relations of an `xdstp` name"),
    field(Maybe, "owners", List(&Object(OWNER)), "the Kubernetes objects that the resource was made from"),
    field(
        Maybe,
        "authorities",
        List(&Object(xdstp::AUTHORITY)),
        "where the server of each `xdstp` name in the content is looked up",
    ),
    field(Maybe, "refused_reason", Text, "why the client refused the newest content, in its words"),
    field(
        Maybe,
        "warming",
        Object(warming::WARMING),
        "the resources that the resource waits for before it is used",
    ),
    field(
        Maybe,
        "unavailable_clusters",
        List(&Object(warming::UNAVAILABLE)),
        "clusters that the route in force points to and that the client cannot use",
    ),
    field(
        Maybe,
        "other_sources",
        List(&Object(warming::OTHER_SOURCE)),
        "resources that the content refers to and that the client gets from a source apart from ADS",
    ),
    field(Maybe, "certificate", Object(CERTIFICATE), "the certificate of the secret that expires first"),
    field(
        Maybe,
        "broken_constraints",
        List(&Object(BROKEN_CONSTRAINT)),
        "constraints of the API that the newest content breaks, at most 8",
    ),
    field(Maybe, "more_broken_constraints", Count, "number of further broken constraints"),
    field(Maybe, "body", Any, "content as protobuf JSON, null if it was dropped"),
];

const TTL: &[Field] = &[
    known(Always, "seconds", Number, "length; null if the resource has no time to live any more"),
    known(Always, "left_seconds", Number, "time left, 0 if it has run out"),
    field(Always, "heartbeats", Count, "heartbeats that extended the time"),
    field(Maybe, "last_heartbeat", Time, "time of the newest heartbeat"),
    field(Always, "changes", List(&Object(TTL_CHANGE)), "first and newest lengths, oldest first"),
];

const TTL_CHANGE: &[Field] = &[
    field(Always, "n", Count, "number of the response"),
    field(Always, "time", Time, "time of the response"),
    known(Always, "seconds", Number, "length; null: no time to live any more"),
];

pub(super) const BROKEN_CONSTRAINT: &[Field] = &[
    field(Always, "field", Text, "path of the field; empty for the resource itself"),
    field(Always, "constraint", Text, "what the field must be"),
    field(Always, "named", Bool, "whether the NACK of this content names the field"),
];

const REFUSED_PUSH: &[Field] = &[
    field(Always, "nack", Count, "message number of the NACK"),
    field(Always, "push", Count, "message number of the refused push"),
    field(Always, "version", Text, "refused version; empty for a removal"),
    field(Always, "named", Bool, "whether the NACK names the resource, or names none"),
    field(Always, "removal", Bool, "whether the push removes the resource"),
    field(
        Always,
        "rest",
        words!(RestUse),
        "whether the client uses the resources that the NACK does not name",
    ),
    field(Always, "guess", Bool, "whether the nonce of the NACK fits another push too"),
];
