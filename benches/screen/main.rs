//! Measures the time from a key to the painted screen, at 100,000 resources, 1,000 streams and
//! 1,000,000 messages, while 10,000 messages per second arrive.
//!
//! `cargo bench --bench screen` prints one line per figure in milliseconds, with the number of
//! blank frames of that size that could have been painted instead. `-- --quick` runs a small fleet,
//! to check that the bench works; `-- screens|filter|push|idle` runs those groups, `-- screens 4 8`
//! some screens. Messages pass the analysis of a tap, and keys the loop of the screens; only
//! terminal and sockets are left out.

#[path = "../clusters/mod.rs"]
mod clusters;
mod fleet;
mod keys;
mod seat;
mod wire;

use std::time::Duration;

use xdscope_schema::Schema;
use xdscope_tui::{Msg, ScreenId};
use xdscope_wire::event::StreamId;

use fleet::{DELTA, Fleet, SOTW, Size};
use keys::keys;
use seat::{Seat, Waits};

/// Messages per second that arrive meanwhile.
const RATE: u64 = 10_000;
/// Interval between two keys, longer than that of a held key, so that no key waits for the previous
/// one.
const GAP: Duration = Duration::from_millis(25);
/// Longest delay that a person does not notice.
const AIM: &str = "aims: p99 16, never above 50";

/// Keys for every screen: arrows, pages, ends, the other pane, a filter typed and cleared, Enter.
const ANYWHERE: &str =
    "<down><down>jk<up><pgdn><pgdn><pgup>Gg<tab>jj<pgdn>k<tab><tab>/service-00001<enter>jj<esc>";
/// Keys for one screen.
const OWN: [(ScreenId, &str); 9] = [
    (ScreenId::Overview, "s2js3js1<right>l}}{<esc>zjz<enter><esc>"),
    (ScreenId::Stream, "}{]t<esc>T<enter><esc>"),
    (ScreenId::Timeline, "kkffLjL<enter><esc>vvvvvwwff"),
    (ScreenId::Resources, "<enter><esc>zzvvvviijj}P<esc>[]"),
    (ScreenId::Diff, "))(uuoocc[]bbb"),
    (ScreenId::Nack, "}{zz<enter><esc>"),
    (ScreenId::Subscriptions, "s2s3s1}{"),
    (ScreenId::Graph, "zz<right><left>pp}{P<esc>"),
    (ScreenId::Lint, "}{xxs2s3s1<enter><esc>"),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let has = |word: &str| words.iter().any(|given| given == word);
    let groups = ["screens", "filter", "push", "idle"];
    let any = groups.iter().any(|group| has(group));
    let wanted = |group: &str| !any || has(group);
    let (size, turns) = match has("--quick") {
        true => (Size { resources: 5_000, streams: 60, messages: 20_000 }, 1),
        false => (Size { resources: 100_000, streams: 1_000, messages: 1_000_000 }, 4),
    };
    let schema = Schema::builtin();
    schema.warm();
    let fleet = Fleet::new(size, &schema);
    let mut seat = Seat::new(fleet.shared.clone(), schema);
    let blank = seat.blank();
    say(&format!(
        "{} resources, {} streams, {} messages; a blank frame of 200x60: {:.2} ms",
        size.resources,
        size.streams,
        fleet.shared.store().messages(),
        blank * 1e3
    ));
    let traffic = fleet.traffic(RATE);
    if wanted("screens") {
        let chosen = |screen: &ScreenId| {
            let numbers = words.iter().any(|word| word.parse::<u8>().is_ok());
            !numbers || has(&screen.number().to_string())
        };
        for (screen, own) in OWN.into_iter().filter(|(screen, _)| chosen(screen)) {
            open(&mut seat, screen, DELTA);
            let mut waits = Waits::default();
            for _ in 0..turns {
                for part in [ANYWHERE, own] {
                    open(&mut seat, screen, DELTA);
                    waits.extend(seat.press(&keys(part), GAP));
                }
            }
            line(&format!("screen {} {}", screen.number(), screen.title()), &mut waits, blank, AIM);
        }
    }
    if wanted("filter") {
        filter(&mut seat, blank, turns);
    }
    if wanted("push") {
        push(&mut seat, &fleet, blank, turns);
    }
    if wanted("idle") {
        open(&mut seat, ScreenId::Overview, DELTA);
        seat.press(&keys(" "), GAP);
        idle(&mut seat, "paused, messages arrive");
        seat.press(&keys(" "), GAP);
    }
    drop(traffic);
    if wanted("idle") {
        fleet.settle();
        seat.rest(Duration::from_secs(1));
        idle(&mut seat, "not paused, no messages");
    }
}

/// Opens a screen of a stream.
fn open(seat: &mut Seat, screen: ScreenId, stream: usize) {
    let stream = StreamId(1 + stream as u32);
    let model = &mut seat.screens.model;
    model.overlays.clear();
    (model.common.filter, model.find, model.common.is_full_screen) = (None, None, false);
    model.screen = ScreenId::Overview;
    model.common.scope.type_url = None;
    seat.press(&keys("<esc>"), GAP);
    seat.screens.model.common.scope.stream = Some(stream);
    if screen == ScreenId::Diff {
        seat.press(&keys(":diff cds/outbound|8000||service-000000.ns-0<enter>"), Duration::from_millis(2));
    } else {
        seat.press(&keys(&screen.number().to_string()), GAP);
    }
    seat.rest(Duration::from_millis(150));
    if screen != ScreenId::Overview {
        assert_eq!(seat.screens.model.screen, screen, "{:?}", seat.screens.model.common.notice);
    }
}

/// Filters all names: from a key to the first frame with matches.
fn filter(seat: &mut Seat, blank: f64, turns: usize) {
    let word = |turn: usize| vec![format!("service-09999{turn}"), format!("ns-3{turn}"), format!("09{turn}")];
    let regex = |turn: usize| vec![format!("name:/0{turn}9.ns/")];
    let kinds: [(&str, &dyn Fn(usize) -> Vec<String>, &str); 2] =
        [("a word", &word, "aim: 20"), ("an expression", &regex, "no aim")];
    for (of, screen) in [("resources", ScreenId::Resources), ("subscriptions", ScreenId::Subscriptions)] {
        for (kind, texts, aim) in kinds {
            let (mut first, mut all) = (Waits::default(), Waits::default());
            for text in (0..turns).flat_map(texts) {
                open(seat, screen, DELTA);
                seat.press(&keys("/"), GAP);
                let (shown, done) = seat.find(Msg::Paste(text.clone()), screen);
                first.add(shown, text.clone());
                all.add(done, text);
            }
            line(&format!("/ {kind} over all {of}: first matches"), &mut first, blank, aim);
            line(&format!("/ {kind} over all {of}: all matches"), &mut all, blank, "no aim");
        }
    }
}

/// Presses keys while all resources are pushed again once a second.
fn push(seat: &mut Seat, fleet: &Fleet, blank: f64, turns: usize) {
    for screen in [ScreenId::Overview, ScreenId::Timeline, ScreenId::Resources] {
        let mut waits = Waits::default();
        open(seat, screen, SOTW);
        for turn in 0..turns * 2 {
            fleet.push(turn + 1);
            waits.extend(seat.press(&keys("jjkkjjkkjjkkjjkk"), Duration::from_millis(25)));
            seat.rest(Duration::from_millis(300));
        }
        line(&format!("screen {} while all is pushed again", screen.number()), &mut waits, blank, AIM);
    }
}

fn idle(seat: &mut Seat, what: &str) {
    let time = Duration::from_secs(3);
    seat.rest(time);
    let (written, used) = (seat.written(), seat::cpu());
    seat.rest(time);
    let (written, used) = (seat.written() - written, seat::cpu().saturating_sub(used));
    let percent = used.as_secs_f64() / time.as_secs_f64() * 100.0;
    say(&format!("idle, {what}: {written} bytes written, {percent:.2} % of a CPU (aim when paused: none)"));
}

fn line(what: &str, waits: &mut Waits, blank: f64, aim: &str) {
    let [p50, p99, max] = waits.figures();
    say(&format!(
        "{what:<48} p50 {:>6.2}  p99 {:>6.2}  max {:>6.2} ms of {:>4} keys; p50 {:>5.1} x blank ({aim}); longest {}",
        p50 * 1e3,
        p99 * 1e3,
        max * 1e3,
        waits.len(),
        p50 / blank,
        waits.worst()
    ));
}

/// Prints one line of the report.
fn say(line: &str) {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").expect("somebody reads");
}
