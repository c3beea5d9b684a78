//! Recognition of a source's format, by its name and first bytes.

use std::path::Path;

use crate::{pcap, record};
use xdscope_engine::applied;
use xdscope_schema::MessageFormat;
use xdscope_wire::text::without_mark;

use super::{SourceError, files};

/// The format of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    /// An .xdsrec file.
    Recording,
    /// One JSON object for each message, with its bytes.
    Raw,
    /// An arrow script (.xds).
    Script,
    /// Packets, in pcap or pcapng.
    Capture,
    /// A DiscoveryResponse, or resources.
    Response,
    /// A folder of files with responses or resources.
    Folder,
    /// The resources that a client has applied.
    Dump(applied::DumpOrigin),
    /// A server that was asked for its resources.
    Live,
}

impl SourceFormat {
    /// Name for people, without an article.
    pub fn word(self) -> &'static str {
        match self {
            SourceFormat::Recording => "recording (.xdsrec)",
            SourceFormat::Raw => "raw JSONL",
            SourceFormat::Script => "arrow script",
            SourceFormat::Capture => "packet capture",
            SourceFormat::Response => "file with a DiscoveryResponse",
            SourceFormat::Folder => "directory of files with resources",
            SourceFormat::Dump(applied::DumpOrigin::ConfigDump) => "config dump of an Envoy",
            SourceFormat::Dump(applied::DumpOrigin::Csds) => "CSDS response",
            SourceFormat::Dump(applied::DumpOrigin::Syncz) => "answer of istiod's /debug/syncz",
            SourceFormat::Dump(applied::DumpOrigin::Ztunnel) => "config dump of a ztunnel",
            SourceFormat::Live => "live server",
        }
    }

    /// Refuses a dump, which has no messages.
    pub(crate) fn check_messages(self, name: &str) -> Result<(), SourceError> {
        if matches!(self, SourceFormat::Dump(_)) {
            return Err(SourceError::NoMessages { name: name.to_owned(), format: self });
        }
        Ok(())
    }
}

/// Statements that an arrow script can begin with.
const SCRIPT_STATEMENTS: [&str; 6] = ["node", "server", "stream", "partial", "notime", "advance"];

/// Ends of the names of captures.
const CAPTURE_ENDINGS: [&str; 3] = ["pcap", "pcapng", "cap"];

/// Whether a file with this name should be a capture, whatever its content is.
fn is_capture_name(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    CAPTURE_ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// Whether a file with this name holds messages, and is not a recording: raw JSONL, an arrow script
/// or a capture.
pub(super) fn is_name_of_messages(name: &str) -> bool {
    name.ends_with(".jsonl") || name.ends_with(".xds") || is_capture_name(name)
}

/// Recognises a file by its name and its first bytes, `head`. Content that is not known counts as a
/// damaged recording, and so does a compressed file.
pub(super) fn detect(name: &str, head: &[u8]) -> SourceFormat {
    if pcap::is_capture(head) {
        return SourceFormat::Capture;
    }
    match record::detect(head) {
        record::FileFormat::Recording => return SourceFormat::Recording,
        record::FileFormat::Raw => return SourceFormat::Raw,
        record::FileFormat::Other => {}
    }
    if record::Compression::detect(head).is_some() {
        return SourceFormat::Recording;
    }
    if is_capture_name(name) {
        return SourceFormat::Capture;
    }
    let text = String::from_utf8_lossy(without_mark(head));
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let statement = first.and_then(|line| line.split_whitespace().next()).unwrap_or_default();
    if name.ends_with(".xds") || SCRIPT_STATEMENTS.contains(&statement) {
        return SourceFormat::Script;
    }
    if MessageFormat::from_file_name(name).is_some() || text.trim_start().starts_with('{') {
        SourceFormat::Response
    } else {
        SourceFormat::Recording
    }
}

/// Recognises input without a name by its first bytes, at least 4 kB or all of it.
pub fn format_of_start(head: &[u8]) -> SourceFormat {
    detect("", head)
}

/// Recognises a folder by its files, and a file by its path and first bytes; `None` if it cannot be
/// read.
pub fn format_of(path: &Path) -> Option<SourceFormat> {
    if path.is_dir() {
        let has_recordings = files::has_recordings(path);
        return Some(if has_recordings { SourceFormat::Recording } else { SourceFormat::Folder });
    }
    let head = files::head(path).ok()?;
    Some(detect(&path.to_string_lossy(), &head.bytes))
}
