//! Tests of terminals, pipes and locales.

use std::ffi::OsString;
use std::io::{Cursor, Write};

use jiff::tz::TimeZone;

use xdscope_wire::text::must_escape;

use super::{CallOutput, Environment, Exit, Io, TOUR, run_in};

#[test]
fn prints_colour_on_terminals_that_accept_it() {
    let environment = |terminal, env| Environment { terminal, env, ..Environment::default() };
    let utf8: &[(&str, &str)] = &[("LANG", "C.UTF-8")];
    let colored = |output: CallOutput| output.out.contains("\x1b[");
    assert!(colored(environment(true, utf8).run(&["status", TOUR])));
    assert!(!colored(environment(false, utf8).run(&["status", TOUR])));
    assert!(!colored(environment(true, &[("NO_COLOR", "1")]).run(&["status", TOUR])));
    assert!(!colored(environment(true, &[("TERM", "dumb")]).run(&["status", TOUR])));
    assert!(!colored(environment(true, utf8).run(&["status", TOUR, "--color", "never"])));
    assert!(colored(environment(false, &[("NO_COLOR", "1")]).run(&["status", TOUR, "--color", "always"])));
}

#[test]
fn prints_ascii_in_locales_without_utf8() {
    let log = |env: &'static [(&'static str, &'static str)]| {
        Environment { env, ..Environment::default() }.run(&["log", TOUR]).out
    };
    assert!(log(&[("LANG", "C")]).is_ascii());
    assert!(log(&[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")]).is_ascii());
    assert!(!log(&[("LC_CTYPE", "de_DE.utf8")]).is_ascii());
    assert!(!log(&[]).is_ascii());
}

#[test]
fn escapes_control_characters_of_wire_text() {
    let script = "node \"a\\u001b[2J\\u202e\\udb40\\udc41\"\nstream 1 sotw cds\n+0s 1 > v= n= names=[\"\\u001b]0;x\\u0007\"]\n\
                  1 < v=\"1\\u009b\" n=a [b]\n1 > v= n=a nack=\"\\u001b[31mred\\nline\"\n";
    for args in [
        &["status", "-"][..],
        &["status", "-", "-o", "wide"],
        &["status", "-", "-o", "json"],
        &["log", "-"],
        &["log", "-", "--ladder"],
        &["log", "-", "--body"],
        &["log", "-", "-o", "yaml"],
        &["log", "-", "-o", "jsonl", "--body"],
        &["get", "-"],
        &["get", "-", "cds", "--subscriptions"],
        &["get", "-", "-o", "yaml"],
        &["info", "-"],
        &["diff", "-", "@start", "@end"],
        &["diff", TOUR, "-"],
        &["diff", "-", TOUR, "--stat"],
    ] {
        // Control characters matter on a terminal only.
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut io = Io {
            stdin: Box::new(Cursor::new(script)),
            stdout: Box::new(&mut out),
            stderr: Box::new(&mut err),
            stdin_is_terminal: false,
            stdout_is_terminal: true,
            stderr_is_terminal: true,
            is_unanswered: false,
            copies: Vec::new(),
            env: Box::new(|name| (name == "NO_COLOR").then(|| "1".to_owned())),
            zone: TimeZone::UTC,
        };
        run_in(["xdscope"].iter().chain(args).map(OsString::from), &mut io);
        drop(io);
        assert!(!out.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&err));
        for text in [out, err] {
            let text = String::from_utf8(text).unwrap();
            assert!(!text.chars().any(|c| must_escape(c) && c != '\n'), "{args:?}: {text:?}");
        }
    }
}

#[test]
fn refuses_to_read_from_a_terminal() {
    let output = Environment { terminal: true, ..Environment::default() }.run(&["log", "-"]);
    assert_eq!(output.exit, Exit::Usage);
}

/// A reader that closes its pipe.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn ends_quietly_when_the_pipe_is_closed() {
    for args in [
        &[][..],
        &["--help"],
        &["status", TOUR],
        &["log", TOUR],
        &["log", TOUR, "-o", "json"],
        &["get", TOUR],
        &["diff", TOUR, "@start", "@end"],
        &["export", TOUR, "--to", "raw"],
        &["export", TOUR, "--to", "xdsrec"],
        &["info", TOUR],
        &["explain", "stale"],
        &["completions", "bash"],
        &["man"],
        &["doctor"],
        &["help", "filter"],
    ] {
        let mut err = Vec::new();
        let mut io = Io {
            stdin: Box::new(std::io::empty()),
            stdout: Box::new(Closed),
            stderr: Box::new(&mut err),
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            is_unanswered: false,
            copies: Vec::new(),
            env: Box::new(|_| None),
            zone: TimeZone::UTC,
        };
        let exit = run_in(["xdscope"].iter().chain(args).map(OsString::from), &mut io);
        drop(io);
        let err = String::from_utf8(err).unwrap();
        let is_known = |line: &str| line.starts_with("xdscope: 4 problems, the worst: ");
        assert!(exit == Exit::Yes && err.lines().all(is_known), "{args:?}: {err}");
    }
}
