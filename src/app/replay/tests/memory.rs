//! Recordings that do not fit into `--memory`.

use rustix::time::{ClockId, clock_gettime};

use super::*;

/// Reads a recording with this budget, as `replay` does.
fn read(path: &std::path::Path, history: usize) -> Cursor {
    let codec = SchemaCodec(Schema::builtin());
    let recording = xdscope_sources::start(&Spec::new(path), &codec).expect("readable").expect("a recording");
    let store = store::Options { history, ..store::Options::default() };
    let reading = Reading::new(store, bytes(), bounded(&Schema::builtin()));
    let ((cursor, _), _) = Cursor::read(recording, &reading, None).expect("messages");
    cursor
}

/// Resources that change one after the other, on streams of many clients.
fn clients(count: usize) -> String {
    let mut text = String::new();
    for client in 1..=count {
        let _ = writeln!(text, "node n{client}\nstream {client} ads\n+{client}s {client} > cds");
        for push in 1..=40 {
            let at = client * 1000 + push * 20;
            let _ = writeln!(text, "+{at}ms {client} < cds v={push} n=n{push} [a~{client}{push} b{client}]");
            let nack = if push % 9 == 0 { " nack=\"no\" code=13" } else { "" };
            let version = if push % 9 == 0 { push - 1 } else { push };
            let _ = writeln!(text, "+{}ms {client} > cds v={version} n=n{push}{nack}", at + 5);
        }
        if client % 3 != 0 {
            let _ = writeln!(text, "+{}ms {client} close status=14 \"gone\"", client * 1000 + 900);
        }
    }
    text
}

#[test]
fn drops_the_oldest_messages_and_shows_the_rest_unchanged() {
    let (_folder, path) = written(&clients(150), 100);
    let (mut small, mut whole) = (read(&path, 1_500_000), read(&path, usize::MAX));
    let before = small.before();
    assert!(before > 1000 && before < small.messages() - 100, "{before} of {}", small.messages());
    assert_eq!((whole.before(), whole.messages()), (0, small.messages()));
    assert!(small.store().catalog().memory() < whole.store().catalog().memory());
    let mut dice = 7;
    for _ in 0..5 {
        dice = (dice * 1_103_515_245 + 12_345) % (1 << 31);
        let n = Seq(before + dice % (small.messages() - before));
        for cursor in [&mut small, &mut whole] {
            let to = cursor.of_message(n).expect("a place");
            cursor.seek(to);
            assert_eq!(cursor.of_time(to.now).now, to.now);
        }
        assert_eq!(small.position(), whole.position());
        let first = small.store().first_row();
        assert!(first > 0);
        // The time since a response is known even if the response was dropped.
        for row in first..small.store().rows() {
            let waits =
                [&small, &whole].map(|cursor| cursor.store().exchange(row).and_then(|row| row.latency));
            assert_eq!(waits[0], waits[1], "row {row} at {n:?}");
        }
        for row in (first + 100..small.store().rows()).step_by(29) {
            let rows = [&small, &whole].map(|cursor| format!("{:?}", cursor.store().row(row)));
            assert_eq!(rows[0], rows[1], "row {row} at {n:?}");
        }
        // Ended streams that no row shows are dropped; all others have the same facts.
        for state in small.store().states() {
            let known = |cursor: &Cursor| {
                let of_type = |other: &store::StateFact| {
                    (other.summary.stream, &other.summary.type_url)
                        == (state.summary.stream, &state.summary.type_url)
                };
                let found = cursor.store().states().into_iter().find(of_type);
                let resources = cursor.store().resources(state.summary.stream, &state.summary.type_url);
                format!("{found:?} {resources:?}")
            };
            assert_eq!(known(&small), known(&whole), "at {n:?}");
        }
        assert_eq!(format!("{:?}", small.findings()), format!("{:?}", whole.findings()), "at {n:?}");
    }
}

/// Streams with several types, whose resources change in turn.
fn many_tracks(streams: usize, updates: usize) -> String {
    const TYPES: [&str; 6] = ["cds", "eds", "lds", "rds", "sds", "ecds"];
    let mut text = String::new();
    for stream in 1..=streams {
        let _ = writeln!(text, "node n{stream}\nstream {stream} delta-ads");
        for kind in TYPES {
            let _ = writeln!(text, "+0s {stream} > {kind} sub=[*]");
        }
    }
    for update in 0..updates {
        let stream = 1 + update % streams;
        let (kind, name) = (TYPES[update / streams % TYPES.len()], update / streams / TYPES.len() % 20);
        let _ =
            writeln!(text, "+{}ms {stream} < {kind} n=n{update} [r{name}~{update}@{update}]", 10 + update);
        let _ = writeln!(text, "+{}ms {stream} > {kind} n=n{update}", 10 + update);
    }
    text
}

#[test]
fn checkpoints_share_what_did_not_change() {
    let loaded = loaded(&many_tracks(50, 3000));
    let store = Store::new(loaded.catalog, loaded.clock, store::Options::default());
    let mut store = Analysis::new(store, bounded(&Schema::builtin()));
    let (last, frames) = loaded.frames.split_last().expect("frames");
    frames.iter().for_each(|frame| store.handle(frame.clone()));
    let empty = Analysis::new(
        Store::new(Catalog::in_memory(), loaded.clock, store::Options::default()),
        bounded(&Schema::builtin()),
    );
    let before = store.checkpoint();
    store.handle(last.clone());
    let after = store.checkpoint();
    let (own, whole) = (before.own_memory(&after), before.own_memory(&empty.checkpoint()));
    assert!(own > 0 && own * 8 < whole, "one message on one of 50 streams: {own} of {whole} bytes");
}

#[test]
fn checkpoints_count_in_the_memory() {
    const BUDGET: usize = 8 << 20;
    let (_folder, path) = written(&many_tracks(20, 12_000), 100);
    let mut cursor = read(&path, BUDGET);
    let (memory, checkpoints) = cursor.memory();
    // A copy of the state for each of 128 checkpoints took 300 MB.
    assert!(memory < BUDGET * 2, "{memory} bytes, {checkpoints} of these for checkpoints");
    // The cursor goes to each message that is held, by a short way.
    for n in [cursor.before(), (cursor.before() + cursor.messages()) / 2, cursor.messages() - 1] {
        let to = cursor.of_message(Seq(n)).expect("a message that is held");
        cursor.seek(to);
        assert_eq!(cursor.store().messages(), n);
    }
}

/// Returns the CPU time of reading a source of clients whose streams fail, and finding its marks.
fn cost_of_failing(clients: usize) -> Duration {
    let mut text = String::new();
    for stream in 1..=clients * 3 {
        let (client, at) = (stream.div_ceil(3), stream * 10);
        let _ = writeln!(text, "node n{client}\nstream {stream} ads\n+{at}ms {stream} > cds");
        let _ = writeln!(text, "+{}ms {stream} close status=16 \"denied\"", at + 1);
    }
    let time = || clock_gettime(ClockId::ThreadCPUTime);
    let before = time();
    let (cursor, looks) = ended(&text, usize::MAX);
    let marks = Marks::find(&cursor, looks);
    let after = time();
    assert!(marks.problem(cursor.start(), Direction::Forward, ProblemFilter::All).is_some());
    let nanos = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec;
    Duration::from_nanos(u64::try_from(nanos).expect("time goes on"))
}

#[test]
fn cost_of_clients_that_fail_is_linear() {
    let (few, many) = (cost_of_failing(250), cost_of_failing(1000));
    // Streams are examined a few hundred times, and more often if there are more.
    assert!(many < few * 10, "{few:?} for 250 clients, {many:?} for 1,000");
}
