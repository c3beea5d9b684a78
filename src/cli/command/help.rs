//! `help`: the overview of a bare `xdscope`, topics, and words that are not verbs.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;

use clap::Command;

use xdscope_engine::filter::FilterField;
use xdscope_engine::store::MessageKind;

use super::{command_line, suggest, topics};
use crate::cli::error::{CliError, Exit};
use crate::cli::read::explain;
use crate::cli::source::prefixes;
use crate::cli::terminal::io::Io;
use xdscope_present::report;
use xdscope_present::text::shell_word;

/// Output of a bare `xdscope`.
pub(crate) const SHORT: &str = "\
xdscope shows what every client of an xDS control plane was told, asked for and refused.
  xdscope demo                      run a control plane and clients on loopback
  xdscope tap HOST:PORT             forward, show and record clients of a control plane
  xdscope watch HOST:PORT           subscribe as a client, show and record responses
  xdscope replay SESSION            open all screens with a time cursor
  xdscope status SESSION            print who is in sync, and what is open
  xdscope log SESSION               print messages, with what answers what
  xdscope get SESSION cds/NAME      print resources and their content
  xdscope lint SESSION              print which rules of the protocol were broken
SESSION: a recording, a script, or a server.  More: xdscope --help, xdscope help states.
";

/// A topic of `help`.
struct Topic {
    name: &'static str,
    about: &'static str,
    print: fn() -> String,
}

const TOPICS: &[Topic] = &[
    Topic {
        name: "client",
        about: "xdscope as a client, and its messages about a failing server",
        print: topics::client,
    },
    Topic { name: "config", about: "config.toml and the environment", print: topics::config },
    Topic {
        name: "descriptors",
        about: "how content is decoded, and the built-in descriptors",
        print: topics::descriptors,
    },
    Topic { name: "exit-codes", about: "exit codes of all verbs", print: exit_codes },
    Topic { name: "faults", about: "faults of an armed tap: actions and options", print: topics::faults },
    Topic { name: "filter", about: "the language of --filter and /", print: filter },
    Topic { name: "intercept", about: "hold, edit and drop messages by hand", print: topics::intercept },
    Topic { name: "json", about: "a JSON Schema of what -o json prints", print: topics::json },
    Topic { name: "keys", about: "keys of the screens and their commands", print: topics::keys },
    Topic { name: "sources", about: "forms of SOURCE: servers, files, admin ports", print: prefixes::help },
    Topic { name: "states", about: "states of types and resources", print: states },
];

pub(crate) fn run(topic: Option<&str>, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let mut command = command_line::command();
    command.build();
    let text = match topic {
        None => format!("{}\nTopics:\n{}", command.render_help(), index()),
        Some(topic) => match TOPICS.iter().find(|known| known.name == topic) {
            // A topic can share its name with a verb, whose flags follow.
            Some(topic) => match command.find_subcommand_mut(topic.name) {
                Some(verb) => format!("{}{}", (topic.print)(), verb.render_help()),
                None => (topic.print)(),
            },
            None => match command.find_subcommand_mut(topic) {
                Some(verb) => verb.render_help().to_string(),
                None => {
                    let topics: Vec<_> = TOPICS.iter().map(|topic| topic.name).collect();
                    let known =
                        command.get_subcommands().map(Command::get_name).chain(topics.iter().copied());
                    let near =
                        suggest::near(topic, known).into_iter().map(|word| format!("xdscope help {word}"));
                    let error = CliError::usage(format!("unknown verb or topic `{topic}`"));
                    let error = CliError { next: near.collect(), ..error };
                    return Err(error.next(format!("xdscope help TOPIC, one of {}", topics.join(", "))));
                }
            },
        },
    };
    io.stdout.write_all(text.as_bytes())?;
    Ok(Exit::Yes)
}

/// Returns the words that `help` knows: verbs and topics.
pub(crate) fn words() -> Vec<String> {
    let command = command_line::command();
    let verbs = command.get_subcommands().map(Command::get_name);
    verbs.chain(TOPICS.iter().map(|topic| topic.name)).map(str::to_owned).collect()
}

/// Lists the topics, one per line.
fn index() -> String {
    let mut out = String::new();
    for topic in TOPICS {
        let _ = writeln!(out, "  {:<11}  {}", topic.name, topic.about);
    }
    out
}

fn exit_codes() -> String {
    let mut out = String::new();
    for exit in Exit::ALL {
        let _ = writeln!(out, "{:>3}  {}", exit.code(), exit.meaning());
    }
    out.push_str(
        "
Ctrl-C ends a running `tap`, `watch`, `serve` or `demo` as it is meant to end: the session file is completed, and the
exit code is 0, as with tcpdump and mitmdump. Everywhere else, also with --until, in `log --follow` and --watch,
Ctrl-C comes before the answer: 130. SIGTERM and SIGHUP complete the session file too: 143 and 129.
A reader that closes its pipe (`xdscope log SOURCE | head`) has what it wanted: 0, without a message.
",
    );
    out
}

fn states() -> String {
    let mut out = String::from("States of a type on a stream\n");
    for (state, meaning) in report::STATES {
        let _ = writeln!(out, "  {:<11} {meaning}", state.word());
    }
    out.push_str("\nOther problems\n");
    for (word, meaning) in report::PROBLEM_WORDS {
        let _ = writeln!(out, "  {word:<11} {meaning}");
    }
    out.push_str("\nMarks\n");
    for (mark, meaning) in report::MARKS {
        let _ = writeln!(out, "  {mark:<11} {meaning}");
    }
    out.push_str("\nStates of a resource on a stream\n");
    for (state, meaning) in report::RESOURCE_STATES {
        let _ = writeln!(out, "  {:<11} {meaning}", state.word());
    }
    out.push_str("\nResources in refused pushes, and absent ones\n");
    for (words, meaning) in report::REFUSED_STATES.iter().chain(&report::ABSENT_BY) {
        let _ = writeln!(out, "  {words:<43} {meaning}");
    }
    out
}

fn filter() -> String {
    let mut out = String::from(
        "\
Words match any text of a row. A space is \"and\", | is \"or\", ! is \"not\", ( ) group.
A word without capital letters matches any case. * is a glob, /…/ a regex, \"…\" text as it stands.

",
    );
    for field in FilterField::in_use() {
        let _ = writeln!(out, "  {:<28} {}", field_example(field), field_meaning(field));
    }
    out.push_str("\nKinds of messages\n");
    for kind in MessageKind::ALL {
        let _ = writeln!(out, "  {:<28} {}", format!("kind:{}", kind.word()), explain::kind_meaning(kind));
    }
    out.push_str(
        "
Examples
  type:cds kind:nack
  node:edge* (lat>100ms | size>1M)
  name:/^rev/ !kind:ack after:14:02
",
    );
    out
}

pub(crate) fn field_example(field: FilterField) -> &'static str {
    match field {
        FilterField::Type => "type:cds",
        FilterField::Node => "node:edge-gw-*",
        FilterField::Stream => "stream:3",
        FilterField::Dir => "dir:req",
        FilterField::Kind => "kind:nack",
        FilterField::State => "state:stale",
        FilterField::Name => "name:reviews",
        FilterField::Owner => "owner:VirtualService/shop/*",
        FilterField::Version => "version:42",
        FilterField::Nonce => "nonce:a821",
        FilterField::Err => "err:timeout",
        FilterField::After => "after:14:02:08  after:+30s",
        FilterField::Before => "before:14:03  before:#500",
        FilterField::Size => "size>1M",
        FilterField::Lat => "lat>100ms",
        FilterField::Age => "age>30s",
        FilterField::Res => "res>100",
        FilterField::Has => "has:eds_cluster_config",
        FilterField::Content => "field:connect_timeout=0s",
        FilterField::Rule => "rule:nack",
        FilterField::Number => "#487  #478..#498  #478..",
    }
}

pub(crate) fn field_meaning(field: FilterField) -> &'static str {
    match field {
        FilterField::Type => "the type in v2 and v3: cds, clusters, Cluster; in one of them: a type URL",
        FilterField::Node => "node id",
        FilterField::Stream => "number of the stream",
        FilterField::Dir => "req (client to server) or resp",
        FilterField::Kind => "kind of message",
        FilterField::State => "state of a type or resource",
        FilterField::Name => "name of a resource in the row",
        FilterField::Owner => "Kubernetes object that a resource was made from: KIND/NAMESPACE/NAME",
        FilterField::Version => "version_info",
        FilterField::Nonce => "the nonce",
        FilterField::Err => "part of the error message",
        FilterField::Rule => "rule of a finding",
        FilterField::After => "at or after a moment; after a message",
        FilterField::Before => "before a moment or message",
        FilterField::Size => "bytes; > >= < <= =",
        FilterField::Lat => "time from a response to its ACK or NACK",
        FilterField::Age => "age",
        FilterField::Res => "resources in a response, names in a request",
        FilterField::Number => "message numbers",
        FilterField::Has => "the content has this field",
        FilterField::Content => "the content has this field with this value",
    }
}

/// Suggests a verb below `verb` for a word that is not one, or `verb` itself, if that lists.
pub(crate) fn meant_below(verb: &Command, word: &str) -> CliError {
    let name = verb.get_bin_name().unwrap_or_else(|| verb.get_name());
    let near = suggest::near(word, verb.get_subcommands().map(Command::get_name)).into_iter();
    let near = near.map(|below| format!("{name} {below}"));
    let lists = matches!(word, "list" | "ls") && !verb.is_subcommand_required_set();
    let itself = lists.then(|| format!("{name}   lists them"));
    let error = CliError::usage(format!("unknown verb `{word}` of `{}`", verb.get_name()));
    CliError { next: itself.into_iter().chain(near).chain([format!("{name} --help")]).collect(), ..error }
}

/// Suggests a verb for a word of a command line that is not one.
pub(crate) fn meant(word: &str, args: &[OsString]) -> CliError {
    let call = |verb: &str| {
        let words = args.iter().map(|arg| arg.to_string_lossy());
        let words = words.skip(1).map(|arg| shell_word(if arg == word { verb } else { &arg }));
        std::iter::once("xdscope".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    };
    let verb = match word {
        "show" | "cat" | "dump" => Some("get"),
        "proxy" => Some("tap"),
        "open" => Some("status"),
        _ => None,
    };
    if let Some(verb) = verb {
        return CliError::usage(format!("unknown verb `{word}`")).next(call(verb));
    }
    if std::path::Path::new(word).exists() || word.ends_with(".xdsrec") || word.ends_with(".xds") {
        return CliError::usage(format!("a verb is missing before {word}"))
            .next(format!("xdscope status {}", shell_word(word)))
            .next(format!("xdscope log {}", shell_word(word)));
    }
    let verbs = command_line::command();
    let close = suggest::near(word, verbs.get_subcommands().map(Command::get_name));
    let close = close.into_iter().map(call);
    let next: Vec<String> = close.chain(["xdscope --help".to_owned()]).collect();
    CliError { next, ..CliError::usage(format!("unknown verb `{word}`")) }
}
