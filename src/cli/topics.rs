//! Topics of `help` that are made of other tables: keys, settings, the JSON contract, descriptors.

use std::fmt::Write as _;

use clap::CommandFactory;

use crate::schema::Schema;
use crate::wire::text::count;

use super::args::Cli;
use super::settings;

/// The JSON Schema of what `-o json` and `-o jsonl` print.
pub(super) fn json() -> String {
    format!("{:#}\n", crate::present::json::schema())
}

/// xdscope as a client: what it asks for, how it answers, what it says of a server that fails.
pub(super) fn client() -> String {
    "\
xdscope watch HOST:PORT [WHAT...]     every screen; a line per event with --no-tui
xdscope get|status|log|lint HOST:PORT asks until all is answered, prints, ends
xdscope wait HOST:PORT CONDITION      ends with 0 once it holds
xdscope doctor HOST:PORT              name, port, TLS, HTTP/2, variants, reflection, one by one

WHAT is a type (cds), a name (cds/reviews), or a wildcard (eds/*); without it all listeners and clusters, and what
they refer to. A push is answered by --ack: auto refuses what every client must; validate also what can't be decoded
or breaks a constraint; ask and never leave it open (A and B on the screens answer it). --nack refuses by expression.

A stream that ends is opened again after 0.5 s, doubled up to 30 s, each time with jitter; versions are kept. The
server is asked every --keepalive whether it is there, and left if it is not within --keepalive-timeout; one that
finds that too often (GOAWAY ENHANCE_YOUR_CALM) is asked half as often from then on.

What is said of a server that fails, with the attempt and the time to the next one; verbs that end do so with 3:
  cannot reach S: Connection refused    nothing listens there
  cannot reach S: TLS failed, ...       wrong name, expired, unknown CA, plaintext, client certificate required
  cannot reach S: HTTP/2 failed, ...    an HTTP/1 port, TLS where plaintext was spoken, silence, something else
  the server ended the stream: ...      its gRPC status, its text, and its details
  the stream broke: RST_STREAM ...      a reset, or GOAWAY, with HTTP/2's code
  the stream broke: keepalive: ...      a connection that is open at this end only
  not answered within 15s: ...          the stream is open, and what was asked for never came: get ends with 4
"
    .to_owned()
}

/// Every key of the screens: where, key, command, what it does.
pub(super) fn keys() -> String {
    use crate::tui::{Context, Keymap};
    use crate::wire::text::wrap;
    let keymap = Keymap::default();
    let mut out = String::new();
    for context in Context::ALL {
        let bindings: Vec<_> = keymap.of(context).collect();
        if bindings.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{}{}", if out.is_empty() { "" } else { "\n" }, context.title());
        for binding in bindings {
            let (key, command) = (binding.key, binding.command);
            let mut doc = wrap(command.doc(), 62).into_iter();
            let _ = writeln!(out, "  {key:<10} {:<18} {}", command.name(), doc.next().unwrap_or_default());
            for line in doc {
                let _ = writeln!(out, "{:32}{line}", "");
            }
        }
    }
    out.push_str("\nWithout a key, by : and their names\n");
    for command in crate::tui::Command::ALL.iter().filter(|command| keymap.key_of(**command).is_none()) {
        let _ = writeln!(out, "  {:<10} {:<18} {}", "", command.name(), command.doc());
    }
    let _ = write!(
        out,
        "\nOther keys: [keys] in config.toml (`xdscope help config`). Arrows, Enter, Esc and Ctrl-c always work.\n\
         Keys are: {}\n",
        crate::tui::KEYS
    );
    out
}

/// `config.toml` with every setting at its default.
pub(super) fn config() -> String {
    let mut out = String::from(
        "\
Settings come from, first wins: a flag; the environment (XDSCOPE_STALE_AFTER=5s for --stale-after 5s; every
flag but --format, --output and --keep-secrets); $XDG_CONFIG_HOME/xdscope/config.toml; the default. `xdscope doctor`
prints each with where it came from. All that can stand in the file, with the defaults:

",
    );
    let command = Cli::command();
    for name in settings::PRESET {
        let Some(arg) = settings::find(&command, name) else { continue };
        let value = match arg.get_default_values().first() {
            Some(value) => format!("\"{}\"", value.to_string_lossy()),
            None => "false".to_owned(),
        };
        let doc = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let words: Vec<_> = arg.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
        let words = if words.len() > 2 { format!(" ({})", words.join(", ")) } else { String::new() };
        let _ = writeln!(out, "  {:<26} # {doc}{words}", format!("{name} = {value}"));
    }
    out.push_str(
        "
  [keys]                     # commands and their keys (`xdscope help keys`); [] takes them away
  next-nack = \"Ctrl-n\"
  quit = [\"q\", \"Ctrl-q\"]
",
    );
    out
}

/// What is built in, and how to add to it.
pub(super) fn descriptors() -> String {
    let mut messages: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    for (from, _) in Schema::builtin().messages() {
        *messages.entry(from.to_string()).or_default() += 1;
    }
    let mut out = String::from("Built in, messages by set:\n");
    for (from, number) in messages {
        let _ = writeln!(out, "  {from:<20} {:>6}", count(number));
    }
    out.push_str(
        "
What a source adds, later wins: --reflection SERVER asks a server (with --reflection-symbol TYPE also for what it
puts into an Any); --proto FILE -I DIR compiles; --protoset FILE reads a set (protoc --descriptor_set_out, buf build -o).
A type that is unknown is shown by field numbers, never an error; `xdscope descriptors check SOURCE` names it.

",
    );
    out
}
