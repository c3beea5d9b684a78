//! Topics of `help` that are generated from tables: keys, settings, the JSON contract, descriptors.

use std::fmt::Write as _;

use xdscope_present::text;
use xdscope_schema::{BUILT_IN_PACKAGES, Schema};
use xdscope_sources::peers::intercept::{ACTION_DOCS, ACTION_FORMS, LIBRARY};
use xdscope_wire::text::count;

use super::{command_line, settings};

/// Returns the JSON Schema of `-o json` and `-o jsonl`.
pub(crate) fn json() -> String {
    format!("{:#}\n", xdscope_present::json::schema())
}

/// Describes xdscope as a client: requests, answers, and messages about a failing server.
pub(crate) fn client() -> String {
    "\
xdscope watch HOST:PORT [WHAT...]     all screens; one line per event with --no-tui
xdscope get|status|log|lint HOST:PORT request until everything is answered, print, exit
xdscope wait HOST:PORT CONDITION      exit with 0 once the condition holds
xdscope doctor HOST:PORT              check name, port, TLS, HTTP/2, variants, reflection

WHAT is a type (cds), a name (cds/reviews), or a wildcard (eds/*). The default is all listeners and clusters, and what
they refer to. --ack says how responses are answered: auto NACKs what every client must reject; validate also what
cannot be decoded or breaks a constraint; ask and never leave them open (A and B on the screens answer). --nack
rejects responses that match an expression.

A stream that ends is opened again after 0.5 s, doubled up to 30 s, with jitter; versions are kept. A keepalive ping
is sent at each --keepalive interval, and the connection is closed without an answer within --keepalive-timeout. After
GOAWAY ENHANCE_YOUR_CALM the interval is doubled.

Messages about a server that fails, with the attempt and the time to the next one; verbs that exit do so with 3:
  cannot reach S: Connection refused    nothing listens on the port
  cannot reach S: TLS failed, ...       wrong name, expired, unknown CA, plaintext, client certificate required
  cannot reach S: HTTP/2 failed, ...    an HTTP/1 port, TLS instead of plaintext, silence, another protocol
  the server ended the stream: ...      gRPC status, message and details
  the stream broke: RST_STREAM ...      a reset, or GOAWAY, with the code of HTTP/2
  the stream broke: keepalive: ...      the other side is gone without closing the connection
  not answered within 15s: ...          the stream is open, but the response did not come: exit code 4
"
    .to_owned()
}

/// Describes messages that a person holds.
pub(crate) fn intercept() -> String {
    "\
xdscope tap HOST:PORT --intercept EXPR

Messages that match wait on screen 0 until you decide about each of them. EXPR is as in `xdscope help filter`:
type node dir kind name version nonce err size res. Keys on screen 0:

  A!  sends the message as it is
  E!  opens it as YAML in $VISUAL or $EDITOR, then shows the difference and asks
  X!  does not send it
  B!  answers the server with a NACK; the client never sees the push
  Z!  sends everything held, and holds nothing more
  I!  changes the expression, on any screen; an empty one ends it
  R!  closes the connections on which nothing can be held

A message is sent unmodified after --hold-timeout (30s), and when xdscope ends. Without a person:
--fault 'EXPR => hold 5s' (xdscope help faults). More: docs/intercept.md
"
    .to_owned()
}

/// Describes the faults of a tap.
pub(crate) fn faults() -> String {
    let mut out = String::from(
        "\
xdscope tap HOST:PORT --fault 'EXPR => ACTION [OPTION...]'
xdscope tap HOST:PORT --fault 'NAME [ARGUMENT...] [OPTION...]'
xdscope serve SOURCE --fault FAULT

EXPR selects messages, as in `xdscope help filter`: type node dir kind name version nonce err size res. Faults are
tried in order; the first one that acts on a message is the only one. --fault @FILE reads one fault a line.

Actions
",
    );
    for (form, doc) in ACTION_FORMS.iter().zip(ACTION_DOCS) {
        let _ = writeln!(out, "  {form:<20} {doc}");
    }
    out.push_str("\nNamed faults\n");
    for fault in &LIBRARY {
        let _ = writeln!(out, "  {:<32} {}", fault.form(), fault.about);
    }
    out.push_str(
        "
Options
  nth=N                only the Nth match
  every=N              each Nth match
  after=TIME           only matches this long after the first message
  times=N              at most N times
  p=0..1               by chance, from --fault-seed

Messages of a type and direction keep their order. Nonces and versions stay consistent for both sides. What was
done is a row of kind intercepted in `log`; the type is marked as diverged until the client acknowledges a later
push. Findings and problems of that time blame xdscope.

--fault-plan FILE runs stages, one after another from the first message on, and then waits until clients recover:
  for 5m: type:eds kind:push => delay 2s p=0.05
    ack-withheld cds
  for 30s
--intercept EXPR holds messages until a person decides on screen 0: xdscope help intercept.
",
    );
    out
}

/// Lists the keys of the screens: context, key, command, description.
pub(crate) fn keys() -> String {
    use text::wrap;
    use xdscope_tui::{Context, Keymap};
    let keymap = Keymap::default();
    let mut out = String::new();
    for context in Context::all() {
        let bindings: Vec<_> = keymap.bindings(context).collect();
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
    out.push_str("\nWithout a key: type : and the name\n");
    for command in xdscope_tui::Command::ALL.iter().filter(|command| keymap.key_of(**command).is_none()) {
        let _ = writeln!(out, "  {:<10} {:<18} {}", "", command.name(), command.doc());
    }
    let _ = write!(
        out,
        "\nTo change keys: [keys] in config.toml (`xdscope help config`). Arrows, Enter, Esc and Ctrl-c always work.\n\
         Keys are: {}\n",
        xdscope_tui::KEYS
    );
    out
}

/// Prints `config.toml` with every setting at its default.
pub(crate) fn config() -> String {
    let mut out = String::from(
        "\
Precedence of settings: flag; environment (XDSCOPE_STALE_AFTER=5s for --stale-after 5s; every flag except --format,
--output and --keep-secrets); $XDG_CONFIG_HOME/xdscope/config.toml; default. `xdscope doctor` prints each setting and
its origin. All settings of the file, with their defaults:

",
    );
    let command = command_line::command();
    for name in settings::CONFIGURABLE_FLAGS {
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
  [keys]                     # commands and their keys (`xdscope help keys`); [] removes them
  next-nack = \"Ctrl-n\"
  quit = [\"q\", \"Ctrl-q\"]

  [redact]                   # names of further secrets, which xdscope removes
  headers = [\"x-acme-ticket\"]
  keys = [\"wifi_code\"]       # in structs, maps, JSON and texts
  fields = [\"acme.v1.Door.pin\"]

  [themes.mine]              # a theme for `theme = \"mine\"`: a colour for each role, the others as in \"default\"
  accent = \"#7aa2f7\"         # roles: text, muted, accent, good, wait, bad, selection
  muted = \"bright-black\"     # or the name of one of the 16 colours, or \"default\"
",
    );
    out
}

/// Lists the built-in descriptors, and how to add more.
pub(crate) fn descriptors() -> String {
    let mut messages: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    for (from, _) in Schema::builtin().messages() {
        *messages.entry(from.to_string()).or_default() += 1;
    }
    let mut out = String::from("Built in, messages by set:\n");
    for (from, number) in messages {
        let _ = writeln!(out, "  {from:<20} {:>6}", count(number));
    }
    let packages = BUILT_IN_PACKAGES.map(|(name, version)| format!("{name} {version}"));
    let _ = writeln!(out, "Compiled from the packages {}.", packages.join(" and "));
    out.push_str(
        "
Added descriptors, later ones win: --reflection SERVER asks a server (`auto`: the one that the verb connects to; with
--reflection-symbol TYPE also for types within an Any); --proto FILE -I DIR compiles files; --protoset FILE reads a set
(protoc --descriptor_set_out, buf build -o).
Unknown types are shown by field numbers, and are not an error; `xdscope descriptors check SOURCE` lists them.

",
    );
    out
}
