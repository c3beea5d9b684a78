//! The examples at the end of each `--help`. `tests/it/docs/examples.rs` runs each of them.

use std::fmt::Write as _;

/// A call, and what it is for.
type Example = (&'static str, &'static str);

/// The examples of each verb. `cp.mesh:15010` is a control plane, `session.xdsrec` a recording,
/// `istio.xdsrec` one of Istio, `envoy.yaml` a bootstrap, `resources` a folder with a response in
/// each file.
const EXAMPLES: [(&str, &[Example]); 34] = [
    (
        "",
        &[
            ("xdscope demo", "look around: six clients, one of each problem"),
            ("xdscope tap cp.mesh:15010 --plaintext", "watch real clients; they connect to 127.0.0.1:18001"),
            ("xdscope status session.xdsrec", "what is wrong in a recording"),
            ("xdscope help filter", "a topic; xdscope help lists all"),
        ],
    ),
    (
        "demo",
        &[
            ("xdscope demo", "six clients, one of each problem"),
            ("xdscope demo --list", "the scenarios"),
            ("xdscope demo --scenario nack-loop --no-tui", "one line per event"),
        ],
    ),
    (
        "tap",
        &[
            ("xdscope tap cp.mesh:15010 --plaintext", "clients connect to 127.0.0.1:18001"),
            (
                "xdscope tap cp.mesh:15010 --rewrite-bootstrap envoy.yaml",
                "the bootstrap of a client behind the tap",
            ),
            ("xdscope tap cp.mesh:15010 --plaintext --record tap.xdsrec --json", "for scripts"),
            (
                "xdscope tap cp.mesh:15010 --plaintext --fault 'token-expired times=3'",
                "how clients come back",
            ),
        ],
    ),
    (
        "serve",
        &[
            ("xdscope serve session.xdsrec", "each node gets its last state"),
            ("xdscope serve session.xdsrec --mode script --speed max", "the recorded responses"),
            ("xdscope serve resources --reload", "push files as they change"),
        ],
    ),
    (
        "watch",
        &[
            ("xdscope watch cp.mesh:15010 --plaintext", "listeners, clusters, and all that they refer to"),
            ("xdscope watch cp.mesh:15010 --plaintext cds reviews", "one cluster"),
            ("xdscope watch --bootstrap envoy.yaml --until synced", "as that Envoy, until all has come"),
        ],
    ),
    (
        "wait",
        &[
            ("xdscope wait cp.mesh:15010 synced --plaintext --timeout 10s", "for CI"),
            ("xdscope wait session.xdsrec 'type:cds name:cart version:42'", "a version of a resource"),
        ],
    ),
    (
        "replay",
        &[
            ("xdscope replay", "the last session"),
            ("xdscope replay session.xdsrec --at nack", "the screens as they were at the first NACK"),
            ("xdscope replay session.xdsrec --no-tui --tail 20", "the last 20 rows, as `log` prints them"),
        ],
    ),
    (
        "attach",
        &[
            ("xdscope attach unix:/run/xdscope.sock", "the screens of a run with --attach on this machine"),
            (
                "xdscope attach unix:/run/xdscope.sock --no-tui --tail 20",
                "the last 20 rows, then those that come",
            ),
        ],
    ),
    (
        "status",
        &[
            ("xdscope status session.xdsrec", "who is in sync; exit code 1 if there is a problem"),
            ("xdscope status cp.mesh:15010 --plaintext --wait 20s", "what a new client is sent"),
            ("xdscope status session.xdsrec --node 'edge-*' -o wide", "versions and nonces of some nodes"),
            ("xdscope status session.xdsrec --watch", "the rows that change while the file grows"),
        ],
    ),
    (
        "log",
        &[
            ("xdscope log session.xdsrec -n 20", "the last 20 rows"),
            ("xdscope log session.xdsrec -f --tail 5", "the last 5 rows, then those that come"),
            (
                "xdscope log session.xdsrec --since 5m --filter kind:nack --body",
                "late refusals with their content",
            ),
            ("xdscope log session.xdsrec --ladder --node edge-gw-1", "arrows between client and server"),
        ],
    ),
    (
        "get",
        &[
            ("xdscope get session.xdsrec", "how many resources of each type"),
            ("xdscope get session.xdsrec cds reviews -o yaml", "the content of one cluster"),
            ("xdscope get session.xdsrec clusters 're*'", "clusters by a glob of names"),
            ("xdscope get cp.mesh:15010 --plaintext clusters", "the clusters of a server"),
            ("xdscope get session.xdsrec endpoints --subscriptions", "what was asked for, and what came"),
            ("xdscope get session.xdsrec cds --watch", "resources as they change"),
        ],
    ),
    (
        "blame",
        &[
            ("xdscope blame istio.xdsrec", "the Kubernetes objects, the worst first"),
            ("xdscope blame istio.xdsrec DestinationRule shop/reviews", "where its resources are in force"),
            ("xdscope blame istio.xdsrec 'DestinationRule/shop/*' -o wide", "a namespace, client by client"),
        ],
    ),
    (
        "diff",
        &[
            ("xdscope diff session.xdsrec cds/reviews 41 42", "two versions of a resource"),
            ("xdscope diff session.xdsrec @start @end --stat", "two moments"),
            ("xdscope diff session.xdsrec config_dump.json cds", "what was sent, and what Envoy has"),
        ],
    ),
    (
        "lint",
        &[
            ("xdscope lint session.xdsrec", "exit code 1 if a rule was broken"),
            ("xdscope lint session.xdsrec --rule 'delta-*' --rule nack", "some rules"),
            ("xdscope lint envoy.yaml", "a bootstrap"),
            ("xdscope lint session.xdsrec -o sarif", "for code scanning"),
        ],
    ),
    (
        "report",
        &[
            ("xdscope report session.xdsrec --output report.html", "one page to pass on"),
            ("xdscope report session.xdsrec --node edge-gw-1 --output edge.html", "one client"),
        ],
    ),
    (
        "picture",
        &[
            ("xdscope picture session.xdsrec --output overview.svg", "the first screen"),
            (
                "xdscope picture session.xdsrec --screen nack --size 120x36 --theme light --output nack.svg",
                "a NACK",
            ),
            ("xdscope picture session.xdsrec --screen timeline --at nack", "as text"),
        ],
    ),
    (
        "export",
        &[
            ("xdscope export session.xdsrec --to md", "a bug report about the worst problem"),
            ("xdscope export session.xdsrec --to script --output session.xds", "a session as text"),
            ("xdscope export session.xdsrec --to mermaid --node edge-gw-1", "the graph of a client"),
            (
                "xdscope export session.xdsrec --to dir --node edge-gw-1 --output exported",
                "a file for each resource",
            ),
        ],
    ),
    (
        "fleet",
        &[
            ("xdscope fleet", "the queries"),
            ("xdscope fleet refusals fleet --where 'node=edge-*'", "the SQL, for DuckDB"),
        ],
    ),
    ("redact", &[("xdscope redact session.xdsrec --output clean.xdsrec", "a copy without secrets")]),
    ("info", &[("xdscope info session.xdsrec", "form, time, streams, secrets")]),
    (
        "sessions",
        &[
            ("xdscope sessions", "the kept sessions, the last one first"),
            ("xdscope sessions name last before-upgrade", "keep the last session under a name"),
            ("xdscope sessions open before-upgrade", "replay a session"),
            ("xdscope sessions remove before-upgrade --yes", "remove a session"),
        ],
    ),
    ("sessions name", &[("xdscope sessions name last before-upgrade", "keep the last session under a name")]),
    ("sessions open", &[("xdscope sessions open", "replay the last session")]),
    (
        "sessions remove",
        &[
            ("xdscope sessions remove session-20260302-140208 --yes", "without asking"),
            ("xdscope sessions remove 'session-*' --yes", "all that have no name of their own"),
        ],
    ),
    (
        "explain",
        &[
            ("xdscope explain Cluster.connect_timeout", "a field"),
            ("xdscope explain stale", "a state"),
            ("xdscope explain 'gRPC config stream closed: 14, no connection'", "a line of a log"),
        ],
    ),
    (
        "descriptors",
        &[
            ("xdscope descriptors list Cluster", "loaded messages"),
            ("xdscope descriptors check session.xdsrec", "types that cannot be decoded"),
        ],
    ),
    (
        "descriptors build",
        &[("xdscope descriptors build --output envoy.binpb", "the built-in descriptors as a file")],
    ),
    ("descriptors check", &[("xdscope descriptors check session.xdsrec", "types that cannot be decoded")]),
    ("descriptors list", &[("xdscope descriptors list Cluster", "loaded messages of this name")]),
    (
        "man",
        &[("xdscope man", "the manual, for man -l -"), ("xdscope man --output man", "a page for each verb")],
    ),
    (
        "check",
        &[
            (
                "xdscope check cp.mesh:15010 --plaintext --variant ads",
                "exit code 1 if the server breaks a rule",
            ),
            ("xdscope check cp.mesh:15010 --plaintext --row nack-loop -o wide", "one row, in all variants"),
            ("xdscope check --client 127.0.0.1:18000 -o junit", "the client that connects, for CI"),
            ("xdscope check --list-rows", "what is checked"),
        ],
    ),
    (
        "doctor",
        &[
            ("xdscope doctor", "terminal and settings"),
            ("xdscope doctor cp.mesh:15010 --plaintext", "why can this server not be reached?"),
        ],
    ),
    (
        "completions",
        &[
            ("xdscope completions bash", "eval \"$(xdscope completions bash)\" in ~/.bashrc"),
            ("xdscope completions fish", "a file below ~/.config/fish/completions"),
        ],
    ),
    (
        "help",
        &[("xdscope help status", "all flags of a verb"), ("xdscope help filter", "the filter language")],
    ),
];

/// Widest call that others are aligned to.
const MAX_CALL: usize = 52;
/// Columns of a line. Help is wrapped at 100 columns.
const MAX_LINE: usize = 98;

/// Returns the last section of the help of a verb.
pub(crate) fn text(path: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(verb, _)| *verb == path)?;
    let widest = examples.iter().map(|(call, _)| call.len()).filter(|len| *len <= MAX_CALL).max();
    let widest = widest.unwrap_or_default();
    let mut out = String::from("Examples:\n");
    for (call, about) in *examples {
        let line = format!("  {call:<widest$}  # {about}");
        let _ = match line.len() <= MAX_LINE {
            true => writeln!(out, "{line}"),
            false => writeln!(out, "  {call}\n      # {about}"),
        };
    }
    Some(out.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command::command_line;

    fn paths(command: &clap::Command, path: &str, out: &mut Vec<String>) {
        for verb in command.get_subcommands() {
            let path = [path, verb.get_name()].join(" ").trim().to_owned();
            out.push(path.clone());
            paths(verb, &path, out);
        }
    }

    #[test]
    fn every_verb_has_examples_that_parse() {
        let mut known = vec![String::new()];
        paths(&command_line::command(), "", &mut known);
        for path in &known {
            let has_examples = EXAMPLES.iter().any(|(verb, _)| verb == path);
            assert!(has_examples, "{path}");
        }
        for (verb, examples) in EXAMPLES {
            let section = text(verb).unwrap();
            assert!(section.lines().all(|line| line.len() <= MAX_LINE), "{section}");
            assert!(known.iter().any(|path| path == verb), "{verb}");
            for (call, about) in examples {
                let words = shlex(call);
                let parsed = command_line::command().try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{call}: {}", parsed.unwrap_err());
                assert!(call.starts_with(&format!("xdscope {verb}")), "{call} is not about {verb}");
                assert!(about.len() <= 60 && !about.ends_with('.'), "{about}");
            }
        }
    }

    /// Splits a call into words; single quotes group.
    fn shlex(call: &str) -> Vec<String> {
        let parts = call.split('\'').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }
}
