use std::sync::Arc;

use crate::wire::SotwRequest;
use crate::wire::event::Sym;

use super::names::NameSet;
use super::outcome::{ReferencedResponse, RequestOutcome};
use super::resource_set::ResourceSet;
use super::responses::{Order, Status};
use super::subscription::SubscribedNames;
use super::track::Track;
use super::{Context, MessageKind, RequestClass, Wildcard};

/// Resources of a type at the end of the previous stream of the session.
#[derive(Default)]
pub(crate) struct Prior {
    /// Resources that the client had accepted.
    pub(crate) accepted: ResourceSet,
    /// Resources that the server had sent.
    pub(crate) sent: ResourceSet,
}

/// The verdict that a request gives on a response.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    None,
    Ack,
    Nack,
    Implied,
    /// A verdict on a response from before the recording.
    Unseen,
}

impl Verdict {
    pub(crate) fn kind(self, nacks: bool, added: bool, removed: bool) -> MessageKind {
        match self {
            Verdict::Nack | Verdict::Implied => MessageKind::Nack,
            Verdict::Unseen if nacks => MessageKind::Nack,
            Verdict::Ack | Verdict::Unseen => MessageKind::Ack,
            Verdict::None if added => MessageKind::Subscribe,
            Verdict::None if removed => MessageKind::Unsubscribe,
            Verdict::None => MessageKind::Repeat,
        }
    }
}

impl Track {
    /// Handles a SotW request (docs/protocol.md#e-01 and following).
    pub(crate) fn sotw_request(
        &mut self,
        ctx: &mut Context<'_>,
        request: &SotwRequest,
        prior: Option<Prior>,
    ) -> RequestOutcome {
        let first = self.traffic.requests == 0;
        let (class, order) = self.sotw_class(request);
        let verdict = self.sotw_verdict(request, class, order);
        let mut outcome = RequestOutcome {
            kind: MessageKind::Repeat,
            class,
            implied: verdict == Verdict::Implied,
            answers: None,
            added: Vec::new(),
            removed: Vec::new(),
            first,
            partial: self.partial,
            was: self.subscribed.wildcard,
            referenced: order.and_then(|order| self.referenced(order)),
            skipped: Vec::new(),
            unknown_unsubscribes: Vec::new(),
        };
        if let (Some(RequestClass::StaleNonce | RequestClass::NewestNonce), Some(order)) = (class, order) {
            self.partial = false;
            self.responses.advance(order);
            outcome.skipped = self.responses.skip_before(order);
            if verdict != Verdict::None {
                outcome.answers = self.responses.get(order).map(|response| response.seq);
                let nack = request.error_detail.as_deref();
                self.apply_verdict(ctx, order, nack, verdict == Verdict::Implied);
            }
        }
        if verdict == Verdict::Unseen {
            self.apply_unseen_verdict(ctx, request.response_nonce.as_str(), request.error_detail.as_deref());
        }
        self.traffic.reported_version = Some(request.version_info.clone());
        let stale = matches!(
            class,
            Some(RequestClass::UnknownNonce | RequestClass::OlderNonce | RequestClass::StaleNonce)
        );
        let was = self.subscribed.is_wildcard();
        self.sotw_names(ctx, request, stale, first.then_some(prior), &mut outcome);
        let (gained, lost) = (!was && self.subscribed.is_wildcard(), was && !self.subscribed.is_wildcard());
        let news = gained || !outcome.added.is_empty();
        let nacks = request.error_detail.is_some();
        outcome.kind = verdict.kind(nacks, news, lost || !outcome.removed.is_empty());
        // The next response to a poll answers this request (docs/protocol.md#d-03).
        self.count_request(ctx, (news && !stale) || self.polled, outcome.kind);
        outcome
    }

    /// Returns the current state of a response.
    pub(crate) fn referenced(&self, order: Order) -> Option<ReferencedResponse> {
        let response = self.responses.get(order)?;
        let newest = self.responses.newest() == Some(order);
        Some(ReferencedResponse { seq: response.seq, order, was: response.status, newest })
    }

    /// Returns the class of a request; none if the nonces of the track are unknown.
    fn sotw_class(&self, request: &SotwRequest) -> (Option<RequestClass>, Option<Order>) {
        let nonce = &request.response_nonce;
        if self.traffic.requests == 0 && (!self.partial || nonce.is_empty()) {
            return (Some(RequestClass::Initial), None);
        }
        if nonce.is_empty() {
            if let Some(newest) = self.responses.newest().filter(|_| self.polled) {
                return (Some(RequestClass::NewestNonce), Some(newest));
            }
            let class = if self.responses.frontier.is_none() {
                RequestClass::BeforeFirstResponse
            } else {
                RequestClass::NonceDropped
            };
            return (Some(class), None);
        }
        let Some(order) = self.responses.find(nonce) else {
            return ((!self.partial).then_some(RequestClass::UnknownNonce), None);
        };
        let class = if self.responses.frontier.is_some_and(|frontier| order < frontier) {
            RequestClass::OlderNonce
        } else if self.responses.newest().is_some_and(|newest| order < newest) {
            RequestClass::StaleNonce
        } else {
            RequestClass::NewestNonce
        };
        (Some(class), Some(order))
    }

    fn sotw_verdict(
        &self,
        request: &SotwRequest,
        class: Option<RequestClass>,
        order: Option<Order>,
    ) -> Verdict {
        if class.is_none() {
            return Verdict::Unseen;
        }
        let Some(response) = order.and_then(|order| self.responses.get(order)) else { return Verdict::None };
        if class == Some(RequestClass::OlderNonce) || response.status != Status::Pending {
            return Verdict::None;
        }
        if request.error_detail.is_some() {
            Verdict::Nack
        } else if request.version_info == response.version {
            Verdict::Ack
        } else {
            Verdict::Implied
        }
    }

    /// Replaces the subscription by the names of the request (docs/protocol.md#e-31).
    ///
    /// `first` is set for the first request of the track, to the resources of the previous stream.
    fn sotw_names(
        &mut self,
        ctx: &mut Context<'_>,
        request: &SotwRequest,
        stale: bool,
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
        let star = raw.contains(&ctx.star);
        self.subscription.was_named |= !raw.is_empty();
        let wildcard = if raw.is_empty() && !self.subscription.was_named {
            Wildcard::Legacy
        } else if star {
            Wildcard::Explicit
        } else {
            Wildcard::None
        };
        let names: Vec<Sym> = raw.iter().copied().filter(|name| *name != ctx.star).collect();
        let subscribed = SubscribedNames { wildcard, names: NameSet::of(ctx.runs.intern(names)) };
        let old = std::mem::replace(&mut self.subscribed, subscribed);
        if self.subscribed != old {
            self.subscription.changed_at = ctx.at;
        }
        self.wildcard_changed(ctx, old.is_wildcard());
        if !old.is_wildcard() && star {
            outcome.added.push(ctx.star);
        }
        if old.wildcard == Wildcard::Explicit && !star {
            outcome.removed.push(ctx.star);
        }
        if let Some(prior) = first {
            outcome.added.extend(self.subscribed.names.iter());
            self.sotw_first(ctx, request, prior);
        } else {
            self.sotw_changed(ctx, &old, outcome);
        }
        self.subscription.effective = match stale {
            true => Some(self.subscription.effective.take().unwrap_or(old))
                .filter(|effective| *effective != self.subscribed),
            false => None,
        };
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
            let covered = old.is_wildcard() || self.glob_of(ctx.catalog, *name).is_some();
            self.subscribe(ctx, *name, covered, false);
        }
        outcome.added.extend(added);
        outcome.removed.extend(removed);
    }

    /// Handles the names of the first request: the client waits for those that it does not have
    /// from the previous stream (docs/protocol.md#e-18).
    fn sotw_first(&mut self, ctx: &mut Context<'_>, request: &SotwRequest, prior: Option<Prior>) {
        for name in self.subscribed.names.iter().collect::<Vec<_>>() {
            if ctx.specials.structured && super::xdstp::is_glob(ctx.catalog.text(name)) {
                self.subscription.globs.push(name);
            }
        }
        let claims = !request.version_info.is_empty();
        let mut name_request = self.name_request(ctx);
        if let Some(prior) = prior {
            let kept = {
                let track = &*self;
                prior
                    .accepted
                    .carry(ctx.catalog, |catalog, name, slot| track.covers(catalog, name, Some(slot)))
            };
            self.carried.account.left_behind += (prior.accepted.count() - kept.count()) as u64;
            if claims {
                self.carried.account.claimed += kept.count() as u64;
                if kept.count() > 0 {
                    self.subscription.wildcard_owed = None;
                }
                self.bring(kept.clone(), kept);
            }
        } else if claims && self.sent.count() == 0 {
            // The previous stream is unknown, and the client claims to have the resources.
            name_request.has_resource = true;
            self.subscription.wildcard_owed = None;
            self.carried.claimed_version = Some(ctx.catalog.intern(request.version_info.as_str()));
            self.carried.account.claimed += self.subscribed.names.len() as u64;
        }
        let is_present = |name: &Sym| self.sent.is_present(ctx.catalog, *name);
        let waited: Vec<Sym> = match self.sent.count() {
            0 => self.subscribed.names.iter().collect(),
            _ => self.subscribed.names.iter().filter(|name| !is_present(name)).collect(),
        };
        self.waiting.add_all(waited, name_request, ctx.runs);
    }

    /// Starts with resources of the previous stream, unless the server has responded already.
    pub(crate) fn bring(&mut self, sent: ResourceSet, accepted: ResourceSet) {
        if self.responses.next() == 0 {
            self.keep(sent, accepted);
        }
    }
}
