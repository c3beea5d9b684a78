use loona_hpack::Decoder;

use super::error::Http2Error;
use crate::event::Code;
use crate::text::hex_byte;

/// Largest HPACK table that is followed, in bytes; gRPC and Envoy use 4 KiB.
const MAX_TABLE_BYTES: usize = 1 << 20;

/// Memory of the fields of one header block that are kept, in bytes.
pub const MAX_HEADER_BYTES: usize = 64 << 10;

/// Memory of the fields of all header blocks of a direction that are kept, in bytes.
///
/// Grows with the bytes on the wire by [`MAX_HEADER_EXPANSION`].
pub const MIN_TOTAL_HEADER_BYTES: usize = 4 << 20;

/// Ratio of kept bytes to bytes on the wire that compression reaches with ordinary headers.
pub const MAX_HEADER_EXPANSION: usize = 16;

/// Memory of a field besides its name and value, in bytes.
const FIELD_OVERHEAD: usize = 96;

/// Longest value of a field that is needed to follow a stream, in bytes.
const MAX_NEEDED_BYTES: usize = 8 << 10;

/// Collects and decodes the header blocks of one direction.
pub(super) struct Headers {
    decoder: Decoder<'static>,
    open: Option<Open>,
    /// The observation began in the middle: a block may refer to unknown table entries.
    midway: bool,
    /// Memory of the fields that were kept of all blocks, in bytes.
    kept: usize,
    /// Bytes of all blocks on the wire.
    on_wire: usize,
}

struct Open {
    stream: u32,
    ends: bool,
    pushed: bool,
    bytes: Vec<u8>,
}

/// A decoded header block.
pub(super) struct Block {
    pub(super) stream: u32,
    pub(super) ends: bool,
    /// The block belongs to a server push. gRPC has none, but the table must stay in step.
    pub(super) pushed: bool,
    pub(super) fields: Vec<(String, String)>,
    /// Bytes of fields that are not kept.
    pub(super) omitted: u64,
}

impl Default for Headers {
    fn default() -> Self {
        Headers { decoder: decoder(), open: None, midway: false, kept: 0, on_wire: 0 }
    }
}

impl Headers {
    /// Creates a decoder that starts in the middle of a connection.
    pub(super) fn midway() -> Self {
        Headers { midway: true, ..Headers::default() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Memory of the current header block, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.bytes.capacity())
    }

    /// Begins the header block of a request or a response. `ends`: the stream ends with the block.
    pub(super) fn begin(&mut self, stream: u32, ends: bool) {
        self.open = Some(Open { stream, ends, pushed: false, bytes: Vec::new() });
    }

    /// Begins the header block of a server push.
    pub(super) fn begin_push(&mut self, stream: u32) {
        self.open = Some(Open { stream, ends: false, pushed: true, bytes: Vec::new() });
    }

    /// Adds bytes to the open header block.
    pub(super) fn push(&mut self, bytes: &[u8], max: usize) -> Result<(), Http2Error> {
        let open = self.open.as_mut().ok_or(Http2Error::UnexpectedContinuation)?;
        if open.bytes.len() + bytes.len() > max {
            return Err(Http2Error::LongHeaderBlock);
        }
        open.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Decodes the open header block, within the limits of memory.
    pub(super) fn finish(&mut self) -> Result<Block, Http2Error> {
        let Open { stream, ends, pushed, bytes } =
            self.open.take().ok_or(Http2Error::UnexpectedContinuation)?;
        self.on_wire = self.on_wire.saturating_add(bytes.len());
        let expanded = self.on_wire.saturating_mul(MAX_HEADER_EXPANSION);
        let allowed = MIN_TOTAL_HEADER_BYTES.saturating_add(expanded);
        let mut room = MAX_HEADER_BYTES.min(allowed.saturating_sub(self.kept));
        let (mut fields, mut needed, mut omitted) = (Vec::new(), 0, 0);
        // One byte can stand for a whole table entry.
        let result = self.decoder.decode_with_cb(&bytes, |name, value| {
            let size = name.len() + value.len() + FIELD_OVERHEAD;
            let is_needed = value.len() <= MAX_NEEDED_BYTES && is_needed(&name) && needed < MAX_NEEDED_FIELDS;
            if let Some(left) = room.checked_sub(size) {
                room = left;
            } else if is_needed {
                needed += 1;
            } else {
                omitted += (name.len() + value.len()) as u64;
                return;
            }
            self.kept = self.kept.saturating_add(size);
            fields.push((text(&name), text(&value)));
        });
        match result {
            Ok(()) => {}
            // Indexes count from the newest entry, so entries that are added from here on are
            // found.
            Err(_) if self.midway => {
                self.decoder = decoder();
                (fields, omitted) = (Vec::new(), 0);
            }
            Err(_) => return Err(Http2Error::HeaderBlock),
        }
        Ok(Block { stream, ends, pushed, fields, omitted })
    }
}

/// Fields needed to follow a stream that are kept beyond the limits, at most.
const MAX_NEEDED_FIELDS: usize = 8;

/// Whether a field is needed to follow the stream.
fn is_needed(name: &[u8]) -> bool {
    const NEEDED: [&[u8]; 7] = [
        b":method",
        b":path",
        b":status",
        b"content-type",
        b"grpc-encoding",
        b"grpc-status",
        b"grpc-message",
    ];
    NEEDED.contains(&name)
}

pub(super) fn decoder() -> Decoder<'static> {
    let mut decoder = Decoder::new();
    decoder.set_max_allowed_table_size(MAX_TABLE_BYTES);
    decoder
}

/// Returns a header value as text. Values are ASCII by rule; other bytes, which C-core peers may
/// agree on, are escaped.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

/// The head of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `:method`.
    pub method: String,
    /// `:path`.
    pub path: String,
    /// `:authority`, or `host`.
    pub authority: String,
    /// All other header fields, in order.
    pub metadata: Vec<(String, String)>,
    /// Bytes of further header fields, which are not kept.
    pub omitted: u64,
}

impl Head {
    pub(super) fn new(fields: Vec<(String, String)>) -> Head {
        let mut head = Head::default();
        for (name, value) in fields {
            match name.as_str() {
                ":method" => head.method = value,
                ":path" => head.path = value,
                ":authority" => head.authority = value,
                ":scheme" => {}
                _ => head.metadata.push((name, value)),
            }
        }
        head
    }

    /// Returns the memory of the fields, in bytes.
    pub fn memory(&self) -> usize {
        let field = |(name, value): &(String, String)| {
            name.len() + value.len() + std::mem::size_of::<(String, String)>()
        };
        let fields = self.metadata.iter().map(field).sum::<usize>();
        self.method.len() + self.path.len() + self.authority.len() + fields
    }

    /// Whether the request is a gRPC call.
    pub fn is_grpc(&self) -> bool {
        let mut types = self.metadata.iter().filter(|(name, _)| name == "content-type");
        types.any(|(_, value)| value == "application/grpc" || value.starts_with("application/grpc+"))
    }
}

/// The trailers of a response, or its only header block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailers {
    /// `grpc-status` and `grpc-message`, the latter percent-decoded.
    pub status: Option<(Code, String)>,
}

impl Trailers {
    /// Reads trailers from header fields, `:status` among them.
    pub fn new(fields: Vec<(String, String)>) -> Trailers {
        let find =
            |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        let message = find("grpc-message").map(percent_decoded).unwrap_or_default();
        let code = find("grpc-status").and_then(|code| code.parse().ok()).map(Code);
        let http = find(":status").filter(|status| *status != "200");
        let status = match (code, http) {
            (Some(code), _) => Some((code, message)),
            // A proxy or a plain HTTP server responded.
            (None, Some(http)) => {
                Some((Code::of_http(http.parse().unwrap_or_default()), format!("HTTP status {http}")))
            }
            (None, None) => None,
        };
        Trailers { status }
    }

    /// Reads the header block before the body of a response to a gRPC call: the status if the
    /// response is not gRPC, as that of a proxy or a plain HTTP server.
    pub(super) fn of_other_protocol(fields: &[(String, String)]) -> Option<Trailers> {
        let find = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let kind = find("content-type").filter(|kind| !kind.starts_with("application/grpc"));
        let is_error = find(":status").is_some_and(|status| status != "200");
        if is_error {
            return Some(Trailers::new(fields.to_vec()));
        }
        let status = kind.map(|kind| (Code::of_http(200), format!("the answer is {kind}, not gRPC")));
        status.map(|status| Trailers { status: Some(status) })
    }
}

/// Decodes a `grpc-message`, which is percent-encoded UTF-8. Invalid escapes stay the same.
fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        let decoded = if *byte == b'%' { tail.get(..2).and_then(hex_byte) } else { None };
        match decoded {
            Some(decoded) => {
                out.push(decoded);
                rest = &tail[2..];
            }
            None => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_percent_encoded_grpc_message() {
        assert_eq!(percent_decoded("a%20b%C3%A9%zz%"), "a bé%zz%");
    }

    #[test]
    fn uses_http_status_without_grpc_status() {
        let trailers = Trailers::new(vec![(":status".into(), "503".into())]);
        assert_eq!(trailers.status, Some((Code(14), "HTTP status 503".into())));
    }

    #[test]
    fn recognises_responses_that_are_not_grpc() {
        let status = |fields: &[(&str, &str)]| {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Trailers::of_other_protocol(&fields).and_then(|trailers| trailers.status)
        };
        assert_eq!(status(&[(":status", "200"), ("content-type", "application/grpc+proto")]), None);
        assert_eq!(status(&[(":status", "200")]), None, "a server may leave the type out");
        let page = status(&[(":status", "200"), ("content-type", "text/html")]);
        assert_eq!(page, Some((Code(2), "the answer is text/html, not gRPC".into())));
        let denied = status(&[(":status", "401"), ("content-type", "text/plain")]);
        assert_eq!(denied, Some((Code(16), "HTTP status 401".into())));
    }
}
