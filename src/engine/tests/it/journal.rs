//! The facts of a live run, which reads a journal, are those of the replay of its recording.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use super::analysis::{empty, facts, load, play, scripts};
use xdscope_engine::analysis::Analysis;
use xdscope_schema::Schema;
use xdscope_sources::record::{
    self, Header, JournalPart, JournalReader, JournalWriter, Loaded, PartSink, Writer,
};
use xdscope_wire::content::{Catalog, MemoryBodies};

/// The parts that are written and not read.
#[derive(Default)]
struct Parts(RefCell<Vec<JournalPart>>);

impl PartSink for Parts {
    fn take(&mut self, part: JournalPart) -> io::Result<()> {
        self.0.get_mut().push(part);
        Ok(())
    }
}

/// Plays a script through a journal. Every `segment` frames, a segment begins, and everything is
/// dropped to which no fact refers.
fn live(loaded: Loaded, schema: &Arc<Schema>, segment: usize) -> Analysis {
    let catalog = Catalog::new(loaded.catalog.seed(), None, Box::new(MemoryBodies::default()));
    let mut analysis = empty(catalog, loaded.clock, schema);
    let (mut writer, mut reader) = (JournalWriter::new(Parts::default()), JournalReader::default());
    let mut read = Vec::new();
    for (n, frame) in loaded.frames.iter().enumerate() {
        assert!(writer.write(frame, &loaded.catalog));
        assert!(writer.flush());
        if n % segment == segment - 1 {
            writer.begin_segment();
        }
        for part in writer.sink().0.take() {
            if part.begins_segment {
                analysis.drop_old_now(|_| {});
            }
            reader.begin(part.records.into());
            while reader.next(analysis.catalog_mut(), &mut read) {
                read.drain(..).for_each(|frame| analysis.handle(frame));
            }
        }
    }
    analysis.advance(loaded.end);
    analysis
}

/// Plays the recording of a script.
fn replayed(loaded: Loaded, schema: &Arc<Schema>) -> Analysis {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let header = Header { seed: loaded.catalog.seed(), clock: loaded.clock, ..Header::default() };
    let mut writer = Writer::in_file(file.reopen().expect("a file"), header).expect("a recording");
    for frame in &loaded.frames {
        writer.write(frame, &loaded.catalog).expect("a written frame");
    }
    writer.advance(loaded.end);
    writer.finish().expect("a complete recording");
    let (input, bodies) = (file.reopen().expect("a file"), file.reopen().expect("a file"));
    play(record::open(input, bodies).expect("a recording"), schema, false)
}

#[test]
fn live_runs_and_replays_have_the_same_facts() {
    let schema = Schema::builtin();
    let mut compared = 0;
    for file in scripts() {
        let load = || load(&file, &schema);
        let Some(recorded) = load() else { continue };
        let replayed = facts(&replayed(recorded, &schema));
        for segment in [1, 3, usize::MAX] {
            let live = facts(&live(load().expect("a script"), &schema, segment));
            if live != replayed {
                let diff = similar::TextDiff::from_lines(&replayed, &live);
                panic!("{}:\n{}", file.display(), diff.unified_diff().context_radius(4));
            }
        }
        compared += 1;
    }
    assert!(compared > 200, "{compared} scripts");
}
