//! A named recording: the part of a live run between two key presses, copied from its session file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::recording_file;
use xdscope_sources::record::{self, Header, Loaded};
use xdscope_wire::event::Seq;
use xdscope_wire::text::size;

/// A named recording that cannot begin or end.
#[derive(Debug, thiserror::Error)]
pub enum NamedRecordingError {
    #[error("{} exists: choose another name", .path.display())]
    Exists { path: PathBuf },
    #[error("{}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
}

/// A named recording in progress.
pub(crate) struct NamedRecording {
    path: PathBuf,
    file: File,
    /// Messages before the recording.
    before: u64,
}

impl NamedRecording {
    /// Begins a named recording after `before` messages and creates its file.
    ///
    /// A name without a suffix gets `.xdsrec`.
    ///
    /// # Errors
    /// The file exists already or cannot be created.
    pub(crate) fn begin(name: &str, before: u64) -> Result<NamedRecording, NamedRecordingError> {
        let mut path = PathBuf::from(name);
        if path.extension().is_none() {
            path.set_extension("xdsrec");
        }
        if path.exists() {
            return Err(NamedRecordingError::Exists { path });
        }
        match recording_file::create(&path) {
            Ok(file) => Ok(NamedRecording { path, file, before }),
            Err(source) => Err(NamedRecordingError::File { path, source }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the recording after a number of messages of the session. Returns a message for the
    /// user.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn end(
        self,
        mut session: Loaded,
        until: u64,
        keep_secrets: bool,
        source: &str,
    ) -> Result<String, NamedRecordingError> {
        let NamedRecording { path, file, before } = self;
        let failed = |source: io::Error| NamedRecordingError::File { path: path.clone(), source };
        let kept = record::retain_part(&mut session.frames, &session.catalog, |frame, n| {
            n <= Seq(until)
                && (!matches!(frame.what, xdscope_wire::FramePayload::Message(_)) || n > Seq(before))
        });
        let header = Header {
            created: session.clock.epoch.and_then(|epoch| u64::try_from(epoch).ok()).unwrap_or(0),
            seed: session.catalog.seed(),
            keep_secrets,
            tool: concat!("xdscope ", env!("CARGO_PKG_VERSION")).to_owned(),
            source: source.to_owned(),
            clock: session.clock,
        };
        let mut writer = record::Writer::in_file(file, header).map_err(failed)?;
        for frame in &session.frames {
            writer.write(frame, &session.catalog).map_err(failed)?;
        }
        writer.advance(session.end);
        writer.finish().map_err(failed)?;
        let bytes = std::fs::metadata(&path).map_err(failed)?.len();
        let messages = xdscope_wire::text::plural(kept, "message");
        Ok(format!("{messages} recorded to {} ({})", path.display(), size(bytes)))
    }
}
