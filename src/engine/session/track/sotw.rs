use std::sync::Arc;

use xdscope_wire::SotwRequest;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Seq, Sym, Time, VersionInfo};

use super::claims::MAX_LEFT_NAMES;
use super::prior::Prior;
use crate::session::content::names::{NameSet, SymMap, SymSet};
use crate::session::content::resource_set::{Presence, ResourceEntry, ResourceSet};
use crate::session::outcome::RequestOutcome;
use crate::session::subscription::SubscribedNames;
use crate::session::track::Track;
use crate::session::{Context, RequestClass, Wildcard};

/// The names of a request, and what decides how they change the subscription.
#[derive(Clone, Copy)]
struct SotwNames<'a> {
    request: &'a SotwRequest,
    /// A newer response had been sent when the request came, so that the server may ignore it.
    stale: bool,
    /// Whether the request is known to be the first of the track.
    starts: bool,
}

/// The first request of a track, as seen by a client that had an earlier stream.
#[derive(Clone, Copy)]
struct FirstSotw<'a> {
    request: &'a SotwRequest,
    /// Whether the request is known to be the first of the track.
    starts: bool,
    /// Whether the request states the version of resources that the client has from an earlier
    /// stream.
    claims: bool,
}

/// Debts of the server to a client that continues an earlier stream.
#[derive(Default)]
struct Inherited {
    /// Resources that the client has, and of which the server owes another version.
    owed: SymSet,
    /// Since when the client waits for resources that are still missing.
    waiting: SymMap<(Time, Seq)>,
}

impl Track {
    /// Whether a request is known to be the first of the track.
    ///
    /// A client has no nonce only until its first response (docs/protocol.md#e-08).
    fn starts_with_sotw(&self, request: &SotwRequest) -> bool {
        self.may_start() && (!self.completeness.start_unseen || request.response_nonce.is_empty())
    }

    /// Handles a SotW request (docs/protocol.md#e-01 and following).
    pub(crate) fn sotw_request(
        &mut self,
        ctx: &mut Context<'_>,
        request: &SotwRequest,
        prior: Option<Prior>,
    ) -> RequestOutcome {
        let first = self.traffic.requests == 0;
        let has_error = request.error_detail.is_some();
        if let Some(prior) = &prior {
            self.verdicts.earlier.clone_from(&prior.nacks);
        }
        let starts = self.starts_with_sotw(request);
        if starts {
            self.completeness.start();
        }
        if self.polled {
            self.note_poll(ctx.at);
        }
        let answer = self.sotw_answer(request);
        let class = answer.class;
        let mut outcome = self.request_outcome(&answer);
        self.use_nonce(&request.response_nonce, &answer);
        if let Some(frontier) = self.responses.frontier {
            outcome.skipped = self.responses.skip_before(frontier, ctx.seq);
        }
        self.apply_answer(
            ctx,
            &answer,
            &request.response_nonce,
            request.error_detail.as_deref(),
            &mut outcome,
        );
        self.traffic.reported_version = Some(request.version_info.clone());
        if first {
            self.traffic.begins_with_version = !request.version_info.is_empty();
            self.carried.stray =
                self.stray_answer(starts, outcome.answers, &request.response_nonce, has_error);
        }
        // A request with a nonce of another type may state a version of that type
        // (docs/protocol.md#e-11).
        if class != Some(RequestClass::UnknownNonce) && !(first && self.carried.stray.is_some()) {
            self.note_stated_version(&request.version_info);
        }
        self.note_kept_version(ctx.seq);
        let stale = matches!(
            class,
            Some(RequestClass::UnknownNonce | RequestClass::OlderNonce | RequestClass::StaleNonce)
        );
        let was = self.subscribed.is_wildcard();
        // A request restates all names.
        self.completeness.names_known = true;
        let names = SotwNames { request, stale, starts };
        self.sotw_names(ctx, names, first.then_some(prior), &mut outcome);
        outcome.wildcard = self.subscribed.wildcard;
        let is_wildcard_lost = outcome.was != Wildcard::None && outcome.wildcard == Wildcard::None;
        self.give_up_refused(ctx.catalog, &outcome.removed, is_wildcard_lost);
        let (gained, lost) = (!was && self.subscribed.is_wildcard(), was && !self.subscribed.is_wildcard());
        let news = gained || !outcome.added.is_empty();
        let nacks = has_error && answer.can_be_nack(outcome.referenced);
        outcome.kind = answer.verdict.kind(nacks, news, lost || !outcome.removed.is_empty());
        // The next response to a poll answers this request (docs/protocol.md#d-03).
        let expects_response = (news && !stale) || self.polled;
        self.count_request(ctx, expects_response, &outcome.added, outcome.kind);
        outcome
    }

    /// Replaces the subscription by the names of the request (docs/protocol.md#e-31).
    ///
    /// `first` is set for the first request of the track, to the resources of the previous stream.
    fn sotw_names(
        &mut self,
        ctx: &mut Context<'_>,
        SotwNames { request, stale, starts }: SotwNames<'_>,
        first: Option<Option<Prior>>,
        outcome: &mut RequestOutcome,
    ) {
        let raw = match request.resource_locators.is_empty() {
            true => request.resource_names.clone(),
            false => [&request.resource_names[..], &request.resource_locators[..]].concat().into(),
        };
        let known = self.subscription.last_names.replace(raw.clone());
        if known.is_some_and(|known| Arc::ptr_eq(&known, &raw) || known == raw) {
            if !stale {
                self.subscription.effective = None;
            }
            return;
        }
        if ctx.specials.structured {
            xdscope_wire::xdstp::note_spellings(ctx.catalog, raw.iter().copied());
        }
        let star = raw.contains(&ctx.star);
        self.subscription.was_named |= !raw.is_empty();
        let wildcard = if star {
            Wildcard::Explicit
        } else if !raw.is_empty() || self.subscription.was_named {
            Wildcard::None
        } else if starts || self.subscribed.wildcard == Wildcard::Legacy {
            Wildcard::Legacy
        } else {
            // A request before the recording may have had names (docs/protocol.md#e-40).
            Wildcard::Unknown
        };
        let named = raw.iter().filter(|name| **name != ctx.star);
        let names: Vec<Sym> = named.map(|name| ctx.catalog.first_spelling(*name)).collect();
        let subscribed = SubscribedNames { wildcard, names: NameSet::from_run(ctx.runs.intern(names)) };
        let old = std::mem::replace(&mut self.subscribed, subscribed);
        if self.subscribed != old {
            self.subscription.changed_at = ctx.at;
        }
        // A verdict as the first request: the wildcard is what the server has sent unasked.
        let is_answered = outcome.first && outcome.answers.is_some();
        let is_new = (starts || old.wildcard == Wildcard::None) && !is_answered;
        self.wildcard_changed(ctx, &old, is_new);
        self.note_names_after_wildcard(ctx, &old);
        if !old.is_wildcard() && star {
            outcome.added.push(ctx.star);
        }
        if old.wildcard == Wildcard::Explicit && !star {
            outcome.removed.push(ctx.star);
        }
        if let Some(prior) = first {
            outcome.added.extend(self.subscribed.names.iter());
            self.sotw_first(ctx, request, starts, prior);
        } else {
            self.sotw_changed(ctx, &old, outcome);
            self.request_members(ctx, &old);
        }
        let effective = self.subscription.effective.take().unwrap_or(old);
        if stale && effective != self.subscribed {
            self.subscription.effective = Some(effective);
        }
    }

    /// Handles the names that a later request adds and leaves out.
    fn sotw_changed(&mut self, ctx: &mut Context<'_>, old: &SubscribedNames, outcome: &mut RequestOutcome) {
        let names = &self.subscribed.names;
        let added: Vec<Sym> = names.iter().filter(|name| !old.names.contains(*name)).collect();
        let removed: Vec<Sym> = old.names.iter().filter(|name| !names.contains(*name)).collect();
        for name in &removed {
            self.release(ctx, *name);
        }
        for name in &added {
            self.subscribe(ctx, *name, old, false);
        }
        outcome.added.extend(added);
        outcome.removed.extend(removed);
    }

    /// Handles the names of the first request: the client waits for those that it does not have
    /// from the previous stream (docs/protocol.md#e-18).
    fn sotw_first(
        &mut self,
        ctx: &mut Context<'_>,
        request: &SotwRequest,
        starts: bool,
        prior: Option<Prior>,
    ) {
        for name in self.subscribed.names.iter().collect::<Vec<_>>() {
            if ctx.specials.structured {
                self.subscription.globs.insert(ctx.catalog, name);
            }
        }
        // A verdict states the version of the response, which is not from an earlier stream.
        let is_verdict = self.responses.find(&request.response_nonce).is_some();
        let claims = !request.version_info.is_empty() && !is_verdict;
        if let Some(prior) = &prior
            && claims
        {
            self.take_version(ctx.catalog, &request.version_info, prior);
        }
        let mut name_request = self.traffic.name_request(ctx);
        // The server may have sent the resources before the recording began, in the response that
        // the request answers at the latest.
        let has_response = !request.version_info.is_empty() || !request.response_nonce.is_empty();
        name_request.has_resource = !starts && has_response;
        let mut inherited = Inherited::default();
        if let Some(prior) = prior
            && !prior.has_unseen
        {
            inherited = self.continue_from(ctx, FirstSotw { request, starts, claims }, prior);
        } else if claims {
            // The previous stream is unknown, and the client claims to have the resources.
            name_request.has_resource = true;
            self.subscription.wildcard_asked = None;
            self.carried.claimed_version =
                self.verdicts.stated.as_ref().map(|version| ctx.catalog.intern(version.as_str()));
            self.carried.is_unproved = self.carried.stray.is_some();
            self.carried.claim_unseen(self.subscribed.names.len());
            self.carried.may_follow_others = !starts;
        }
        for name in self.subscribed.names.iter() {
            self.unrequested.remove(&name);
        }
        let is_waited = |name: &Sym| !self.is_settled_at_start(ctx.catalog, *name, starts, &inherited.owed);
        let waited: Vec<Sym> = self.subscribed.names.iter().filter(is_waited).collect();
        self.wait_for_first(ctx, waited, name_request, &inherited.waiting);
    }

    /// Whether the client need not wait for a name of its first request.
    ///
    /// `owed`: resources that the client has, and of which the server owes another version.
    fn is_settled_at_start(&self, catalog: &Catalog, name: Sym, starts: bool, owed: &SymSet) -> bool {
        let Some(entry) = self.sent.get(catalog, name) else { return false };
        if entry.is_present() {
            // The server owes the newest version of what the client has at another one.
            let is_older = entry.state == Presence::Kept && owed.contains(&name);
            return self.carried.outdated.is_none() && !is_older;
        }
        // A name that may have been requested before is not requested again.
        !starts && entry.state == Presence::Removed
    }

    /// Takes over the resources of the previous stream that the client still wants. Returns what
    /// the server owes.
    fn continue_from(&mut self, ctx: &mut Context<'_>, first: FirstSotw<'_>, mut prior: Prior) -> Inherited {
        let FirstSotw { request, starts, claims } = first;
        let version = &request.version_info;
        let mut inherited = Inherited::default();
        if prior.is_continued(ctx) {
            inherited.waiting = std::mem::take(&mut prior.waiting);
        }
        // The server may ignore a stray answer, and what it owes is not known.
        let is_open = (claims && prior.claims_refused) || self.carried.stray.is_some();
        let is_stated = starts && claims && !is_open;
        let known = if is_stated { prior.at_version(version) } else { &prior.accepted };
        let kept = self.kept_of(ctx, known, &prior);
        self.leave_behind(ctx, known, kept.count(), claims, &prior);
        if !claims {
            return inherited;
        }
        let is_outdated = is_stated && prior.is_outdated(version);
        if !is_outdated {
            self.carried.refusals = prior.refusals.of_names(|name| {
                let entry = prior.sent.get(ctx.catalog, name);
                self.covers(ctx.catalog, name, entry.as_ref())
            });
        }
        let kept = if is_outdated {
            self.claim_version(ctx, version, &kept)
        } else {
            with_applied(ctx.catalog, kept, &prior)
        };
        let is_behind = is_stated && prior.is_behind(version);
        if is_behind {
            inherited.owed = prior.owed.clone();
        }
        let owes_all = is_outdated || (is_behind && prior.owes_all);
        let is_empty = is_stated && prior.is_empty_at(version);
        if !owes_all && (kept.count() > 0 || is_empty || is_open) {
            self.subscription.wildcard_asked = None;
            self.carried.is_empty = is_empty;
        }
        let owed = if owes_all { None } else { Some(&inherited.owed) };
        self.count_owed(ctx.catalog, &kept, owed);
        // A response with full state replaces all resources (docs/protocol.md#e-44).
        let is_replaced = self.responses.next() > 0 && self.is_of_full_state();
        let sent = if is_replaced {
            ResourceSet::default()
        } else if prior.claims_refused {
            // The server does not send again what the client states to have.
            self.kept_of(ctx, &prior.sent, &prior)
        } else {
            kept.clone()
        };
        self.bring(ctx, sent, kept);
        self.carry_ttls(ctx, &prior);
        self.bring_warming(ctx, &prior);
        inherited
    }

    /// Takes over the version in force of the stream before, if that is not the one that the first
    /// request states: the client has refused that, or nothing shows that the client has it.
    fn take_version(&mut self, catalog: &mut Catalog, stated: &VersionInfo, prior: &Prior) {
        if prior.claims_refused {
            self.carried.refused = Some(catalog.intern(stated.as_str()));
        }
        if prior.claims_refused || self.carried.stray.is_some() {
            self.verdicts.stated = prior.accepted_version.clone().filter(|version| !version.is_empty());
        }
    }

    /// Returns resources of the previous stream at the version that the client states instead of
    /// the one that it had accepted: their contents are unknown.
    fn claim_version(
        &mut self,
        ctx: &mut Context<'_>,
        version: &VersionInfo,
        kept: &ResourceSet,
    ) -> ResourceSet {
        let version = ctx.catalog.intern(version.as_str());
        self.carried.outdated = Some(version);
        let mut claimed = ResourceSet::default();
        for (name, _) in &kept.entries(ctx.catalog) {
            let entry = ResourceEntry { state: Presence::Kept, blob: None, version, order: 0 };
            claimed.put(ctx.catalog, *name, entry);
        }
        claimed
    }

    /// Counts the resources that the client has and of which the server owes a newer version:
    /// those with an owed name, or all.
    fn count_owed(&mut self, catalog: &Catalog, kept: &ResourceSet, owed: Option<&SymSet>) {
        let is_kept = |name: &Sym| kept.is_present(catalog, *name);
        let count = match owed {
            Some(owed) => owed.iter().copied().filter(is_kept).count(),
            None if self.is_of_full_state() => kept.count(),
            // A server need not answer a wildcard for most types (docs/protocol.md#l-07).
            None => self.subscribed.names.iter().filter(is_kept).count(),
        };
        self.carried.owes(count);
    }

    /// SotW: returns those of the resources of the stream before that the client continues with.
    fn kept_of(&self, ctx: &mut Context<'_>, known: &ResourceSet, prior: &Prior) -> ResourceSet {
        let (at, timed) = (ctx.at, ctx.timed);
        let is_lost = |name| (timed && prior.is_expired(name, at)) || prior.unrequested.contains(&name);
        known.carry(ctx.catalog, |catalog, name, entry| {
            self.covers(catalog, name, Some(entry)) && !is_lost(name)
        })
    }

    /// Counts the resources of the previous stream. `kept` of them are requested again.
    ///
    /// A client does not give up on one stream what it has on another open one.
    fn leave_behind(
        &mut self,
        ctx: &Context<'_>,
        known: &ResourceSet,
        kept: usize,
        claims: bool,
        prior: &Prior,
    ) {
        if !claims && prior.ended.is_none() {
            return;
        }
        let unrequested = prior.unrequested.iter().filter(|name| known.is_present(ctx.catalog, **name));
        let had = known.count().saturating_sub(unrequested.count());
        let left = had.saturating_sub(kept) as u64;
        self.carried.had(had as u64, left, claims);
        if left > 0 {
            let mut names = Vec::new();
            for (name, entry) in known.present_entries(ctx.catalog) {
                if !self.covers(ctx.catalog, name, Some(&entry)) {
                    names.push(name);
                }
            }
            names.truncate(MAX_LEFT_NAMES);
            self.carried.left = names.into();
        }
    }

    /// Starts with resources of the previous stream, which the server has sent and the client has
    /// accepted. Responses that came before the first request count more.
    pub(crate) fn bring(&mut self, ctx: &mut Context<'_>, sent: ResourceSet, accepted: ResourceSet) {
        let before = self.sent.count();
        self.sent.add_missing(ctx.catalog, sent);
        self.accepted.add_missing(ctx.catalog, accepted);
        self.carried.unmentioned = self.sent.count() - before;
    }
}

/// Returns the resources that a client keeps, with the contents that it uses from responses that
/// it has refused: the version that it states is older.
fn with_applied(catalog: &mut Catalog, mut kept: ResourceSet, prior: &Prior) -> ResourceSet {
    for (name, entry) in &prior.applied {
        if kept.is_present(catalog, *name) {
            kept.put(catalog, *name, ResourceEntry { state: Presence::Kept, order: 0, ..*entry });
        }
    }
    kept
}
