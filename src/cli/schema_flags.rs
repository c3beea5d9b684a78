//! The descriptors that flags ask for, and the key of content hashes.

use std::sync::Arc;

use crate::schema::Schema;

use super::args::DescriptorFlags;
use super::error::{CliError, Exit};

/// Loads the built-in descriptors and those of the flags.
pub(super) fn schema(flags: &DescriptorFlags) -> Result<Arc<Schema>, CliError> {
    let reflected = reflected(flags)?;
    if flags.protoset.is_empty() && flags.proto.is_empty() && reflected.is_none() {
        return Ok(Schema::builtin());
    }
    let mut sets = Vec::new();
    for path in &flags.protoset {
        let bytes = std::fs::read(path).map_err(|error| {
            CliError::unreadable(format!("cannot read the descriptor set {}", path.display())).because(error)
        })?;
        sets.push((path.display().to_string(), bytes));
    }
    Schema::with_reflected(&sets, &flags.proto, &flags.include, reflected.as_ref())
        .map_err(|error| CliError::unreadable("cannot use the descriptors").because(error))
}

/// Asks the server of `--reflection`: its name, and its descriptor set.
fn reflected(flags: &DescriptorFlags) -> Result<Option<(String, Vec<u8>)>, CliError> {
    let Some(server) = &flags.reflection else { return Ok(None) };
    let set = super::connect::reflection(server, &flags.reflection_symbol, &flags.connect)?;
    Ok(Some((server.clone(), set)))
}

/// Draws the key of the content hashes and secret ids of one source.
pub(super) fn seed() -> Result<u64, CliError> {
    getrandom::u64().map_err(|error| CliError::new(Exit::Defect, format!("no source of randomness: {error}")))
}
