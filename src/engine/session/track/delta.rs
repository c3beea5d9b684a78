use std::borrow::Cow;
use std::collections::BTreeSet;

use indexmap::IndexSet;

use xdscope_wire::DeltaRequest;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{DenseHash, Sym};

use super::answer::changes_names;
use super::claims::{Claim, ClaimOutcome, Claims, MAX_LEFT_NAMES};
use super::prior::Prior;
use crate::session::content::names::{SymMap, SymSet};
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::events::EventKind;
use crate::session::outcome::RequestOutcome;
use crate::session::subscription::{NameRequest, SubscribedNames};
use crate::session::track::Track;
use crate::session::{Context, Wildcard};
use xdscope_wire::xdstp::is_glob;

impl Track {
    /// Handles a delta request (docs/protocol.md#f-04 and following).
    pub(crate) fn delta_request(
        &mut self,
        ctx: &mut Context<'_>,
        request: &DeltaRequest,
        prior: Option<Prior>,
    ) -> RequestOutcome {
        let first = self.traffic.requests == 0;
        if let Some(prior) = &prior {
            self.verdicts.earlier.clone_from(&prior.nacks);
            let claims = request.initial_resource_versions.keys().map(|name| ctx.catalog.text(*name));
            let claims: BTreeSet<&str> = claims.collect();
            self.interventions.diverged = match prior.diverged.clone() {
                Some(diverged) => diverged.carried(|name| claims.contains(name)),
                None => None,
            };
        }
        let prior = prior.filter(|prior| !prior.has_unseen);
        self.take_version_of_claims(request, prior.as_ref());
        let starts = self.starts_with_delta(request);
        if starts {
            self.completeness.start();
        }
        let has_error = request.error_detail.is_some();
        let answer = self.delta_answer(request);
        let mut outcome = self.request_outcome(&answer);
        self.use_nonce(&request.response_nonce, &answer);
        self.apply_answer(
            ctx,
            &answer,
            &request.response_nonce,
            request.error_detail.as_deref(),
            &mut outcome,
        );
        // A client drops a response of a type that it has not requested yet.
        if let Some((answered, first)) = outcome.answers.zip(self.traffic.first_request)
            && first < answered
            && !self.completeness.has_lost
        {
            outcome.skipped = self.responses.skip_sent_before(first, ctx.seq);
        }
        if first {
            self.carried.stray =
                self.stray_answer(starts, outcome.answers, &request.response_nonce, has_error);
        }
        let was = self.subscribed.is_wildcard();
        let request = first_spellings(ctx, request);
        self.delta_names(ctx, &request, starts, prior, &mut outcome);
        outcome.wildcard = self.subscribed.wildcard;
        let is_wildcard_lost = outcome.was != Wildcard::None && outcome.wildcard == Wildcard::None;
        self.give_up_refused(ctx.catalog, &outcome.removed, is_wildcard_lost);
        let (gained, lost) = (!was && self.subscribed.is_wildcard(), was && !self.subscribed.is_wildcard());
        if gained || lost || !outcome.added.is_empty() || !outcome.removed.is_empty() {
            self.subscription.changed_at = ctx.at;
            self.subscription.changed_by = Some(ctx.seq);
        }
        let news = gained || !request.subscribe.is_empty() || !request.locators_subscribe.is_empty();
        let leaves = !request.unsubscribe.is_empty() || !request.locators_unsubscribe.is_empty();
        let nacks = has_error && answer.can_be_nack(outcome.referenced);
        outcome.kind = answer.verdict.kind(nacks, news, lost || leaves);
        let asked = [&request.subscribe[..], &request.locators_subscribe[..]].concat();
        self.count_request(ctx, news, &asked, outcome.kind);
        outcome
    }

    /// Takes over the version in force of the stream before, if the client states resources of that
    /// stream.
    fn take_version_of_claims(&mut self, request: &DeltaRequest, prior: Option<&Prior>) {
        if let Some(prior) = prior
            && !request.initial_resource_versions.is_empty()
        {
            self.verdicts.stated = prior.accepted_version.clone().filter(|version| !version.is_empty());
        }
    }

    /// Whether a request is known to be the first of the track.
    ///
    /// Only a first request states versions (docs/protocol.md#f-15), and only a first request says
    /// nothing at all (docs/protocol.md#f-21).
    fn starts_with_delta(&self, request: &DeltaRequest) -> bool {
        let says_nothing = !changes_names(request) && request.error_detail.is_none();
        let looks_first = request.response_nonce.is_empty()
            && (says_nothing || !request.initial_resource_versions.is_empty());
        self.may_start() && (!self.completeness.start_unseen || looks_first)
    }

    /// Changes the subscription, whatever the class of the request (docs/protocol.md#f-07).
    fn delta_names(
        &mut self,
        ctx: &mut Context<'_>,
        request: &DeltaRequest,
        starts: bool,
        prior: Option<Prior>,
        outcome: &mut RequestOutcome,
    ) {
        let was = self.subscribed.clone();
        self.unsubscribe_names(ctx, request, outcome);
        let fresh = self.subscribe_names(ctx, request, starts, &was, outcome);
        // A verdict as the first request: the wildcard is what the server has sent unasked.
        self.wildcard_changed(ctx, &was, !(outcome.first && outcome.answers.is_some()));
        self.release_owed_claims(ctx.catalog);
        if self.traffic.requests == 0 {
            return self.delta_first(ctx, request, prior, fresh);
        }
        for name in fresh {
            self.subscribe(ctx, name, &was, true);
        }
        self.request_members(ctx, &was);
        let is_wildcard = |wildcard: Wildcard| matches!(wildcard, Wildcard::Legacy | Wildcard::Explicit);
        if is_wildcard(was.wildcard) && is_wildcard(self.subscribed.wildcard) {
            self.owe_classification(ctx, &outcome.removed);
        }
    }

    /// Ends the subscription to the names that a request leaves.
    fn unsubscribe_names(
        &mut self,
        ctx: &mut Context<'_>,
        request: &DeltaRequest,
        outcome: &mut RequestOutcome,
    ) {
        let leaves = request.unsubscribe.iter().chain(&request.locators_unsubscribe);
        let mut members = SymSet::default();
        for name in leaves.clone() {
            if let Some(entry) = self.sent.get(ctx.catalog, *name)
                && entry.is_present()
                && self.covers(ctx.catalog, *name, Some(&entry))
            {
                members.insert(*name);
            }
        }
        for name in leaves {
            self.unsubscribe(ctx, *name, outcome);
        }
        // Members of a wildcard or glob are not unknown names (docs/protocol.md#f-24). The
        // meaning of a name in both lists is undefined; it stays subscribed
        // (docs/protocol.md#f-12).
        let is_known = |name: &Sym| members.contains(name) || request.subscribe.contains(name);
        outcome.unknown_unsubscribes.retain(|name| !is_known(name));
    }

    /// Adds the names that a request subscribes to. Returns those that are new.
    fn subscribe_names(
        &mut self,
        ctx: &mut Context<'_>,
        request: &DeltaRequest,
        starts: bool,
        was: &SubscribedNames,
        outcome: &mut RequestOutcome,
    ) -> Vec<Sym> {
        let comes = [&request.subscribe[..], &request.locators_subscribe[..]].concat();
        if starts {
            self.subscribed.wildcard = match (comes.is_empty(), request.unsubscribe.is_empty()) {
                (true, true) => Wildcard::Legacy,
                (true, false) => Wildcard::Ambiguous,
                (false, _) => Wildcard::None,
            };
        }
        self.subscription.was_named |= !comes.is_empty();
        let mut fresh: IndexSet<Sym, DenseHash> = IndexSet::default();
        for name in comes {
            self.subscription.unclassified.remove(&self.canonical(ctx.catalog, name));
            if name == ctx.star {
                if !was.is_wildcard() && !outcome.added.contains(&name) {
                    outcome.added.push(name);
                }
                self.subscribed.wildcard = Wildcard::Explicit;
            } else if self.subscribed.names.insert(name, ctx.runs) {
                fresh.insert(name);
                outcome.added.push(name);
            } else if !fresh.contains(&name) {
                self.subscribe_again(ctx, name);
            }
        }
        fresh.into_iter().collect()
    }

    /// Records names that were unsubscribed under the wildcard: the server owes the resource or its
    /// removal (docs/protocol.md#f-26).
    fn owe_classification(&mut self, ctx: &mut Context<'_>, removed: &[Sym]) {
        for name in removed {
            let canonical = self.canonical(ctx.catalog, *name);
            if self.names(ctx.catalog, canonical, self.sent.get(ctx.catalog, canonical).as_ref()) {
                continue;
            }
            self.subscription.owe_classification(canonical, ctx.at, ctx.seq);
            ctx.events.add(EventKind::PendingReclassification, canonical);
        }
    }

    /// Subscribes to a name again: the server owes the resource even if the client has it
    /// (docs/protocol.md#f-14).
    fn subscribe_again(&mut self, ctx: &mut Context<'_>, name: Sym) {
        let canonical = self.canonical(ctx.catalog, name);
        let has_resource = self.sent.is_present(ctx.catalog, canonical)
            || (is_glob(ctx.catalog.text(canonical)) && self.has_members(ctx.catalog, canonical));
        let request = NameRequest { has_resource, is_resend: has_resource, ..self.traffic.name_request(ctx) };
        self.wait_for(ctx, if has_resource { canonical } else { name }, request);
    }

    /// Ends the subscription to a name, and to the other names of its resource.
    fn unsubscribe(&mut self, ctx: &mut Context<'_>, name: Sym, outcome: &mut RequestOutcome) {
        if name == ctx.star {
            if self.subscribed.may_be_wildcard() {
                self.subscribed.wildcard = Wildcard::None;
                outcome.removed.push(name);
            }
            return;
        }
        // Another name of a resource unsubscribes it too. Of several names that the client has
        // subscribed, each counts on its own (docs/protocol.md#f-30).
        let canonical = self.canonical(ctx.catalog, name);
        let entry = self.sent.get(ctx.catalog, canonical);
        let mut spellings = vec![name];
        if !self.subscribed.names.contains(name) {
            spellings.push(canonical);
            if let Some(blob) = entry.and_then(|entry| entry.blob) {
                spellings.extend(ctx.catalog.entry(blob).aliases);
            }
        }
        let before = outcome.removed.len();
        for name in spellings {
            if self.subscribed.names.remove(name, ctx.runs) {
                outcome.removed.push(name);
                self.release(ctx, name);
            }
        }
        // The request has another name than the subscription.
        let released = outcome.removed.get(before..).unwrap_or_default();
        if !released.contains(&name) {
            for other in released {
                let pair = if canonical == name { [*other, name] } else { [name, *other] };
                ctx.events.add_all(EventKind::AliasResolved, &pair);
            }
        }
        // An alias is not an unknown name (docs/protocol.md#f-24).
        if outcome.removed.len() == before && canonical == name {
            outcome.unknown_unsubscribes.push(name);
        }
        // The server owes the newer version of a stated resource of the wildcard anyway.
        let is_claimed = self.owes_newer_version(canonical, entry.as_ref());
        // The server owes a member of a wildcard that is requested again, too.
        let is_member = self.waiting.get(canonical).is_some_and(|request| request.is_member);
        let is_owed_anyway = is_member || (is_claimed && self.covers(ctx.catalog, name, entry.as_ref()));
        let is_released = outcome.removed.len() > before || !is_owed_anyway;
        if is_released && !self.names(ctx.catalog, canonical, entry.as_ref()) {
            self.waiting.remove(canonical);
        }
    }

    /// Handles the first request of a stream: the client waits for names that
    /// `initial_resource_versions` does not list at their newest version (docs/protocol.md#f-15).
    fn delta_first(
        &mut self,
        ctx: &mut Context<'_>,
        request: &DeltaRequest,
        mut prior: Option<Prior>,
        fresh: Vec<Sym>,
    ) {
        if ctx.specials.structured {
            for name in &fresh {
                self.subscription.globs.insert(ctx.catalog, *name);
            }
        }
        let waiting = match &mut prior {
            Some(prior) if prior.is_continued(ctx) => std::mem::take(&mut prior.waiting),
            _ => SymMap::default(),
        };
        self.carry_aliases(ctx.catalog, request, prior.as_ref());
        self.note_claims(ctx, request, prior.as_ref());
        if !request.initial_resource_versions.is_empty() {
            self.subscription.wildcard_asked = None;
            // Nothing shows that the client has what a stray answer states.
            let is_proved = prior.is_some() || self.carried.stray.is_none();
            self.carried.is_unproved = !is_proved;
            self.add_claims(ctx, request, prior.unwrap_or_default());
        }
        let owed = self.owed_claims(ctx.catalog);
        let mut waited = Vec::new();
        let with_members = self.globs_with_members(ctx.catalog);
        for name in fresh {
            self.unrequested.remove(&name);
            match self.sent.get(ctx.catalog, self.canonical(ctx.catalog, name)) {
                Some(entry) if entry.is_present() => {}
                None if with_members.contains(&name) => {}
                Some(_) => {
                    let request = self.traffic.name_request(ctx);
                    self.wait_for(ctx, name, request);
                }
                None => waited.push(name),
            }
        }
        if self.waiting.is_empty() {
            let request = self.traffic.name_request(ctx);
            self.wait_for_first(ctx, waited, request, &waiting);
        } else {
            for name in waited {
                let request = self.traffic.name_request(ctx);
                self.wait_for(ctx, name, request);
            }
        }
        // Claimed at another version: the server owes the newest one, or the removal
        // (docs/protocol.md#f-17).
        for name in owed {
            let request = self.traffic.name_request(ctx);
            self.wait_for(ctx, name, request);
        }
    }

    /// Takes over the aliases of the stated resources (docs/protocol.md#f-30).
    fn carry_aliases(&mut self, catalog: &Catalog, request: &DeltaRequest, prior: Option<&Prior>) {
        let Some(prior) = prior else { return };
        for name in request.initial_resource_versions.keys() {
            // Those of a removed resource too: the server owes the removal to a client of an alias.
            let entry = prior.sent.get(catalog, *name);
            let Some(blob) = entry.and_then(|entry| entry.blob) else { continue };
            for alias in catalog.entry(blob).aliases {
                self.aliases.insert(catalog.first_spelling(*alias), *name);
            }
        }
    }

    /// Returns the stated resources of which the server owes another version, or the removal.
    fn owed_claims(&self, catalog: &Catalog) -> Vec<Sym> {
        if !self.carried.owes_newer {
            return Vec::new();
        }
        let mut owed = Vec::new();
        for (claim, outcome) in self.carried.claims.iter() {
            if outcome == ClaimOutcome::Owed
                && let Some(entry) = self.sent.get(catalog, claim.name)
                && entry.state == Presence::Kept
            {
                owed.push(claim.name);
            }
        }
        owed
    }

    /// Waits no more for stated resources to which the client does not subscribe any more.
    fn release_owed_claims(&mut self, catalog: &Catalog) {
        for name in self.owed_claims(catalog) {
            if !self.covers(catalog, name, self.sent.get(catalog, name).as_ref()) {
                self.waiting.remove(name);
                self.carried.claims.decide(name, ClaimOutcome::LeftBehind);
            }
        }
    }

    /// Records the resources that the client states, and those that it had before and does not
    /// request again.
    fn note_claims(&mut self, ctx: &Context<'_>, request: &DeltaRequest, prior: Option<&Prior>) {
        let stated = &request.initial_resource_versions;
        let mut left = Vec::new();
        if !stated.is_empty() {
            let mut restated = Vec::with_capacity(stated.len());
            for (name, version) in stated {
                let entry = prior.and_then(|prior| prior.sent.get(ctx.catalog, *name));
                if !self.covers(ctx.catalog, *name, entry.as_ref()) {
                    left.push(*name);
                }
                let known = match (prior.and_then(|prior| prior.claims.get(*name)), entry) {
                    (Some((earlier, ClaimOutcome::Owed)), _) => earlier.known,
                    (_, Some(entry)) if entry.is_present() => Some(entry.version),
                    _ => None,
                };
                restated.push(Claim { name: *name, version: *version, known });
            }
            self.carried.claims = Claims::new(ctx.seq, restated, &left);
        }
        let mut unclaimed = 0;
        // A client does not give up on one stream what it has on another.
        if let Some(prior) = prior
            && prior.ended.is_some()
        {
            for (name, entry) in prior.accepted.present_entries(ctx.catalog) {
                if !stated.contains_key(&name) && !self.covers(ctx.catalog, name, Some(&entry)) {
                    unclaimed += 1;
                    left.push(name);
                }
            }
        }
        self.carried.had(0, unclaimed, false);
        left.truncate(MAX_LEFT_NAMES);
        self.carried.left = left.into();
    }

    /// Adds the resources that the client claims to have.
    fn add_claims(&mut self, ctx: &mut Context<'_>, request: &DeltaRequest, prior: Prior) {
        let claims = &request.initial_resource_versions;
        let (sent, accepted) = {
            let track = &*self;
            let wanted = |catalog: &Catalog, name: Sym, entry: &ResourceEntry| {
                claims.get(&name) == Some(&entry.version) && track.covers(catalog, name, Some(entry))
            };
            (prior.sent.carry(ctx.catalog, wanted), prior.accepted.carry(ctx.catalog, wanted))
        };
        self.bring(ctx, sent, accepted);
        self.bring_warming(ctx, &prior);
        self.carried.refusals = prior.refusals.of_names(|name| {
            let entry = prior.sent.get(ctx.catalog, name);
            claims.contains_key(&name) && self.covers(ctx.catalog, name, entry.as_ref())
        });
        for (name, version) in claims {
            let last = prior.sent.get(ctx.catalog, *name);
            if self.covers(ctx.catalog, *name, last.as_ref()) {
                self.add_claim(ctx, *name, *version, &prior);
            }
        }
        self.carry_ttls(ctx, &prior);
    }

    /// Adds one resource that the client claims to have in a version.
    fn add_claim(&mut self, ctx: &mut Context<'_>, name: Sym, version: Sym, prior: &Prior) {
        let is_claimed = |entry: &ResourceEntry| entry.is_present() && entry.version == version;
        let had_accepted = prior.accepted.get(ctx.catalog, name);
        let is_refused = !had_accepted.as_ref().is_some_and(is_claimed)
            && prior.refused_versions.get(&name) == Some(&version);
        self.carried.has_refused_claims |= is_refused;
        // The content of the claimed version, if an earlier stream had it.
        let contents = [had_accepted, prior.sent.get(ctx.catalog, name)].into_iter().flatten();
        let known = contents.filter(is_claimed).find_map(|entry| entry.blob);
        let blob = match self.carried.refusals.get(name) {
            _ if known.is_some() => known,
            Some(earlier) if earlier.refusal.version == version => earlier.refusal.blob,
            _ => None,
        };
        let entry = ResourceEntry { state: Presence::Kept, blob, version, order: 0 };
        let used = match is_refused {
            true => had_accepted.filter(ResourceEntry::is_present),
            false if self.carried.is_unproved => None,
            false => Some(entry),
        };
        let accepted = self.accepted.get(ctx.catalog, name).filter(ResourceEntry::is_present);
        let is_unknown = |known: ResourceEntry| known.state == Presence::Kept && known.blob.is_none();
        if let Some(used) = used
            && accepted.is_none_or(is_unknown)
        {
            let used = ResourceEntry { state: Presence::Kept, order: 0, ..used };
            self.accepted.put(ctx.catalog, name, used);
        }
        let held = self.sent.get(ctx.catalog, name);
        if held.is_some_and(|held| held.state != Presence::Kept) {
            // Responses of this stream count more.
            return;
        }
        let is_newest = prior.is_newest_claim(ctx.catalog, name, version);
        if !is_newest {
            self.carried.owes_newer = true;
            self.carried.claims.decide(name, ClaimOutcome::Owed);
        }
        if held.is_none() {
            self.carried.unmentioned += usize::from(is_newest);
        }
        if held.is_none() || prior.refused.contains(&name) {
            self.sent.put(ctx.catalog, name, entry);
        }
    }
}

/// Returns the request with the first spellings of its names (docs/protocol.md#k-08).
fn first_spellings<'a>(ctx: &mut Context<'_>, request: &'a DeltaRequest) -> Cow<'a, DeltaRequest> {
    if ctx.specials.structured {
        let claimed = request.initial_resource_versions.keys();
        let names = request.subscribe.iter().chain(&*request.unsubscribe).chain(claimed);
        let locators = request.locators_subscribe.iter().chain(&request.locators_unsubscribe);
        xdscope_wire::xdstp::note_spellings(ctx.catalog, names.chain(locators).copied());
    }
    let catalog = &*ctx.catalog;
    if !catalog.has_spellings() {
        return Cow::Borrowed(request);
    }
    let first = |name: &Sym| catalog.first_spelling(*name);
    let claims = request.initial_resource_versions.iter();
    Cow::Owned(DeltaRequest {
        subscribe: request.subscribe.iter().map(first).collect(),
        unsubscribe: request.unsubscribe.iter().map(first).collect(),
        locators_subscribe: request.locators_subscribe.iter().map(first).collect(),
        locators_unsubscribe: request.locators_unsubscribe.iter().map(first).collect(),
        initial_resource_versions: claims.map(|(name, version)| (first(name), *version)).collect(),
        ..request.clone()
    })
}
