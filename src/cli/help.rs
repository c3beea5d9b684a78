//! What is printed for a person who asks: the ten lines of a bare `xdscope`, topics, words that are no verbs.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::{Command, CommandFactory};

use crate::engine::filter::FilterField;
use crate::engine::store::MessageKind;

use super::args::Cli;
use super::error::{CliError, Exit};
use super::io::Io;
use super::{explain, topics};
use crate::present::report;

/// What a bare `xdscope` prints.
pub(super) const SHORT: &str = "\
xdscope shows what every client of an xDS control plane was told, asked for and refused.
  xdscope demo                      a control plane and clients to look at, on loopback
  xdscope tap HOST:PORT             stand between clients and a control plane, show and record
  xdscope watch HOST:PORT           be a client: subscribe, show and record what comes
  xdscope replay SESSION            every screen, with a time cursor
  xdscope status SESSION            who is in sync, and if not, what is open
  xdscope log SESSION               every message, with what answers what
  xdscope get SESSION cds/NAME      resources, down to their content
  xdscope lint SESSION              which rules of the protocol were broken
SESSION: a recording, a script, or a server.  All verbs: --help.  Words: help filter.
";

/// A topic of `help`: its name, what it is about, and what prints it.
struct Topic {
    name: &'static str,
    about: &'static str,
    print: fn() -> String,
}

const TOPICS: &[Topic] = &[
    Topic {
        name: "client",
        about: "xdscope as a client, and what is said of a server that fails",
        print: topics::client,
    },
    Topic { name: "config", about: "config.toml and the environment", print: topics::config },
    Topic {
        name: "descriptors",
        about: "how content is decoded, and what is built in",
        print: topics::descriptors,
    },
    Topic { name: "exit-codes", about: "what a verb ends with", print: exit_codes },
    Topic { name: "filter", about: "the language of --filter and /", print: filter },
    Topic { name: "json", about: "a JSON Schema of what -o json prints", print: topics::json },
    Topic {
        name: "keys",
        about: "all keys of the screens, with the names of their commands",
        print: topics::keys,
    },
    Topic { name: "states", about: "states of types and resources", print: states },
];

pub(super) fn run(topic: Option<&str>, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let mut command = Cli::command();
    command.build();
    let text = match topic {
        None => format!("{}\nTopics:\n{}", command.render_help(), index()),
        Some(topic) => match TOPICS.iter().find(|known| known.name == topic) {
            // A topic may have the name of a verb: its flags follow.
            Some(topic) => match command.find_subcommand_mut(topic.name) {
                Some(verb) => format!("{}{}", (topic.print)(), verb.render_help()),
                None => (topic.print)(),
            },
            None => match command.find_subcommand_mut(topic) {
                Some(verb) => verb.render_help().to_string(),
                None => {
                    let topics: Vec<_> = TOPICS.iter().map(|topic| topic.name).collect();
                    let error = CliError::usage(format!("no verb and no topic `{topic}`"));
                    return Err(error.next(format!("xdscope help TOPIC, one of {}", topics.join(", "))));
                }
            },
        },
    };
    io.stdout.write_all(text.as_bytes())?;
    Ok(Exit::Yes)
}

/// The topics, a line each.
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
    out
}

fn states() -> String {
    let mut out = String::from("States of a type on a stream\n");
    for (state, meaning) in report::STATES {
        let _ = writeln!(out, "  {:<11} {meaning}", state.word());
    }
    out.push_str("\nStates of a resource on a stream\n");
    for (state, meaning) in report::RESOURCE_STATES {
        let _ = writeln!(out, "  {:<11} {meaning}", state.word());
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

fn field_example(field: FilterField) -> &'static str {
    match field {
        FilterField::Type => "type:cds",
        FilterField::Node => "node:edge-gw-*",
        FilterField::Stream => "stream:3",
        FilterField::Dir => "dir:req",
        FilterField::Kind => "kind:nack",
        FilterField::State => "state:stale",
        FilterField::Name => "name:reviews",
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

fn field_meaning(field: FilterField) -> &'static str {
    match field {
        FilterField::Type => "the type: cds, clusters, Cluster, a type URL",
        FilterField::Node => "the node's id",
        FilterField::Stream => "the stream's number",
        FilterField::Dir => "req (client to server) or resp",
        FilterField::Kind => "what a message is",
        FilterField::State => "state of a type, or of a resource",
        FilterField::Name => "a resource named in the row",
        FilterField::Version => "version_info",
        FilterField::Nonce => "the nonce",
        FilterField::Err => "a part of the error",
        FilterField::Rule => "the rule of a finding",
        FilterField::After => "at that moment or later; or a later message",
        FilterField::Before => "before that moment, or message",
        FilterField::Size => "bytes; > >= < <= =",
        FilterField::Lat => "from a push to its answer",
        FilterField::Age => "since then",
        FilterField::Res => "resources in a response, names in a request",
        FilterField::Number => "message numbers",
        FilterField::Has => "the content has this field",
        FilterField::Content => "the content has this field with this value",
    }
}

/// For a word that is no verb: what was meant, where that is known.
pub(super) fn meant(word: &str) -> CliError {
    let verb = match word {
        "show" | "cat" | "dump" => Some("get"),
        "proxy" => Some("tap"),
        "open" => Some("status"),
        _ => None,
    };
    if let Some(verb) = verb {
        return CliError::usage(format!("`{word}` is no verb")).next(format!("xdscope {verb}"));
    }
    if std::path::Path::new(word).exists() || word.ends_with(".xdsrec") || word.ends_with(".xds") {
        return CliError::usage(format!("a verb is missing before {word}"))
            .next(format!("xdscope status {word}"))
            .next(format!("xdscope log {word}"));
    }
    let verbs = Cli::command();
    let verbs: Vec<&str> = verbs.get_subcommands().map(Command::get_name).collect();
    let close = verbs.iter().filter(|verb| distance(verb, word) <= 2).map(|verb| format!("xdscope {verb}"));
    let next: Vec<String> = close.chain(["xdscope --help".to_owned()]).collect();
    CliError { next, ..CliError::usage(format!("`{word}` is no verb")) }
}

/// Letters to change, add or leave out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
