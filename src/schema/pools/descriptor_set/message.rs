//! Checks of the messages, enums and services of a file.

use prost::Message as _;
use prost_types::{DescriptorProto, FieldDescriptorProto};

use super::*;

/// Limit on the bytes of a full name.
const MAX_NAME: usize = 1024;
/// Limit on the levels of messages in messages.
const MAX_NESTING: usize = 32;
/// Limit on the ranges of a message or enum. Fields are compared with each range.
const MAX_RANGES: usize = 1024;
/// Limit on the values of an enum, which are sorted by insertion and compared with defaults.
pub const MAX_ENUM_VALUES: usize = 8192;
/// Limit on the options of an entry in bytes: a byte can become a value of 40 bytes.
pub const MAX_OPTION_BYTES: usize = 64 << 10;
/// Number of the options that the compiler has not interpreted, in the options of each kind.
const UNINTERPRETED: u32 = 999;
/// Number of `MessageOptions.map_entry`.
const MAP_ENTRY: u32 = 7;

/// Counts of a set so far.
#[derive(Default)]
pub(super) struct Checker {
    entries: usize,
    name_bytes: usize,
}

/// A scope of names: a package or a message.
#[derive(Clone, Copy)]
struct Scope<'a> {
    file: &'a File<'a>,
    name: &'a str,
    nesting: usize,
}

/// The kinds of entries, by the field numbers of their name, options and type names.
#[derive(Clone, Copy)]
struct Form {
    noun: &'static str,
    options: u32,
    types: [u32; 2],
}

const FIELD: Form = Form { noun: "field", options: 8, types: [2, 6] };
const ONEOF: Form = Form { noun: "oneof", options: 2, types: [0, 0] };
const VALUE: Form = Form { noun: "enum value", options: 3, types: [0, 0] };
const METHOD: Form = Form { noun: "method", options: 4, types: [2, 3] };
/// Numbers of a field's type and default value.
const TYPE: u32 = 5;
const DEFAULT: u32 = 7;
/// The type of fields whose default value has C escapes.
const BYTES: u64 = 12;

impl Scope<'_> {
    fn invalid(&self, what: impl Into<String>) -> DescriptorSetError {
        self.file.invalid(what)
    }
}

impl Checker {
    pub(super) fn file(&mut self, file: &File<'_>) -> Result<(), DescriptorSetError> {
        let package = std::str::from_utf8(file.package).unwrap_or("\0");
        if !package.is_empty() && (package.len() > MAX_NAME || !package.split('.').all(is_identifier)) {
            return Err(file.invalid(format!("{:?} is not a package name", brief(file.package))));
        }
        self.count(1, package.len() * (1 + package.matches('.').count()))?;
        let scope = Scope { file, name: package, nesting: 0 };
        for field in Fields::new(file.bytes) {
            let field = field?;
            match field.number {
                4 => self.message(scope, field.bytes())?,
                5 => self.enumeration(scope, field.bytes())?,
                6 => self.service(scope, field.bytes())?,
                7 => self.leaf(scope, FIELD, field.bytes())?,
                8 => self.options(scope, field.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Counts entries and bytes of names.
    fn count(&mut self, entries: usize, name_bytes: usize) -> Result<(), DescriptorSetError> {
        self.entries += entries;
        self.name_bytes += name_bytes;
        limit(self.entries, MAX_SET_ENTRIES, "messages, fields, values and options")?;
        limit(self.name_bytes, MAX_SET_NAME_BYTES, "bytes of names")
    }

    /// Returns the full name of an entry.
    fn name(&mut self, scope: Scope<'_>, noun: &str, bytes: &[u8]) -> Result<String, DescriptorSetError> {
        let mut name: &[u8] = b"";
        for field in Fields::new(bytes) {
            let field = field?;
            if field.number == 1 {
                name = field.bytes();
            }
        }
        let Some(text) = std::str::from_utf8(name).ok().filter(|name| is_identifier(name)) else {
            return Err(scope.invalid(format!("{:?} is not the name of a {noun}", brief(name))));
        };
        let dot = if scope.name.is_empty() { "" } else { "." };
        let full = [scope.name, dot, text].concat();
        if full.len() > MAX_NAME {
            return Err(scope.invalid(format!("{:?}: the full name is too long", brief(name))));
        }
        self.count(1, full.len())?;
        Ok(full)
    }

    /// Checks an entry without inner entries.
    fn leaf(&mut self, scope: Scope<'_>, form: Form, bytes: &[u8]) -> Result<(), DescriptorSetError> {
        self.name(scope, form.noun, bytes)?;
        let mut fields = Fields::new(bytes).map_while(Result::ok);
        let is_bytes = fields.any(|field| field.number == TYPE && field.varint() == BYTES);
        for field in Fields::new(bytes) {
            let field = field?;
            if field.number == form.options {
                self.options(scope, field.bytes())?;
            } else if form.types.contains(&field.number) {
                let name = field.bytes();
                if name.len() > MAX_NAME {
                    return Err(scope.invalid(format!("{:?} is not a type name", brief(name))));
                }
                // A relative name is looked up in each enclosing scope.
                let scopes = if name.starts_with(b".") { 1 } else { 2 + scope.name.matches('.').count() };
                self.count(0, scopes * name.len())?;
            } else if form.noun == FIELD.noun && field.number == DEFAULT {
                if is_bytes && !has_c_escapes(field.bytes()) {
                    let value = brief(field.bytes());
                    return Err(scope.invalid(format!("{value:?} is not a default value of bytes")));
                }
                // The name of a default is looked up among the values of the enum.
                self.count(0, MAX_ENUM_VALUES / 16)?;
            }
        }
        Ok(())
    }

    fn options(&mut self, scope: Scope<'_>, bytes: &[u8]) -> Result<(), DescriptorSetError> {
        self.count(1, 0)?;
        if bytes.len() > MAX_OPTION_BYTES {
            return Err(scope.invalid("an entry has more than 64 kB of options"));
        }
        for field in Fields::new(bytes) {
            if field?.number == UNINTERPRETED {
                return Err(scope.invalid("options are not interpreted; compile the file with protoc or buf"));
            }
        }
        Ok(())
    }

    fn message(&mut self, scope: Scope<'_>, bytes: &[u8]) -> Result<(), DescriptorSetError> {
        let name = self.name(scope, "message", bytes)?;
        let inner = Scope { name: &name, nesting: scope.nesting + 1, ..scope };
        if inner.nesting > MAX_NESTING {
            return Err(
                scope.invalid(format!("{:?}: messages are nested too deeply", brief(name.as_bytes())))
            );
        }
        let (mut ranges, mut is_map_entry) = (0, false);
        for field in Fields::new(bytes) {
            let field = field?;
            match field.number {
                2 | 6 => self.leaf(inner, FIELD, field.bytes())?,
                3 => self.message(inner, field.bytes())?,
                4 => self.enumeration(inner, field.bytes())?,
                5 | 9 => {
                    ranges += 1;
                    self.range(inner, &field)?;
                }
                7 => {
                    self.options(inner, field.bytes())?;
                    let mut options = Fields::new(field.bytes()).map_while(Result::ok);
                    is_map_entry |= options.any(|option| option.number == MAP_ENTRY && option.varint() != 0);
                }
                8 => self.leaf(inner, ONEOF, field.bytes())?,
                _ => self.count(1, 0)?,
            }
        }
        if ranges > MAX_RANGES {
            return Err(
                scope.invalid(format!("{:?} has more than {MAX_RANGES} ranges", brief(name.as_bytes())))
            );
        }
        if is_map_entry || name.starts_with("google.protobuf.") {
            let read = DescriptorProto::decode(bytes)
                .map_err(|error| scope.invalid(format!("{:?}: {error}", brief(name.as_bytes()))))?;
            if is_map_entry && !is_entry_of_map(&read) {
                return Err(scope.invalid(format!("{name} is not the entry of a map")));
            }
            if !fits_builtin(&name, &read) {
                return Err(scope.invalid(format!("{name} differs from the message of protobuf")));
            }
        }
        Ok(())
    }

    fn range(&mut self, scope: Scope<'_>, field: &WireField<'_>) -> Result<(), DescriptorSetError> {
        self.count(1, 0)?;
        for option in Fields::new(field.bytes()).filter(|_| field.number == 5) {
            let option = option?;
            if option.number == 3 {
                self.options(scope, option.bytes())?;
            }
        }
        Ok(())
    }

    fn enumeration(&mut self, scope: Scope<'_>, bytes: &[u8]) -> Result<(), DescriptorSetError> {
        let name = self.name(scope, "enum", bytes)?;
        let (mut values, mut ranges) = (0, 0);
        for field in Fields::new(bytes) {
            let field = field?;
            match field.number {
                // Values are named in the scope of their enum, as prost-reflect does.
                2 => {
                    values += 1;
                    self.leaf(Scope { name: &name, ..scope }, VALUE, field.bytes())?;
                }
                3 => self.options(scope, field.bytes())?,
                _ => {
                    ranges += 1;
                    self.count(1, 0)?;
                }
            }
        }
        if values > MAX_ENUM_VALUES || ranges > MAX_RANGES {
            let name = brief(name.as_bytes());
            let what = format!("{name:?} has more than {MAX_ENUM_VALUES} values or {MAX_RANGES} ranges");
            return Err(scope.invalid(what));
        }
        Ok(())
    }

    fn service(&mut self, scope: Scope<'_>, bytes: &[u8]) -> Result<(), DescriptorSetError> {
        let name = self.name(scope, "service", bytes)?;
        let inner = Scope { name: &name, ..scope };
        for field in Fields::new(bytes) {
            let field = field?;
            match field.number {
                2 => self.leaf(inner, METHOD, field.bytes())?,
                3 => self.options(inner, field.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a text is ASCII without octal escapes of more than a byte, such as `\777`.
fn has_c_escapes(text: &[u8]) -> bool {
    let is_large = |part: &[u8]| matches!(part, [b'\\', b'4'..=b'7', b'0'..=b'7', b'0'..=b'7']);
    text.is_ascii() && !text.windows(4).any(is_large)
}

fn is_identifier(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// Whether a message has the two fields of the entry of a map, as protoc writes them.
fn is_entry_of_map(message: &DescriptorProto) -> bool {
    use prost_types::field_descriptor_proto::{Label, Type};
    let [key, value] = &message.field[..] else { return false };
    let is_key_type = match key.r#type() {
        Type::Double | Type::Float | Type::Bytes | Type::Message | Type::Group | Type::Enum => false,
        _ => key.type_name().is_empty(),
    };
    let fits = |field: &FieldDescriptorProto, name, number| {
        let is_plain = field.label() == Label::Optional && field.oneof_index.is_none();
        is_plain && field.name() == name && field.number() == number && field.r#type() != Type::Group
    };
    is_key_type && fits(key, "key", 1) && fits(value, "value", 2)
}

/// Whether a message under a name of protobuf's own can be used as that message.
///
/// prost-reflect has code for the fields of `Timestamp`, `Struct` and others. Messages with JSON of
/// their own must be equal; messages of options may lack fields or have more, as other versions do.
fn fits_builtin(name: &str, message: &DescriptorProto) -> bool {
    let Some(builtin) = builtin::v3().message(name) else { return true };
    let builtin = builtin.descriptor_proto();
    let is_entry = |message: &DescriptorProto| message.options.as_ref().is_some_and(|it| it.map_entry());
    let same = |ours: &FieldDescriptorProto, theirs: &FieldDescriptorProto| {
        let shape = |field: &FieldDescriptorProto| {
            (field.number(), field.label(), field.r#type(), field.type_name().to_owned())
        };
        ours.name() == theirs.name() && shape(ours) == shape(theirs)
    };
    let find = |theirs: &FieldDescriptorProto| {
        builtin.field.iter().find(|ours| ours.number() == theirs.number() || ours.name() == theirs.name())
    };
    let is_version = message.field.iter().all(|theirs| find(theirs).is_none_or(|ours| same(ours, theirs)));
    let must_equal = crate::table::has_own_json(name);
    is_version
        && is_entry(builtin) == is_entry(message)
        && !(must_equal && message.field.len() != builtin.field.len())
}
