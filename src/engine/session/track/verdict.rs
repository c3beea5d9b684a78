//! Verdicts of the client on responses, and the version in force.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::session::compare::{hollow, is_all_hollow, key};
use crate::engine::session::resource_set::{IncomingResponse, Presence, ResourceEntry};
use crate::engine::session::responses::{Body, Order, Status};
use crate::engine::session::{Context, NackFact};
use crate::wire::ErrorDetail;
use crate::wire::event::{Code, Seq, Time, VersionInfo};

use super::Track;

/// NACKs of a track that are kept; older ones are only counted.
const MAX_NACKS: usize = 1000;
/// Newest latencies of a track, from which percentiles are computed.
const MAX_LATENCIES: usize = 512;

/// Verdicts of the client on the responses of a track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) in_force: Option<InForce>,
    /// Whether the client has accepted a response from before the recording: a version is in force,
    /// but not known.
    pub(crate) has_unseen: bool,
    /// The newest NACKs.
    pub(crate) nacks: VecDeque<NackFact>,
    pub(crate) nack_count: u64,
    pub(crate) open_nack: Option<OpenNack>,
    newest_ack: Option<Order>,
    /// Microseconds from response to verdict, newest last.
    pub(super) latencies: VecDeque<u32>,
    /// When the last verdict came.
    pub(crate) last_at: Option<Time>,
}

/// The version that the client has accepted last.
#[derive(Clone, Debug)]
pub(crate) struct InForce {
    pub(crate) version: VersionInfo,
    /// The request that accepted it.
    pub(crate) n: Seq,
    pub(crate) at: Time,
}

/// NACKs since the last ACK of a later response (docs/protocol.md#e-26).
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenNack {
    order: Order,
    /// The newest NACK.
    pub(crate) n: Seq,
    pub(crate) at: Time,
    /// When the oldest NACK came.
    pub(crate) since: Time,
    pub(crate) times: u64,
}

impl Track {
    /// Handles a verdict on a pending response. `nack` has the error, `implied` marks a NACK by
    /// version.
    pub(crate) fn apply_verdict(
        &mut self,
        ctx: &mut Context<'_>,
        order: Order,
        nack: Option<&ErrorDetail>,
        implied: bool,
    ) {
        let Some(response) = self.responses.get(order) else { return };
        let latency = ctx.at.since(response.at);
        let (seq, nonce, version) = (response.seq, response.nonce.clone(), response.version.clone());
        if self.verdicts.latencies.len() == MAX_LATENCIES {
            self.verdicts.latencies.pop_front();
        }
        self.verdicts.latencies.push_back(u32::try_from(latency.as_micros()).unwrap_or(u32::MAX));
        self.verdicts.last_at = Some(ctx.at);
        if nack.is_none() && !implied {
            let body = self.responses.settle(order, Status::Acked);
            if let Some(body) = body {
                self.accept(ctx, &body, order);
            }
            self.verdicts.in_force = Some(InForce { version, n: ctx.seq, at: ctx.at });
            self.verdicts.newest_ack = Some(self.verdicts.newest_ack.map_or(order, |old| old.max(order)));
            self.verdicts.open_nack = self.verdicts.open_nack.filter(|open| open.order > order);
            return;
        }
        if let Some(body) = self.responses.settle(order, Status::Nacked) {
            let refused = self.accepted.refused(ctx.catalog, ctx.compare, &body.list, order);
            self.refused.extend(refused);
        }
        let (code, message) = nack.map_or((0, Arc::from("")), |nack| (nack.code, nack.message.clone()));
        self.note_nack(NackFact {
            n: ctx.seq,
            at: ctx.at,
            refused: Some(seq),
            nonce: Arc::from(nonce.as_str()),
            version: Arc::from(version.as_str()),
            code: Code(code),
            message,
            implied,
        });
        if self.verdicts.newest_ack.is_none_or(|ack| ack < order) {
            let open = self.verdicts.open_nack;
            self.verdicts.open_nack = Some(OpenNack {
                order: open.map_or(order, |open| open.order.max(order)),
                n: ctx.seq,
                at: ctx.at,
                since: open.map_or(ctx.at, |open| open.since),
                times: open.map_or(1, |open| open.times + 1),
            });
        }
    }

    fn note_nack(&mut self, nack: NackFact) {
        self.verdicts.nack_count += 1;
        if self.verdicts.nacks.len() == MAX_NACKS {
            self.verdicts.nacks.pop_front();
        }
        self.verdicts.nacks.push_back(nack);
    }

    /// Handles a verdict on a response from before the recording.
    pub(crate) fn apply_unseen_verdict(
        &mut self,
        ctx: &Context<'_>,
        nonce: &str,
        nack: Option<&ErrorDetail>,
    ) {
        self.verdicts.last_at = Some(ctx.at);
        let Some(nack) = nack else {
            self.verdicts.has_unseen = true;
            return;
        };
        self.note_nack(NackFact {
            n: ctx.seq,
            at: ctx.at,
            refused: None,
            nonce: Arc::from(nonce),
            version: Arc::from(""),
            code: Code(nack.code),
            message: nack.message.clone(),
            implied: false,
        });
        self.verdicts.open_nack =
            Some(OpenNack { order: 0, n: ctx.seq, at: ctx.at, since: ctx.at, times: 1 });
    }

    fn accept(&mut self, ctx: &mut Context<'_>, body: &Body, order: Order) {
        let incoming = IncomingResponse { list: &body.list, version: body.version, order };
        if !is_all_hollow(ctx.catalog, &body.list) {
            self.accepted.accept(ctx.catalog, &self.sent, incoming, body.full);
        }
        for name in &body.removed {
            if let Some(slot) = self.accepted.get(ctx.catalog, *name) {
                self.accepted.put(ctx.catalog, *name, ResourceEntry { state: Presence::Removed, ..slot });
            }
            self.refused.remove(name);
        }
        if !self.refused.is_empty() {
            for id in body.list.blobs() {
                if !hollow(ctx.catalog, *id) {
                    self.refused.remove(&key(ctx.catalog, *id));
                }
            }
        }
    }

    /// Returns the median and the 99th percentile of the time from response to verdict, in
    /// milliseconds.
    pub(crate) fn latencies(&self) -> Option<(f64, f64)> {
        if self.verdicts.latencies.is_empty() {
            return None;
        }
        let mut all: Vec<u32> = self.verdicts.latencies.iter().copied().collect();
        // Selection is enough for two percentiles: no need to sort.
        let mut at = |percent: usize| {
            let rank = (all.len() * percent).div_ceil(100).max(1);
            let (_, micros, _) = all.select_nth_unstable(rank - 1);
            f64::from(*micros) / 1000.0
        };
        Some((at(50), at(99)))
    }
}
