//! Checks of descriptor sets from users and servers, before prost-reflect builds a pool of them.
//!
//! prost-reflect panics, recurses without end or takes quadratic time and memory for sets that
//! protoc and buf never write (docs/decisions/0014-dependencies.md). The checks read the wire
//! format, so that a hostile set is rejected before anything is allocated for its entries.
//!
//! Catching panics instead would not do: recursion without end overflows the stack, which aborts
//! the program.

use std::collections::{HashMap, HashSet};

use prost_reflect::DescriptorError;

use super::builtin;
use xdscope_wire::pb::{FieldError, Fields, Value, WireField, put_len_field, read_varint};

pub(crate) mod message;

use message::Checker;

/// Limit on the bytes of a set without source positions. The built-in v3 set has 1.1 MB, 15,000
/// entries and 1.3 MB of names.
pub const MAX_SET_BYTES: usize = 64 << 20;
/// Limit on the files of a set.
pub const MAX_SET_FILES: usize = 20_000;
/// Limit on the messages, fields, enum values, ranges, methods and options of a set.
pub const MAX_SET_ENTRIES: usize = 500_000;
/// Limit on the bytes of full names, each of which is stored several times.
pub const MAX_SET_NAME_BYTES: usize = 64 << 20;
/// Limit on the imports of all files, counting files that are visible through public imports.
const MAX_IMPORTS: usize = 1_000_000;
/// Limit on the public imports that are followed, counting each way to a file.
const MAX_FOLLOWED_IMPORTS: usize = 10_000_000;

/// The reason why a descriptor set is rejected.
#[derive(Debug, thiserror::Error)]
pub enum DescriptorSetError {
    /// The bytes are not a descriptor set.
    #[error(transparent)]
    Malformed(#[from] FieldError),
    /// The set exceeds a limit.
    #[error("the set has more than {limit} {what}")]
    TooMuch {
        /// The limit.
        limit: usize,
        /// The noun of the limit.
        what: &'static str,
    },
    /// An entry of the set is not valid.
    #[error("{file:?}: {what}")]
    Invalid {
        /// The name of the file in the set, shortened.
        file: String,
        /// The entry and the reason.
        what: String,
    },
    /// The descriptors do not fit each other.
    #[error(transparent)]
    Inconsistent(#[from] DescriptorError),
}

/// Returns a set as prost-reflect can read it, without source positions.
///
/// Lists the files that are visible through public imports as imports: prost-reflect follows public
/// imports without a limit.
pub(crate) fn checked(set: &[u8]) -> Result<Vec<u8>, DescriptorSetError> {
    let mut files = Vec::new();
    for field in Fields::new(set) {
        let field = field?;
        if field.number == 1 {
            files.push(File::new(field.bytes())?);
        }
        limit(files.len(), MAX_SET_FILES, "files")?;
    }
    let size = files.iter().map(|file| file.size).sum();
    limit(size, MAX_SET_BYTES, "bytes without source positions")?;
    let mut checker = Checker::default();
    for file in &files {
        checker.file(file)?;
    }
    join(&files)
}

fn limit(count: usize, limit: usize, what: &'static str) -> Result<(), DescriptorSetError> {
    if count > limit { Err(DescriptorSetError::TooMuch { limit, what }) } else { Ok(()) }
}

/// Returns text from a set for a message, shortened.
fn brief(text: &[u8]) -> String {
    const CHARS: usize = 60;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * CHARS)]);
    if text.chars().count() > CHARS { text.chars().take(CHARS).chain(['…']).collect() } else { text.into() }
}

/// The parts of an encoded `FileDescriptorProto` that the checks need.
struct File<'a> {
    bytes: &'a [u8],
    name: &'a [u8],
    package: &'a [u8],
    imports: Vec<&'a [u8]>,
    /// Indexes of imports.
    public: Vec<u64>,
    /// Size in bytes without source positions.
    size: usize,
}

/// Field numbers of `FileDescriptorProto` (google/protobuf/descriptor.proto).
mod number {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const PACKAGE: u32 = 2;
    pub(crate) const IMPORT: u32 = 3;
    pub(crate) const SOURCE_POSITIONS: u32 = 9;
    pub(crate) const PUBLIC_IMPORT: u32 = 10;
    pub(crate) const WEAK_IMPORT: u32 = 11;
    pub(crate) const SYNTAX: u32 = 12;
}

impl<'a> File<'a> {
    fn new(bytes: &'a [u8]) -> Result<File<'a>, DescriptorSetError> {
        let mut file =
            File { bytes, name: b"", package: b"", imports: Vec::new(), public: Vec::new(), size: 0 };
        let mut syntax: &[u8] = b"proto2";
        for field in Fields::new(bytes) {
            let field = field?;
            match field.number {
                number::NAME => file.name = field.bytes(),
                number::PACKAGE => file.package = field.bytes(),
                number::IMPORT => file.imports.push(field.bytes()),
                number::PUBLIC_IMPORT => match field.value {
                    Value::Varint(index) => file.public.push(index),
                    _ => file.public.extend(packed(field.bytes())),
                },
                number::SYNTAX => syntax = field.bytes(),
                _ => {}
            }
            if field.number != number::SOURCE_POSITIONS {
                file.size += field.raw.len();
            }
            limit(file.imports.len() + file.public.len(), MAX_IMPORTS, "imports")?;
        }
        if file.imports.iter().chain([&file.name]).any(|name| name.is_empty() || name.len() > 1024) {
            return Err(
                file.invalid("the name of the file or of an import is empty or longer than 1024 bytes")
            );
        }
        if !matches!(syntax, b"proto2" | b"proto3") {
            let what = format!("syntax {:?} is not supported, only proto2 and proto3 are", brief(syntax));
            return Err(file.invalid(what));
        }
        let is_import = |index: &u64| usize::try_from(*index).is_ok_and(|index| index < file.imports.len());
        if !file.public.iter().all(is_import) {
            return Err(file.invalid("a public import is not among the imports"));
        }
        Ok(file)
    }

    fn invalid(&self, what: impl Into<String>) -> DescriptorSetError {
        DescriptorSetError::Invalid { file: brief(self.name), what: what.into() }
    }

    /// Returns the names of the public imports.
    fn public_imports(&self) -> impl Iterator<Item = &'a [u8]> {
        self.public.iter().filter_map(|index| self.imports.get(*index as usize).copied())
    }
}

/// Returns the values of a packed field up to the first damage.
fn packed(mut bytes: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let (value, len) = read_varint(bytes)?;
        bytes = &bytes[len..];
        Some(value)
    })
}

/// Returns the set with the visible files of each file as its imports.
fn join(files: &[File<'_>]) -> Result<Vec<u8>, DescriptorSetError> {
    let by_name: HashMap<&[u8], &File<'_>> = files.iter().map(|file| (file.name, file)).collect();
    let (mut out, mut total, mut followed) = (Vec::new(), 0, 0);
    for file in files {
        let mut visible = file.imports.clone();
        let mut seen: HashSet<&[u8]> = HashSet::new();
        visible.retain(|import| seen.insert(import));
        let mut next = 0;
        while let Some(import) = visible.get(next) {
            next += 1;
            let file = by_name.get(import);
            followed += file.map_or(0, |file| file.public.len());
            let indirect = file.into_iter().flat_map(|file| file.public_imports());
            let new: Vec<_> = indirect.filter(|import| seen.insert(import)).collect();
            visible.extend(new);
            limit(total + visible.len(), MAX_IMPORTS, "imports")?;
            limit(followed, MAX_FOLLOWED_IMPORTS, "ways between files")?;
        }
        total += visible.len();
        let mut bytes = Vec::with_capacity(file.size);
        for field in Fields::new(file.bytes).map_while(Result::ok) {
            let is_dropped = matches!(
                field.number,
                number::IMPORT | number::SOURCE_POSITIONS | number::PUBLIC_IMPORT | number::WEAK_IMPORT
            );
            if !is_dropped {
                bytes.extend_from_slice(field.raw);
            }
        }
        visible.iter().for_each(|import| put_len_field(&mut bytes, number::IMPORT, import));
        put_len_field(&mut out, 1, &bytes);
    }
    Ok(out)
}
