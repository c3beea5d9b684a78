use std::path::{Path, PathBuf};
use std::sync::Arc;

use prost_types::FileDescriptorSet;
use protox::file::{ChainFileResolver, DescriptorSetFileResolver};

use super::descriptors::Descriptors;
use super::pool::Pool;
use super::{builtin, descriptor_set};
use crate::resolve::ProtoFiles;
use crate::{DescriptorSetError, Schema};

/// An error of loading descriptors from a user.
#[derive(Debug, thiserror::Error)]
pub enum UserSetError {
    /// A file is not a descriptor set.
    #[error(
        "{file} is not a descriptor set; make one with protoc --include_imports --descriptor_set_out, or buf build -o"
    )]
    NotADescriptorSet {
        /// Name of the file.
        file: String,
        /// The error of the decoder.
        #[source]
        source: DescriptorSetError,
    },
    /// The descriptors from a reflection service do not form a set.
    #[error("the descriptors from the reflection service of {server} are inconsistent")]
    Reflected {
        /// Address of the server.
        server: String,
        /// The inconsistency.
        #[source]
        source: DescriptorSetError,
    },
    /// A .proto file does not compile.
    #[error("{}{}", .0, import_hint(.0))]
    Proto(protox::Error),
}

/// Returns what helps if a file was not found.
fn import_hint(error: &protox::Error) -> &'static str {
    if error.is_file_not_found() { "; use -I DIR to add a folder to search for imports" } else { "" }
}

impl Schema {
    /// Loads descriptor sets and .proto files from a user in addition to the built-in types.
    ///
    /// Descriptor sets take precedence over .proto files, and both over the built-in types. Later
    /// descriptor sets take precedence over earlier ones.
    ///
    /// # Errors
    ///
    /// Returns an error if a descriptor set cannot be decoded or a .proto file does not compile.
    pub fn with(
        protosets: &[(String, Vec<u8>)],
        protos: &[PathBuf],
        includes: &[PathBuf],
    ) -> Result<Arc<Schema>, UserSetError> {
        Schema::with_reflected(protosets, protos, includes, None)
    }

    /// Like [`Schema::with`], with a descriptor set from a server's reflection service.
    ///
    /// `reflected` is the name of the server and an encoded `FileDescriptorSet`. The set takes
    /// precedence over the built-in types only.
    ///
    /// # Errors
    ///
    /// Returns an error if a descriptor set cannot be decoded or a .proto file does not compile.
    pub fn with_reflected(
        protosets: &[(String, Vec<u8>)],
        protos: &[PathBuf],
        includes: &[PathBuf],
        reflected: Option<&(String, Vec<u8>)>,
    ) -> Result<Arc<Schema>, UserSetError> {
        Schema::load(protosets, protos, includes, reflected).map(Arc::new)
    }

    /// Like [`Schema::with_reflected`], for a schema that is changed before its use.
    ///
    /// # Errors
    ///
    /// Returns an error if a descriptor set cannot be decoded or a .proto file does not compile.
    pub fn load(
        protosets: &[(String, Vec<u8>)],
        protos: &[PathBuf],
        includes: &[PathBuf],
        reflected: Option<&(String, Vec<u8>)>,
    ) -> Result<Schema, UserSetError> {
        let mut user = Vec::new();
        for (file, bytes) in protosets.iter().rev() {
            let pool = decode(bytes);
            user.push(pool.map_err(|source| UserSetError::NotADescriptorSet { file: file.clone(), source })?);
        }
        if !protos.is_empty() {
            user.push(compile(protos, includes)?.into_user_set());
        }
        if let Some((server, bytes)) = reflected {
            let pool = decode(bytes);
            user.push(pool.map_err(|source| UserSetError::Reflected { server: server.clone(), source })?);
        }
        Ok(Schema { user_pools: user, ..Schema::default() })
    }

    /// Encodes all known files as one `FileDescriptorSet`. Of files with equal names, includes the
    /// first.
    pub fn descriptor_set(&self) -> Vec<u8> {
        let mut seen = std::collections::BTreeSet::new();
        let mut out = Vec::new();
        for (_, pool) in self.pools() {
            for file in pool.descriptors.files() {
                if seen.insert(file.name().to_owned()) {
                    xdscope_wire::pb::put_len_field(&mut out, 1, &file.encode_to_vec());
                }
            }
        }
        out
    }

    /// Returns all known files as one set, for a message with `Any`s of another set; `None` if
    /// the files do not fit each other.
    pub(crate) fn joined_sets(&self) -> Option<&Descriptors> {
        let join = || {
            let set = descriptor_set::checked(&self.descriptor_set()).ok()?;
            Some(Descriptors::of_set(set))
        };
        self.joined_sets.get_or_init(join).as_ref()
    }

    /// Returns the encoded `FileDescriptorProto` of a built-in file.
    pub fn builtin_file(name: &str) -> Option<Vec<u8>> {
        Some(builtin::v3().descriptors.file(name)?.encode_to_vec())
    }

    /// Returns the origin and full name of each message, in order of precedence. Loads none.
    pub fn messages(&self) -> Vec<(&'static str, String)> {
        let names = |(from, pool): (&'static str, &Pool)| -> Vec<_> {
            pool.descriptors.names().map(|name| (from, name.to_owned())).collect()
        };
        self.pools().into_iter().flat_map(names).collect()
    }

    fn pools(&self) -> Vec<(&'static str, &Pool)> {
        let user = self.user_pools.iter().map(|pool| ("user", pool));
        user.chain([("v3", builtin::v3()), ("v2", builtin::v2())]).collect()
    }
}

/// Decodes a set from a user or server, which may be hostile.
fn decode(set: &[u8]) -> Result<Pool, DescriptorSetError> {
    Ok(Pool::decode(&descriptor_set::checked(set)?)?.into_user_set())
}

/// Compiles .proto files.
///
/// Searches imports in `includes`, then beside each file, then among the built-in files.
fn compile(protos: &[PathBuf], includes: &[PathBuf]) -> Result<Pool, UserSetError> {
    let mut roots = includes.to_vec();
    let mut names = Vec::new();
    for proto in protos {
        let inside = includes.iter().find_map(|root| proto.strip_prefix(root).ok());
        let name = match inside {
            Some(name) => name.to_owned(),
            None => {
                let folder = proto.parent().filter(|folder| !folder.as_os_str().is_empty());
                roots.push(folder.unwrap_or(Path::new(".")).to_owned());
                PathBuf::from(proto.file_name().unwrap_or_default())
            }
        };
        names.push(name.to_string_lossy().into_owned());
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(ProtoFiles::new(roots));
    let file = builtin::v3().descriptors.all().file_descriptor_protos().cloned().collect();
    resolver.add(DescriptorSetFileResolver::new(FileDescriptorSet { file }));
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_files(&names).map_err(UserSetError::Proto)?;
    Pool::decode(&compiler.encode_file_descriptor_set())
        .map_err(|error| UserSetError::NotADescriptorSet { file: names.join(", "), source: error.into() })
}
