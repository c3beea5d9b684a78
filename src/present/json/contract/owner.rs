//! Fields of owners, and of what they made.

use xdscope_engine::made::Outcome;
use xdscope_engine::store::ResourceState;

use super::Presence::*;
use super::Shape::*;
use super::{Field, field, known};

const KIND: Field = field(Always, "kind", Text, "such as `VirtualService`");
const NAMESPACE: Field = field(Always, "namespace", Text, "empty if not stated");
const NAME: Field = field(Always, "name", Text, "name of the object");
const GUESS: Field =
    field(Maybe, "guess", Bool, "the owner was read from the structure of the resource name");

/// The members of an owner.
pub(super) const OWNER: &[Field] = &[KIND, NAMESPACE, NAME, GUESS];

pub(super) const OWNER_SUMMARY: &[Field] = &[
    KIND,
    NAMESPACE,
    NAME,
    GUESS,
    field(Always, "resources", Count, "number of resources, by type and name"),
    field(Always, "clients", Count, "number of clients that have or want one of them"),
    field(Always, "worst", words!(Outcome), "what became of the resources, the worst of the following"),
    field(Always, "refused", Count, "resources in clients that refuse them or their push"),
    field(Always, "missing", Count, "resources that the server has not sent in time"),
    field(Always, "unanswered", Count, "resources that the client has not answered in time"),
    field(Always, "pending", Count, "resources that are requested, sent or warming, and in time"),
    field(Always, "in_force", Count, "resources that the client uses"),
    field(Always, "gone", Count, "resources that were removed, or that the client does not want"),
    field(Maybe, "command", Text, "the command that shows the object, unless the owner is a guess"),
];

pub(super) const MADE: &[Field] = &[
    field(Always, "owner", Object(OWNER), "the Kubernetes object"),
    field(Always, "stream", Count, "number of the stream"),
    known(Always, "node", Text, "node id, once known"),
    field(Always, "type", Text, "short word of the type (cds), or its URL as sent"),
    field(Always, "name", Text, "name of the resource"),
    field(Always, "outcome", words!(Outcome), "what became of the resource in the client"),
    field(Always, "state", words!(ResourceState), "state, as in a `resource`"),
    known(Always, "version", Text, "version that the outcome is about"),
    known(Always, "in_force", Text, "version that the client uses; empty if its version is unknown"),
    field(Maybe, "reason", Text, "why the client refused the resource or its push, in its words"),
    field(Maybe, "warming", Text, "what the resource waits for before it is used, in words"),
    field(Maybe, "push", Object(PUSH), "the first push with the content, or with the removal"),
    field(Maybe, "request", Object(REQUEST), "the first request for a resource that was not sent"),
];

const N: Field = field(Always, "n", Count, "message number");
const TIME: Field = field(Always, "time", Time, "time of the message");

const PUSH: &[Field] =
    &[N, TIME, field(Always, "version", Text, "version of the resource, else of the response")];

const REQUEST: &[Field] = &[N, TIME];
