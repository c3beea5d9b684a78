//! The descriptors of a set, loaded file by file (docs/decisions/0024-descriptors-by-need.md).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use prost_reflect::{DescriptorPool, FileDescriptor, MessageDescriptor};

use xdscope_wire::pb::Fields;

/// The file with the messages of options, which every other file uses.
const OPTIONS_FILE: &str = "google/protobuf/descriptor.proto";

/// Loading copies the files so far if a descriptor is in use. The whole set is loaded once the
/// copies could have this many times the files of the set.
const MAX_COPIED_SETS: usize = 8;

/// The descriptors of a set. A file is loaded, with its imports, when a message of the file is
/// first needed.
///
/// A descriptor keeps the pool as it was when the descriptor was returned. Descriptors of different
/// states are not equal and not to be mixed, and the memory of a state is freed with its last
/// descriptor: keep none for longer than a task.
#[derive(Debug)]
pub(crate) struct Descriptors {
    files: Vec<SetFile>,
    /// The messages in the order of the set, each with the index of its file.
    messages: Vec<(Arc<str>, u32)>,
    index_by_name: HashMap<Arc<str>, u32, RandomState>,
    loaded: Mutex<LoadedFiles>,
}

/// A file of a set.
#[derive(Debug)]
struct SetFile {
    name: Box<str>,
    /// The place of the file in the encoded set, with tag and length.
    entry: Range<usize>,
    /// Indexes of files.
    imports: Vec<u32>,
}

/// The files that are loaded.
#[derive(Debug)]
struct LoadedFiles {
    pool: DescriptorPool,
    /// The encoded set. Empty once all files are loaded.
    set: Vec<u8>,
    is_loaded: Vec<bool>,
    count: usize,
    /// How many files loading has copied so far, at most.
    copied: usize,
}

/// The parts of an encoded `FileDescriptorProto` that are read before the file is loaded.
#[derive(Default)]
struct FileHead<'a> {
    name: &'a [u8],
    package: &'a [u8],
    imports: Vec<&'a [u8]>,
    messages: Vec<&'a [u8]>,
}

impl<'a> FileHead<'a> {
    fn new(file: &'a [u8]) -> FileHead<'a> {
        let mut head = FileHead::default();
        for field in Fields::new(file).map_while(Result::ok) {
            match field.number {
                1 => head.name = field.bytes(),
                2 => head.package = field.bytes(),
                3 => head.imports.push(field.bytes()),
                4 => head.messages.push(field.bytes()),
                _ => {}
            }
        }
        head
    }
}

impl Descriptors {
    /// Reads the names of files and messages in an encoded set. Loads no file.
    pub(crate) fn of_set(set: Vec<u8>) -> Descriptors {
        let (mut files, mut imports, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = 0;
        for field in Fields::new(&set).map_while(Result::ok) {
            let start = end;
            end += field.raw.len();
            let head = FileHead::new(field.bytes());
            let package = String::from_utf8_lossy(head.package);
            for message in head.messages {
                add_message(&package, message, files.len() as u32, &mut messages);
            }
            let name = String::from_utf8_lossy(head.name).into();
            files.push(SetFile { name, entry: start..end, imports: Vec::new() });
            imports.push(head.imports);
        }
        let by_name: HashMap<&[u8], u32> =
            files.iter().zip(0..).map(|(file, at)| (file.name.as_bytes(), at)).collect();
        let indexes =
            |names: &Vec<&[u8]>| names.iter().filter_map(|name| by_name.get(name).copied()).collect();
        let imports: Vec<Vec<u32>> = imports.iter().map(indexes).collect();
        files.iter_mut().zip(imports).for_each(|(file, imports)| file.imports = imports);
        let (is_loaded, pool) = (vec![false; files.len()], DescriptorPool::new());
        Descriptors::new(files, messages, LoadedFiles { pool, set, is_loaded, count: 0, copied: 0 })
    }

    /// Returns the descriptors of a pool, all of which are loaded.
    pub(crate) fn of_pool(pool: DescriptorPool) -> Descriptors {
        let file =
            |file: FileDescriptor| SetFile { name: file.name().into(), entry: 0..0, imports: Vec::new() };
        let files: Vec<_> = pool.files().map(file).collect();
        let messages = pool.all_messages().map(|message| (message.full_name().into(), 0)).collect();
        let (is_loaded, count) = (vec![true; files.len()], files.len());
        Descriptors::new(files, messages, LoadedFiles { pool, set: Vec::new(), is_loaded, count, copied: 0 })
    }

    fn new(files: Vec<SetFile>, messages: Vec<(Arc<str>, u32)>, loaded: LoadedFiles) -> Descriptors {
        // Keeps the first of equal names.
        let index_by_name =
            messages.iter().enumerate().rev().map(|(at, (name, _))| (name.clone(), at as u32)).collect();
        Descriptors { files, messages, index_by_name, loaded: Mutex::new(loaded) }
    }

    /// Returns the index of the message with this full name. Loads nothing.
    pub(crate) fn index_of(&self, name: &str) -> Option<u32> {
        self.index_by_name.get(name).copied()
    }

    /// Returns the full name of the message with this index. Loads nothing.
    pub(crate) fn name(&self, index: u32) -> Option<&str> {
        Some(&*self.messages.get(index as usize)?.0)
    }

    /// Returns the full names of all messages, in the order of their indexes. Loads nothing.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.messages.iter().map(|(name, _)| &**name)
    }

    /// Returns the message with this index.
    pub(crate) fn message(&self, index: u32) -> Option<MessageDescriptor> {
        self.pool_with(&[index]).get_message_by_name(self.name(index)?)
    }

    /// Returns the first of messages with these names. Its pool has those that the set has.
    pub(crate) fn message_with(&self, names: &[&str]) -> Option<MessageDescriptor> {
        let indexes: Vec<u32> = names.iter().filter_map(|name| self.index_of(name)).collect();
        self.pool_with(&indexes).get_message_by_name(names.first()?)
    }

    /// Returns a pool that has at least the messages with these indexes.
    fn pool_with(&self, indexes: &[u32]) -> DescriptorPool {
        let file = |index: &u32| self.messages.get(*index as usize).map(|(_, file)| *file);
        self.loaded().add(&self.files, indexes.iter().filter_map(file).collect())
    }

    /// Returns the pool with all files.
    pub(crate) fn all(&self) -> DescriptorPool {
        self.loaded().add(&self.files, (0..self.files.len() as u32).collect())
    }

    /// Returns all files in the order of the set.
    pub(crate) fn files(&self) -> Vec<FileDescriptor> {
        let pool = self.all();
        self.files.iter().filter_map(|file| pool.get_file_by_name(&file.name)).collect()
    }

    /// Returns the file with this name.
    pub(crate) fn file(&self, name: &str) -> Option<FileDescriptor> {
        let at = self.files.iter().position(|file| *file.name == *name)?;
        self.loaded().add(&self.files, vec![at as u32]).get_file_by_name(name)
    }

    /// Returns how many files are loaded.
    #[cfg(test)]
    pub(crate) fn loaded_files(&self) -> usize {
        self.loaded().count
    }

    fn loaded(&self) -> MutexGuard<'_, LoadedFiles> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadedFiles {
    /// Loads files and what they import. Returns the pool with them.
    fn add(&mut self, files: &[SetFile], mut wanted: Vec<u32>) -> DescriptorPool {
        let is_loaded = |file: &u32| self.is_loaded.get(*file as usize).is_none_or(|is_loaded| *is_loaded);
        if wanted.iter().all(is_loaded) {
            return self.pool.clone();
        }
        self.copied += self.count;
        if self.copied > MAX_COPIED_SETS * files.len() {
            wanted = (0..files.len() as u32).collect();
        }
        // prost-reflect would otherwise load its own copy of the messages of options.
        wanted.extend(files.iter().position(|file| *file.name == *OPTIONS_FILE).map(|at| at as u32));
        let mut new = Vec::new();
        while let Some(at) = wanted.pop() {
            let (Some(file), Some(is_loaded)) = (files.get(at as usize), self.is_loaded.get_mut(at as usize))
            else {
                continue;
            };
            if !std::mem::replace(is_loaded, true) {
                new.push(at);
                wanted.extend(&file.imports);
            }
        }
        new.sort_unstable();
        let entries = new.iter().filter_map(|at| self.set.get(files.get(*at as usize)?.entry.clone()));
        let part = entries.collect::<Vec<_>>().concat();
        // Fails only if the executable is damaged: the messages of the files are then unknown.
        let _ = self.pool.decode_file_descriptor_set(part.as_slice());
        self.count += new.len();
        if self.count == files.len() {
            self.set = Vec::new();
        }
        self.pool.clone()
    }
}

/// Adds the full name of an encoded message, and then those of the messages inside, as
/// prost-reflect orders them.
fn add_message(scope: &str, message: &[u8], file: u32, messages: &mut Vec<(Arc<str>, u32)>) {
    let fields = || Fields::new(message).map_while(Result::ok);
    let Some(name) = fields().find(|field| field.number == 1) else { return };
    let dot = if scope.is_empty() { "" } else { "." };
    let full_name = [scope, dot, &name.text()].concat();
    messages.push((full_name.as_str().into(), file));
    for nested in fields().filter(|field| field.number == 3) {
        add_message(&full_name, nested.bytes(), file, messages);
    }
}

#[cfg(test)]
mod tests;
