use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use xdscope_wire::event::{ApiVersion, Dir, Kind, Method, Side, Time, TypeUrl, Variant};
use xdscope_wire::{GapCause, Profile};

/// A session as text, line by line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The name of the file in error messages.
    pub file: String,
    /// All lines except blank lines and comments.
    pub lines: Vec<ScriptLine>,
}

impl Script {
    /// Returns the faults, each with the number of its line.
    pub fn faults(&self) -> impl Iterator<Item = (u32, &str)> {
        self.lines.iter().filter_map(|line| match &line.statement {
            Statement::Fault(text) => Some((line.number, text.as_str())),
            _ => None,
        })
    }
}

/// A line of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptLine {
    /// The line number in the file, from 1.
    pub number: u32,
    /// The content of the line.
    pub statement: Statement,
}

/// The content of one line.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `notime`: the session has no timestamps.
    NoTime,
    /// The client of the streams below.
    Node(ScriptNode),
    /// The endpoint of the streams below.
    Server(String),
    /// Opens a stream.
    Stream {
        /// The time of the line; `None` is the time of the line above.
        at: Option<Time>,
        /// The stream.
        stream: ScriptStream,
    },
    /// The stream was open before the session was recorded.
    Partial(u32),
    /// Advances the clock without a message.
    Advance(Duration),
    /// A request or a response.
    Message {
        /// The time of the line; `None` is 10 ms after the line above.
        at: Option<Time>,
        /// `None` refers to the stream opened last.
        stream: Option<u32>,
        /// The message.
        body: MessageBody,
    },
    /// Part of the copy of a stream is missing.
    Gap {
        /// The time of the line; `None` is 10 ms after the line above.
        at: Option<Time>,
        /// `None` refers to the stream opened last.
        stream: Option<u32>,
        /// Missing messages.
        gap: ScriptGap,
    },
    /// Ends a stream.
    End {
        /// The time of the line; `None` is 10 ms after the line above.
        at: Option<Time>,
        /// `None` refers to the stream opened last.
        stream: Option<u32>,
        /// How the stream ends.
        end: StreamEnd,
    },
    /// An expectation at this point of the session.
    Expect(Expectation),
    /// A fault to act with on what is served from the script.
    Fault(String),
}

/// A missing part of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptGap {
    /// Direction of the missing messages, if known.
    pub dir: Option<Dir>,
    /// Number of messages, if known.
    pub messages: u64,
    /// Number of bytes, if known.
    pub bytes: u64,
    /// Why the part is missing.
    pub cause: GapCause,
}

/// The node of a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptNode {
    /// `id`.
    pub id: String,
    /// `cluster`.
    pub cluster: String,
    /// Region, zone, sub-zone.
    pub locality: [String; 3],
    /// Name and version, separated by `/`.
    pub agent: String,
    /// `client_features`.
    pub features: Vec<String>,
    /// `metadata`, as a JSON object.
    pub meta: Option<Value>,
}

/// A stream, as its `stream` line describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptStream {
    /// The number of the stream in the script.
    pub number: u32,
    /// The transport variant.
    pub variant: Variant,
    /// `Implied` for aggregated variants.
    pub ty: TypeRef,
    /// The API version of the service.
    pub transport: ApiVersion,
    /// `profile=`: the features of the client.
    pub profile: Option<Profile>,
    /// A path other than the published one.
    pub method: Option<String>,
}

/// A resource type as a script names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TypeRef {
    /// Left out: the type of the stream.
    #[default]
    Implied,
    /// A short name. The API version is that of the stream.
    Word(Kind),
    /// A literal `type_url`.
    Url(String),
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageBody {
    /// A request.
    Request(ScriptRequest),
    /// A response.
    Response(ScriptResponse),
    /// `raw=`: the bytes of the message.
    Raw(Dir, Vec<u8>),
}

impl MessageBody {
    /// Returns the HTTP status and the text of a response that ends a poll without a message.
    pub(super) fn refused_with(&self) -> Option<(u16, &str)> {
        match self {
            MessageBody::Response(response) => {
                let http = response.http.filter(|http| !matches!(http, 200 | 304));
                http.map(|http| (http, response.http_text.as_str()))
            }
            MessageBody::Request(_) | MessageBody::Raw(..) => None,
        }
    }
}

/// A SotW or delta request. Fields of the other variant stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptRequest {
    /// The resource type.
    pub ty: TypeRef,
    /// `v=`: `version_info` (SotW).
    pub version: String,
    /// `n=`: `response_nonce`.
    pub nonce: String,
    /// `resource_names` (SotW).
    pub names: Vec<String>,
    /// `resource_names_subscribe` (delta).
    pub subscribe: Vec<String>,
    /// `resource_names_unsubscribe` (delta).
    pub unsubscribe: Vec<String>,
    /// `initial_resource_versions`, in written order.
    pub initial: Vec<(String, String)>,
    /// Code and message of `error_detail`, whose presence makes the request a NACK.
    pub nack: Option<(i32, String)>,
    /// Whether the request carries its node.
    pub node: NodeUse,
}

/// Whether a request carries its node.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum NodeUse {
    /// With the first request of the stream; on REST, with each.
    #[default]
    Usual,
    /// Sent, unlike usual.
    Sent,
    /// Omitted, unlike usual.
    Without,
    /// Sent with these fields changed.
    Changed(Value),
}

/// A SotW or delta response. Fields of the other variant stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptResponse {
    /// The resource type.
    pub ty: TypeRef,
    /// `v=`: `version_info` (SotW).
    pub version: String,
    /// `sys=`: `system_version_info` (delta).
    pub system_version: String,
    /// `n=`: `nonce`.
    pub nonce: String,
    /// `resources`, in order.
    pub resources: Vec<ScriptEntry>,
    /// `removed_resources` (delta).
    pub removed: Vec<String>,
    /// `control_plane.identifier`.
    pub control_plane: Option<String>,
    /// Names and messages of `resource_errors`.
    pub errors: Vec<(String, String)>,
    /// The HTTP status of a REST response other than 200. All but 304 end the stream.
    pub http: Option<u16>,
    /// The body of such a response, after `http=503`.
    pub http_text: String,
}

/// One entry of a response's resources.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptEntry {
    /// The bytes of an `Any` (SotW) or a `Resource` (delta).
    Raw(Vec<u8>),
    /// A resource in the usual form of the variant.
    Plain(ScriptResource),
    /// On SotW streams: a `Resource` within the `Any`.
    Wrapped(ScriptResource),
}

/// A resource of a response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptResource {
    /// `type:` before the name: the type of the payload if it differs from the response's.
    pub ty: TypeRef,
    /// The resource name.
    pub name: String,
    /// The payload.
    pub content: ResourceContent,
    /// The version of the resource.
    pub version: String,
    /// The time to live.
    pub ttl: Option<Ttl>,
    /// `aliases` (delta).
    pub aliases: Vec<String>,
}

/// The payload of a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceContent {
    /// The smallest valid resource plus these fields, and a tag that makes the content distinct.
    Fields {
        /// The fields, as a JSON object.
        fields: Option<Value>,
        /// The tag.
        tag: Option<String>,
    },
    /// A ResourceLocator with this URI.
    Redirect(String),
    /// No payload.
    Unset,
}

impl Default for ResourceContent {
    fn default() -> Self {
        ResourceContent::Fields { fields: None, tag: None }
    }
}

/// A time to live in nanoseconds, possibly outside of the valid range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(pub i128);

/// The end of a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEnd {
    /// The client half-closes.
    Close,
    /// The server ends the stream with a gRPC status.
    Status(i32, String),
    /// A side resets the stream.
    Reset(Side),
}

/// An expectation at the time of its line.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// `lint RULE`: the rules report such a finding.
    Lint {
        /// The finding.
        pattern: FindingPattern,
        /// `sev=`: `error`, `warn` or `info`.
        severity: Option<String>,
    },
    /// `no RULE`: the rules report no such finding.
    NoFinding(FindingPattern),
    /// `lint none`: no findings but those of NACKs.
    LintNone,
    /// `lint only`: no findings but those of NACKs and those that the script expects.
    LintOnly,
    /// `message N`: the facts of a message.
    Message {
        /// The message number, from 1.
        number: u64,
        /// The kind of the message.
        kind: Option<String>,
        /// Expected values by field of the JSON output.
        fields: Vec<(String, ExpectedValue)>,
    },
    /// `state STREAM TYPE`: the state of a type on a stream.
    State {
        /// The stream number.
        stream: u32,
        /// The resource type.
        ty: TypeRef,
        /// The state word.
        state: Option<String>,
        /// Expected values by field of the JSON output.
        fields: Vec<(String, ExpectedValue)>,
    },
    /// `resource STREAM TYPE NAME`: the state of one resource.
    Resource {
        /// The stream number.
        stream: u32,
        /// The resource type.
        ty: TypeRef,
        /// The resource name.
        name: String,
        /// The state word.
        state: Option<String>,
        /// Expected values by field of the JSON output.
        fields: Vec<(String, ExpectedValue)>,
    },
}

/// The findings that a line refers to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindingPattern {
    /// The id of the rule.
    pub rule: String,
    /// `at N`: the message that the finding belongs to.
    pub at: Option<u64>,
    /// `names=`: the resource names in the finding.
    pub names: Option<Vec<String>>,
}

/// The expected value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedValue {
    /// An expected text. The empty text matches empty, null and missing values.
    Word(String),
    /// An expected set.
    List(Vec<String>),
}

impl Script {
    /// Returns the names of the resources in responses.
    pub fn resource_names(&self) -> BTreeSet<String> {
        let bodies = self.lines.iter().filter_map(|line| match &line.statement {
            Statement::Message { body: MessageBody::Response(response), .. } => Some(response),
            _ => None,
        });
        bodies
            .flat_map(|response| response.resources.iter().filter_map(ScriptEntry::name))
            .map(str::to_owned)
            .collect()
    }

    /// Removes resources from responses. Entries without a name stay.
    pub fn retain_resources(&mut self, keep: impl Fn(&str) -> bool) {
        for line in &mut self.lines {
            if let Statement::Message { body: MessageBody::Response(response), .. } = &mut line.statement {
                response.resources.retain(|entry| entry.name().is_none_or(&keep));
            }
        }
    }
}

impl ScriptEntry {
    /// Returns the name of the resource, unless the entry is raw.
    fn name(&self) -> Option<&str> {
        match self {
            ScriptEntry::Raw(_) => None,
            ScriptEntry::Plain(resource) | ScriptEntry::Wrapped(resource) => Some(&resource.name),
        }
    }
}

impl ScriptStream {
    /// Returns the URL that a type stands for on this stream. ECDS and LEDS have no v2 type, so
    /// their v3 type is used.
    pub fn type_url(&self, ty: &TypeRef) -> TypeUrl {
        match ty {
            TypeRef::Implied if self.ty == TypeRef::Implied => TypeUrl::default(),
            TypeRef::Implied => self.type_url(&self.ty),
            TypeRef::Word(kind) => {
                kind.type_url(self.transport).or_else(|| kind.type_url(ApiVersion::V3)).unwrap_or_default()
            }
            TypeRef::Url(url) => TypeUrl::from(url.as_str()),
        }
    }

    /// Returns the kind of a single-type stream, if its type has a short name.
    pub fn kind(&self) -> Option<Kind> {
        Kind::of_type_url(self.type_url(&TypeRef::Implied).as_str()).map(|(kind, _)| kind)
    }

    /// Returns the published path of the stream, or `None` if its type has none.
    pub fn path(&self) -> Option<String> {
        match self.variant {
            Variant::Rest => {
                let noun = rest_noun(self.kind()?);
                Some(format!("/{}/discovery:{noun}", self.transport.word()))
            }
            Variant::File => Some(format!("file:{}", self.type_url(&TypeRef::Implied))),
            _ => Method::path(self.variant, self.kind(), self.transport),
        }
    }
}

/// Returns the last word of a REST path. Types without a published REST method get their plural.
///
/// See `docs/protocol.md#d-01`.
fn rest_noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Lds => "listeners",
        Kind::Cds => "clusters",
        Kind::Rds => "routes",
        Kind::Eds => "endpoints",
        Kind::Sds => "secrets",
        Kind::Srds => "scoped-routes",
        Kind::Vhds => "virtual-hosts",
        Kind::Rtds => "runtime",
        Kind::Ecds => "extension_configs",
        Kind::Leds => "lb-endpoints",
    }
}

/// The words of a stream line that a path stands for.
pub(super) struct StreamKind {
    pub(super) variant: Variant,
    pub(super) ty: TypeRef,
    pub(super) transport: ApiVersion,
}

/// Parses a path that is not gRPC: the reverse of [`ScriptStream::path`].
pub(super) fn parse_path(path: &str) -> Option<StreamKind> {
    if let Some(url) = path.strip_prefix("file:") {
        let ty =
            Kind::of_type_url(url).map_or_else(|| TypeRef::Url(url.into()), |(kind, _)| TypeRef::Word(kind));
        let transport = Kind::of_type_url(url).map_or(ApiVersion::V3, |(_, version)| version);
        return Some(StreamKind { variant: Variant::File, ty, transport });
    }
    let (version, noun) = path.strip_prefix('/')?.split_once("/discovery:")?;
    let transport = [ApiVersion::V2, ApiVersion::V3].into_iter().find(|v| v.word() == version)?;
    let kind = Kind::all().find(|kind| rest_noun(*kind) == noun)?;
    Some(StreamKind { variant: Variant::Rest, ty: TypeRef::Word(kind), transport })
}
