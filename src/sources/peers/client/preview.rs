use std::collections::HashSet;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use xdscope_wire::MessageShape;
use xdscope_wire::discovery::fields::{DiscoveryField, any};
use xdscope_wire::event::{DenseHash, Kind, Nonce, TypeUrl, VersionInfo};
use xdscope_wire::pb::{Fields, Splitter, Value};

/// Longest field, such as a resource, that a preview buffers, in bytes. Longer ones are rare, and
/// decoding them twice would take twice their memory.
const MAX_FIELD_BYTES: usize = 1 << 20;

/// A SotW response that is read while it arrives, before its content is stored, which takes longer.
///
/// [`check`](super::check) finds no error in a response that a preview finds [`Trivial`].
#[derive(Default)]
pub struct Preview {
    splitter: Splitter,
    type_url: String,
    version: String,
    nonce: String,
    /// The type of the first resource, and the number of its name field.
    first: Option<(Box<[u8]>, u32)>,
    /// Hashes of the names so far.
    names: HashSet<u64, DenseHash>,
    hasher: RandomState,
    /// The response is not trivial.
    needs_full_check: bool,
}

/// A response whose resources all have its own type, and distinct names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trivial {
    /// Type of the response.
    pub type_url: TypeUrl,
    /// Version of the response.
    pub version: VersionInfo,
    /// Nonce of the response.
    pub nonce: Nonce,
}

impl Preview {
    /// Reads the next bytes of the message.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.needs_full_check {
            return;
        }
        let mut splitter = std::mem::take(&mut self.splitter);
        let split =
            splitter.push(bytes, MAX_FIELD_BYTES, |raw| self.needs_full_check |= self.field(raw).is_none());
        match split {
            Ok(()) => self.splitter = splitter,
            Err(_) => self.needs_full_check = true,
        }
    }

    /// Whether the response is known not to be [`Trivial`], whatever follows.
    pub fn is_known_nontrivial(&self) -> bool {
        self.needs_full_check
    }

    /// Ends the message. `None` if the response needs the full check.
    pub fn finish(self) -> Option<Trivial> {
        let (of, _) = self.first?;
        let plain =
            !self.needs_full_check && self.splitter.rest().is_empty() && *of == *self.type_url.as_bytes();
        (plain && !self.nonce.is_empty()).then(|| Trivial {
            type_url: self.type_url.as_str().into(),
            version: self.version.as_str().into(),
            nonce: self.nonce.as_str().into(),
        })
    }

    /// Reads one field; `None` if the response is not trivial.
    fn field(&mut self, raw: &[u8]) -> Option<()> {
        let field = Fields::new(raw).next()?.ok()?;
        let known = DiscoveryField::of(MessageShape::SotwResponse, field.number)?;
        match (known, field.value) {
            (DiscoveryField::Version, Value::Len(text)) => {
                self.version = std::str::from_utf8(text).ok()?.to_owned()
            }
            (DiscoveryField::Resources, Value::Len(entry)) => self.resource(entry)?,
            (DiscoveryField::TypeUrl, Value::Len(text)) => {
                self.type_url = std::str::from_utf8(text).ok()?.to_owned()
            }
            (DiscoveryField::Nonce, Value::Len(text)) => {
                self.nonce = std::str::from_utf8(text).ok()?.to_owned()
            }
            (DiscoveryField::Canary, Value::Varint(_)) | (DiscoveryField::ControlPlane, Value::Len(_)) => {}
            _ => return None,
        }
        Some(())
    }

    /// Reads the type and the name of a resource in an `Any`.
    fn resource(&mut self, entry: &[u8]) -> Option<()> {
        let (mut url, mut value) = (&[][..], &[][..]);
        for field in Fields::new(entry) {
            let field = field.ok()?;
            match (field.number, field.value) {
                (any::TYPE_URL, Value::Len(bytes)) => url = bytes,
                (any::VALUE, Value::Len(bytes)) => value = bytes,
                _ => return None,
            }
        }
        let place = match &self.first {
            Some((first, place)) if **first == *url => *place,
            Some(_) => return None,
            None => {
                let (kind, _) = Kind::of_type_url(std::str::from_utf8(url).ok()?)?;
                let place = kind.name_field()?;
                self.first = Some((url.into(), place));
                place
            }
        };
        let mut name = &[][..];
        for field in Fields::new(value) {
            let field = field.ok()?;
            if field.number == place {
                name = field.bytes();
            }
        }
        // Structured names have rules of their own. Different invalid UTF-8 may be one name after
        // decoding.
        let simple = !name.is_empty() && !name.starts_with(b"xdstp:") && std::str::from_utf8(name).is_ok();
        (simple && self.names.insert(self.hasher.hash_one(name))).then_some(())
    }
}
