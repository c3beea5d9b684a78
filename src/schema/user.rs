use std::path::{Path, PathBuf};
use std::sync::Arc;

use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorSet;
use protox::file::{ChainFileResolver, DescriptorSetFileResolver};

use super::pool::Pool;
use super::resolve::ProtoFiles;
use super::{Schema, builtin};

/// A user's descriptors can't be used.
#[derive(Debug, thiserror::Error)]
pub enum UserSetError {
    #[error("{file} is no descriptor set (protoc --include_imports --descriptor_set_out, or buf build -o)")]
    NotADescriptorSet {
        file: String,
        #[source]
        source: prost_reflect::DescriptorError,
    },
    #[error("what {server} gave by reflection does not fit together")]
    Reflected {
        server: String,
        #[source]
        source: prost_reflect::DescriptorError,
    },
    #[error("{0}; -I DIR names a folder to look for imports in")]
    Proto(protox::Error),
}

impl Schema {
    /// The built-in types and users' own: protosets are asked before .proto files, those before the built-in.
    /// Later ones of a kind come before earlier ones.
    pub fn with(
        protosets: &[(String, Vec<u8>)],
        protos: &[PathBuf],
        includes: &[PathBuf],
    ) -> Result<Arc<Schema>, UserSetError> {
        Schema::with_reflected(protosets, protos, includes, None)
    }

    /// The same with what a server gave by reflection (its name and an encoded `FileDescriptorSet`), asked after
    /// the other sets and before the built-in types.
    pub fn with_reflected(
        protosets: &[(String, Vec<u8>)],
        protos: &[PathBuf],
        includes: &[PathBuf],
        reflected: Option<&(String, Vec<u8>)>,
    ) -> Result<Arc<Schema>, UserSetError> {
        let mut user = Vec::new();
        for (file, bytes) in protosets.iter().rev() {
            let pool = Pool::decode(bytes);
            user.push(
                pool.map_err(|source| UserSetError::NotADescriptorSet { file: file.clone(), source })?
                    .into_user_set(),
            );
        }
        if !protos.is_empty() {
            user.push(compile(protos, includes)?.into_user_set());
        }
        if let Some((server, bytes)) = reflected {
            let pool = Pool::decode(bytes);
            let pool = pool.map_err(|source| UserSetError::Reflected { server: server.clone(), source })?;
            user.push(pool.into_user_set());
        }
        Ok(Arc::new(Schema { user }))
    }

    /// Everything that is known as one encoded `FileDescriptorSet`; of files with one name the first stands.
    pub fn descriptor_set(&self) -> Vec<u8> {
        let mut seen = std::collections::BTreeSet::new();
        let mut out = Vec::new();
        for (_, pool) in self.pools() {
            for file in pool.descriptors.files() {
                if seen.insert(file.name().to_owned()) {
                    crate::wire::pb::put_len_field(&mut out, 1, &file.encode_to_vec());
                }
            }
        }
        out
    }

    /// The encoded file of this name among the built-in ones.
    pub fn builtin_file(name: &str) -> Option<Vec<u8>> {
        Some(builtin::v3().descriptors.get_file_by_name(name)?.encode_to_vec())
    }

    /// Where from and full name of every message, in the order in which they are asked.
    pub fn messages(&self) -> Vec<(&'static str, String)> {
        let names = |(from, pool): (&'static str, &Pool)| -> Vec<_> {
            pool.messages().iter().map(|message| (from, message.full_name().to_owned())).collect()
        };
        self.pools().into_iter().flat_map(names).collect()
    }

    fn pools(&self) -> Vec<(&'static str, &Pool)> {
        let user = self.user.iter().map(|pool| ("user", pool));
        user.chain([("v3", builtin::v3()), ("v2", builtin::v2())]).collect()
    }
}

/// Compiles .proto files. Imports are looked for in `includes`, then beside each file, then among the built-in.
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
    let file = builtin::v3().descriptors.file_descriptor_protos().cloned().collect();
    resolver.add(DescriptorSetFileResolver::new(FileDescriptorSet { file }));
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_files(&names).map_err(UserSetError::Proto)?;
    let pool = DescriptorPool::decode(compiler.encode_file_descriptor_set().as_slice());
    pool.map(Pool::new).map_err(|source| UserSetError::NotADescriptorSet { file: names.join(", "), source })
}
