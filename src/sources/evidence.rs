//! Whether a source holds anything of xDS.

use std::collections::HashSet;

use xdscope_wire::event::{Method, StreamId};
use xdscope_wire::text::plural;
use xdscope_wire::{End, Frame, FramePayload, Open};

use super::{SourceError, SourceFormat};

/// Traces of xDS in the frames of a source.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    frames: u64,
    streams: u64,
    xds_streams: HashSet<StreamId>,
    has_xds: bool,
    /// Streams of HTTP/1.1 that are not REST polls.
    has_http1: bool,
}

impl Evidence {
    /// Looks at the next frame. Costs one comparison once xDS was found.
    pub(super) fn note(&mut self, frame: &Frame) {
        if self.has_xds {
            return;
        }
        self.frames += 1;
        match &frame.what {
            FramePayload::Open(open) => {
                self.streams += 1;
                self.has_xds = open.method == Open::NOTHING;
                self.has_http1 |= open.method.starts_with(HTTP1);
                if Method::of_path(&open.method).is_some() {
                    self.xds_streams.insert(frame.stream);
                }
            }
            FramePayload::Message(_) | FramePayload::Gap { .. } => self.has_xds = true,
            FramePayload::End(end) => {
                let is_xds = self.xds_streams.contains(&frame.stream);
                self.has_xds = end.note.is_some() || (is_xds && is_failure(end));
            }
            FramePayload::Opaque { .. } | FramePayload::Intercepted(_) => {}
        }
    }

    /// Whether any frame so far is of xDS.
    pub(super) fn has_xds(&self) -> bool {
        self.has_xds
    }

    /// Refuses a source without messages, failed connections or rejected streams.
    ///
    /// # Errors
    /// [`SourceError::Empty`].
    pub(super) fn check(&self, name: &str, format: SourceFormat) -> Result<(), SourceError> {
        let has_resources =
            matches!(format, SourceFormat::Response | SourceFormat::Folder | SourceFormat::Dump(_));
        if self.has_xds || format == SourceFormat::Live || (has_resources && self.frames > 0) {
            return Ok(());
        }
        let other = self.streams - self.xds_streams.len() as u64;
        let found = match (self.xds_streams.len() as u64, other) {
            (0, 0) => format!("the {} has no streams", format.word()),
            (0, other) => format!("{} of other protocols", plural(other, "stream")),
            (silent, 0) => format!("{} without a message", plural(silent, "xDS stream")),
            (silent, other) => {
                let silent = plural(silent, "xDS stream");
                format!("{silent} without a message, {} of other protocols", plural(other, "stream"))
            }
        };
        let note = if self.has_http1 { HTTP1_NOTE } else { "" };
        Err(SourceError::Empty { name: name.to_owned(), found: found + note })
    }
}

/// The start of the method of a connection with HTTP/1.1.
const HTTP1: &str = "HTTP/1.1";

/// The fault that most often brings HTTP/1.1 to an xDS server.
const HTTP1_NOTE: &str = "; a client speaks HTTP/1.1, and gRPC needs HTTP/2: Envoy needs http2_protocol_options in \
                          the cluster of the server";

/// Whether the end of a stream says something by itself.
fn is_failure(end: &End) -> bool {
    end.status.as_ref().is_some_and(|(code, _)| code.0 != 0) || end.reset.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_wire::event::Time;

    #[test]
    fn names_http1_as_a_fault_of_the_client() {
        let found = |method: &str| {
            let mut evidence = Evidence::default();
            let open = Open { method: method.to_owned(), ..Open::default() };
            let what = FramePayload::Open(Box::new(open));
            evidence.note(&Frame { at: Time::ZERO, stream: StreamId(1), what });
            evidence.check("a.xdsrec", SourceFormat::Recording).expect_err("no xDS").to_string()
        };
        assert!(found("HTTP/1.1").ends_with("in the cluster of the server"), "{}", found("HTTP/1.1"));
        assert!(found("TLS").ends_with("1 stream of other protocols"), "{}", found("TLS"));
    }
}
