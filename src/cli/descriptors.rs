//! `descriptors`: lists, builds and checks descriptors.

use std::collections::BTreeMap;
use std::io::Write as _;

use crate::app::recording::recording_file::Replaces;
use xdscope_present::table::{Columns, TableForm, TableLooks};
use xdscope_sources::{Limit, ReplayPosition};
use xdscope_wire::text::{count, display_safe, plural};

use super::args::{DescriptorFlags, DescriptorsArgs, DescriptorsVerb, Global, SourceArgs};
use super::error::{CliError, Exit};
use super::source;
use crate::cli::output::output_file;
use crate::cli::source::{offline, schema_flags};
use crate::cli::terminal::io::Io;

pub(super) fn run(args: &DescriptorsArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    match &args.verb {
        DescriptorsVerb::List { descriptors, containing } => {
            list(descriptors, containing.as_deref(), global, io)
        }
        DescriptorsVerb::Build { descriptors, output, force } => {
            let set = schema_flags::descriptors(descriptors)?.descriptor_set();
            let replaces = if *force { Replaces::AnyFile } else { Replaces::Nothing };
            output_file::write(output, replaces, &set)?;
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
    let schema = schema_flags::descriptors(flags)?;
    let style = io.style(global);
    let wanted = |name: &str| containing.is_none_or(|text| name.contains(text));
    let messages: Vec<_> = schema.messages().into_iter().filter(|(_, name)| wanted(name)).collect();
    if messages.is_empty() {
        if !global.quiet {
            io.say("no message name contains that");
        }
        return Ok(Exit::Yes);
    }
    let looks = TableLooks { style, has_titles: true, form: TableForm::Text };
    let columns = Columns::new()
        .text("FROM", |(from, _): &(&str, String)| (*from).to_owned())
        .text("MESSAGE", |(_, message)| message.clone());
    columns.write(&messages, looks, &mut *io.stdout)?;
    Ok(Exit::Yes)
}

/// Prints the types that cannot be decoded, and how often each occurs. Exits with 1 if there are
/// any.
fn check(args: &SourceArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let source = source::open(args, global, io)?;
    let limit = Limit::from_position(&ReplayPosition::End, &source.loaded, &io.zone)?;
    let (store, schema) = xdscope_sources::replay(source, offline::options(&args.timers), &limit);
    let catalog = store.catalog();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    let mut known = 0u64;
    for (_, blob) in catalog.blobs() {
        let xdscope_wire::content::BlobForm::Any { type_url, .. } = &blob.form else { continue };
        let url = catalog.text(*type_url);
        match schema.has_message(url) {
            true => known += 1,
            false => *unknown.entry(url.to_owned()).or_default() += 1,
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
