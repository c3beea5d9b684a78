use std::time::Duration;

use serde_json::Value;

use crate::wire::Profile;
use crate::wire::event::{ApiVersion, Dir, Kind, Method, Side, Time, TypeUrl, Variant};

/// A session as text, line by line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The name of the file in error messages.
    pub file: String,
    /// All lines except blank lines and comments.
    pub lines: Vec<ScriptLine>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScriptLine {
    /// The line number in the file, from 1.
    pub number: u32,
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
    Stream {
        at: Option<Time>,
        stream: ScriptStream,
    },
    /// The stream was open before the session was recorded.
    Partial(u32),
    /// Advances the clock without a message.
    Advance(Duration),
    Message {
        at: Option<Time>,
        /// `None` refers to the stream opened last.
        stream: Option<u32>,
        body: MessageBody,
    },
    End {
        at: Option<Time>,
        stream: Option<u32>,
        end: StreamEnd,
    },
    Expect(Expectation),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptNode {
    pub id: String,
    pub cluster: String,
    /// Region, zone, sub-zone.
    pub locality: [String; 3],
    /// Name and version, separated by `/`.
    pub agent: String,
    pub features: Vec<String>,
    pub meta: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScriptStream {
    pub number: u32,
    pub variant: Variant,
    /// `Implied` for aggregated variants.
    pub ty: TypeRef,
    pub transport: ApiVersion,
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

#[derive(Clone, Debug, PartialEq)]
pub enum MessageBody {
    Request(ScriptRequest),
    Response(ScriptResponse),
    /// `raw=`: the bytes of the message.
    Raw(Dir, Vec<u8>),
}

/// A SotW or delta request. Fields of the other variant stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptRequest {
    pub ty: TypeRef,
    pub version: String,
    pub nonce: String,
    pub names: Vec<String>,
    pub subscribe: Vec<String>,
    pub unsubscribe: Vec<String>,
    /// `initial_resource_versions`, in written order.
    pub initial: Vec<(String, String)>,
    /// Code and message of `error_detail`, whose presence makes the request a NACK.
    pub nack: Option<(i32, String)>,
    pub node: NodeUse,
}

/// Whether a request carries its node.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum NodeUse {
    /// With the first request of the stream; on REST, with each.
    #[default]
    Usual,
    Sent,
    Without,
    /// Sent with these fields changed.
    Changed(Value),
}

/// A SotW or delta response. Fields of the other variant stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptResponse {
    pub ty: TypeRef,
    /// `v=`: `version_info` (SotW).
    pub version: String,
    /// `sys=`: `system_version_info` (delta).
    pub system_version: String,
    pub nonce: String,
    pub resources: Vec<ScriptEntry>,
    pub removed: Vec<String>,
    pub control_plane: Option<String>,
    /// Names and messages of `resource_errors`.
    pub errors: Vec<(String, String)>,
    /// The HTTP status of a REST response other than 200.
    pub http: Option<u16>,
}

/// One entry of a response's resources.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptEntry {
    /// The bytes of an `Any` (SotW) or a `Resource` (delta).
    Raw(Vec<u8>),
    Plain(ScriptResource),
    /// On SotW streams: a `Resource` within the `Any`.
    Wrapped(ScriptResource),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptResource {
    /// `type:` before the name: the type of the payload if it differs from the response's.
    pub ty: TypeRef,
    pub name: String,
    pub content: ResourceContent,
    pub version: String,
    pub ttl: Option<Ttl>,
    pub aliases: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ResourceContent {
    /// The smallest valid resource plus these fields, and a tag that makes the content distinct.
    Fields { fields: Option<Value>, tag: Option<String> },
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
    Reset(Side),
}

/// An expectation at the time of its line.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    Lint {
        pattern: FindingPattern,
        severity: Option<String>,
    },
    NoFinding(FindingPattern),
    LintNone,
    LintOnly,
    Message {
        number: u64,
        kind: Option<String>,
        fields: Vec<(String, ExpectedValue)>,
    },
    State {
        stream: u32,
        ty: TypeRef,
        state: Option<String>,
        fields: Vec<(String, ExpectedValue)>,
    },
    Resource {
        stream: u32,
        ty: TypeRef,
        name: String,
        state: Option<String>,
        fields: Vec<(String, ExpectedValue)>,
    },
}

/// The findings that a line refers to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindingPattern {
    pub rule: String,
    pub at: Option<u64>,
    pub names: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedValue {
    /// An expected text. The empty text matches empty, null and missing values.
    Word(String),
    /// An expected set.
    List(Vec<String>),
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
