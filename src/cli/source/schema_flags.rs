//! The descriptors that flags ask for, and the key of content hashes.

use std::io::Read as _;
use std::sync::Arc;

use xdscope_schema::Schema;
use xdscope_wire::text::display_safe;

use crate::cli::args::{DescriptorFlags, Global};
use crate::cli::error::{CliError, Exit};
use crate::cli::terminal::io::Io;

/// Most bytes of a file with a descriptor set. Without source positions, less is accepted.
const MAX_SET_FILE_BYTES: u64 = 256 << 20;

/// The word of `--reflection` for the server that the verb connects to.
const AUTO: &str = "auto";

/// Loads the descriptors for a verb that connects to `server`.
///
/// `--reflection auto` asks that server, and does without where it has no reflection.
pub(crate) fn schema_of_server(
    flags: &DescriptorFlags,
    server: &str,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Arc<Schema>, CliError> {
    if flags.reflection.as_deref() != Some(AUTO) {
        return schema(flags, global);
    }
    let reflected = crate::cli::peer::connect::reflection(server, &flags.reflection_symbol, &flags.connect);
    let reflected = match reflected {
        Ok(set) => Some((server.to_owned(), set)),
        Err(error) => {
            if !global.quiet {
                io.say(&display_safe(&format!("{}; using the built-in descriptors", error.message)));
            }
            None
        }
    };
    Ok(named(with_reflected(flags, reflected)?, global))
}

/// Loads the built-in descriptors and those of the flags, with the names of secrets in
/// `config.toml`.
pub(crate) fn schema(flags: &DescriptorFlags, global: &Global) -> Result<Arc<Schema>, CliError> {
    Ok(named(with_reflected(flags, reflected(flags)?)?, global))
}

/// Loads the built-in descriptors and those of the flags, to be described.
pub(crate) fn descriptors(flags: &DescriptorFlags) -> Result<Arc<Schema>, CliError> {
    Ok(with_reflected(flags, reflected(flags)?)?.into())
}

fn named(mut schema: Schema, global: &Global) -> Arc<Schema> {
    if !global.secret_names.is_empty() {
        schema.add_secret_names(global.secret_names.clone());
    }
    schema.into()
}

/// Combines the descriptors of the flags with those of a server, which has a name.
fn with_reflected(flags: &DescriptorFlags, reflected: Option<(String, Vec<u8>)>) -> Result<Schema, CliError> {
    if flags.protoset.is_empty() && flags.proto.is_empty() && reflected.is_none() {
        return Ok(Schema::default());
    }
    let mut sets = Vec::new();
    for path in &flags.protoset {
        let failed = || CliError::unreadable(format!("cannot read the descriptor set {}", path.display()));
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(|error| failed().because(error))?;
        let read = file.take(MAX_SET_FILE_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| failed().because(error))?;
        if bytes.len() as u64 > MAX_SET_FILE_BYTES {
            let limit = MAX_SET_FILE_BYTES >> 20;
            return Err(failed()
                .because(format!("longer than {limit} MB"))
                .next("protoc without --include_source_info"));
        }
        sets.push((path.display().to_string(), bytes));
    }
    Schema::load(&sets, &flags.proto, &flags.include, reflected.as_ref())
        .map_err(|error| CliError::unreadable("cannot use the descriptors").because(error))
}

/// Asks the server of `--reflection`: its name, and its descriptor set. `auto` has no server here.
fn reflected(flags: &DescriptorFlags) -> Result<Option<(String, Vec<u8>)>, CliError> {
    let Some(server) = flags.reflection.as_ref().filter(|server| *server != AUTO) else { return Ok(None) };
    let set = crate::cli::peer::connect::reflection(server, &flags.reflection_symbol, &flags.connect)?;
    Ok(Some((server.clone(), set)))
}

/// Draws the key of the content hashes and secret ids of one source.
pub(crate) fn seed() -> Result<u64, CliError> {
    getrandom::u64().map_err(|error| CliError::new(Exit::Defect, format!("no source of randomness: {error}")))
}
