//! Sources that take time to open.

use std::sync::mpsc::{Sender, channel};

use super::*;
use crate::app::replay::{Opening, OpeningFeed, Reading};

type Read = Result<Opened, String>;

/// A feed of 2000 bytes, its reading end, and the progress.
fn opening() -> (
    OpeningFeed<Opened, String, impl FnOnce(Opened) -> Result<ReplayFeed, String>>,
    Sender<Read>,
    Arc<Reading>,
) {
    let (send, coming) = channel();
    let Options { store, meaning, rules, .. } = options(None);
    let reading = Arc::new(Reading::new(store, meaning, rules));
    let source = "replay session.xdsrec".into();
    let (file, say) = (None, String::clone as fn(&String) -> String);
    let opening = Opening { source, file, bytes: 2000, reading: reading.clone(), coming, say };
    let begin = |opened| Ok(ReplayFeed::new(opened, options(None), Decoded(Schema::builtin()), None));
    (OpeningFeed::new(opening, Decoded(Schema::builtin()), begin), send, reading)
}

#[test]
fn shows_progress_until_the_source_is_open() {
    let (feed, send, reading) = opening();
    let mut model = model(100, 30);
    typed(&feed, &mut model, "");
    assert!(shown(&model).contains("Reading 2.0 kB"), "{}", shown(&model));
    let first = feed.revision();
    assert_eq!(feed.revision(), first, "nothing has changed");
    reading.report(500);
    assert_ne!(feed.revision(), first);
    typed(&feed, &mut model, "3");
    let text = shown(&model);
    assert!(text.contains("replay session.xdsrec · 25% read") && text.contains("[3 Timeline]"), "{text}");
    assert!(feed.replay(None, Seek::Start).is_err_and(|why| why.to_string().contains("not open yet")));
    for keys in [" ", ",", "\x05"] {
        typed(&feed, &mut model, keys);
        assert!(model.common.paused.is_none(), "{keys:?} stops the screens before there is a source");
    }
    reading.report(u64::MAX);
    typed(&feed, &mut model, "1");
    assert!(shown(&model).contains("All 2.0 kB are read; looking for problems"), "{}", shown(&model));

    send.send(Ok(options(None).open(loaded(TOUR)))).expect("somebody waits");
    let ready = feed.revision();
    assert!(ready > 100, "no other revision is the same: {ready}");
    // The screens equal those of a source that was open at once.
    for keys in ["1", "3", "g.."] {
        let (mut late, mut first) = (model.clone(), self::model(100, 30));
        typed(&feed, &mut late, keys);
        typed(&super::feed(TOUR), &mut first, keys);
        assert_eq!(shown(&late), shown(&first), "{keys}");
    }
    assert!(feed.failure().is_none());
}

#[test]
fn shows_what_was_read_so_far() {
    let (feed, _send, reading) = opening();
    let mut model = model(100, 30);
    typed(&feed, &mut model, "");
    assert!(shown(&model).contains("as soon as it is read"), "{}", shown(&model));
    let loaded = loaded(TOUR);
    reading.begin(loaded.catalog, loaded.clock);
    let mut frames = loaded.frames.into_iter();
    let mut rows = Vec::new();
    for frames in [frames.by_ref().take(6).collect::<Vec<_>>(), frames.collect()] {
        frames.into_iter().for_each(|frame| reading.step(|builder| builder.take(frame)));
        reading.report(1000 + rows.len() as u64 * 500);
        typed(&feed, &mut model, "13");
        let text = shown(&model);
        assert!(text.contains("% read"), "{text}");
        rows.push(text.lines().filter(|line| line.contains(" CDS ")).count());
    }
    assert!(0 < rows[0] && rows[0] < rows[1], "{rows:?}");
}

#[test]
fn reports_why_a_source_cannot_be_opened() {
    let (feed, send, _) = opening();
    send.send(Err("cannot read it\n  next   xdscope doctor\u{1b}[2J".into())).expect("somebody waits");
    assert_ne!(feed.revision(), 0);
    let mut model = model(100, 30);
    typed(&feed, &mut model, "");
    let text = shown(&model);
    assert!(
        text.contains("   cannot read it") && text.contains("q leaves") && !text.contains('\u{1b}'),
        "{text}"
    );
    assert!(feed.failure().is_some_and(|why| why.starts_with("cannot read it")));
}

#[test]
#[should_panic(expected = "ended without a result")]
fn panics_when_the_reader_is_gone() {
    let (feed, send, _) = opening();
    drop(send);
    feed.revision();
}
