//! The prefixes of SOURCE: one table for parsing, help, completion and errors.

use std::fmt::Write as _;

/// The kind of source that a prefix stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefixKind {
    /// A file, also one with the name of a server.
    File,
    /// A control plane, of which xdscope is a client.
    Server,
    /// The session of a run elsewhere.
    Attached,
    /// An admin port, which is read in rounds.
    Port(PortKind),
    /// Admin ports of pods, which kubectl reaches.
    Pods,
}

/// The kinds of admin ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortKind {
    Envoy,
    Csds,
    Istiod,
    Ztunnel,
}

/// A prefix of SOURCE.
#[derive(Debug)]
pub(crate) struct SourcePrefix {
    /// The prefix with its colon.
    pub text: &'static str,
    /// The form of the text after the prefix.
    pub rest: &'static str,
    /// Description of the source, for `help sources`.
    pub what: &'static str,
    pub kind: PrefixKind,
}

const fn prefix(
    text: &'static str,
    rest: &'static str,
    kind: PrefixKind,
    what: &'static str,
) -> SourcePrefix {
    SourcePrefix { text, rest, what, kind }
}

/// The prefix of the session of a run elsewhere.
pub(crate) const ATTACHED: &str = "attach:";

/// The prefix of pods.
pub(crate) const PODS: &str = "k8s:";

/// The prefix of the istiods of a mesh.
pub(crate) const MESH: &str = "istio:";

/// The prefix of a control plane.
pub(crate) const SERVER: &str = "grpc:";

/// All prefixes. No prefix is the beginning of another one.
pub(crate) const PREFIXES: &[SourcePrefix] = &[
    prefix("file:", "PATH", PrefixKind::File, "a file or folder, whatever its name looks like"),
    prefix(SERVER, "HOST:PORT", PrefixKind::Server, "a control plane, also if a file has that name"),
    prefix("http://", "HOST:PORT", PrefixKind::Server, "a control plane in plaintext"),
    prefix("https://", "HOST:PORT", PrefixKind::Server, "a control plane with TLS"),
    prefix("unix:", "PATH", PrefixKind::Server, "a control plane on a Unix socket"),
    prefix(ATTACHED, "ADDRESS", PrefixKind::Attached, "the session of a run with --attach"),
    prefix(
        "envoy:",
        "HOST:PORT",
        PrefixKind::Port(PortKind::Envoy),
        "the admin port of an Envoy: what the Envoy uses, and what it waits for",
    ),
    prefix(
        "csds:",
        "HOST:PORT",
        PrefixKind::Port(PortKind::Csds),
        "a gRPC server with CSDS: what its xDS client uses",
    ),
    prefix(
        "istiod:",
        "HOST:PORT[,…][/POD.NS]",
        PrefixKind::Port(PortKind::Istiod),
        "the debug port of istiods: the state of all proxies, or the dump of one",
    ),
    prefix(
        "ztunnel:",
        "HOST:PORT",
        PrefixKind::Port(PortKind::Ztunnel),
        "the admin port of a ztunnel: its workloads, services and policies",
    ),
    prefix(
        PODS,
        "[NS[/POD[:PORT]]]",
        PrefixKind::Pods,
        "the admin ports of pods, through kubectl; also NS/deploy/NAME, with -l and -A",
    ),
    prefix(
        MESH,
        "[NS][/POD.NS]",
        PrefixKind::Pods,
        "the istiods of a mesh, through kubectl: the state of all proxies; with --istio their xDS",
    ),
];

/// Splits SOURCE into its prefix and the rest. `None`: SOURCE has no prefix.
pub(crate) fn split(source: &str) -> Option<(&'static SourcePrefix, &str)> {
    PREFIXES.iter().find_map(|prefix| Some((prefix, source.strip_prefix(prefix.text)?)))
}

/// Returns what the prefix of SOURCE stands for.
pub(crate) fn kind_of(source: &str) -> Option<PrefixKind> {
    split(source).map(|(prefix, _)| prefix.kind)
}

/// Whether SOURCE is copied from elsewhere to files before it is read.
pub(crate) fn is_copied(source: &str) -> bool {
    matches!(kind_of(source), Some(PrefixKind::Attached | PrefixKind::Port(_) | PrefixKind::Pods))
}

/// Whether SOURCE is an admin port.
pub(crate) fn is_port(source: &str) -> bool {
    matches!(kind_of(source), Some(PrefixKind::Port(_) | PrefixKind::Pods))
}

/// Returns SOURCE from the prefix of pods on: `k8s:shop/web:9901` of `envoy:k8s:shop/web:9901`.
pub(crate) fn pods_of(source: &str) -> Option<&str> {
    let is_pods = |text: &str| text.starts_with(PODS) || text.starts_with(MESH);
    let rest = split(source).filter(|_| !is_pods(source)).map_or(source, |(_, rest)| rest);
    is_pods(rest).then_some(rest)
}

/// Whether SOURCE is a control plane in a pod.
pub(crate) fn is_pod_server(source: &str) -> bool {
    source.starts_with(SERVER) && pods_of(source).is_some()
}

/// Describes all forms of SOURCE, for `help sources`.
pub(crate) fn help() -> String {
    let mut out = String::from(
        "\
SOURCE is read from left to right: the first form that fits is meant.

",
    );
    for SourcePrefix { text, rest, what, .. } in PREFIXES {
        let _ = writeln!(out, "  {:<30} {what}", format!("{text}{rest}"));
    }
    for (form, what) in [
        ("PATH", "a recording, capture, script, dump, or file or folder of resources"),
        ("HOST:PORT", "a control plane, of which xdscope is a client"),
        ("NAME", "a kept session; last is the newest one"),
        ("-", "standard input"),
    ] {
        let _ = writeln!(out, "  {form:<30} {what}");
    }
    out.push_str(
        "
An admin port is read once by get, status and diff. wait, log -f, status --watch, get --watch and replay read it again
every second, or less often if the answers take long: log -f prints a row for each change. --applied takes an admin
port, too. --memory limits the size of an answer. More: docs/admin-ports.md

k8s: and istio: start kubectl, which forwards to each pod: docs/kubernetes.md. A port of xDS (15010, 15012, 18000) is a
control plane, of which xdscope is a client. envoy:, csds:, istiod:, ztunnel: and grpc: before k8s: say what a port is.
",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_sources_with_and_without_a_prefix() {
        for (source, text, rest) in [
            ("envoy:127.0.0.1:9901", "envoy:", "127.0.0.1:9901"),
            ("unix:/run/xds.sock", "unix:", "/run/xds.sock"),
            ("https://cp:443", "https://", "cp:443"),
            ("file:a:1", "file:", "a:1"),
        ] {
            let (prefix, found) = split(source).expect(source);
            assert_eq!((prefix.text, found), (text, rest));
        }
        for source in ["cp:15010", "envoy", "session.xdsrec", "-", ""] {
            assert!(split(source).is_none(), "{source}");
        }
        let is_ambiguous =
            |one: &SourcePrefix| PREFIXES.iter().filter(|p| one.text.starts_with(p.text)).count();
        assert!(PREFIXES.iter().all(|prefix| is_ambiguous(prefix) == 1));
    }
}
