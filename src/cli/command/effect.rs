//! Flags without effect on the source: an error says so.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _};

use xdscope_present::text::shell_word;
use xdscope_sources::SourceFormat;

use super::command_line;
use super::idle_flags::{self, is_one_of};
use crate::cli::args::{ClientFlags, ConnectFlags, DescriptorFlags, DescriptorsVerb, KubernetesFlags, Verb};
use crate::cli::error::CliError;
use crate::cli::live::screens;
use crate::cli::read::lint;
use crate::cli::source::offline;
use crate::cli::source::prefixes::{self, PrefixKind};
use crate::cli::terminal::io::Io;

/// The source of a verb, as far as flags depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceKind {
    /// A server, of which xdscope is a client.
    Server,
    /// The recording of a run elsewhere.
    Attached,
    /// An admin port, of which xdscope reads the dump.
    Port,
    /// A recording, which has no secrets to keep.
    Recording,
    /// Another file or folder, or stdin.
    File,
}

impl SourceKind {
    fn of(source: &str, io: &Io<'_>) -> SourceKind {
        if offline::is_server(source) {
            return SourceKind::Server;
        }
        match prefixes::kind_of(source) {
            Some(PrefixKind::Attached) => return SourceKind::Attached,
            Some(PrefixKind::Port(_) | PrefixKind::Pods) => return SourceKind::Port,
            _ => {}
        }
        let path = (source != "-").then(|| offline::find(source, io).ok()).flatten();
        match path.filter(|path| path.is_file()).and_then(|path| xdscope_sources::format_of(&path)) {
            Some(SourceFormat::Recording) => SourceKind::Recording,
            _ => SourceKind::File,
        }
    }
}

/// Refuses flags on the command line that have no effect on the source of a verb.
///
/// Flags that the environment sets are for all verbs, and are ignored where they have no effect.
pub(crate) fn check(
    verb: &Verb,
    matches: &ArgMatches,
    args: &[OsString],
    io: &Io<'_>,
) -> Result<(), CliError> {
    if let Some(view) = view_of(verb) {
        screens::wanted("--view", Some(view))?;
    }
    let own = command_line::innermost(matches);
    let typed = |id: &str| own.value_source(id) == Some(ValueSource::CommandLine);
    let ids: Vec<&str> = own.ids().map(clap::Id::as_str).filter(|id| typed(id)).collect();
    let is_bootstrap = match verb {
        Verb::Lint(args) => {
            lint::bootstrap(args.source.as_deref().unwrap_or_default(), io).is_ok_and(|of| of.is_some())
        }
        _ => false,
    };
    let VerbSources { names: sources, descriptors } = sources_of(verb).unwrap_or_default();
    let reflection = descriptors.is_some_and(|flags| flags.reflection.is_some());
    let kinds: Vec<SourceKind> = sources.iter().map(|source| SourceKind::of(source, io)).collect();
    let is_client = kinds.contains(&SourceKind::Server);
    let is_elsewhere = |kind: &SourceKind| matches!(kind, SourceKind::Attached | SourceKind::Port);
    let connects = is_client || reflection || kinds.iter().any(is_elsewhere);
    for id in &ids {
        // xdscope waits so long for a server.
        let has_effect = is_client && *id == "resource_timeout";
        if let Some(why) = idle_flags::reason(verb, id, is_bootstrap)
            && !has_effect
        {
            return Err(without_effect(&flag(id, args), &why));
        }
    }
    if sources.is_empty() {
        return Ok(());
    }
    let is_recording = kinds.iter().all(|kind| matches!(kind, SourceKind::Recording | SourceKind::Attached));
    // Live runs record with the flag, `report` and `redact` refuse it, and `diff` reads more files.
    let reads_secrets =
        !matches!(verb, Verb::Serve(_) | Verb::Watch(_) | Verb::Report(_) | Verb::Redact(_) | Verb::Diff(_));
    let source = sources.first().copied().unwrap_or_default();
    let applied = applied_of(verb).map(|(name, _)| name);
    let reaches_pods = sources.iter().copied().chain(applied).any(|name| prefixes::pods_of(name).is_some());
    for id in ids {
        let is_of_pods = is_one_of(KubernetesFlags::augment_args, id);
        if is_of_pods && reaches_pods {
            continue;
        }
        let why = if is_of_pods {
            format!("{} is not a server or an admin port of pods (k8s:NAMESPACE/POD)", shown(source))
        } else if !is_client && is_one_of(ClientFlags::augment_args, id) {
            format!("{} is not a server, and xdscope is a client of servers only", shown(source))
        } else if !connects && is_one_of(ConnectFlags::augment_args, id) {
            format!("{} is not a server, and no --reflection names one", shown(source))
        } else if id == "keep_secrets" && reads_secrets && is_recording {
            format!("{} is a recording, which has the secrets that it was recorded with", shown(source))
        } else {
            continue;
        };
        return Err(match id {
            // Another meaning of --node is what users look for.
            "node_file" | "node_id" => {
                let next = vec![format!("xdscope status {} --node NAME", shell_word(source))];
                CliError { next, ..without_effect(&flag(id, args), &why) }
            }
            _ => without_effect(&flag(id, args), &why),
        });
    }
    Ok(())
}

/// Returns the screen that a verb opens first, if a flag names it.
fn view_of(verb: &Verb) -> Option<&str> {
    let view = match verb {
        Verb::Tap(args) => &args.live.view,
        Verb::Serve(args) => &args.live.view,
        Verb::Demo(args) => &args.live.view,
        Verb::Watch(args) => &args.live.view,
        Verb::Replay(args) => &args.view,
        _ => return None,
    };
    view.as_deref()
}

/// Returns a flag as it was typed: `--node-file` is also `--node` where no stream is selected.
fn flag(id: &str, args: &[OsString]) -> String {
    let is_typed = |flag: &str| {
        let texts = args.iter().filter_map(|arg| arg.to_str());
        texts.map(|arg| arg.split_once('=').map_or(arg, |(name, _)| name)).any(|arg| arg == flag)
    };
    match id {
        "source" => "SOURCE".to_owned(),
        "node_file" if !is_typed("--node-file") && is_typed("--node") => "--node".to_owned(),
        id => format!("--{}", id.replace('_', "-")),
    }
}

fn without_effect(flag: &str, why: &str) -> CliError {
    CliError::usage(format!("{flag} has no effect: {why}")).next(format!("the call without {flag}"))
}

fn shown(source: &str) -> &str {
    match source {
        "-" => "stdin",
        "" => "the source",
        source => Path::new(source).file_name().and_then(|name| name.to_str()).unwrap_or(source),
    }
}

/// The sources of a verb as typed, and how it reads their types.
#[derive(Default)]
pub(crate) struct VerbSources<'a> {
    pub names: Vec<&'a str>,
    pub descriptors: Option<&'a DescriptorFlags>,
}

/// Returns the sources of a verb. `None`: each of its flags has an effect, or the verb checks them
/// itself.
pub(crate) fn sources_of(verb: &Verb) -> Option<VerbSources<'_>> {
    let without_source = |descriptors| Some(VerbSources { names: vec![""], descriptors: Some(descriptors) });
    let (source, descriptors) = match verb {
        Verb::Get(args) => (&args.source.source, &args.source.descriptors),
        Verb::Blame(args) => (&args.source.source, &args.source.descriptors),
        Verb::Status(args) => (&args.source.source, &args.source.descriptors),
        Verb::Log(args) => (&args.source.source, &args.source.descriptors),
        Verb::Wait(args) => (&args.source.source, &args.source.descriptors),
        Verb::Report(args) => (&args.source.source, &args.source.descriptors),
        Verb::Picture(args) => (&args.source.source, &args.source.descriptors),
        Verb::Export(args) => (&args.source.source, &args.source.descriptors),
        Verb::Redact(args) => (&args.source.source, &args.source.descriptors),
        Verb::Info(args) => (&args.source.source, &args.source.descriptors),
        Verb::Replay(args) => (&args.source.source, &args.source.descriptors),
        Verb::Lint(args) => (args.source.as_ref()?, &args.descriptors),
        Verb::Diff(args) => {
            let is_source = |word: &&str| offline::is_server(word) || prefixes::is_copied(word);
            let words = args.words.iter().map(String::as_str).filter(is_source);
            let names = std::iter::once(args.source.source.as_str()).chain(words).collect();
            return Some(VerbSources { names, descriptors: Some(&args.source.descriptors) });
        }
        Verb::Watch(args) => match &args.server {
            Some(server) => (server, &args.live.descriptors),
            None => return None,
        },
        Verb::Serve(args) => (&args.source, &args.live.descriptors),
        Verb::Explain(args) => return without_source(&args.descriptors),
        Verb::Descriptors(args) => match &args.verb {
            DescriptorsVerb::List { descriptors, .. } | DescriptorsVerb::Build { descriptors, .. } => {
                return without_source(descriptors);
            }
            DescriptorsVerb::Check { source } => (&source.source, &source.descriptors),
        },
        _ => return None,
    };
    Some(VerbSources { names: vec![source.as_str()], descriptors: Some(descriptors) })
}

/// Returns the value of `--applied`, and the descriptors of the verb.
pub(crate) fn applied_of(verb: &Verb) -> Option<(&str, &DescriptorFlags)> {
    let (applied, descriptors) = match verb {
        Verb::Status(args) => (&args.applied, &args.source.descriptors),
        Verb::Replay(args) => (&args.applied, &args.source.descriptors),
        Verb::Tap(args) => (&args.live.applied, &args.live.descriptors),
        Verb::Watch(args) => (&args.live.applied, &args.live.descriptors),
        Verb::Serve(args) => (&args.live.applied, &args.live.descriptors),
        Verb::Demo(args) => (&args.live.applied, &args.live.descriptors),
        _ => return None,
    };
    Some((applied.as_ref()?.to_str()?, descriptors))
}
