//! Errors that say what to type next, and exit codes.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use crate::app::process::signals::EndSignal;
use crate::app::tap::StartError;
use crate::cli::source::prefixes;
use xdscope_present::text::shell_word;
use xdscope_present::text::width;
use xdscope_sources::pcap::CaptureError;
use xdscope_sources::record::{FolderSession, RecordReadError};
use xdscope_sources::{PositionError, SourceError};
use xdscope_wire::text::{display_safe, plural, size};

/// Exit codes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Synced, no difference, no finding.
    Yes = 0,
    /// A problem state, a difference, a finding.
    No = 1,
    Usage = 2,
    /// Connection or TLS failed, or a stream ended with an error.
    Connection = 3,
    /// A requested resource or condition never came.
    Never = 4,
    /// A recording, bootstrap or descriptor set cannot be read.
    Unreadable = 5,
    Defect = 70,
    /// SIGHUP ended a run.
    HungUp = 129,
    /// SIGINT ended the program before its answer.
    Interrupted = 130,
    /// SIGTERM ended the program.
    Terminated = 143,
}

impl Exit {
    pub const ALL: [Exit; 10] = [
        Exit::Yes,
        Exit::No,
        Exit::Usage,
        Exit::Connection,
        Exit::Never,
        Exit::Unreadable,
        Exit::Defect,
        Exit::HungUp,
        Exit::Interrupted,
        Exit::Terminated,
    ];

    /// Returns the code that shells expect of a program that a signal has ended.
    pub fn of_signal(signal: EndSignal) -> Exit {
        match signal {
            EndSignal::Hangup => Exit::HungUp,
            EndSignal::Terminate => Exit::Terminated,
        }
    }

    pub fn code(self) -> u8 {
        self as u8
    }

    /// Describes the code in one line, for `help exit-codes`.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Yes => "yes: synced, no difference, no finding",
            Exit::No => "no: a problem state, a difference, a finding",
            Exit::Usage => "usage",
            Exit::Connection => "connection, TLS, or stream ended with an error",
            Exit::Never => "a requested resource or condition did not come in time (--resource-timeout)",
            Exit::Unreadable => "input unreadable: recording, bootstrap, descriptors",
            Exit::Defect => "a defect in xdscope (report path printed)",
            Exit::HungUp => "ended by SIGHUP: the terminal is gone",
            Exit::Interrupted => "ended by SIGINT (Ctrl-C) before the answer",
            Exit::Terminated => "ended by SIGTERM",
        }
    }
}

/// The error of a verb: what failed, why, what was tried, and what to type next.
#[derive(Debug)]
pub struct CliError {
    pub exit: Exit,
    /// A lowercase fragment without a full stop.
    pub message: String,
    pub source: Option<Box<dyn Error + Send + Sync>>,
    /// Lines to show, such as an expression with its error underlined.
    pub shown: Vec<String>,
    /// Steps that were tried; the last one failed.
    pub tried: Vec<String>,
    /// Commands or changes that may help, the most likely first.
    pub next: Vec<String>,
}

impl CliError {
    pub fn new(exit: Exit, message: impl Into<String>) -> CliError {
        CliError {
            exit,
            message: message.into(),
            source: None,
            shown: Vec::new(),
            tried: Vec::new(),
            next: Vec::new(),
        }
    }

    pub fn usage(message: impl Into<String>) -> CliError {
        CliError::new(Exit::Usage, message)
    }

    pub fn unreadable(message: impl Into<String>) -> CliError {
        CliError::new(Exit::Unreadable, message)
    }

    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> CliError {
        self.source = Some(source.into());
        self
    }

    /// Shows `text`, with a mark under byte `at`.
    pub fn underlined(mut self, text: &str, at: usize) -> CliError {
        let before = text.get(..at).unwrap_or(text);
        let blanks = " ".repeat(width(&display_safe(before)));
        self.shown.extend([display_safe(text).into_owned(), format!("{blanks}^")]);
        self
    }

    pub fn tried(mut self, step: impl Into<String>) -> CliError {
        self.tried.push(step.into());
        self
    }

    pub fn next(mut self, step: impl Into<String>) -> CliError {
        self.next.push(step.into());
        self
    }

    /// Whether a source holds nothing of xDS.
    pub(super) fn is_empty_source(&self) -> bool {
        let source = self.source.as_deref().and_then(|source| source.downcast_ref::<SourceError>());
        matches!(source, Some(SourceError::Empty { .. }))
    }

    /// Returns what failed and why.
    pub fn summary(&self) -> String {
        let mut out = safe(&self.message);
        let mut cause = self.source.as_deref().map(|source| source as &dyn Error);
        while let Some(error) = cause {
            let text = safe(&error.to_string());
            // Some errors include the text of their source.
            if !out.contains(&text) {
                let _ = write!(out, ": {text}");
            }
            cause = error.source();
        }
        out
    }

    /// Renders the text for stderr, with line ends. It is empty for an error without a message.
    pub fn render(&self) -> String {
        if self.message.is_empty() {
            return String::new();
        }
        let mut out = format!("xdscope: {}\n", self.summary());
        for line in &self.shown {
            let _ = writeln!(out, "  {line}");
        }
        if !self.tried.is_empty() {
            let _ = writeln!(out, "  tried  {}", safe(&self.tried.join(", ")));
        }
        for (i, next) in self.next.iter().enumerate() {
            let _ = writeln!(out, "  {}   {}", if i == 0 { "next" } else { "    " }, safe(next));
        }
        out
    }
}

/// Escapes control characters. Messages quote file names and wire text; their own line ends stay.
fn safe(text: &str) -> String {
    text.lines().map(display_safe).collect::<Vec<_>>().join("\n")
}

/// Sessions of a folder that an error names, the newest first.
const MAX_NAMED_SESSIONS: usize = 5;

/// Returns the command that shows a session of a folder, and how much it is.
fn session_command(session: &FolderSession) -> String {
    let (files, bytes) = (plural(session.files as u64, "file"), size(session.bytes));
    let first = shell_word(&format!("{}+", session.first.display()));
    display_safe(&format!("xdscope replay {first}   {files}, {bytes}")).into_owned()
}

impl From<SourceError> for CliError {
    fn from(error: SourceError) -> CliError {
        let exit = match &error {
            SourceError::Bootstrap { .. }
            | SourceError::NoMessages { .. }
            | SourceError::NotScript { .. } => Exit::Usage,
            _ => Exit::Unreadable,
        };
        let next = match &error {
            SourceError::Dump { .. } => {
                vec!["curl -s http://ADMIN/config_dump?include_eds > config_dump.json".to_owned()]
            }
            SourceError::Bootstrap { name }
            | SourceError::NoResources { name, .. }
            | SourceError::NotScript { name } => vec![format!("xdscope lint {}", shell_word(name))],
            SourceError::Empty { .. } => vec![
                "xdscope tap SERVER --record session.xdsrec   records the streams of clients".to_owned(),
                "xdscope demo   records a session to look at".to_owned(),
            ],
            SourceError::TooLarge { needed, .. } => {
                vec![format!("--memory {}", size(needed.saturating_add(needed / 10)).replace(' ', ""))]
            }
            SourceError::Utf16 { name } => {
                let file = if name == "-" { "FILE".into() } else { shell_word(name) };
                vec![format!("iconv -f UTF-16 -t UTF-8 {file} > COPY, and read the copy")]
            }
            SourceError::EmptyFolder { .. } => vec!["names end in .json, .yaml, .pb_text or .pb".to_owned()],
            SourceError::FolderOfMessages { dir, files } => files_of_messages(dir, files),
            SourceError::NoMessages { name, .. } if prefixes::is_port(name) => vec![
                format!("xdscope log {} -f", shell_word(name)),
                format!("xdscope get {}", shell_word(name)),
            ],
            SourceError::NoMessages { name, .. } => vec![
                format!("xdscope get {}", shell_word(name)),
                format!("xdscope diff SESSION {}", shell_word(name)),
                format!("xdscope status SESSION --applied {} -o wide", shell_word(name)),
            ],
            SourceError::Recording { source: RecordReadError::ManySessions { sessions }, .. } => {
                sessions.iter().rev().take(MAX_NAMED_SESSIONS).map(session_command).collect()
            }
            SourceError::Recording { name, source: RecordReadError::Compressed(compression) } => {
                let file = if name == "-" { "FILE".into() } else { shell_word(name) };
                vec![format!("{} {file} | xdscope status -", compression.command())]
            }
            SourceError::Capture { source: CaptureError::Header, name } => vec![
                format!(
                    "editcap -F pcapng {} session.pcapng   converts captures of other formats",
                    shell_word(name)
                ),
                "tcpdump -i any -s 0 -w session.pcap tcp   captures packets".to_owned(),
            ],
            SourceError::Capture { source: CaptureError::Cut { .. }, .. } => {
                vec!["tcpdump -i any -s 0 -w session.pcap tcp   captures packets".to_owned()]
            }
            SourceError::Text { .. } | SourceError::Recording { source: RecordReadError::Unknown, .. } => {
                vec!["a recording (.xdsrec), raw JSONL, a packet capture (pcap, pcapng), an arrow script (.xds)".to_owned()]
            }
            _ => Vec::new(),
        };
        let message = error.to_string();
        CliError { next, ..CliError::new(exit, message).because(error) }
    }
}

/// Returns the commands that read the first files of a folder. Raw JSONL may be parts of one
/// session.
fn files_of_messages(dir: &Path, files: &[PathBuf]) -> Vec<String> {
    let word = |path: &Path| shell_word(&path.display().to_string());
    let command = |path: &PathBuf| format!("xdscope status {}", word(path));
    let mut next: Vec<String> = files.iter().take(MAX_NAMED_SESSIONS).map(command).collect();
    let is_raw = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let is_in_dir = |path: &PathBuf| path.parent() == Some(dir);
    if files.len() > 1 && files.iter().all(|path| is_raw(path) && is_in_dir(path)) {
        let dir = word(dir);
        let dir = dir.trim_end_matches('/');
        next.push(format!("cat {dir}/*.jsonl | xdscope status -   if they are parts of one session"));
    }
    next
}

impl From<PositionError> for CliError {
    fn from(error: PositionError) -> CliError {
        let next = match &error {
            PositionError::NoNack => "--at start, --at end".to_owned(),
            PositionError::NoMessage { last, .. } => format!("a number from #1 to #{last}"),
            PositionError::NoDates => "--at +30s, or a message number such as #487".to_owned(),
        };
        CliError::usage(error.to_string()).next(next)
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> CliError {
        let (exit, next) = match &error {
            StartError::Listen(_) => (Exit::Connection, "--listen with another port; :0 takes a free one"),
            StartError::Record { .. } => {
                (Exit::Unreadable, "--record FILE in a writable folder, or --no-record")
            }
            StartError::Thread(_) => (Exit::Defect, "try again"),
        };
        CliError::new(exit, error.to_string()).because(error).next(next)
    }
}

/// A failed write. A closed pipe is not an error: the reader has what it wanted.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> CliError {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return CliError::new(Exit::Yes, "");
        }
        CliError::unreadable("cannot write the output").because(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_message_cause_tried_and_next_steps() {
        let cause = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error = CliError::unreadable("cannot read a\x1b[31m.xdsrec")
            .because(cause)
            .tried("this directory")
            .tried("/state/xdscope")
            .next("xdscope status other.xdsrec")
            .next("xdscope demo");
        insta::assert_snapshot!(error.render(), @r"
        xdscope: cannot read a\x1b[31m.xdsrec: no such file
          tried  this directory, /state/xdscope
          next   xdscope status other.xdsrec
                 xdscope demo
        ");
        assert_eq!(error.exit.code(), 5);
    }

    #[test]
    fn closed_pipe_is_silent_success() {
        let error = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((error.exit, error.render().as_str()), (Exit::Yes, ""));
    }
}
