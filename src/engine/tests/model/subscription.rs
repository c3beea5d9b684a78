//! The names that a client wants, and those that the server owes.

use crate::session::Wildcard;

use super::script::{Ask, Entry, Text, is_full_state};
use super::track::{EarlierRefusal, Fate, Known, Owed, RequestFacts, Response, Stamp, Status, Track, Wants};
use super::views::unique;

const STAR: Text = "*";

impl Wants {
    /// Whether the client wants everything, as far as is known.
    pub(super) fn is_wildcard(&self) -> bool {
        !matches!(self.wildcard, Wildcard::None | Wildcard::Unknown)
    }

    /// Whether the client wants the name, or may do so.
    pub(super) fn covers(&self, name: Text) -> bool {
        self.wildcard != Wildcard::None || self.names.contains(&name)
    }
}

fn without_repeats(list: &[Text]) -> Vec<Text> {
    let mut out = Vec::new();
    for name in list.iter().filter(|name| **name != STAR) {
        if !out.contains(name) {
            out.push(*name);
        }
    }
    out
}

impl Track {
    fn owe(&mut self, stamp: Stamp, name: Text, held: bool) {
        match self.owed.iter_mut().find(|owed| owed.name == name) {
            Some(owed) => (owed.last, owed.is_member) = (stamp.seq, false),
            None => {
                let (since, at, is_member) = (stamp.seq, stamp.at, false);
                self.owed.push(Owed { name, since, last: since, at, held, is_member });
            }
        }
    }

    /// The client asks for the wildcard again: the server owes what the client had given up or
    /// ignored (docs/protocol.md#e-36). It owes no answer to a wildcard for other types than
    /// listeners and clusters (docs/protocol.md#l-07).
    fn ask_again(&mut self, stamp: Stamp, was: &Wants) {
        if was.wildcard != Wildcard::None || !self.wants.is_wildcard() || self.requests == 0 {
            return;
        }
        for known in self.known.clone() {
            let had_been_sent = known.is_present() || known.fate == Fate::Released;
            let is_kept = known.is_present() && was.names.contains(&known.name);
            let is_unrequested = self.unrequested.contains(&known.name);
            let is_crossing = is_unrequested && !self.answered_before(stamp, known.name);
            if !had_been_sent || is_kept || is_crossing {
                continue;
            }
            self.unrequested.retain(|name| *name != known.name);
            if !is_full_state(self.kind) {
                self.put(Known { fate: Fate::Released, ..known });
                continue;
            }
            self.put(Known { fate: Fate::WantedAgain, ..known });
            self.drop_accepted(known.name);
            let is_owed = self.owed.iter().any(|owed| owed.name == known.name);
            self.owe(stamp, known.name, false);
            let own = self.owed.iter_mut().filter(|owed| owed.name == known.name && !is_owed);
            own.for_each(|owed| owed.is_member = true);
        }
    }

    /// The client gives up the wildcard, or the server has answered with other members.
    pub(super) fn give_up_members(&mut self) {
        let members: Vec<Text> =
            self.owed.iter().filter(|owed| owed.is_member).map(|owed| owed.name).collect();
        members.into_iter().for_each(|name| self.give_up(name));
    }

    pub(super) fn deliver(&mut self, name: Text) {
        self.owed.retain(|owed| owed.name != name);
    }

    pub(super) fn find(&self, name: Text) -> Option<&Known> {
        self.known.iter().find(|known| known.name == name)
    }

    pub(super) fn put(&mut self, known: Known) {
        match self.known.iter_mut().find(|other| other.name == known.name) {
            Some(other) => *other = known,
            None => self.known.push(known),
        }
    }

    /// The wildcard of a client begins or ends. `is_verdict`: with the verdict on a response.
    fn change_wildcard(&mut self, stamp: Stamp, was: &Wants, starts: bool, is_verdict: bool) {
        if was.is_wildcard() && !self.wants.is_wildcard() {
            self.wildcard_owed = None;
            self.give_up_members();
        }
        let was_none = was.wildcard == Wildcard::None || starts || self.delta;
        // The server has sent it unasked.
        let has_come = self.requests == 0 && is_verdict;
        if !was.is_wildcard() && self.wants.is_wildcard() && was_none && !has_come {
            self.wildcard_owed = Some(stamp.at);
        }
    }

    /// SotW: each request lists all names (docs/protocol.md#e-31).
    pub(super) fn replace_names(
        &mut self,
        stamp: Stamp,
        ask: &Ask,
        stale: bool,
        prior: Option<&Track>,
        facts: &mut RequestFacts,
    ) {
        let list = Some(ask.names.clone());
        if self.last_list == list {
            if !stale {
                self.effective = None;
            }
            return;
        }
        self.last_list = list;
        let starts = self.starts_with(ask);
        self.ever_named |= !ask.names.is_empty();
        let star = ask.names.contains(&STAR);
        let wildcard = if star {
            // docs/protocol.md#e-38
            Wildcard::Explicit
        } else if !ask.names.is_empty() || self.ever_named {
            // docs/protocol.md#e-41, docs/protocol.md#e-40
            Wildcard::None
        } else if starts || self.wants.wildcard == Wildcard::Legacy {
            // docs/protocol.md#e-39
            Wildcard::Legacy
        } else {
            Wildcard::Unknown
        };
        let now = Wants { wildcard, names: without_repeats(&ask.names) };
        let was = std::mem::replace(&mut self.wants, now);
        self.change_wildcard(stamp, &was, starts, facts.answers.is_some());
        if star && !was.is_wildcard() {
            facts.added.push(STAR);
        }
        if was.wildcard == Wildcard::Explicit && !star {
            facts.removed.push(STAR);
        }
        let names = self.wants.names.clone();
        facts.added.extend(names.iter().filter(|name| !was.names.contains(name)));
        facts.removed.extend(was.names.iter().filter(|name| !names.contains(name)));
        for name in was.names.iter().filter(|name| !names.contains(name)) {
            self.give_up(name);
        }
        if self.requests == 0 {
            self.begin_sotw(stamp, ask, prior, starts);
        } else {
            // A wildcard may have brought a resource before the recording, or in a gap.
            let is_restated = self.is_full_state() && self.responses.len() > self.gap;
            let is_unseen = was.is_wildcard() && self.has_lost && !is_restated;
            let unsure = was.wildcard == Wildcard::Unknown || is_unseen;
            for name in names.iter().filter(|name| !was.names.contains(name)) {
                self.begin(stamp, name, was.wildcard != Wildcard::None, unsure);
            }
            self.ask_again(stamp, &was);
        }
        self.effective = match stale {
            true => Some(self.effective.take().unwrap_or(was)).filter(|wants| *wants != self.wants),
            false => None,
        };
    }

    /// The names of a first request: the client may have resources from an earlier stream
    /// (docs/protocol.md#e-18, docs/protocol.md#e-19).
    fn begin_sotw(&mut self, stamp: Stamp, ask: &Ask, prior: Option<&Track>, starts: bool) {
        let has_nonce = |response: &Response| response.push.nonce == ask.nonce;
        let is_verdict = !ask.nonce.is_empty() && self.responses.iter().any(has_nonce);
        let claims = !ask.version.is_empty() && !is_verdict;
        // The server may have sent the names before the recording.
        let states_nothing = ask.version.is_empty() && ask.nonce.is_empty();
        let mut held = !starts && !states_nothing;
        let mut is_outdated = false;
        let mut older: Vec<Text> = Vec::new();
        let is_refused = claims && prior.is_some_and(|prior| prior.has_only_refused(ask.version));
        if let Some(prior) = prior.filter(|_| claims && (is_refused || self.stray.is_some())) {
            self.had = prior.last_version().unwrap_or_default();
        }
        self.refused_claim = is_refused.then_some(ask.version);
        if claims {
            match prior.filter(|prior| prior.is_known_at_end()) {
                Some(prior) => {
                    let is_open = is_refused || self.stray.is_some();
                    let is_stated = starts && !is_open;
                    let known = match is_stated {
                        true => prior.at_version(ask.version),
                        false => prior.accepted(),
                    };
                    // The server owes what the client did not request before.
                    let was_wanted = |name: Text| !prior.names_known || prior.wants.covers(name);
                    let is_kept = |known: &Known| self.wants.covers(known.name) && was_wanted(known.name);
                    let mut kept: Vec<Known> = known.into_iter().filter(is_kept).collect();
                    let sent = prior.known.iter().copied().filter(Known::is_present).filter(is_kept);
                    let sent: Vec<Known> = sent.collect();
                    is_outdated = is_stated && prior.is_other(ask.version);
                    let is_in_force = is_stated && prior.last_version() == Some(ask.version);
                    let owed = kept.iter().filter(|known| is_in_force && prior.owes_newer(known.name));
                    older.extend(owed.map(|known| known.name));
                    let owes_all = is_outdated || (is_in_force && prior.owes_all());
                    self.late |= !older.is_empty() || (owes_all && !kept.is_empty());
                    if is_outdated {
                        kept.iter_mut()
                            .for_each(|known| (known.version, known.content) = (ask.version, None));
                    }
                    if !is_outdated {
                        self.earlier_refusals = prior.refusals_at_end(|name| self.wants.covers(name));
                    }
                    let is_empty = is_stated && prior.is_empty_at(ask.version);
                    if (!kept.is_empty() || is_empty || is_open) && !owes_all {
                        self.wildcard_owed = None;
                        self.has_empty_version = is_empty;
                    }
                    // Responses of this stream say more than those of the stream before.
                    let is_replaced = !self.responses.is_empty() && self.is_full_state();
                    // The server does not send a version again that the client states.
                    for known in if is_refused { sent } else { kept.clone() } {
                        if !is_replaced && self.find(known.name).is_none() {
                            self.put(Known { fate: Fate::Kept, ..known });
                        }
                    }
                    for known in kept {
                        self.carried.push(Known { fate: Fate::Kept, ..known });
                    }
                }
                None => {
                    held = true;
                    self.wildcard_owed = None;
                    self.claimed = Some(self.had).filter(|had| !had.is_empty());
                    self.is_unproved = self.stray.is_some();
                }
            }
        }
        for name in self.wants.names.clone() {
            self.unrequested.retain(|other| *other != name);
            let is_older = |known: &Known| known.fate == Fate::Kept && older.contains(&known.name);
            let known = self.find(name).filter(|known| known.is_present() && !is_older(known));
            let is_gone = !starts && self.find(name).is_some_and(|known| known.fate == Fate::Removed);
            if (is_outdated || known.is_none()) && !is_gone {
                self.owe(stamp, name, held);
            }
        }
    }

    /// The version in force at the end of a stream, if it is known.
    fn last_version(&self) -> Option<Text> {
        let is_known = self.nonces_known || self.frontier.is_some_and(|used| used >= self.gap);
        self.version_in_force().filter(|_| is_known)
    }

    /// Whether the client has refused a version, and has it neither from this stream nor from
    /// before.
    fn has_only_refused(&self, version: Text) -> bool {
        let newest = self.responses.iter().rev().find(|response| response.push.version == version);
        let is_refused = match newest {
            Some(newest) => matches!(newest.status, Status::Nacked { .. }),
            None => {
                let is_of_version = |of: &EarlierRefusal| of.response_version == version;
                self.refused_claim == Some(version) || self.earlier_refusals.iter().any(is_of_version)
            }
        };
        is_refused && self.version_in_force() != Some(version)
    }

    /// The version of the newest response, unless the client has refused it.
    fn newest_version(&self) -> Option<Text> {
        let newest = self.responses.last()?;
        (!matches!(newest.status, Status::Nacked { .. })).then_some(newest.push.version)
    }

    /// The resources of a client that states a version in its first request on the next stream
    /// (docs/protocol.md#e-02).
    fn at_version(&self, version: Text) -> Vec<Known> {
        if self.newest_version() == Some(version) && self.last_version() != Some(version) {
            return self.known.iter().filter(|known| known.is_present()).copied().collect();
        }
        self.accepted()
    }

    /// Whether a client with the wildcard knows that the version has no resources.
    fn is_empty_at(&self, version: Text) -> bool {
        let is_known = [self.last_version(), self.newest_version()].contains(&Some(version));
        let has_all = self.wants.is_wildcard() && self.wildcard_owed.is_none();
        has_all && is_known && self.at_version(version).is_empty()
    }

    /// Whether a client with the version has something else than this stream has shown.
    fn is_other(&self, version: Text) -> bool {
        let known = self.last_version();
        known.is_some() && known != Some(version) && self.newest_version() != Some(version)
    }

    /// A refusal is over once the client wants none of the refused names any more.
    pub(super) fn give_up_refused(&mut self, removed: &[Text], is_wildcard_lost: bool) {
        let wants = self.wants.clone();
        let is_kept = |name: &Text| wants.covers(name) || !(is_wildcard_lost || removed.contains(name));
        self.earlier_refusals.retain(|of| is_kept(&of.content.name));
        let mut forgotten = 0;
        for response in &mut self.responses {
            let names = response.refused.len() + response.refused_removals.len();
            response.refused.retain(is_kept);
            response.refused_removals.retain(is_kept);
            forgotten += names - response.refused.len() - response.refused_removals.len();
        }
        if forgotten == 0 {
            return;
        }
        let has_names = |response: &Response| {
            let is_refused = matches!(response.status, Status::Nacked { .. });
            is_refused && !(response.refused.is_empty() && response.refused_removals.is_empty())
        };
        let newest = self.responses.iter().rposition(has_names);
        for (order, response) in self.responses.iter_mut().enumerate() {
            response.is_given_up |= response.has_refused_names && newest.is_none_or(|newest| newest < order);
        }
    }

    /// A name joins the subscription. `covered`: a wildcard may have covered it before; `unsure`:
    /// whether one did is unknown.
    fn begin(&mut self, stamp: Stamp, name: Text, covered: bool, unsure: bool) {
        let unrequested = self.unrequested.contains(&name);
        self.unrequested.retain(|other| *other != name);
        match self.find(name).copied() {
            // The name may have been wanted already when the response came: the two crossed.
            Some(known) if known.is_present() && unrequested && !self.answered_before(stamp, name) => {
                self.owe(stamp, name, true);
            }
            Some(known) if known.is_present() && covered && !unrequested => {
                // Delta: the server sends every name in the list (docs/protocol.md#f-14). SotW: the
                // client has the resource already.
                if self.delta {
                    self.owe(stamp, name, true);
                }
            }
            // The client ignored the resource, or gave it up (docs/protocol.md#e-36).
            Some(known) => {
                self.put(Known { fate: Fate::WantedAgain, ..known });
                if !covered || known.is_present() {
                    self.drop_accepted(name);
                }
                self.owe(stamp, name, false);
            }
            None => self.owe(stamp, name, unsure && !self.delta),
        }
    }

    /// The client has given up a resource that it had accepted.
    fn drop_accepted(&mut self, name: Text) {
        self.carried.retain(|known| known.name != name);
        let accepted = self.responses.iter_mut().filter(|response| response.status == Status::Acked);
        accepted.for_each(|response| response.dropped.push(name));
    }

    /// Whether the client answered the last response with the name before this request.
    fn answered_before(&self, stamp: Stamp, name: Text) -> bool {
        let has_name = |response: &&Response| response.push.entries.iter().any(|entry| entry.name == name);
        let last = self.responses.iter().rev().find(has_name);
        last.is_some_and(|response| response.settled_by.is_some_and(|by| by < stamp.seq))
    }

    /// A name leaves the subscription (docs/protocol.md#e-31, docs/protocol.md#f-08).
    fn give_up(&mut self, name: Text) {
        self.deliver(name);
        if let Some(known) = self.find(name).copied().filter(|known| known.fate == Fate::WantedAgain) {
            self.put(Known { fate: Fate::Released, ..known });
        }
    }

    /// Delta: a request names what changes, whatever its nonce (docs/protocol.md#f-07).
    pub(super) fn change_delta_names(
        &mut self,
        stamp: Stamp,
        ask: &Ask,
        prior: Option<&Track>,
        facts: &mut RequestFacts,
    ) {
        let (was, starts) = (self.wants.clone(), self.starts_with(ask));
        for name in &ask.unsubscribe {
            self.leave(name, facts);
        }
        if starts {
            // docs/protocol.md#f-21
            self.wants.wildcard = match (ask.names.is_empty(), ask.unsubscribe.is_empty()) {
                (true, true) => Wildcard::Legacy,
                (true, false) => Wildcard::Ambiguous,
                (false, _) => Wildcard::None,
            };
        }
        let mut fresh = Vec::new();
        for name in &ask.names {
            if *name == STAR {
                // docs/protocol.md#f-20
                if !was.is_wildcard() && !facts.added.contains(&STAR) {
                    facts.added.push(STAR);
                }
                self.wants.wildcard = Wildcard::Explicit;
            } else if self.wants.names.contains(name) {
                // The server sends the resource again (docs/protocol.md#f-14).
                let held = self.find(name).is_some_and(Known::is_present);
                if !fresh.contains(name) {
                    self.owe(stamp, name, held);
                }
            } else {
                self.wants.names.push(name);
                fresh.push(*name);
                facts.added.push(name);
            }
        }
        self.change_wildcard(stamp, &was, starts, facts.answers.is_some());
        let wants = self.wants.clone();
        let is_left = |known: &Known| known.fate == Fate::Kept && !wants.covers(known.name);
        let left: Vec<Text> =
            self.known.iter().filter(|known| is_left(known)).map(|known| known.name).collect();
        self.owed.retain(|owed| !left.contains(&owed.name));
        if self.requests == 0 {
            self.begin_delta(stamp, ask, prior, &fresh);
        } else {
            for name in fresh {
                self.begin(stamp, name, was.wildcard != Wildcard::None, false);
            }
            self.ask_again(stamp, &was);
        }
    }

    fn leave(&mut self, name: Text, facts: &mut RequestFacts) {
        if name == STAR {
            // docs/protocol.md#f-23
            if self.wants.wildcard != Wildcard::None {
                facts.removed.push(STAR);
            }
            self.wants.wildcard = Wildcard::None;
            return;
        }
        if self.wants.names.contains(&name) {
            facts.removed.push(name);
            self.wants.names.retain(|other| *other != name);
            self.give_up(name);
        }
    }

    /// The names of a first delta request, with the versions that the client has
    /// (docs/protocol.md#f-15, docs/protocol.md#f-17).
    fn begin_delta(&mut self, stamp: Stamp, ask: &Ask, prior: Option<&Track>, fresh: &[Text]) {
        let prior = prior.filter(|prior| prior.is_known_at_end());
        if !ask.claims.is_empty() {
            self.wildcard_owed = None;
            self.is_unproved = prior.is_none() && self.stray.is_some();
            self.had = prior.and_then(Track::last_version).unwrap_or_default();
        }
        let mut owed = Vec::new();
        let is_claimed = |name: Text| ask.claims.iter().any(|(claimed, _)| *claimed == name);
        let wants = self.wants.clone();
        let refusals = prior.filter(|_| !ask.claims.is_empty());
        let refusals =
            refusals.map(|prior| prior.refusals_at_end(|name| is_claimed(name) && wants.covers(name)));
        self.earlier_refusals = refusals.unwrap_or_default();
        for (name, version) in &ask.claims {
            if !self.wants.covers(name) {
                continue;
            }
            let same = |known: &&Known| known.name == *name && known.version == *version;
            let bare = Known { name, version, content: None, fate: Fate::Kept };
            let last = prior.and_then(|prior| prior.find(name)).copied();
            let sent = last.filter(Known::is_present);
            let accepted = prior.map(Track::accepted).unwrap_or_default();
            let of_version: Vec<Known> = accepted.iter().chain(&sent).filter(same).copied().collect();
            let has_content = of_version.iter().find(|known| known.content.is_some());
            let refusals = self.earlier_refusals.iter().map(|of| of.content);
            let mut refused = refusals.filter(|of| of.name == *name && of.version == *version);
            let known = has_content.or(of_version.first()).copied();
            let bare = Known { content: refused.next().and_then(|of| of.content), ..bare };
            let claimed = match known {
                Some(known) => Known { content: known.content.or(bare.content), ..known },
                None => bare,
            };
            let before = accepted.iter().find(|known| known.name == *name);
            let is_accepted = before.is_some_and(|known| known.version == *version);
            let has_refused =
                prior.is_some_and(|prior| prior.refused_versions().contains(&(*name, *version)));
            let used = match has_refused && !is_accepted {
                true => before.copied(),
                false => Some(claimed).filter(|_| !self.is_unproved),
            };
            self.has_refused_claims |= has_refused && !is_accepted;
            self.carried.extend(used.map(|used| Known { fate: Fate::Kept, ..used }));
            // Responses of this stream count more.
            if self.find(name).is_some() {
                continue;
            }
            let is_refused = prior.is_some_and(|prior| prior.refused().contains(name));
            let same_sent = sent.filter(|sent| sent.version == *version && !is_refused);
            self.put(Known { fate: Fate::Kept, ..same_sent.unwrap_or(claimed) });
            // The server may have sent the stated version on a stream before the last one.
            let owed_before = prior.and_then(|prior| prior.newest_of_owed_claim(name));
            let is_newest = last.is_none_or(|last| match (last.fate, owed_before) {
                (Fate::Removed | Fate::DoesNotExist, _) => false,
                (Fate::Released, _) => true,
                (Fate::Sent | Fate::Kept | Fate::WantedAgain, Some(newest)) => newest == Some(*version),
                (Fate::Sent | Fate::Kept | Fate::WantedAgain, None) => last.version == *version,
            });
            if !is_newest {
                let newest = owed_before.unwrap_or(sent.map(|sent| sent.version));
                self.newest_of_claims.push((*name, newest));
                owed.push(*name);
            }
        }
        for name in fresh {
            self.unrequested.retain(|other| other != name);
            match self.find(name) {
                Some(known) if known.is_present() => {}
                _ => self.owe(stamp, name, false),
            }
        }
        // The server has another version, or none, which it owes (docs/protocol.md#f-17).
        self.late |= !owed.is_empty();
        owed.into_iter().for_each(|name| self.owe(stamp, name, false));
    }

    /// Delta: the versions of resources that the client has refused, on this stream or before.
    fn refused_versions(&self) -> Vec<(Text, Text)> {
        let accepted = self.accepted();
        let is_used = |known: &Known| {
            accepted.iter().any(|other| other.name == known.name && other.version == known.version)
        };
        let mut versions = Vec::new();
        for name in self.refused() {
            let refused = self.responses.iter().rev().filter(|response| response.refused.contains(&name));
            let mut refused = refused.filter(|response| matches!(response.status, Status::Nacked { .. }));
            let entries = refused.next().map(|response| unique(&response.push)).unwrap_or_default();
            versions.extend(entries.iter().filter(|of| of.name == name).map(|of| (name, of.version)));
        }
        let own = self.refused();
        let earlier = self.earlier_refusals.iter().map(|of| of.content);
        let earlier = earlier.filter(|of| !own.contains(&of.name));
        versions.extend(earlier.map(|of| (of.name, of.version)));
        if self.has_refused_claims {
            let kept = self.known.iter().filter(|known| known.fate == Fate::Kept && !is_used(known));
            versions.extend(kept.map(|known| (known.name, known.version)));
        }
        versions
    }

    /// The contents that the client refuses at the end of a stream, on the stream or before.
    fn refusals_at_end(&self, is_wanted: impl Fn(Text) -> bool) -> Vec<EarlierRefusal> {
        let own = self.refused();
        let accepted = self.accepted();
        let is_earlier = |of: &&EarlierRefusal| !own.contains(&of.content.name);
        let mut all: Vec<EarlierRefusal> = self.earlier_refusals.iter().filter(is_earlier).copied().collect();
        for name in own {
            let is_refused =
                |of: &&Response| matches!(of.status, Status::Nacked { .. }) && of.refused.contains(&name);
            let Some(response) = self.responses.iter().rev().find(is_refused) else { continue };
            let entries = unique(&response.push);
            let entry = entries.iter().find(|entry| entry.name == name);
            let has = |entry: &&Entry| {
                let version = self.version_of(&response.push, entry);
                accepted.iter().any(|known| known.name == name && known.version == version)
            };
            all.extend(entry.filter(|entry| !has(entry)).map(|entry| {
                let version = self.version_of(&response.push, entry);
                let content = Known { name, version, content: Some(entry.content), fate: Fate::Kept };
                EarlierRefusal { content, response_version: response.push.version }
            }));
        }
        all.retain(|of| is_wanted(of.content.name));
        all
    }

    /// Delta: the newest version of a resource that the client has stated at another version, if
    /// the server still owes that.
    fn newest_of_owed_claim(&self, name: Text) -> Option<Option<Text>> {
        let is_owed = self.find(name).is_some_and(|known| self.has_older(known));
        let mut newest = self.newest_of_claims.iter().filter(|(of, _)| is_owed && *of == name);
        newest.next().map(|(_, newest)| *newest)
    }

    /// Whether the client has the resource from an earlier stream, and not at the newest version.
    pub(super) fn has_older(&self, known: &Known) -> bool {
        let is_owed = match self.owed.iter().find(|owed| owed.name == known.name) {
            Some(owed) => !owed.held,
            None => !self.delta && self.owes_wildcard(),
        };
        self.late && known.fate == Fate::Kept && is_owed
    }

    /// Whether the server had to send another version of what the client has.
    fn owes_newer(&self, name: Text) -> bool {
        let mut open = self.responses.iter().filter(|response| self.is_open(response));
        let is_older = self.find(name).is_some_and(|known| self.has_older(known));
        (is_older && self.owed.iter().any(|owed| owed.name == name))
            || open.any(|response| response.push.entries.iter().any(|entry| entry.name == name))
            || self.refused_at_end().contains(&name)
    }

    /// SotW: the names in responses that the client has refused since it accepted one, if it has
    /// another version.
    fn refused_at_end(&self) -> Vec<Text> {
        if self.delta {
            return Vec::new();
        }
        let is_acked = |response: &Response| response.status == Status::Acked;
        let from = self.responses.iter().rposition(is_acked).map_or(0, |ack| ack + 1);
        let is_refused = |response: &&Response| matches!(response.status, Status::Nacked { .. });
        let refused = || self.responses.iter().skip(from).filter(is_refused);
        if refused().all(|response| Some(response.push.version) == self.last_version()) {
            return Vec::new();
        }
        refused()
            .flat_map(|response| response.refused.iter().chain(&response.refused_removals))
            .copied()
            .collect()
    }

    /// SotW: whether the server had to send all resources of a type in another version.
    fn owes_all(&self) -> bool {
        let has_open = self.responses.iter().any(|response| self.is_open(response));
        let is_older = |known: &Known| known.fate == Fate::Kept;
        (self.is_full_state() && (has_open || !self.refused_at_end().is_empty()))
            || (self.late && !self.delta && self.owes_wildcard() && self.known.iter().any(is_older))
    }

    /// Whether the server owes the wildcard: it need not answer one for other types than listeners
    /// and clusters (docs/protocol.md#l-07).
    fn owes_wildcard(&self) -> bool {
        is_full_state(self.kind) && self.wildcard_owed.is_some()
    }

    /// SotW: whether a response has no verdict and another version than the client has.
    fn is_open(&self, response: &Response) -> bool {
        let is_pending = !self.delta && response.status == Status::Pending;
        is_pending && Some(response.push.version) != self.last_version()
    }
}
