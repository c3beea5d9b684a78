//! The cursor compared with folding from the start, and the screens at it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossterm::event::{KeyEvent, KeyModifiers};
use insta::assert_snapshot;
use proptest::prelude::*;

use super::cursor::{Cursor, Position};
use super::marks::{Direction, Marks, OverdueSampler, ProblemFilter};
use super::reading::Reading;
use super::{Opened, Options, ReplayFeed, saved};
use crate::app::recording::named_recording::NamedRecording;
use xdscope_engine::analysis::{Analysis, bounded};
use xdscope_engine::lint::Finding;
use xdscope_engine::problems::problems;
use xdscope_engine::session::SharedSemantics;
use xdscope_engine::store::{self, Store};
use xdscope_schema::Schema;
use xdscope_sources::record::{Header, Loaded, Writer};
use xdscope_sources::{SchemaCodec, Spec, script};
use xdscope_tui::Decoded;
use xdscope_tui::{
    Effect, Feed, Model, Msg, Seek, Sign, Speed, Theme, blank, frame_text, search, update, view,
};
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::event::{Seq, Time};
use xdscope_wire::text::plural;

mod known;
mod memory;
mod opening;

const TOUR: &str = include_str!("../../../tests/fixtures/cli/tour.xds");

/// Returns the text that a model draws.
fn shown(model: &Model) -> String {
    let mut buffer = blank(model.common.size);
    view(model, &mut buffer);
    frame_text(&buffer)
}

fn loaded(text: &str) -> Loaded {
    let script = script::parse(text, "test.xds").expect("a script");
    let catalog = Catalog::new(7, None, Box::new(MemoryBodies::default()));
    script::load_into(&script, &SchemaCodec(Schema::builtin()), catalog).expect("content")
}

/// A source longer than two checkpoint intervals: streams that come and go, pushes, all kinds of
/// answers.
fn long() -> String {
    let mut text = String::from("node a\n");
    for stream in 1..=4 {
        let _ = writeln!(text, "stream {stream} ads\n+{stream}s {stream} > cds");
        for push in 1..=30 {
            let at = stream * 1000 + push * 20;
            let nack = if push % 7 == 0 { " nack=\"no\" code=13" } else { "" };
            let version = if push % 7 == 0 { push - 1 } else { push };
            let _ = writeln!(text, "+{at}ms {stream} < cds v={push} n=n{push} [a~{push} b{}]", push % 3);
            let _ = writeln!(text, "+{}ms {stream} > cds v={version} n=n{push}{nack}", at + 5);
        }
        let _ = writeln!(text, "+{}ms {stream} close status=14 \"gone\"", stream * 1000 + 900);
    }
    text
}

fn bytes() -> SharedSemantics {
    Arc::new(|_: &[u8], _: &[u8]| false)
}

/// A cursor at the end.
fn ended(text: &str, history: usize) -> (Cursor, OverdueSampler) {
    let options = store::Options { history, ..store::Options::default() };
    Cursor::new(loaded(text), options, bytes(), bounded(&Schema::builtin()))
}

/// A cursor at the start.
fn cursor(text: &str) -> Cursor {
    let (mut cursor, _) = ended(text, store::Options::default().history);
    cursor.seek(cursor.start());
    cursor
}

/// All facts and findings as text.
fn facts(store: &Store, findings: &[Finding]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{:?} {} {}", store.now(), store.messages(), store.rows());
    let _ = writeln!(out, "{:#?} {:#?}", store.streams(), problems(store, &[]));
    for row in 0..store.rows() {
        let _ = writeln!(out, "{:?}", store.row(row));
    }
    for state in store.states() {
        let _ =
            writeln!(out, "{state:?}\n{:?}", store.resources(state.summary.stream, &state.summary.type_url));
    }
    let _ = writeln!(out, "{findings:#?}");
    out
}

/// The facts after some frames, folded from the start.
fn folded(text: &str, to: Position) -> String {
    let loaded = loaded(text);
    let mut store = Store::new(loaded.catalog, loaded.clock, store::Options::default());
    store.set_meaning(bytes());
    let mut store = Analysis::new(store, bounded(&Schema::builtin()));
    loaded.frames.into_iter().take(to.frames).for_each(|frame| store.handle(frame));
    store.advance(to.now);
    facts(&store, store.findings())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn has_the_facts_of_folding_up_to_any_position(
        moves in prop::collection::vec((0u8..5, 0u64..260, 0u64..6000), 1..8),
        // The smaller budget compresses most messages, the larger one none.
        history in prop::sample::select(vec![100_000, 100_000_000]),
    ) {
        let text = long();
        let (mut cursor, _) = ended(&text, history);
        prop_assert_eq!(cursor.before(), 0);
        cursor.seek(cursor.start());
        for (how, n, millis) in moves {
            let to = match how {
                0 => cursor.of_message(Seq(n)),
                1 => Some(cursor.of_time(Time(millis * 1_000_000))),
                2 => cursor.previous_message(),
                3 => cursor.next_message(),
                _ => {
                    cursor.play(Duration::from_millis(millis), Duration::from_secs(2));
                    Some(cursor.position())
                }
            };
            if let Some(to) = to {
                cursor.seek(to);
                prop_assert_eq!(cursor.position(), to);
            }
            prop_assert_eq!(facts(cursor.store(), cursor.findings()), folded(&text, cursor.position()));
        }
    }
}

#[test]
fn remembers_comparisons_at_any_position() {
    let compared = Arc::new(AtomicUsize::new(0));
    let count = compared.clone();
    // Contents that differ in their last byte are equal, now and then.
    let meaning = Arc::new(move |a: &[u8], b: &[u8]| {
        count.fetch_add(1, Ordering::Relaxed);
        a.last().is_some_and(|last| last % 4 == 0) && a[..a.len() - 1] == b[..b.len() - 1]
    });
    let (rules, options) = (bounded(&Schema::builtin()), store::Options::default());
    let (mut cursor, _) = Cursor::new(loaded(&long()), options, meaning, rules);
    let (once, end) = (compared.load(Ordering::Relaxed), facts(cursor.store(), cursor.findings()));
    let lines = || cursor.store();
    let same = (0..lines().rows()).filter_map(|row| lines().line(row)).filter(|line| line.same > 0).count();
    assert!(once > 100 && same > 10 && same < 120, "{once} {same}");
    for n in [200, 3, 150, 0] {
        cursor.seek(cursor.of_message(Seq(n)).expect("a place"));
    }
    cursor.seek(cursor.end());
    assert_eq!(facts(cursor.store(), cursor.findings()), end);
    assert_eq!(compared.load(Ordering::Relaxed), once);
}

#[test]
fn steps_back_through_the_same_positions() {
    let mut cursor = cursor(TOUR);
    cursor.seek(cursor.of_message(Seq(0)).expect("the start"));
    let mut places = vec![cursor.position()];
    while let Some(next) = cursor.next_message() {
        cursor.seek(next);
        places.push(next);
    }
    assert_eq!(places.len() as u64, cursor.messages() + 1, "the start, and each message");
    for place in places.iter().rev().skip(1) {
        let back = cursor.previous_message().expect("a message before");
        cursor.seek(back);
        assert_eq!(back, *place);
    }
    assert_eq!(cursor.previous_message(), None);
}

#[test]
fn cuts_pauses_and_stops_at_the_end() {
    let mut cursor = cursor(TOUR);
    let idle = Duration::from_secs(2);
    assert!(cursor.play(Duration::from_millis(500), idle));
    assert_eq!(cursor.position().now, Time(500_000_000), "the clock moves between messages");
    // The pause from 1 s to 30 s is cut to two seconds.
    assert!(cursor.play(Duration::from_millis(2600), idle));
    assert_eq!(cursor.position().now.as_secs_f64().floor(), 30.0);
    assert!(!cursor.play(Duration::from_secs(3600), idle));
    assert_eq!(cursor.position(), cursor.end());
    assert_eq!(facts(cursor.store(), cursor.findings()), folded(TOUR, cursor.end()), "played is folded");
}

#[test]
fn places_problems_where_they_began() {
    let (mut cursor, looks) = ended(TOUR, store::Options::default().history);
    let marks = Marks::find(&cursor, looks);
    let signs =
        |sign: Sign| marks.all.iter().filter(|mark| mark.sign == sign).map(|mark| mark.n).collect::<Vec<_>>();
    assert_eq!(signs(Sign::Nack), [18, 20]);
    // ledger-v2 was requested at +50 ms and is missing 15 s later; RDS 18 of +30 s is stale at +40
    // s.
    let late = marks.all.iter().filter(|mark| mark.sign == Sign::Late);
    let late: Vec<f64> = late.map(|mark| mark.at.as_secs_f64()).collect();
    assert_eq!(late, [15.05, 40.0]);
    cursor.seek(cursor.of_message(Seq(18)).unwrap());
    let words = marks.at(&cursor).map(|problem| problem.words.to_string());
    assert!(words.as_ref().is_some_and(|words| words.ends_with("CDS NACK #18")), "{words:?}");
    let mut place = cursor.end();
    let mut seen = Vec::new();
    while let Some(before) = marks.problem(place, Direction::Back, ProblemFilter::All) {
        cursor.seek(before);
        place = before;
        seen.push((cursor.store().messages(), problems(cursor.store(), &[]).len()));
    }
    assert_eq!(seen.len(), 5, "two NACKs, one missing, one stale, one lost stream: {seen:?}");
    assert_eq!(seen.iter().map(|(n, _)| *n).take(2).collect::<Vec<_>>(), [20, 18]);
    assert!(seen.iter().all(|(_, problems)| *problems > 0), "{seen:?}");
    assert_eq!(marks.problem(place, Direction::Forward, ProblemFilter::Nacks), cursor.of_message(Seq(18)));
}

fn options(file: Option<std::path::PathBuf>) -> Options {
    Options {
        store: store::Options::default(),
        meaning: bytes(),
        rules: bounded(&Schema::builtin()),
        idle: Duration::from_secs(2),
        speed: Speed::new(1.0),
        source: "replay session.xdsrec".into(),
        rerun: "session.xdsrec".into(),
        notices: Vec::new(),
        copies: std::env::temp_dir(),
        file,
        rewound: false,
        trouble: None,
    }
}

fn feed(text: &str) -> ReplayFeed {
    let options = options(None);
    ReplayFeed::new(options.open(loaded(text)), options, Decoded(Schema::builtin()), None)
}

/// Types keys as the event loop does.
fn typed(feed: &dyn Feed, model: &mut Model, keys: &str) {
    let send = |model: &mut Model, msg: Msg| {
        let mut effects = Vec::new();
        feed.read(&mut |data| {
            effects = update(model, msg.clone(), data);
            while search(model, data) {}
            update(model, Msg::Changed, data);
        });
        effects
    };
    send(model, Msg::Info(Box::new(feed.info())));
    for key in keys.chars() {
        let code = |c| crossterm::event::KeyCode::Char(c);
        let key = match key {
            '\n' => crossterm::event::KeyCode::Enter.into(),
            '\x05' => KeyEvent::new(code('e'), KeyModifiers::CONTROL),
            '\x19' => KeyEvent::new(code('y'), KeyModifiers::CONTROL),
            key => code(key).into(),
        };
        for effect in send(model, Msg::Key(key)) {
            if let Effect::Replay(seek) = effect {
                if let Err(why) = feed.replay(None, seek) {
                    model.say(why.to_string());
                }
                let notice = model.common.notice.clone();
                send(model, Msg::Info(Box::new(feed.info())));
                if notice.is_some() {
                    assert_eq!(model.common.notice, notice);
                }
            }
        }
    }
}

fn model(width: u16, height: u16) -> Model {
    Model::new((width, height), Theme::SIXTEEN, jiff::tz::TimeZone::UTC)
}

fn screen(keys: &str, width: u16, height: u16) -> String {
    let (feed, mut model) = (feed(TOUR), model(width, height));
    typed(&feed, &mut model, keys);
    shown(&model)
}

#[test]
fn draws_the_bar_at_all_sizes() {
    for (width, height) in [(80, 24), (100, 30), (200, 60)] {
        assert_snapshot!(format!("overview_at_a_nack_{width}x{height}"), screen("\x19", width, height));
        assert_snapshot!(
            format!("timeline_at_a_time_{width}x{height}"),
            screen("3:goto +41s\nma", width, height)
        );
    }
}

#[test]
fn shows_every_screen_as_of_the_cursor() {
    // Compares the screens after some messages with those of a replay stopped there.
    let lines: Vec<&str> = TOUR.lines().collect();
    let until = lines.iter().position(|line| line.contains("n=c3")).expect("the second refused push");
    let part = lines.get(..until).expect("lines").join("\n");
    let whole = feed(TOUR);
    for keys in ["1", "2", "3", "4", "5", "6", "3kkkd", "1j2"] {
        let mut stopped = model(100, 30);
        typed(&whole, &mut stopped, &format!(":goto #18\n{keys}"));
        let (part, mut end) = (feed(&part), model(100, 30));
        typed(&part, &mut end, keys);
        let body = |model: &Model| {
            let text = shown(model);
            // Like the bar, the band above the bar is about the whole recording.
            let is_band = |line: &&str| line.starts_with(" pushes  ") || line.starts_with(" NACKs  ");
            let body = text.lines().skip(1).take(26).filter(|line| !is_band(line));
            body.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(body(&stopped), body(&end), "{keys}");
    }
}

#[test]
fn shows_nothing_later_after_going_back() {
    let feed = feed(TOUR);
    let mut there_and_back = model(100, 30);
    typed(&feed, &mut there_and_back, "613:filter kind:push\n\x19\x19");
    let back = {
        typed(&feed, &mut there_and_back, ":filter size>0\n:goto #9\n");
        shown(&there_and_back)
    };
    let mut straight = model(100, 30);
    typed(&feed, &mut straight, "3:filter size>0\n:goto #9\n");
    assert_eq!(back, shown(&straight));
}

#[test]
fn reaches_the_same_positions_by_keys() {
    let feed = feed(TOUR);
    let mut model = model(100, 30);
    let number = |feed: &ReplayFeed| feed.info().bar.expect("a bar").message;
    typed(&feed, &mut model, "");
    assert_eq!(number(&feed), 20, "it opens at the end");
    for (keys, n) in [
        ("\x19", 18),
        ("\x05", 20),
        (",", 19),
        (",", 18),
        (".", 19),
        ("^", 0),
        (":goto #18\n", 18),
        ("ma", 18),
        ("$", 20),
        ("'a", 18),
        ("f", 20),
    ] {
        // The clock runs on after the last message: the last NACK is before the end.
        let keys = if keys == "\x19" { "\x19\x19" } else { keys };
        typed(&feed, &mut model, keys);
        assert_eq!(number(&feed), n, "{keys:?}: {:?}", model.common.notice);
    }
    typed(&feed, &mut model, ":goto #99\n");
    assert_eq!(model.common.notice.as_deref(), Some("there is no message #99; the last one is #20"));
    typed(&feed, &mut model, "$ ");
    assert_eq!(
        model.common.notice.as_deref(),
        Some("this is the end: ^ goes to the start, , a message back")
    );
    typed(&feed, &mut model, "^ >>");
    let bar = feed.info().bar.expect("a bar");
    assert_eq!((bar.playing, bar.speed), (true, Speed::new(4.0)));
}

#[test]
fn follows_a_growing_file_only_at_the_end() {
    let part = TOUR.lines().take(14).collect::<Vec<_>>().join("\n");
    for (seek, n) in [(None, 20), (Some(Seek::Message(Seq(3))), 3)] {
        let (send_more, more) = std::sync::mpsc::channel();
        let mut feed = feed(&part);
        feed.reload = Some(more);
        if let Some(seek) = seek {
            feed.replay(None, seek).expect("a place");
        }
        send_more.send(options(None).open(loaded(TOUR))).expect("a reader");
        let before = feed.revision();
        let bar = feed.info().bar.expect("a bar");
        assert_eq!((bar.message, bar.messages), (n, 20));
        assert_eq!(feed.revision(), before, "taken in once");
        let mut model = model(100, 30);
        typed(&feed, &mut model, "j");
        let text = shown(&model);
        assert!(text.contains("FOLLOWING") && !text.contains("INCOMPLETE"), "{text}");
    }
}

/// A source with this many pushes and ACKs.
fn many(pushes: usize) -> String {
    let mut text = String::from("node a\nstream 1 ads\n+0ms 1 > cds\n");
    for push in 1..=pushes {
        let _ = writeln!(text, "+{}ms 1 < cds v={push} n=n{push} [a~{push} b{}]", push * 20, push % 3);
        let _ = writeln!(text, "+{}ms 1 > cds v={push} n=n{push}", push * 20 + 5);
    }
    text
}

#[test]
fn counts_dropped_contents_and_keeps_their_rows() {
    let text = many(6000);
    let ((mut small, _), (mut whole, _)) = (ended(&text, 1_700_000), ended(&text, usize::MAX));
    let before = small.before();
    assert!((1000..11_000).contains(&before), "{before} of {}", small.messages());
    assert_eq!((whole.before(), whole.messages()), (0, small.messages()));
    // The cursor cannot go to positions whose later messages are not all held.
    assert_eq!(small.of_message(Seq(before - 1)), None);
    assert_eq!(small.of_time(Time::ZERO), small.start());
    small.seek(small.start());
    assert_eq!(small.store().messages(), before);
    for n in [before, small.messages(), before + 7, small.messages() - 1, before + 1] {
        for cursor in [&mut small, &mut whole] {
            let to = cursor.of_message(Seq(n)).expect("a place");
            cursor.seek(to);
        }
        let states = |cursor: &Cursor| format!("{:?} {:?}", cursor.store().states(), cursor.findings());
        assert_eq!(states(&small), states(&whole), "#{n}");
        assert_eq!(small.store().rows(), whole.store().rows());
        assert!(small.store().message(Seq(1)).is_none() && whole.store().message(Seq(1)).is_some());
        let bytes = |cursor: &Cursor| Some(cursor.store().message(Seq(n))?.bytes(cursor.store().catalog()));
        assert_eq!(bytes(&small), bytes(&whole), "#{n}");
        assert_eq!(bytes(&small).is_some(), n > small.store().dropped());
        // Rows are the same but for names of dropped contents.
        for n in [1, 2, 3, before] {
            let line = |cursor: &Cursor| {
                let line = cursor.store().line(cursor.store().row_of(Seq(n))?)?;
                Some((
                    line.kind,
                    line.version.clone(),
                    line.nonce.clone(),
                    line.count,
                    line.size,
                    line.answers,
                ))
            };
            assert!(line(&small).is_some());
            assert_eq!(line(&small), line(&whole), "#{n}");
        }
    }
}

#[test]
fn leaves_only_a_live_source_with_f() {
    let feed = feed(TOUR);
    let mut model = model(100, 30);
    typed(&feed, &mut model, "^");
    assert_eq!(feed.info().bar.map(|bar| bar.message), Some(0));
    typed(&feed, &mut model, "f");
    let bar = feed.info().bar.expect("a recording keeps its bar");
    assert!(bar.at_end && !bar.playing);
    assert!(model.screens.timeline.is_following());
}

/// The first `percent` of the tour as a file, in a feed.
fn recorded(percent: usize) -> (tempfile::TempDir, ReplayFeed) {
    let (folder, path) = written(TOUR, percent);
    let options = options(Some(path.clone()));
    let codec = SchemaCodec(Schema::builtin());
    let recording =
        xdscope_sources::start(&Spec::new(&path), &codec).expect("readable").expect("a recording");
    let reading = Reading::new(options.store, options.meaning.clone(), options.rules.clone());
    let (cursor, notices) = Cursor::read(recording, &reading, None).expect("messages");
    let opened = Opened::new(cursor);
    (folder, ReplayFeed::new(opened, Options { notices, ..options }, Decoded(Schema::builtin()), None))
}

/// Writes a recording of which a part is cut off.
fn written(text: &str, percent: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.xdsrec");
    let loaded = loaded(text);
    let header = Header {
        created: 0,
        seed: 7,
        keep_secrets: false,
        tool: "xdscope".into(),
        source: "tap".into(),
        clock: loaded.clock,
    };
    let mut writer = Writer::new(std::fs::File::create(&path).expect("a file"), header).expect("a recording");
    for (i, frame) in loaded.frames.iter().enumerate() {
        writer.write(frame, &loaded.catalog).expect("a frame");
        if i % 5 == 4 {
            writer.flush().expect("a flush");
        }
    }
    writer.finish().expect("an end");
    let size = std::fs::metadata(&path).expect("a file").len();
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("a file");
    file.set_len(size * percent as u64 / 100).expect("a shorter file");
    (folder, path)
}

#[test]
fn opens_a_truncated_file_and_reports_the_loss() {
    let (_folder, whole) = recorded(100);
    let (_other, cut) = recorded(60);
    let mut first = model(100, 30);
    typed(&whole, &mut first, "");
    assert!(!shown(&first).contains("INCOMPLETE"), "{}", shown(&first));
    let read = cut.info().bar.expect("a bar").messages;
    assert!(0 < read && read < 20, "{read}");
    for (width, height) in [(80, 24), (100, 30), (200, 60)] {
        let mut model = model(width, height);
        typed(&cut, &mut model, "");
        let text = shown(&model);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!("bytes can't be read; {read} messages read, the last event at +");
        assert!(flat.contains(&said), "{width}x{height}: {text}");
        typed(&cut, &mut model, "j");
        let text = shown(&model);
        assert!(text.contains("INCOMPLETE (:notice)") && !text.contains("can't be read"), "{text}");
        typed(&cut, &mut model, ":notice\n");
        assert!(shown(&model).contains("can't be read"));
    }
}

#[test]
fn reports_dropped_contents_on_the_screen() {
    let options =
        Options { store: store::Options { history: 1_600_000, ..Default::default() }, ..options(None) };
    let feed = ReplayFeed::new(options.open(loaded(&many(6000))), options, Decoded(Schema::builtin()), None);
    let before = feed.info().bar.expect("a bar").before;
    let mut model = model(100, 30);
    typed(&feed, &mut model, "");
    let text = shown(&model);
    let first = plural(before, "message");
    assert!(text.contains(&format!("the first {first} do not fit into --memory 1.6MB")), "{text}");
    assert!(text.contains(&first.replace(" messages", " beyond --memory")), "{text}");
    typed(&feed, &mut model, ":goto #1\n");
    let said = format!("message #1 is beyond --memory: the first message to go to is #{}", before + 1);
    assert_eq!(model.common.notice, Some(said));
}

#[test]
fn saves_marks_beside_the_recording() {
    let (folder, feed) = recorded(100);
    let mut first = model(100, 30);
    typed(&feed, &mut first, ":goto #18\nma");
    assert!(feed.save_marks(&first.marks).expect("a file"));
    assert_eq!(feed.marks(), first.marks);
    assert_eq!(saved::read(&folder.path().join("session.xdsrec")), first.marks);
}

#[test]
fn records_messages_and_nodes_under_a_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().join("reviews");
    let name = name.to_str().expect("text");
    let named = NamedRecording::begin(name, 6).expect("a file");
    let Err(why) = NamedRecording::begin(name, 6) else { panic!("it is there") };
    assert!(why.to_string().contains("exists"), "{why}");
    let said = named.end(loaded(TOUR), 12, false, "tap").expect("a recording");
    assert!(said.starts_with("6 messages recorded to ") && said.contains("reviews.xdsrec"), "{said}");
    let part = xdscope_sources::open_recording(&folder.path().join("reviews.xdsrec")).expect("a recording");
    assert_eq!(part.notices, Vec::<String>::new());
    let mut store = Store::new(part.catalog, part.clock, store::Options::default());
    part.frames.into_iter().for_each(|frame| store.handle(frame));
    assert_eq!(store.messages(), 6);
    assert!(store.streams().iter().all(|stream| stream.node.is_some()), "{:?}", store.streams());
    assert!(store.streams().iter().any(|stream| stream.partial), "and that it is a part");
}

#[test]
fn says_that_the_cursor_is_at_an_end_already() {
    let feed = feed(TOUR);
    assert_eq!(feed.replay(None, Seek::End).unwrap_err().to_string(), "this is the end");
    assert_eq!(feed.replay(None, Seek::Live).unwrap_err().to_string(), "this is the end");
    feed.replay(None, Seek::Start).unwrap();
    assert_eq!(feed.replay(None, Seek::Start).unwrap_err().to_string(), "this is the start");
}
