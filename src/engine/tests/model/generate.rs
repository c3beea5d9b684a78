//! Random sessions: good and bad clients and servers, which take turns on a few streams.

use super::script::{Ask, Entry, Push, Step, StepEvent, TYPES, Text};
use super::track::{Response, Status, Track};
use super::world::World;

const NAMES: [Text; 5] = ["a", "b", "c", "d", "e"];
const VERSIONS: [Text; 6] = ["v1", "v2", "v3", "v4", "v5", "v6"];
const RESOURCE_VERSIONS: [Text; 4] = ["r1", "r2", "r3", "r4"];
const NONCES: [Text; 24] = [
    "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11", "n12", "n13", "n14", "n15", "n16",
    "n17", "n18", "n19", "n20", "n21", "n22", "n23", "n24",
];
/// Nonces that no server issues.
const STRAY_NONCES: [Text; 2] = ["x1", "x2"];
const MAX_STREAMS: usize = 5;

/// All texts of all sessions.
pub(super) fn texts() -> impl Iterator<Item = Text> {
    let pools: [&'static [Text]; 6] =
        [&["", "*"], &NAMES, &VERSIONS, &RESOURCE_VERSIONS, &NONCES, &STRAY_NONCES];
    pools.into_iter().flatten().copied()
}

/// Random numbers from a seed (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True in `percent` of all cases.
    fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn some(&mut self, list: &[Text], percent: usize) -> Vec<Text> {
        list.iter().copied().filter(|_| self.is(percent)).collect()
    }
}

/// How the servers of a session choose nonces.
#[derive(Clone, Copy)]
enum Nonces {
    Fresh,
    Constant,
    Empty,
    Few,
    /// Fresh ones, and now and then none.
    SometimesEmpty,
}

/// The habits of the peers of one session.
struct Habits {
    nonces: Nonces,
    /// Percentage of requests that follow no rule.
    wild_requests: usize,
    /// Percentage of resources that nobody asked for.
    unasked: usize,
    partial: usize,
    gaps: usize,
}

impl Habits {
    fn of(random: &mut Random) -> Habits {
        let nonces = [
            Nonces::Fresh,
            Nonces::Fresh,
            Nonces::Fresh,
            Nonces::Constant,
            Nonces::Empty,
            Nonces::Few,
            Nonces::SometimesEmpty,
        ];
        Habits {
            nonces: random.pick(&nonces),
            wild_requests: random.pick(&[0, 5, 30]),
            unasked: random.pick(&[0, 10, 40]),
            partial: random.pick(&[0, 0, 50, 100]),
            gaps: random.pick(&[0, 0, 0, 5]),
        }
    }
}

/// A random session of so many steps.
pub(super) fn session(seed: u64, steps: usize) -> Vec<Step> {
    let mut random = Random(seed);
    let habits = Habits::of(&mut random);
    let (mut world, mut session) = (World::default(), Vec::new());
    let delta = random.is(50);
    while session.len() < steps {
        let step = step(&mut random, &habits, &world, delta);
        if world.allows(&step) {
            world.apply(&step);
            session.push(step);
        }
    }
    session
}

fn step(random: &mut Random, habits: &Habits, world: &World, delta: bool) -> Step {
    let wait = match random.below(40) {
        0 => 16_000,
        1 => 6_000,
        _ => 10,
    };
    let open: Vec<usize> = (0..world.streams.len()).filter(|at| !world.streams[*at].closed).collect();
    let may_open = world.streams.len() < MAX_STREAMS;
    if may_open && (open.is_empty() || random.is(2)) {
        let delta = if random.is(80) { delta } else { !delta };
        let event = StepEvent::Open { delta, partial: random.is(habits.partial) };
        return Step { wait, stream: world.streams.len(), event };
    }
    let Some(stream) = (!open.is_empty()).then(|| random.pick(&open)) else {
        return Step { wait, stream: 0, event: StepEvent::Close };
    };
    let kind = random.below(TYPES.len());
    let event = match random.below(100) {
        0..3 if may_open => StepEvent::Close,
        at if at >= 100 - habits.gaps => StepEvent::Gap,
        at if at < 55 => StepEvent::Request { kind, ask: request(random, habits, world, (stream, kind)) },
        _ => StepEvent::Response { kind, push: response(random, habits, world, (stream, kind)) },
    };
    Step { wait, stream, event }
}

fn request(random: &mut Random, habits: &Habits, world: &World, (stream, kind): (usize, usize)) -> Ask {
    let delta = world.streams[stream].delta;
    let blank = Track::new(kind, delta, world.streams[stream].partial);
    let track = world.streams[stream].find(kind).unwrap_or(&blank);
    if random.is(habits.wild_requests) {
        return wild_request(random, track);
    }
    let mut ask =
        if track.requests == 0 { first_request(random, world, track) } else { later_request(random, track) };
    if delta && random.is(30) || !delta && (random.is(30) || track.requests == 0) {
        change_names(random, track, &mut ask);
    } else if !delta {
        ask.names = track.last_list.clone().unwrap_or_default();
    }
    ask
}

fn wild_request(random: &mut Random, track: &Track) -> Ask {
    let issued: Vec<Text> = track.responses.iter().map(|response| response.push.nonce).collect();
    let nonce = match random.below(4) {
        0 => "",
        1 => random.pick(&STRAY_NONCES),
        _ if issued.is_empty() => random.pick(&NONCES),
        _ => random.pick(&issued),
    };
    let mut ask = Ask { nonce, error: random.is(20), names: any_names(random), ..Ask::default() };
    if track.delta {
        ask.unsubscribe = any_names(random);
        if random.is(10) && !issued.contains(&nonce) {
            ask.claims = claims(random, None);
        }
    } else {
        ask.version = if random.is(30) { "" } else { random.pick(&VERSIONS) };
    }
    ask
}

fn any_names(random: &mut Random) -> Vec<Text> {
    let mut names = random.some(&NAMES, 25);
    if random.is(10) {
        names.push("*");
    }
    if random.is(5) {
        names.extend(names.first().copied());
    }
    names
}

fn first_request(random: &mut Random, world: &World, track: &Track) -> Ask {
    let mut ask = Ask::default();
    let unasked = track.responses.iter().find(|response| response.status == Status::Pending);
    if let Some(pushed) = unasked.filter(|_| random.is(50)) {
        ask.nonce = pushed.push.nonce;
        ask.version = pushed.push.version;
        ask.error = random.is(20);
    } else if track.partial && random.is(70) {
        ask.nonce = random.pick(&STRAY_NONCES);
        ask.version = random.pick(&VERSIONS);
        ask.error = random.is(10);
    } else if random.is(50) {
        // A reconnect.
        let before = world.streams.iter().rev().filter(|stream| stream.delta == track.delta);
        let prior = before.filter_map(|stream| stream.find(track.kind)).next();
        if track.delta {
            ask.claims = claims(random, prior);
        } else {
            ask.version = random.pick(&VERSIONS);
        }
    }
    if track.delta {
        ask.version = "";
    }
    ask
}

fn claims(random: &mut Random, prior: Option<&Track>) -> Vec<(Text, Text)> {
    let held = prior.map(|prior| prior.accepted()).unwrap_or_default();
    let mut claims: Vec<(Text, Text)> = held.iter().map(|known| (known.name, known.version)).collect();
    if random.is(30) {
        let strange = random.pick(&NAMES);
        claims.retain(|(name, _)| *name != strange);
        claims.push((strange, random.pick(&RESOURCE_VERSIONS)));
    }
    claims.retain(|(_, version)| !version.is_empty());
    claims
}

fn later_request(random: &mut Random, track: &Track) -> Ask {
    let is_pending = |response: &&Response| response.status == Status::Pending;
    let pending: Vec<&Response> = track.responses.iter().filter(is_pending).collect();
    let in_force = track.responses.iter().rev().find(|response| response.status == Status::Acked);
    let version = in_force.map_or("", |response| response.push.version);
    let mut ask = Ask { version, ..Ask::default() };
    if pending.is_empty() || random.is(20) {
        // A change of names at the version in use.
        if !track.delta {
            let used = track.frontier.map(|at| &track.responses[at]);
            ask.nonce = used.map_or("", |response| response.push.nonce);
        }
    } else {
        let about = match random.below(10) {
            0 => pending[random.below(pending.len())],
            1..4 => pending[pending.len() - 1],
            _ => pending[0],
        };
        ask.nonce = about.push.nonce;
        ask.error = random.is(15);
        if !ask.error && random.is(95) {
            ask.version = about.push.version;
        }
    }
    if track.delta {
        ask.version = "";
    }
    ask
}

fn change_names(random: &mut Random, track: &Track, ask: &mut Ask) {
    if track.delta {
        ask.names = random.some(&NAMES, 20);
        if random.is(10) {
            ask.names.push("*");
        }
        ask.unsubscribe = random.some(&NAMES, 15);
        if random.is(8) {
            ask.unsubscribe.push("*");
        }
        if random.is(90) {
            let names = ask.names.clone();
            ask.unsubscribe.retain(|name| !names.contains(name));
        }
    } else if random.is(15) {
        ask.names = Vec::new();
    } else {
        ask.names = any_names(random);
    }
}

fn response(random: &mut Random, habits: &Habits, world: &World, (stream, kind): (usize, usize)) -> Push {
    let delta = world.streams[stream].delta;
    let blank = Track::new(kind, delta, world.streams[stream].partial);
    let track = world.streams[stream].find(kind).unwrap_or(&blank);
    let sent = track.responses.len();
    let nonce = match habits.nonces {
        Nonces::Fresh => NONCES[sent % NONCES.len()],
        Nonces::Constant => NONCES[0],
        Nonces::Empty => "",
        Nonces::Few => random.pick(&NONCES[..3]),
        Nonces::SometimesEmpty if random.is(30) => "",
        Nonces::SometimesEmpty => NONCES[sent % NONCES.len()],
    };
    let last = track.responses.last().map(|response| response.push.version);
    let version = match last {
        Some(last) if random.is(20) => last,
        _ if random.is(4) => "",
        _ if random.is(60) => VERSIONS[sent % VERSIONS.len()],
        _ => random.pick(&VERSIONS),
    };
    let wanted = |random: &mut Random, name: Text| match track.wants.covers(name) {
        true => random.is(70),
        false => random.is(habits.unasked),
    };
    let mut entries: Vec<Entry> = Vec::new();
    for name in NAMES {
        if wanted(random, name) {
            let content = random.pick(&[0, 0, 1, 2]);
            let version = if delta { random.pick(&RESOURCE_VERSIONS) } else { "" };
            entries.push(Entry { name, version, content });
        }
    }
    if random.is(3) {
        entries.extend(entries.first().copied());
    }
    let removed = match delta {
        true => random.some(&NAMES, 12),
        false => Vec::new(),
    };
    let removed = removed.into_iter().filter(|name| entries.iter().all(|entry| entry.name != *name));
    Push { version, nonce, removed: removed.collect(), entries }
}
