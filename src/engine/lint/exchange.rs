//! A request or a response, with what the engine made of it.

use super::scan::ResponseScan;
use crate::session::key;
use crate::session::{MessageKind, RequestClass, RequestOutcome, ResponseOutcome, Track};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Seq, Sym, VersionInfo};
use xdscope_wire::{DeltaRequest, ErrorDetail, Message, MessageBody, ResponseView, SotwRequest};

/// A request and its outcome. The track is in its state after the request.
pub(super) struct RequestContext<'a> {
    pub(super) track: &'a Track,
    pub(super) outcome: &'a RequestOutcome,
    pub(super) message: &'a Message,
}

/// A response and its outcome. The track is in its state after the response.
pub(super) struct ResponseContext<'a> {
    pub(super) track: &'a Track,
    pub(super) outcome: &'a ResponseOutcome,
    pub(super) view: ResponseView<'a>,
    pub(super) scan: &'a ResponseScan,
}

impl<'a> RequestContext<'a> {
    pub(super) fn sotw(&self) -> Option<&'a SotwRequest> {
        match &self.message.body {
            MessageBody::SotwRequest(body) => Some(body),
            _ => None,
        }
    }

    pub(super) fn delta(&self) -> Option<&'a DeltaRequest> {
        match &self.message.body {
            MessageBody::DeltaRequest(body) => Some(body),
            _ => None,
        }
    }

    /// The names in the request as spelled there, without those that it unsubscribes from.
    pub(super) fn names(&self) -> impl Iterator<Item = Sym> {
        let sotw = self.sotw().map(|body| (&body.resource_names, &body.resource_locators));
        let delta = self.delta().map(|body| (&body.subscribe, &body.locators_subscribe));
        let lists = sotw.into_iter().chain(delta);
        lists.flat_map(|(names, locators)| names.iter().chain(locators)).copied()
    }

    pub(super) fn error(&self) -> Option<&'a ErrorDetail> {
        self.message.error_detail()
    }

    /// Returns the response that the request answers, as evidence of a finding.
    pub(super) fn answered(&self) -> &'a [Seq] {
        self.outcome.answers.as_slice()
    }

    pub(super) fn nonce(&self) -> &'a str {
        self.message.request().map_or("", |request| request.response_nonce.as_str())
    }

    pub(super) fn has_class(&self, class: RequestClass) -> bool {
        self.outcome.class == Some(class)
    }

    /// Whether the request is a NACK with an `error_detail`, and not of a response that has its
    /// verdict.
    pub(super) fn is_nack(&self) -> bool {
        self.outcome.kind == MessageKind::Nack && !self.outcome.implied && !self.outcome.is_late_nack()
    }

    /// Returns the version of the response whose nonce the request carries.
    pub(super) fn answered_version(&self) -> Option<&'a VersionInfo> {
        let about = self.outcome.referenced?;
        self.track.responses.get(about.order).map(|response| &response.version)
    }
}

impl<'a> ResponseContext<'a> {
    pub(super) fn new(
        track: &'a Track,
        outcome: &'a ResponseOutcome,
        message: &'a Message,
        scan: &'a ResponseScan,
    ) -> Option<ResponseContext<'a>> {
        Some(ResponseContext { track, outcome, view: message.response()?, scan })
    }

    /// Whether the response holds everything that the client wants (SotW listeners and clusters).
    pub(super) fn is_full_state(&self) -> bool {
        !self.view.is_delta && self.track.kind.is_some_and(Kind::full_state)
    }

    /// Returns the names of the resources in the response, in its order.
    pub(super) fn names(&self, catalog: &Catalog) -> impl Iterator<Item = Sym> {
        self.view.resources.blobs().iter().map(move |id| key(catalog, *id))
    }

    /// Returns the names of the new and changed resources.
    pub(super) fn new_names(&self) -> impl Iterator<Item = Sym> {
        self.outcome.added.iter().chain(&self.outcome.changed).copied()
    }

    /// Whether the response changes nothing.
    pub(super) fn is_unchanged(&self) -> bool {
        let outcome = self.outcome;
        outcome.added.is_empty() && outcome.changed.is_empty() && outcome.removed.is_empty()
    }

    /// Whether the response only refreshes TTLs.
    pub(super) fn is_heartbeat(&self) -> bool {
        self.outcome.kind == MessageKind::Heartbeat
    }

    /// Returns the bytes of a SotW push and how many of them were unchanged. `None` for the first
    /// push, which has nothing to repeat.
    pub(super) fn repeated_bytes(&self) -> Option<(u64, u64)> {
        let traffic = &self.track.traffic;
        if self.view.is_delta || traffic.pushes <= 1 {
            return None;
        }
        let push = traffic.last_push.as_ref()?;
        Some((push.bytes, push.bytes_same))
    }
}

/// Returns the reason why a message cannot be decoded, if it cannot.
pub(super) fn undecodable(message: &Message) -> Option<&str> {
    match &message.body {
        MessageBody::Undecodable { reason } => Some(reason),
        _ => None,
    }
}
