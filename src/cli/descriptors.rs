//! `descriptors`, and the flags that add to them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use crate::schema::Schema;
use crate::schema::redact::Redactor;
use crate::wire::content::Redact;
use crate::wire::text::{count, display_safe, plural};

use super::args::{At, DescriptorFlags, DescriptorsArgs, DescriptorsVerb, Global, SourceArgs};
use super::error::{CliError, Exit};
use super::io::Io;
use super::source::{self, Limit};
use super::table::{Cell, Table};

/// The built-in descriptors and those of the flags.
pub(super) fn schema(flags: &DescriptorFlags) -> Result<Arc<Schema>, CliError> {
    let reflected = reflected(flags)?;
    if flags.protoset.is_empty() && flags.proto.is_empty() && reflected.is_none() {
        return Ok(Schema::builtin());
    }
    let mut sets = Vec::new();
    for path in &flags.protoset {
        let failed = || CliError::unreadable(format!("cannot read the descriptor set {}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| failed().because(error))?;
        sets.push((path.display().to_string(), bytes));
    }
    Schema::with_reflected(&sets, &flags.proto, &flags.include, reflected.as_ref())
        .map_err(|error| CliError::unreadable("cannot use the descriptors").because(error))
}

/// What the server of `--reflection` gives, and its name.
fn reflected(flags: &DescriptorFlags) -> Result<Option<(String, Vec<u8>)>, CliError> {
    let Some(server) = &flags.reflection else { return Ok(None) };
    let set = super::connect::reflection(server, &flags.reflection_symbol, &flags.connect)?;
    Ok(Some((server.clone(), set)))
}

/// Takes secrets out of sources that may hold some.
pub(super) fn redactor(schema: &Arc<Schema>, seed: u64) -> Arc<dyn Redact> {
    Arc::new(Redactor::new(schema.clone(), seed))
}

/// Keys the ids of content and secrets of one source.
pub(super) fn seed() -> Result<u64, CliError> {
    getrandom::u64().map_err(|error| CliError::new(Exit::Defect, format!("no randomness here: {error}")))
}

pub(super) fn run(args: &DescriptorsArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    match &args.verb {
        DescriptorsVerb::List { descriptors, containing } => {
            list(descriptors, containing.as_deref(), global, io)
        }
        DescriptorsVerb::Build { descriptors, output } => {
            let set = schema(descriptors)?.descriptor_set();
            std::fs::write(output, &set).map_err(|error| {
                CliError::unreadable(format!("cannot write {}", output.display())).because(error)
            })?;
            if !global.quiet {
                io.say(&format!("{} bytes written to {}", count(set.len() as u64), output.display()));
            }
            Ok(Exit::Yes)
        }
        DescriptorsVerb::Check { source } => check(source, global, io),
    }
}

fn list(
    flags: &DescriptorFlags,
    containing: Option<&str>,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    let schema = schema(flags)?;
    let style = io.style(global);
    let wanted = |name: &str| containing.is_none_or(|text| name.contains(text));
    let messages: Vec<_> = schema.messages().into_iter().filter(|(_, name)| wanted(name)).collect();
    if messages.is_empty() {
        if !global.quiet {
            io.say("no message has that in its name");
        }
        return Ok(Exit::Yes);
    }
    let mut table = Table::new(&mut *io.stdout, style, true, &["FROM", "MESSAGE"]);
    for (from, message) in messages {
        table.row(vec![Cell::new(from), Cell::new(message)])?;
    }
    table.finish()?;
    Ok(Exit::Yes)
}

/// Types of a source that can't be decoded, and how often each occurs. Exit 1 if there are some.
fn check(args: &SourceArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let source = source::open(args, global, io)?;
    let limit = Limit::of(&At::End, &source.loaded, &io.zone)?;
    let (store, schema) = source::replay(source, &args.timers, &limit);
    let catalog = store.catalog();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    let mut known = 0u64;
    for blob in catalog.blobs() {
        let crate::wire::content::Form::Any { type_url, .. } = &blob.form else { continue };
        let url = catalog.text(*type_url);
        match schema.message(url) {
            Some(_) => known += 1,
            None => *unknown.entry(url.to_owned()).or_default() += 1,
        }
    }
    for (url, times) in &unknown {
        let url = if url.is_empty() { "(no type URL)".into() } else { display_safe(url) };
        writeln!(io.stdout, "{url}  {}", plural(*times, "resource"))?;
    }
    if !global.quiet {
        io.flush()?;
        let all = known + unknown.values().sum::<u64>();
        let mut text = format!("{} of {} can be decoded", count(known), plural(all, "resource"));
        if !unknown.is_empty() {
            text.push_str("; --protoset FILE or --proto FILE -I DIR adds descriptors");
        }
        io.say(&text);
    }
    Ok(if unknown.is_empty() { Exit::Yes } else { Exit::No })
}
