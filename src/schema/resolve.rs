//! Lookup of .proto files in a list of roots, with all type names made absolute before protox sees
//! them.
//!
//! protox looks up the whole name in each scope. protoc binds the first component in the innermost
//! scope that defines the component, and looks no further. The Envoy API depends on protoc's rule.
//! The build script includes this file, so the file must not use the rest of the crate.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use prost_types::uninterpreted_option::NamePart;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, UninterpretedOption,
};
use protox::Error;
use protox::file::{File, FileResolver, GoogleFileResolver};

/// Most bytes of .proto files and their imports. The Envoy API has 3 MB.
pub const MAX_PROTO_BYTES: u64 = 16 << 20;

/// Most declarations in .proto files and their imports. The compiler needs 6 to 9 kB for each; the
/// Envoy API has 17,000.
pub const MAX_PROTO_DECLARATIONS: usize = 50_000;

/// Items of a list, such as reserved numbers, that count as one declaration.
const ITEMS_PER_DECLARATION: usize = 8;

/// The folders to search for imports. The first folder that contains a file wins.
pub(crate) struct ProtoFiles {
    roots: Vec<PathBuf>,
    parsed: RefCell<HashMap<String, Rc<FileDescriptorProto>>>,
    /// Bytes of the files so far.
    bytes: Cell<u64>,
    /// Declarations of the files so far, each as [`ITEMS_PER_DECLARATION`] items.
    items: Cell<usize>,
}

/// An error in a .proto file, with its position.
#[derive(Debug)]
pub(crate) struct ProtoError {
    pub file: String,
    /// Counts from 1. `None` if the position is unknown.
    pub line: Option<usize>,
    pub column: Option<usize>,
    pub message: String,
}

impl std::fmt::Display for ProtoError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ProtoError {}

impl ProtoFiles {
    pub(crate) fn new(roots: Vec<PathBuf>) -> Self {
        ProtoFiles { roots, parsed: RefCell::default(), bytes: Cell::new(0), items: Cell::new(0) }
    }

    /// Parses a file. Names are as written, options are uninterpreted.
    ///
    /// The file is one that a user names, or that the build script compiles.
    #[allow(clippy::disallowed_methods)]
    fn parse(&self, name: &str) -> Result<Rc<FileDescriptorProto>, Error> {
        if let Some(file) = self.parsed.borrow().get(name) {
            return Ok(file.clone());
        }
        let path = self.roots.iter().map(|root| root.join(name)).find(|path| path.is_file());
        let file = match path {
            Some(path) => {
                let source = self.read(&path).map_err(|error| {
                    Error::new(ProtoError::new(path.display().to_string(), error.to_string()))
                })?;
                protox_parse::parse(name, &source).map_err(|error| {
                    let (line, column) = line_and_column(&source, error.span().map_or(0, |span| span.start));
                    Error::new(ProtoError {
                        file: path.display().to_string(),
                        line: Some(line),
                        column: Some(column),
                        message: error.to_string(),
                    })
                })?
            }
            // protox contains the well-known types, with absolute names and interpreted options.
            None => GoogleFileResolver::new().open_file(name)?.file_descriptor_proto().clone(),
        };
        let file = Rc::new(file);
        self.parsed.borrow_mut().insert(name.to_owned(), file.clone());
        Ok(file)
    }

    /// Reads a file without a byte order mark, as far as the limits of all files allow.
    #[allow(clippy::disallowed_methods, clippy::disallowed_types)]
    fn read(&self, path: &Path) -> io::Result<String> {
        let refused = |text: String| {
            let set = "protoc --include_imports --descriptor_set_out makes a set for --protoset";
            io::Error::new(io::ErrorKind::InvalidData, format!("{text}; {set}"))
        };
        let mut source = Vec::new();
        let left = MAX_PROTO_BYTES.saturating_sub(self.bytes.get());
        std::fs::File::open(path)?.take(left + 1).read_to_end(&mut source)?;
        self.bytes.set(self.bytes.get() + source.len() as u64);
        if self.bytes.get() > MAX_PROTO_BYTES {
            return Err(refused(format!("the .proto files are longer than {} MB", MAX_PROTO_BYTES >> 20)));
        }
        let count = |marks: &[u8]| source.iter().filter(|byte| marks.contains(byte)).count();
        let items = count(b";{") * ITEMS_PER_DECLARATION + count(b",");
        self.items.set(self.items.get() + items);
        if self.items.get() > MAX_PROTO_DECLARATIONS * ITEMS_PER_DECLARATION {
            let most = MAX_PROTO_DECLARATIONS;
            return Err(refused(format!("the .proto files have more than {most} declarations")));
        }
        if source.starts_with(b"\xff\xfe") || source.starts_with(b"\xfe\xff") {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the text is in UTF-16, and must be in UTF-8",
            ));
        }
        let text = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&source);
        let text =
            std::str::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(text.to_owned())
    }

    /// Returns the symbols that `file` can use: its own, those of its imports and of their public
    /// imports.
    fn visible_symbols(&self, file: &FileDescriptorProto) -> Result<SymbolTable, Error> {
        let mut names = SymbolTable::default();
        names.add_file(file);
        let mut todo: Vec<String> = file.dependency.clone();
        let mut seen: Vec<String> = Vec::new();
        while let Some(import) = todo.pop() {
            if seen.contains(&import) {
                continue;
            }
            let Ok(imported) = self.parse(&import) else {
                // protox opens the import next and reports the error with the importing file.
                seen.push(import);
                continue;
            };
            names.add_file(&imported);
            todo.extend(
                imported
                    .public_dependency
                    .iter()
                    .filter_map(|i| imported.dependency.get(*i as usize).cloned()),
            );
            seen.push(import);
        }
        Ok(names)
    }
}

impl FileResolver for ProtoFiles {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        let parsed = self.parse(name)?;
        if !self.roots.iter().any(|root| root.join(name).is_file()) {
            return GoogleFileResolver::new().open_file(name);
        }
        let mut file = (*parsed).clone();
        let names = self.visible_symbols(&file)?;
        let mut pass = NameResolver { names: &names, missing: Vec::new(), path: Vec::new() };
        pass.file(&mut file);
        let missing = pass.missing;
        if let Some((path, missing)) = missing.first()
            && file.dependency.iter().all(|import| self.parse(import).is_ok())
        {
            let (line, column) = location(&file, path).unzip();
            let message = format!("`{missing}` is not defined here; import the file that defines it");
            return Err(Error::new(ProtoError { file: name.to_owned(), line, column, message }));
        }
        Ok(File::from_file_descriptor_proto(file))
    }
}

impl ProtoError {
    pub(crate) fn new(file: String, message: String) -> Self {
        ProtoError { file, line: None, column: None, message }
    }
}

/// Returns the line and column of a byte offset, counted from 1.
fn line_and_column(source: &str, offset: usize) -> (usize, usize) {
    let before = source.as_bytes().get(..offset).unwrap_or(source.as_bytes());
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}

/// Returns the line and column of a descriptor path, counted from 1.
fn location(file: &FileDescriptorProto, path: &[i32]) -> Option<(usize, usize)> {
    let info = file.source_code_info.as_ref()?;
    let found = info.location.iter().find(|location| location.path == path)?;
    Some((*found.span.first()? as usize + 1, *found.span.get(1)? as usize + 1))
}

#[derive(Clone, Copy, PartialEq)]
enum NameKind {
    Package,
    Message,
    Enum,
    Extension,
}

/// Kinds of symbols, by full name without the leading dot.
#[derive(Default)]
struct SymbolTable(HashMap<String, NameKind>);

impl SymbolTable {
    fn add_file(&mut self, file: &FileDescriptorProto) {
        let package = file.package();
        for (end, _) in package.match_indices('.').chain([(package.len(), "")]) {
            self.0.insert(package[..end].to_owned(), NameKind::Package);
        }
        for message in &file.message_type {
            self.add_message(package, message);
        }
        for item in &file.enum_type {
            self.0.insert(join(package, item.name()), NameKind::Enum);
        }
        for item in &file.extension {
            self.0.insert(join(package, item.name()), NameKind::Extension);
        }
    }

    fn add_message(&mut self, scope: &str, message: &DescriptorProto) {
        let name = join(scope, message.name());
        for item in &message.nested_type {
            self.add_message(&name, item);
        }
        for item in &message.enum_type {
            self.0.insert(join(&name, item.name()), NameKind::Enum);
        }
        for item in &message.extension {
            self.0.insert(join(&name, item.name()), NameKind::Extension);
        }
        self.0.insert(name, NameKind::Message);
    }

    /// Returns the absolute form of `name` as used in `scope`, by protoc's rule.
    ///
    /// The first component binds in the innermost scope that defines the component. The first
    /// component of a compound name must be a message or package.
    fn find(&self, scope: &str, name: &str, types_only: bool) -> Option<String> {
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        let mut scope = scope;
        loop {
            let candidate = join(scope, first);
            match (self.0.get(&candidate), rest) {
                (Some(NameKind::Package | NameKind::Message), Some(rest)) => {
                    let full = format!("{candidate}.{rest}");
                    return self.0.contains_key(&full).then(|| format!(".{full}"));
                }
                (Some(kind), None) if !types_only || matches!(kind, NameKind::Message | NameKind::Enum) => {
                    return Some(format!(".{candidate}"));
                }
                _ if scope.is_empty() => return None,
                _ => scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer),
            }
        }
    }
}

fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
}

/// A pass over a file that makes names absolute. `path` is the descriptor path of the current
/// element.
struct NameResolver<'a> {
    names: &'a SymbolTable,
    missing: Vec<(Vec<i32>, String)>,
    path: Vec<i32>,
}

impl NameResolver<'_> {
    fn at(&mut self, tag: i32, index: usize, visit: impl FnOnce(&mut Self)) {
        self.path.extend([tag, index as i32]);
        visit(self);
        self.path.truncate(self.path.len() - 2);
    }

    fn name(&mut self, scope: &str, name: &mut Option<String>, tag: i32) {
        let Some(written) = name.as_mut().filter(|name| !name.starts_with('.') && !name.is_empty()) else {
            return;
        };
        match self.names.find(scope, written, true) {
            Some(full) => *written = full,
            None => {
                let mut path = self.path.clone();
                path.push(tag);
                self.missing.push((path, written.clone()));
            }
        }
    }

    fn options(&mut self, scope: &str, options: Option<&mut Vec<UninterpretedOption>>) {
        let parts = options.into_iter().flatten().flat_map(|option| &mut option.name);
        for NamePart { name_part, is_extension } in parts {
            if *is_extension
                && !name_part.starts_with('.')
                && let Some(full) = self.names.find(scope, name_part, false)
            {
                *name_part = full;
            }
        }
    }

    fn file(&mut self, file: &mut FileDescriptorProto) {
        let package = file.package().to_owned();
        self.options(&package, file.options.as_mut().map(|o| &mut o.uninterpreted_option));
        for (i, message) in file.message_type.iter_mut().enumerate() {
            self.at(4, i, |pass| pass.message(&package, message));
        }
        for item in &mut file.enum_type {
            self.enumeration(&package, item);
        }
        for (i, item) in file.extension.iter_mut().enumerate() {
            self.at(7, i, |pass| pass.field(&package, item));
        }
        for (i, service) in file.service.iter_mut().enumerate() {
            let scope = join(&package, service.name());
            self.options(&scope, service.options.as_mut().map(|o| &mut o.uninterpreted_option));
            for (j, method) in service.method.iter_mut().enumerate() {
                self.at(6, i, |pass| {
                    pass.at(2, j, |pass| {
                        pass.name(&scope, &mut method.input_type, 2);
                        pass.name(&scope, &mut method.output_type, 3);
                        pass.options(&scope, method.options.as_mut().map(|o| &mut o.uninterpreted_option));
                    })
                });
            }
        }
    }

    fn message(&mut self, scope: &str, message: &mut DescriptorProto) {
        let scope = join(scope, message.name());
        self.options(&scope, message.options.as_mut().map(|o| &mut o.uninterpreted_option));
        for (i, field) in message.field.iter_mut().enumerate() {
            self.at(2, i, |pass| pass.field(&scope, field));
        }
        for (i, field) in message.extension.iter_mut().enumerate() {
            self.at(6, i, |pass| pass.field(&scope, field));
        }
        for (i, nested) in message.nested_type.iter_mut().enumerate() {
            self.at(3, i, |pass| pass.message(&scope, nested));
        }
        for item in &mut message.enum_type {
            self.enumeration(&scope, item);
        }
        for oneof in &mut message.oneof_decl {
            let scope = join(&scope, oneof.name());
            self.options(&scope, oneof.options.as_mut().map(|o| &mut o.uninterpreted_option));
        }
        for range in &mut message.extension_range {
            self.options(&scope, range.options.as_mut().map(|o| &mut o.uninterpreted_option));
        }
    }

    fn field(&mut self, scope: &str, field: &mut FieldDescriptorProto) {
        self.name(scope, &mut field.type_name, 6);
        self.name(scope, &mut field.extendee, 2);
        let scope = join(scope, field.name());
        self.options(&scope, field.options.as_mut().map(|o| &mut o.uninterpreted_option));
    }

    fn enumeration(&mut self, scope: &str, item: &mut EnumDescriptorProto) {
        let scope = join(scope, item.name());
        self.options(&scope, item.options.as_mut().map(|o| &mut o.uninterpreted_option));
        for value in &mut item.value {
            self.options(&scope, value.options.as_mut().map(|o| &mut o.uninterpreted_option));
        }
    }
}
