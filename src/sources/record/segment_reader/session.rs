//! Recordings of several files, and notices about each file.

use super::super::bodies::BodySource;
use super::super::decode::SegmentStart;
use super::super::header::Header;
use super::{MIN_BLOB_LIMIT, SegmentReader, secs, time};
use xdscope_wire::event::Time;
use xdscope_wire::text::plural;

/// The beginning of the notice that a recording was not closed: more messages may come.
const NOT_CLOSED: &str = "not closed";
/// Words of the notices about a recording whose end is missing.
pub const UNFINISHED: [&str; 3] = [NOT_CLOSED, ENDS_WITHIN_BLOCK, DAMAGED];
const ENDS_WITHIN_BLOCK: &str = "ends within a block";
const DAMAGED: &str = "damaged at byte";

impl SegmentReader {
    /// Names the file in its notices.
    pub(in crate::record) fn set_name(&mut self, name: String) {
        self.name = Some(name);
    }

    /// Goes on with the next file of the session. Streams and content of earlier files stay known.
    pub(in crate::record) fn begin_file(&mut self, name: String, source: Box<dyn BodySource>) {
        self.end_file();
        if let Some(bodies) = &self.bodies {
            bodies.add_source(source);
        }
        (self.name, self.is_continued) = (Some(name), true);
        self.ids.clear();
        self.indexes.clear();
        self.lost.clear();
        self.now = SegmentStart { micros: self.now.micros, ..SegmentStart::default() };
        (self.damage, self.cut, self.malformed, self.finished) = (None, None, 0, false);
        self.blobs_left += MIN_BLOB_LIMIT;
    }

    /// Adds a notice about a file of the session that is left out.
    pub(in crate::record) fn skip_file(&mut self, name: &str, why: &str) {
        self.notices.insert(self.earlier_notices, format!("{name} is left out: {why}"));
        self.earlier_notices += 1;
    }

    pub(in crate::record) fn finish(mut self, header: &Header) -> (Time, Vec<String>) {
        self.end_file();
        if header.keep_secrets {
            self.notices.push("recorded with --keep-secrets: the file contains secrets".into());
        }
        (time(self.now.micros), self.notices)
    }

    /// Adds notices about the file.
    fn end_file(&mut self) {
        let read = format!(
            "{} read, the last event at {}",
            plural(self.now.messages, "message"),
            secs(self.now.micros)
        );
        if let Some((at, bytes)) = self.damage {
            let text = "the rest is lost";
            self.notices.push(format!("{DAMAGED} {at} ({bytes} bytes skipped): {text}; {read}"));
        }
        if self.has_too_much_content {
            let text = "the file decompresses to more content than its size allows";
            self.notices.push(format!("{text}: the rest is skipped; {read}"));
        }
        match self.cut {
            Some((at, bytes)) => {
                let text = format!("{ENDS_WITHIN_BLOCK} at byte {at}: its {bytes} bytes can't be read");
                self.notices.push(format!("{text}; {read}"));
            }
            None if !self.finished && !self.has_too_much_content && self.damage.is_none() => {
                self.notices.push(format!("{NOT_CLOSED}: xdscope was killed or is still recording; {read}"));
            }
            None => {}
        }
        if self.malformed > 0 {
            let events = plural(self.malformed, "malformed event");
            self.notices.push(format!("skipped {events}: content is not in the file"));
        }
        if !self.lost.is_empty() {
            let text = "that later messages refer to is lost with the damage";
            self.notices
                .push(format!("the content of {} {text}", plural(self.lost.len() as u64, "resource")));
        }
        if let Some(name) = &self.name {
            for notice in self.notices.iter_mut().skip(self.earlier_notices) {
                *notice = format!("{name}: {notice}");
            }
        }
        self.earlier_notices = self.notices.len();
    }
}
