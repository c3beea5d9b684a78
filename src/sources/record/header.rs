use std::io::Read;

use twox_hash::XxHash3_64;

use super::error::RecordReadError;
use xdscope_wire::event::Clock;
use xdscope_wire::pb::{Fields, Value, put_len_field, put_tag, put_varint};
use xdscope_wire::pb::{WIRE_I64, WIRE_VARINT};

/// The first bytes of an .xdsrec. The first byte occurs in no text; text-mode copies change the
/// last.
pub const MAGIC: [u8; 8] = *b"\xffxdsrec\n";
/// The format version that is written, and the highest that is read.
pub const VERSION: u16 = 1;

/// Magic, version, length and checksum.
const FIXED_BYTES: usize = 18;
/// Longest header. It holds only a few texts.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// The facts about a recording as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Unix time in nanoseconds at which the recording began.
    pub created: u64,
    /// The seed of the catalog, which keys the content hashes.
    pub seed: u64,
    /// Whether secrets were kept.
    pub keep_secrets: bool,
    /// The writer and its version: `xdscope 0.1.0`.
    pub tool: String,
    /// A description of the source: `tap 127.0.0.1:18001 → 10.0.0.7:15010`.
    pub source: String,
    /// The meaning of the times in the recording.
    pub clock: Clock,
}

pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

pub(super) fn put_u64(out: &mut Vec<u8>, number: u32, value: u64) {
    if value != 0 {
        put_tag(out, number, WIRE_VARINT);
        put_varint(out, value);
    }
}

/// Returns the low half of the XXH3-64, the checksum of headers and blocks.
pub(super) fn checksum(bytes: &[u8]) -> [u8; 4] {
    (XxHash3_64::oneshot(bytes) as u32).to_le_bytes()
}

impl Header {
    /// Encodes the first bytes of a file.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_u64(&mut body, 1, self.created);
        put_tag(&mut body, 2, WIRE_I64);
        body.extend_from_slice(&self.seed.to_le_bytes());
        put_u64(&mut body, 3, self.keep_secrets.into());
        put_len_field(&mut body, 4, self.tool.as_bytes());
        put_len_field(&mut body, 5, self.source.as_bytes());
        if let Some(epoch) = self.clock.epoch.and_then(|ns| i64::try_from(ns).ok()) {
            put_tag(&mut body, 6, WIRE_VARINT);
            put_varint(&mut body, zigzag(epoch));
        }
        put_u64(&mut body, 7, self.clock.untimed.into());

        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&checksum(&body));
        out.extend_from_slice(&body);
        out
    }

    fn decode(body: &[u8]) -> Header {
        let mut header = Header::default();
        for field in Fields::new(body).map_while(Result::ok) {
            match (field.number, field.value) {
                (1, Value::Varint(ns)) => header.created = ns,
                (2, Value::I64(seed)) => header.seed = seed,
                (3, Value::Varint(yes)) => header.keep_secrets = yes != 0,
                (4, _) => header.tool = field.text().into_owned(),
                (5, _) => header.source = field.text().into_owned(),
                (6, Value::Varint(epoch)) => header.clock.epoch = Some(unzigzag(epoch).into()),
                (7, Value::Varint(yes)) => header.clock.untimed = yes != 0,
                _ => {}
            }
        }
        header
    }

    /// Reads the first bytes of a file. Returns the header and its length.
    ///
    /// # Errors
    ///
    /// The header is missing, cut, damaged or newer than [`VERSION`].
    pub fn read(input: &mut impl Read) -> Result<(Header, u64), RecordReadError> {
        let mut bytes = Vec::new();
        input.take(FIXED_BYTES as u64).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Err(RecordReadError::Empty);
        }
        let shared = bytes.len().min(MAGIC.len());
        if bytes[..shared] != MAGIC[..shared] {
            return Err(RecordReadError::unknown(&bytes));
        }
        let Some((_, &[v0, v1, l0, l1, l2, l3, ref expected @ ..])) = bytes.split_first_chunk::<8>() else {
            return Err(RecordReadError::Cut { at: bytes.len() as u64 });
        };
        let found = u16::from_le_bytes([v0, v1]);
        if found > VERSION {
            return Err(RecordReadError::TooNew { found, reads: VERSION });
        }
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let end = (FIXED_BYTES + len) as u64;
        if expected.len() < 4 {
            return Err(RecordReadError::Cut { at: bytes.len() as u64 });
        }
        if found == 0 || len > MAX_HEADER_BYTES {
            return Err(RecordReadError::Header { end: FIXED_BYTES as u64 });
        }
        let mut body = Vec::new();
        input.take(len as u64).read_to_end(&mut body)?;
        if body.len() < len {
            return Err(RecordReadError::Cut { at: (FIXED_BYTES + body.len()) as u64 });
        }
        if checksum(&body) != *expected {
            return Err(RecordReadError::Header { end });
        }
        Ok((Header::decode(&body), end))
    }
}
