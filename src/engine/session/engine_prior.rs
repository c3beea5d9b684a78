//! Streams that go on where an earlier stream of the client ended.

use crate::wire::content::Catalog;
use crate::wire::event::{Time, TypeUrl};

use super::Context;
use super::engine::Engine;
use super::prior::Prior;
use super::resource_set::{Presence, ResourceEntry};
use super::responses::Status;
use super::track::Track;

impl Engine {
    /// Returns what the client had of a type at the end of its newest earlier stream with the type,
    /// and records that this stream takes over.
    pub(super) fn take_prior(
        &mut self,
        catalog: &Catalog,
        index: usize,
        type_url: &TypeUrl,
        at: Time,
    ) -> Option<Prior> {
        let prior = self.prior(catalog, index, type_url);
        self.take_over(index, type_url, at);
        prior
    }

    /// Returns what the client had of a type at the end of its newest earlier stream with the type.
    fn prior(&self, catalog: &Catalog, index: usize, type_url: &TypeUrl) -> Option<Prior> {
        let stream = self.streams().get(index)?;
        let (before, found) = self.before(stream).find_map(|of| Some((of, of.find(type_url)?)))?;
        if found.accepted.count() == 0
            && (found.verdicts.has_unseen || found.carried.claimed_version.is_some())
        {
            // The client has resources from before the recording.
            return None;
        }
        let still_warms = before.closed.is_some() && !found.warming.is_empty();
        let before = self.index(before.id).filter(|_| still_warms);
        let newest = found.responses.last();
        let is_accepted = |status| !matches!(status, Status::Nacked | Status::NackedByVersion);
        Some(Prior {
            accepted: found.accepted.clone(),
            sent: found.sent.clone(),
            deadlines: found.deadlines.clone(),
            ttls: found.ttls.clone(),
            accepted_version: found.stated_version().filter(|_| !found.partial).cloned(),
            newest_version: newest.filter(|of| is_accepted(of.status)).map(|of| of.version.clone()),
            warming: before.map_or_else(Vec::new, |at| self.warming_view(catalog, at).unfinished(found)),
        })
    }

    /// Records that a stream takes over a type from the newest earlier stream with the type, if
    /// that has ended.
    fn take_over(&mut self, index: usize, type_url: &TypeUrl, at: Time) {
        let Some(stream) = self.streams.get(index) else { return };
        let before = self.before(stream).find(|before| before.find(type_url).is_some());
        let before = before.filter(|before| before.closed.is_some()).map(|before| before.id);
        let Some(before) = before.and_then(|id| self.index(id)) else { return };
        let track = self.streams.get_mut(before).and_then(|before| before.find_mut(type_url));
        if let Some(track) = track {
            track.replaced.get_or_insert(at);
        }
    }
}

impl Track {
    /// Goes on with the warming of the resources that the client has kept from the stream before.
    pub(super) fn bring_warming(&mut self, ctx: &Context<'_>, prior: &Prior) {
        for batch in &prior.warming {
            let is_kept = |slot: ResourceEntry| slot.state == Presence::Kept && slot.blob.is_some();
            let names = batch.names().iter().copied();
            let names = names.filter(|name| self.sent.get(ctx.catalog, *name).is_some_and(is_kept)).collect();
            self.warming.go_on(batch, names, ctx.at);
        }
    }
}
