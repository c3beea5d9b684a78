use std::time::Duration;

use serde_json::Value;

use crate::wire::Profile;
use crate::wire::event::{ApiVersion, Dir, Kind, Method, Side, Time, TypeUrl, Variant};

/// A session as text, line by line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// What errors call the file.
    pub file: String,
    /// Without blank lines and comments.
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// In the file, from 1.
    pub number: u32,
    pub item: Item,
}

/// What one line says.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `notime`: a recording without timestamps.
    NoTime,
    /// The client of the streams below.
    Node(Node),
    /// The endpoint that the streams below go to.
    Server(String),
    Stream {
        at: Option<Time>,
        stream: Stream,
    },
    /// That stream was open when the recording began.
    Partial(u32),
    /// Moves the clock on without a message.
    Advance(Duration),
    Message {
        at: Option<Time>,
        /// `None`: the stream opened last.
        stream: Option<u32>,
        body: Body,
    },
    End {
        at: Option<Time>,
        stream: Option<u32>,
        end: Ending,
    },
    Expect(Expect),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub id: String,
    pub cluster: String,
    /// region, zone, sub-zone.
    pub locality: [String; 3],
    /// Name and version, separated by `/`.
    pub agent: String,
    pub features: Vec<String>,
    pub meta: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    pub number: u32,
    pub variant: Variant,
    /// `Implied` on aggregated variants.
    pub ty: TypeRef,
    pub transport: ApiVersion,
    pub profile: Option<Profile>,
    /// A path other than the published one.
    pub method: Option<String>,
}

/// A type as a script names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TypeRef {
    /// Left out: the stream's own.
    #[default]
    Implied,
    /// A word; its API version is the stream's.
    Word(Kind),
    /// The exact text of `type_url`.
    Url(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Request(Request),
    Response(Response),
    /// `raw=`: the whole message.
    Raw(Dir, Vec<u8>),
}

/// SotW and delta requests; fields of the other pair stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub ty: TypeRef,
    pub version: String,
    pub nonce: String,
    pub names: Vec<String>,
    pub subscribe: Vec<String>,
    pub unsubscribe: Vec<String>,
    /// `initial_resource_versions`, in order of writing.
    pub initial: Vec<(String, String)>,
    /// Code and message of `error_detail`; its presence is the NACK.
    pub nack: Option<(i32, String)>,
    pub node: NodeUse,
}

/// Whether a request carries its node.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum NodeUse {
    /// As the stream does: with its first request, on REST with each.
    #[default]
    Usual,
    Sent,
    Without,
    /// With these fields changed.
    Changed(Value),
}

/// SotW and delta responses; fields of the other pair stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub ty: TypeRef,
    /// `v=`: `version_info` (SotW).
    pub version: String,
    /// `sys=`: `system_version_info` (delta).
    pub system_version: String,
    pub nonce: String,
    pub resources: Vec<Entry>,
    pub removed: Vec<String>,
    pub control_plane: Option<String>,
    /// Names and texts of `resource_errors`.
    pub errors: Vec<(String, String)>,
    /// HTTP status of a REST answer, where it is not 200.
    pub http: Option<u16>,
}

/// One entry of a response's resources.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// An `Any` (SotW) or `Resource` (delta) as given.
    Raw(Vec<u8>),
    Plain(Resource),
    /// In SotW: in a `Resource` inside of the `Any`.
    Wrapped(Resource),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
    /// `type:` before the name: the payload's type, where it is not the response's.
    pub ty: TypeRef,
    pub name: String,
    pub content: Content,
    pub version: String,
    pub ttl: Option<Ttl>,
    pub aliases: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The smallest valid resource with these fields, and a tag that stands for other content.
    Fields { fields: Option<Value>, tag: Option<String> },
    /// A ResourceLocator of this URI.
    Redirect(String),
    /// No payload.
    Unset,
}

impl Default for Content {
    fn default() -> Self {
        Content::Fields { fields: None, tag: None }
    }
}

/// A time to live in nanoseconds; may be out of every sane range (row G-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(pub i128);

/// How a stream ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The client half-closes.
    Close,
    /// The server ends it with a gRPC status.
    Status(i32, String),
    Reset(Side),
}

/// What must hold at the moment where the line stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    Lint { pick: Pick, severity: Option<String> },
    No(Pick),
    LintNone,
    LintOnly,
    Message { n: u64, kind: Option<String>, fields: Vec<(String, Want)> },
    State { stream: u32, ty: TypeRef, state: Option<String>, fields: Vec<(String, Want)> },
    Resource { stream: u32, ty: TypeRef, name: String, state: Option<String>, fields: Vec<(String, Want)> },
}

/// Which findings a line speaks of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pick {
    pub rule: String,
    pub at: Option<u64>,
    pub names: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// Empty text: empty, null or absent.
    Word(String),
    /// Compares as a set.
    List(Vec<String>),
}

impl Stream {
    /// The URL that a type stands for on this stream. ECDS and LEDS have no v2 form; their v3 one stands.
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

    /// The kind of a single-type stream, if its type is one with a word.
    pub fn kind(&self) -> Option<Kind> {
        Kind::of_type_url(self.type_url(&TypeRef::Implied).as_str()).map(|(kind, _)| kind)
    }

    /// The published path of the stream; REST and files have their own forms. `None`: there is none.
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

/// The last word of a REST path (row D-01); types that have no published REST method get their plural.
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

/// Variant, kind and transport of a path that is not gRPC: the reverse of [`Stream::path`].
pub(super) fn other_path(path: &str) -> Option<(Variant, TypeRef, ApiVersion)> {
    if let Some(url) = path.strip_prefix("file:") {
        let ty =
            Kind::of_type_url(url).map_or_else(|| TypeRef::Url(url.into()), |(kind, _)| TypeRef::Word(kind));
        let transport = Kind::of_type_url(url).map_or(ApiVersion::V3, |(_, version)| version);
        return Some((Variant::File, ty, transport));
    }
    let (version, noun) = path.strip_prefix('/')?.split_once("/discovery:")?;
    let transport = [ApiVersion::V2, ApiVersion::V3].into_iter().find(|v| v.word() == version)?;
    let kind = Kind::all().find(|kind| rest_noun(*kind) == noun)?;
    Some((Variant::Rest, TypeRef::Word(kind), transport))
}
