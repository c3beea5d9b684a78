use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A stream of one source, numbered from 1 in order of opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u32);

/// The number of a message: from 1, across all streams of a source, in recorded order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seq(pub u64);

/// An interned text, such as a resource name or a resource version.
///
/// Equal symbols of one catalog are equal texts. [`Sym::EMPTY`] is the empty text in every catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Sym(pub u32);

impl Sym {
    /// The empty text.
    pub const EMPTY: Sym = Sym(0);
}

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dir {
    /// Client to server: a request.
    Req,
    /// Server to client: a response.
    Resp,
}

impl Dir {
    /// Both directions.
    pub const ALL: [Dir; 2] = [Dir::Req, Dir::Resp];

    /// Returns the other direction.
    pub fn opposite(self) -> Dir {
        match self {
            Dir::Req => Dir::Resp,
            Dir::Resp => Dir::Req,
        }
    }

    /// Returns the side that sends in this direction.
    pub fn sender(self) -> Side {
        match self {
            Dir::Req => Side::Client,
            Dir::Resp => Side::Server,
        }
    }

    /// Returns `req` or `resp`, as in JSON output.
    pub fn word(self) -> &'static str {
        match self {
            Dir::Req => "req",
            Dir::Resp => "resp",
        }
    }
}

/// One of the two ends of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The xDS client, such as Envoy.
    Client,
    /// The xDS server, or control plane.
    Server,
}

impl Side {
    /// Both ends.
    pub const ALL: [Side; 2] = [Side::Client, Side::Server];

    /// Returns `client` or `server`.
    pub fn word(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// A gRPC status code, as the number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

/// The canonical names of the gRPC status codes, by number.
pub const CODE_NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl Code {
    /// Returns the canonical name, if the number has one.
    pub fn name(self) -> Option<&'static str> {
        usize::try_from(self.0).ok().and_then(|i| CODE_NAMES.get(i).copied())
    }

    /// Returns the code that gRPC clients report for a response with an HTTP status, and without a
    /// gRPC status (gRPC documentation, "HTTP to gRPC Status Code Mapping").
    pub fn of_http(status: u16) -> Code {
        Code(match status {
            400 => 13,
            401 => 16,
            403 => 7,
            404 => 12,
            429 | 502..=504 => 14,
            _ => 2,
        })
    }

    /// Parses a number or a canonical name.
    pub fn parse(text: &str) -> Option<Code> {
        if let Ok(n) = text.parse() {
            return Some(Code(n));
        }
        CODE_NAMES.iter().position(|name| *name == text).map(|i| Code(i as i32))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "code {}", self.0),
        }
    }
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates the value from its text.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
            /// Whether the text is empty.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }
        impl Default for $name {
            fn default() -> Self {
                Self(Arc::default())
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

text!(
    /// The nonce of a response; empty if there is none (docs/protocol.md#e-07).
    Nonce
);
text!(
    /// A `version_info` or `system_version_info`: opaque, only compared for equality
    /// (docs/protocol.md#e-16).
    VersionInfo
);
text!(
    /// A type URL exactly as sent. May be empty on a single-type stream (docs/protocol.md#a-01).
    TypeUrl
);
