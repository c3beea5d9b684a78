//! A session of one client and one server, written down while it is played.

use std::collections::{BTreeMap, BTreeSet};

use super::client::{BAD, Client, Content, NAMES, Name, Wants};
use super::facts::{FEATURES, KINDS, Kind, Mode, Truth};
use super::random::Random;

/// Milliseconds between two messages.
const STEP: u64 = 10;
/// Milliseconds after which a name counts as missing.
const MISSING_AFTER: u64 = 15_000;
/// Most changes of a session.
const MAX_CHANGES: usize = 9;

/// A line of the script, with the number of its message.
struct Line {
    text: String,
    message: Option<u64>,
}

pub(super) struct Session {
    random: Random,
    mode: Mode,
    kind: Kind,
    has_ttls: bool,
    lines: Vec<Line>,
    now: u64,
    messages: u64,
    stream: u32,
    client: Client,
    /// The resources of the server.
    resources: BTreeMap<Name, Content>,
    version: u32,
    nonces: u32,
    /// REST: the version and the names of the last response.
    served: Option<(u32, Wants)>,
    /// SotW: the version that the client refused last.
    refused: Option<u32>,
    /// The client states on the stream, as its version, the one that it refused, and the server is
    /// silent.
    claims_refused: bool,
    /// A stream has ended with an error or without a response, and no later one has a response.
    is_cut_off: bool,
    /// Whether the stream has a response.
    has_response: bool,
    /// The server has removed the last resource, which is reported as a likely mistake.
    is_emptied: bool,
    /// Whether the server has ended a stream with an error: several in a row are a problem.
    has_failed: bool,
    /// The message with the newest verdict, and the messages of refusals since the last ACK.
    last_verdict: u64,
    last_refusals: Vec<u64>,
    /// Messages before this one are not in the recording; 0 if all are.
    cut: u64,
}

impl Session {
    /// Plays the session of a seed.
    pub(super) fn of(seed: u64) -> Session {
        let mut random = Random::new(seed);
        let mode = random.pick(&[Mode::Ads, Mode::Sotw, Mode::DeltaAds, Mode::Delta, Mode::Rest]);
        let kind = random.pick(&KINDS);
        let has_ttls = mode != Mode::Rest && random.is(20);
        let mut session = Session {
            random,
            mode,
            kind,
            has_ttls,
            lines: Vec::new(),
            now: 0,
            messages: 0,
            stream: 0,
            client: Client::default(),
            resources: BTreeMap::new(),
            version: 1,
            nonces: 0,
            served: None,
            refused: None,
            claims_refused: false,
            is_cut_off: false,
            has_response: false,
            is_emptied: false,
            has_failed: false,
            last_verdict: 0,
            last_refusals: Vec::new(),
            cut: 0,
        };
        session.play();
        session
    }

    /// Returns the session as an arrow script.
    pub(super) fn script(&self) -> String {
        let mut out = String::new();
        for line in &self.lines {
            if line.message.is_none_or(|message| message >= self.cut) {
                out.push_str(&line.text);
                out.push('\n');
            }
        }
        out
    }

    pub(super) fn is_partial(&self) -> bool {
        self.cut > 0
    }

    /// Whether it is known that the session has a problem, or has none.
    pub(super) fn is_judged(&self) -> bool {
        !(self.is_cut_off || self.is_emptied || self.claims_refused)
    }

    /// Whether the client refuses a response, or waits for a name too long.
    pub(super) fn is_wrong(&self) -> bool {
        let is_late = |since: &u64| self.now.saturating_sub(*since) >= MISSING_AFTER;
        let refuses = self.client.refusals > 0 || !self.client.unaccepted.is_empty();
        refuses || self.client.owed.values().any(is_late)
    }

    pub(super) fn truths(&self) -> Vec<Truth> {
        let client = &self.client;
        let is_recorded = self.last_verdict >= self.cut;
        let in_force = client.in_force.map(|version| format!("v{version}"));
        // A client without a version states an empty one.
        let in_force = (is_recorded && !self.mode.is_delta()).then_some(in_force);
        let refusals = self.last_refusals.iter().filter(|message| **message >= self.cut).count() as u64;
        let accepted = client.held.iter().map(|(name, content)| (*name, format!("r{}", content.version)));
        let knows_accepted = self.mode.is_delta() && self.cut == 0;
        vec![Truth {
            stream: self.stream,
            type_name: self.kind.type_name,
            is_recorded: is_recorded && self.messages > 0,
            is_partial: self.is_partial(),
            in_force,
            refusals: (!self.claims_refused).then_some(refusals),
            has_all_refusals: self.stream == 1 && !self.is_partial(),
            owed: client.owed.keys().copied().collect(),
            accepted: accepted.filter(|_| knows_accepted).collect(),
        }]
    }

    fn play(&mut self) {
        let features = match self.has_ttls {
            true => FEATURES,
            false => "",
        };
        self.lines.push(Line { text: format!("node n1{features}"), message: None });
        for name in ["a", "b", "c"] {
            if self.random.is(60) {
                self.put(name, false);
            }
        }
        let wants = self.first_wants();
        self.client.want(wants, 0);
        self.connect();
        for _ in 0..=self.random.below(MAX_CHANGES) {
            match self.random.below(10) {
                0..5 => self.change_resources(),
                5..8 => self.change_names(),
                8 if self.has_ttls => self.send_heartbeats(),
                _ => self.reconnect(),
            }
        }
        if self.mode == Mode::Rest {
            self.poll();
        }
        if self.random.is(40) {
            self.now += 20_000;
            self.lines.push(Line { text: "advance 20s".to_owned(), message: None });
        }
        self.cut_beginning();
    }

    /// Leaves out the first messages of a session with one stream.
    fn cut_beginning(&mut self) {
        let can_cut = self.stream == 1 && self.messages > 3 && self.mode != Mode::Rest;
        if can_cut && self.random.is(40) {
            self.cut = 2 + self.random.below(self.messages as usize - 2) as u64;
            let at = self.lines.iter().position(|line| line.text.contains("stream 1 ")).unwrap_or_default();
            self.lines.insert(at + 1, Line { text: "partial 1".to_owned(), message: None });
        }
    }

    fn first_wants(&mut self) -> Wants {
        if self.kind.is_full && self.random.is(60) {
            let is_explicit = self.random.is(50);
            return Wants { is_wildcard: true, is_explicit, names: BTreeSet::new() };
        }
        let mut names: BTreeSet<Name> = NAMES.iter().copied().filter(|_| self.random.is(50)).collect();
        names.insert("a");
        Wants { is_wildcard: false, is_explicit: false, names }
    }

    fn line(&mut self, text: String) {
        self.now += STEP;
        self.messages += 1;
        self.has_response |= text.starts_with('<');
        self.is_cut_off &= !text.starts_with('<');
        let text = format!("+{}ms {} {text}", self.now, self.stream);
        self.lines.push(Line { text, message: Some(self.messages) });
    }

    /// Returns the type as a message of an aggregated stream states it.
    fn type_word(&self) -> &'static str {
        if matches!(self.mode, Mode::Ads | Mode::DeltaAds) { self.kind.word } else { "" }
    }

    fn connect(&mut self) {
        self.stream += 1;
        self.now += STEP;
        let ty = if self.type_word().is_empty() { self.kind.word } else { "" };
        let text = format!("+{}ms stream {} {} {ty}", self.now, self.stream, self.mode.word());
        self.lines.push(Line { text: text.trim_end().to_owned(), message: None });
        self.last_refusals.clear();
        self.has_response = false;
        if self.mode == Mode::Rest {
            return self.poll();
        }
        let has_claims = match self.mode.is_delta() {
            true => !self.client.held.is_empty(),
            false => self.client.in_force.is_some(),
        };
        if self.mode.is_delta() {
            let held = self.client.held.iter();
            let claims: Vec<String> = held.map(|(name, of)| format!("{name}:r{}", of.version)).collect();
            let irv =
                if claims.is_empty() { String::new() } else { format!(" irv={{{}}}", claims.join(" ")) };
            let sub = self.client.wants.listed().join(" ");
            let sub = if sub.is_empty() { String::new() } else { format!(" sub=[{sub}]") };
            self.line(format!("> {}{sub}{irv}", self.type_word()));
            self.last_verdict = self.messages;
            self.push_after_delta_request(&self.client.wants.clone(), !has_claims);
            return;
        }
        let stated = if self.claims_refused { self.refused } else { self.client.in_force };
        let request = self.request_at(stated);
        self.line(request);
        self.last_verdict = self.messages;
        // A server does not send the version that the client states.
        if stated != Some(self.version) {
            self.claims_refused = false;
            self.push();
        }
    }

    /// Returns a SotW request with the version in use.
    fn sotw_request(&self) -> String {
        self.request_at(self.client.in_force)
    }

    fn request_at(&self, version: Option<u32>) -> String {
        let version = version.map(|version| format!("v{version}")).unwrap_or_default();
        let names = self.client.wants.listed().join(" ");
        let nonce = &self.client.nonce;
        format!("> {} v={version} n={nonce} names=[{names}]", self.type_word())
    }

    /// Sends what the client wants, and has the client answer.
    fn push(&mut self) {
        let covered = self.resources.iter().filter(|(name, _)| self.client.wants.covers(name));
        let sent: BTreeMap<Name, Content> = covered.map(|(name, content)| (*name, *content)).collect();
        if sent.is_empty() && !self.kind.is_full {
            return;
        }
        self.is_emptied = sent.is_empty() && (self.is_emptied || !self.client.held.is_empty());
        let nonce = self.next_nonce();
        let entries: Vec<String> = sent.iter().map(|(name, content)| self.entry(name, *content)).collect();
        self.line(format!("< {} v=v{} n={nonce} [{}]", self.type_word(), self.version, entries.join(" ")));
        self.client.nonce = nonce;
        for name in sent.keys() {
            self.client.answered(name);
        }
        let is_bad = sent.values().any(|content| content.tag == BAD);
        if !is_bad {
            self.client.in_force = Some(self.version);
            match self.kind.is_full {
                true => self.client.held = sent,
                false => self.client.held.extend(sent),
            }
        }
        let request = self.sotw_request();
        self.answer(request, is_bad);
    }

    fn answer(&mut self, request: String, is_bad: bool) {
        self.line(if is_bad { format!("{request} nack=\"bad content\"") } else { request });
        self.last_verdict = self.messages;
        if is_bad {
            self.client.refusals += 1;
            self.last_refusals.push(self.messages);
            self.refused = Some(self.version);
        } else {
            self.client.refusals = 0;
            self.last_refusals.clear();
        }
    }

    fn next_nonce(&mut self) -> String {
        self.nonces += 1;
        format!("n{}", self.nonces)
    }

    /// Returns a resource as a response lists it.
    fn entry(&self, name: Name, content: Content) -> String {
        match (self.mode.is_delta(), self.has_ttls) {
            (true, true) => format!("{name}~{}@r{} ttl=60s", content.tag, content.version),
            (true, false) => format!("{name}~{}@r{}", content.tag, content.version),
            (false, true) => format!("wrap({name}~{}@v{} ttl=60s)", content.tag, self.version),
            (false, false) => format!("{name}~{}", content.tag),
        }
    }

    /// Delta: sends resources and removals, and has the client answer.
    fn push_delta(&mut self, sent: &BTreeMap<Name, Content>, removed: &[Name]) {
        let nonce = self.next_nonce();
        let entries: Vec<String> = sent.iter().map(|(name, content)| self.entry(name, *content)).collect();
        let rm = if removed.is_empty() { String::new() } else { format!(" rm=[{}]", removed.join(" ")) };
        self.line(format!("< {} n={nonce} [{}]{rm}", self.type_word(), entries.join(" ")));
        for name in sent.keys().chain(removed) {
            self.client.answered(name);
        }
        let is_bad = sent.values().any(|content| content.tag == BAD);
        let client = &mut self.client;
        client.unaccepted.retain(|name| !sent.contains_key(name) && !removed.contains(name));
        if is_bad {
            let lacks = |(name, content): &(&Name, &Content)| client.held.get(*name) != Some(*content);
            client.unaccepted.extend(sent.iter().filter(lacks).map(|(name, _)| *name));
        } else {
            self.client.held.extend(sent.iter().map(|(name, content)| (*name, *content)));
            self.client.held.retain(|name, _| !removed.contains(name));
        }
        self.answer(format!("> {} n={nonce}", self.type_word()), is_bad);
    }

    /// Delta: answers a request for names. `is_new`: the server does not know what the client has.
    fn push_after_delta_request(&mut self, asked: &Wants, is_new: bool) {
        let mut sent = BTreeMap::new();
        let mut removed: Vec<Name> = Vec::new();
        for name in NAMES {
            let held = self.client.held.get(name).copied().filter(|_| !is_new);
            match self.resources.get(name).copied().filter(|_| asked.covers(name)) {
                Some(content) if held != Some(content) => {
                    sent.insert(name, content);
                }
                Some(_) => {}
                None if asked.names.contains(name) => removed.push(name),
                None if held.is_some() && asked.covers(name) => removed.push(name),
                None => {}
            }
        }
        self.answer_delta_request(asked, &sent, &removed);
    }

    /// Delta: a request for everything has an answer, also while there is nothing to send.
    fn answer_delta_request(&mut self, asked: &Wants, sent: &BTreeMap<Name, Content>, removed: &[Name]) {
        if asked.is_wildcard || !sent.is_empty() || !removed.is_empty() {
            self.push_delta(sent, removed);
        }
    }

    fn put(&mut self, name: Name, is_bad: bool) {
        let version = self.resources.get(name).map_or(0, |content| content.version) + 1;
        let tag = if is_bad { BAD } else { (version - 1) % 8 };
        self.version += 1;
        self.resources.insert(name, Content { tag, version: self.version });
    }

    /// Changes resources of the server: the bad ones are corrected before others change.
    fn change_resources(&mut self) {
        let before = self.resources.clone();
        let bad: Vec<Name> =
            self.resources.iter().filter(|(_, content)| content.tag == BAD).map(|(name, _)| *name).collect();
        for name in &bad {
            self.put(name, false);
        }
        let name = self.random.pick(&NAMES[..4]);
        if bad.is_empty() && self.random.is(20) && self.resources.remove(name).is_some() {
            self.version += 1;
        } else if !bad.contains(&name) {
            let is_bad = bad.is_empty() && self.random.is(20);
            self.put(name, is_bad);
        }
        self.publish(&before);
    }

    /// Sends what has changed since `before`.
    fn publish(&mut self, before: &BTreeMap<Name, Content>) {
        let wants = &self.client.wants;
        let changed = |name: &Name| self.resources.get(name) != before.get(name) && wants.covers(name);
        let changed: Vec<Name> = NAMES.into_iter().filter(changed).collect();
        if self.mode == Mode::Rest {
            self.poll();
        } else if self.mode.is_delta() {
            let sent = changed.iter().filter_map(|name| Some((*name, *self.resources.get(name)?)));
            let sent: BTreeMap<Name, Content> = sent.collect();
            let removed: Vec<Name> =
                changed.iter().copied().filter(|name| !self.resources.contains_key(name)).collect();
            if !changed.is_empty() {
                self.push_delta(&sent, &removed);
            }
        } else if changed.iter().any(|name| self.kind.is_full || self.resources.contains_key(name)) {
            self.push();
        }
    }

    /// Changes the names of the client, which has answered all responses.
    fn change_names(&mut self) {
        if self.client.refusals > 0 {
            return;
        }
        let old = self.client.wants.clone();
        let mut wants = old.clone();
        if self.kind.is_full && self.random.is(50) {
            // A wildcard by an empty list does not come back: `*` does.
            wants.is_wildcard = !wants.is_wildcard;
            wants.is_explicit = wants.is_wildcard;
            if !wants.is_wildcard && wants.names.is_empty() {
                wants.names.insert("a");
            }
        } else if !wants.is_wildcard || wants.is_explicit {
            let name = self.random.pick(&NAMES);
            if !wants.names.remove(name) {
                wants.names.insert(name);
            }
            if wants.listed().is_empty() {
                wants.names.insert("b");
            }
        }
        if wants == old || (self.mode.is_delta() && old.is_wildcard && !old.is_explicit) {
            return;
        }
        self.client.want(wants.clone(), self.now + STEP);
        match self.mode {
            Mode::Rest => self.poll(),
            Mode::Ads | Mode::Sotw => self.change_sotw_names(&old),
            Mode::DeltaAds | Mode::Delta => self.change_delta_names(&old),
        }
    }

    fn change_sotw_names(&mut self, old: &Wants) {
        let request = self.sotw_request();
        self.line(request);
        self.last_verdict = self.messages;
        let wants = &self.client.wants;
        let is_new = |name: &&Name| wants.covers(name) && !old.covers(name);
        let has_new = self.resources.keys().any(|name| is_new(&name));
        let has_old = self.resources.keys().any(|name| old.covers(name) && !wants.covers(name));
        let is_new_wildcard = wants.is_wildcard && !old.is_wildcard;
        if has_new || (self.kind.is_full && (has_old || is_new_wildcard)) {
            self.push();
        }
    }

    fn change_delta_names(&mut self, old: &Wants) {
        let wants = self.client.wants.clone();
        let list = |now: &Wants, before: &Wants| -> Vec<Name> {
            let star = now.is_wildcard && !before.is_wildcard;
            let names = now.names.difference(&before.names).copied();
            star.then_some("*").into_iter().chain(names).collect()
        };
        let (sub, unsub) = (list(&wants, old), list(old, &wants));
        let part = |word: &str, names: &[Name]| match names {
            [] => String::new(),
            names => format!(" {word}=[{}]", names.join(" ")),
        };
        self.line(format!("> {}{}{}", self.type_word(), part("sub", &sub), part("unsub", &unsub)));
        let asked = Wants {
            is_wildcard: sub.contains(&"*"),
            is_explicit: true,
            names: wants.names.difference(&old.names).copied().collect(),
        };
        // A name that a wildcard covers goes on to be sent, or is reported as gone.
        let left: Vec<Name> = unsub.iter().copied().filter(|name| wants.covers(name)).collect();
        let mut sent = BTreeMap::new();
        let mut removed: Vec<Name> = Vec::new();
        for name in NAMES {
            let is_asked = asked.covers(name) || left.contains(&name);
            match self.resources.get(name).copied().filter(|_| is_asked) {
                Some(content) => {
                    sent.insert(name, content);
                }
                None if asked.names.contains(name) || left.contains(&name) => removed.push(name),
                None => {}
            }
        }
        self.answer_delta_request(&asked, &sent, &removed);
    }

    /// Restarts the TTLs of all resources that the client has.
    fn send_heartbeats(&mut self) {
        if self.client.refusals > 0 || self.client.held.is_empty() {
            return;
        }
        let held: Vec<(Name, Content)> = self.client.held.iter().map(|(name, of)| (*name, *of)).collect();
        let nonce = self.next_nonce();
        let version = self.client.in_force.unwrap_or_default();
        if self.mode.is_delta() {
            let entries = held.iter().map(|(name, of)| format!("{name}@r{} unset ttl=60s", of.version));
            let entries: Vec<String> = entries.collect();
            self.line(format!("< {} n={nonce} [{}]", self.type_word(), entries.join(" ")));
            let request = format!("> {} n={nonce}", self.type_word());
            return self.answer(request, false);
        }
        let entries = held.iter().map(|(name, _)| format!("wrap({name}@v{version} unset ttl=60s)"));
        let entries: Vec<String> = entries.collect();
        self.line(format!("< {} v=v{version} n={nonce} [{}]", self.type_word(), entries.join(" ")));
        self.client.nonce = nonce;
        let request = self.sotw_request();
        self.answer(request, false);
    }

    /// Ends the stream, and opens another one: of the same process, or of a new one.
    fn reconnect(&mut self) {
        if self.mode == Mode::Rest {
            return self.poll();
        }
        self.now += STEP;
        let fails = !self.has_failed && self.random.is(30);
        let by = if fails { "close status=14 \"gone\"" } else { "close" };
        self.has_failed |= fails;
        self.is_cut_off |= fails || !self.has_response;
        self.lines.push(Line { text: format!("+{}ms {} {by}", self.now, self.stream), message: None });
        self.now += 1_000;
        let is_restarted = self.random.is(30);
        if self.random.is(30) {
            let name = self.random.pick(&NAMES[..4]);
            self.put(name, false);
        }
        let can_claim = self.client.refusals > 0 && !self.mode.is_delta() && !is_restarted;
        self.claims_refused = can_claim && self.random.is(50);
        self.client.reconnect(is_restarted, self.now + 2 * STEP);
        if self.claims_refused {
            // The server takes the client for one that has the resources of the version.
            self.client.owed.retain(|name, _| !self.resources.contains_key(name));
        }
        self.connect();
    }

    /// REST: the client asks, with its verdict on the response before, and the server answers.
    fn poll(&mut self) {
        let request = self.sotw_request().replace(" n=", "");
        let request =
            if self.client.refusals > 0 { format!("{request} nack=\"bad content\"") } else { request };
        self.now += 1_000;
        self.line(request);
        self.last_verdict = self.messages;
        if self.client.refusals > 0 && self.last_refusals.is_empty() {
            self.last_refusals.push(self.messages);
        } else if self.client.refusals == 0 {
            self.last_refusals.clear();
        }
        let state = (self.version, self.client.wants.clone());
        let covered = self.resources.iter().filter(|(name, _)| self.client.wants.covers(name));
        let sent: BTreeMap<Name, Content> = covered.map(|(name, content)| (*name, *content)).collect();
        if self.served.as_ref() == Some(&state) || (sent.is_empty() && !self.kind.is_full) {
            return self.line("< http=304".to_owned());
        }
        self.served = Some(state);
        self.is_emptied = sent.is_empty() && (self.is_emptied || !self.client.held.is_empty());
        let entries: Vec<String> = sent.iter().map(|(name, content)| self.entry(name, *content)).collect();
        self.line(format!("< v=v{} [{}]", self.version, entries.join(" ")));
        for name in sent.keys() {
            self.client.answered(name);
        }
        if sent.values().any(|content| content.tag == BAD) {
            self.client.refusals = 1;
            return;
        }
        self.client.refusals = 0;
        self.client.in_force = Some(self.version);
        match self.kind.is_full {
            true => self.client.held = sent,
            false => self.client.held.extend(sent),
        }
    }
}
