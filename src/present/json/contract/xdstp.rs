//! Fields about `xdstp` names.

use super::Presence::{Always, Maybe};
use super::Shape::{Any, Bool, Count, List, Object, Text, Words};
use super::{Field, TEXTS, field, known};
use xdscope_engine::store::ResourceState;
use xdscope_engine::structured::MemberState;

pub(super) const XDSTP: &[Field] = &[
    field(Always, "authority", Text, "authority, which may be empty"),
    field(Always, "type", Text, "resource type"),
    field(Always, "id", Text, "rest of the path"),
    field(Always, "parameters", Any, "context parameters, by key"),
    field(Always, "directives", TEXTS, "directives: `alt=…`, `entry=…`"),
    field(Maybe, "glob", Text, "subscribed glob of which it is a member"),
    field(Maybe, "members", Object(MEMBERS), "members of a glob or list collection"),
    field(Always, "redirects", TEXTS, "targets of a redirect as URIs, hop by hop"),
    field(Always, "alternatives", TEXTS, "names to request while the server of this one is unreachable"),
    field(Always, "alternative_of", TEXTS, "names that this one can stand in for"),
    field(Maybe, "served_by", Text, "the alternative that the client has in place of this name"),
    field(
        Always,
        "hops",
        List(&Object(HOP)),
        "streams through relays, the origin first; empty without a relay",
    ),
];

const MEMBERS: &[Field] = &[
    field(Always, "kind", Words(|| vec!["glob", "list"]), "kind of the collection"),
    field(Always, "present", Count, "members that the client has; of a list: without inline entries"),
    field(Maybe, "direct", Count, "glob: members one level below its path"),
    field(Maybe, "deeper", Count, "glob: members further below"),
    field(Maybe, "refused", Count, "glob: members that are refused, without a version in force"),
    field(Maybe, "entries", Count, "list: entries"),
    field(Maybe, "inline", Count, "list: entries with their content inside"),
    field(Maybe, "waiting", Count, "list: entries that were requested and not sent"),
    field(Maybe, "absent", Count, "list: entries that do not exist or were removed"),
    field(Maybe, "not_requested", Count, "list: entries that were not requested"),
    field(Maybe, "first", List(&Object(MEMBER)), "list: the first 100 entries"),
];

const MEMBER: &[Field] = &[
    field(Always, "name", Text, "URI of a locator, or name of an inline entry"),
    field(Always, "state", words!(MemberState), "state of the entry"),
    field(Maybe, "version", Text, "version of an inline entry"),
    field(Maybe, "served_by", Text, "the alternative that the client has in place of it"),
];

const HOP: &[Field] = &[
    field(Always, "stream", Count, "number of the stream"),
    known(Always, "node", Text, "node id, once known on the stream"),
    known(Always, "server", Text, "address of the server"),
    known(Always, "version", Text, "version on this hop"),
    field(Always, "state", words!(ResourceState), "state on this hop"),
    field(Always, "refused", Bool, "whether the newest content was refused"),
    field(Always, "same_content", Bool, "whether the content is that of this resource"),
];

pub(super) const AUTHORITY: &[Field] = &[
    field(Always, "path", Text, "path of the field with the name"),
    field(Always, "type", Text, "short word of the type"),
    field(Always, "name", Text, "referenced name"),
    field(Always, "authority", Text, "authority in the name"),
    field(
        Always,
        "by",
        Words(|| vec!["config_source", "bootstrap"]),
        "place that maps the authority to a server: the config source beside the name lists it, or the bootstrap",
    ),
];

pub(super) const GLOB: &[Field] = &[
    field(Always, "kind", Words(|| vec!["glob"]), "kind of the collection"),
    field(Always, "present", Count, "members that the client has"),
    field(Always, "direct", Count, "members one level below its path"),
    field(Always, "deeper", Count, "members further below"),
    field(Maybe, "refused", Count, "members that are refused, without a version in force"),
    field(Always, "name", Text, "the glob"),
    field(Always, "state", words!(ResourceState), "state of the subscription"),
];
