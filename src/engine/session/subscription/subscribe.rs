use std::time::Duration;

use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Seq, Sym};

use crate::session::Context;
use crate::session::content::compare::key;
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::subscription::{NameRequest, SubscribedNames, WildcardReading};
use crate::session::track::Track;
use crate::session::warming::needs::is_needed;
use crate::session::{MessageKind, Wildcard};
use xdscope_wire::ResponseView;
use xdscope_wire::xdstp::{glob_matches, is_glob, is_malformed};

/// Time after a request in which responses may have crossed the request.
const CROSSING_TIME: Duration = Duration::from_secs(5);

/// Changes of the subscription that SotW and delta have in common.
impl Track {
    /// Waits for a name until the server sends it.
    pub(crate) fn wait_for(&mut self, ctx: &Context<'_>, name: Sym, request: NameRequest) {
        let is_malformed = ctx.specials.structured && is_malformed(ctx.catalog.text(name));
        self.waiting.add(name, NameRequest { is_malformed, ..request });
    }

    /// Adds a name to the subscription. `was`: the subscription before.
    pub(crate) fn subscribe(&mut self, ctx: &mut Context<'_>, name: Sym, was: &SubscribedNames, delta: bool) {
        let covered = was.may_be_wildcard()
            || self.glob_of(ctx.catalog, name).is_some()
            || self.keeps_by_other_name(ctx.catalog, name, was);
        if ctx.specials.structured {
            self.subscription.globs.insert(ctx.catalog, name);
        }
        let request = self.traffic.name_request(ctx);
        let canonical = self.canonical(ctx.catalog, name);
        let was_unrequested = self.unrequested.remove(&canonical);
        match self.sent.get(ctx.catalog, canonical) {
            Some(entry) if entry.is_present() && was_unrequested => {
                // The client has ignored a resource of a response that it has answered
                // (docs/protocol.md#e-36). Else it may have wanted the name when the response came.
                let was_ignored = self.responses.is_settled_before(entry.order, ctx.seq);
                if was_ignored {
                    self.request_released(ctx.catalog, canonical, entry);
                }
                let is_resend = !was_ignored && delta;
                let request = NameRequest { has_resource: !was_ignored, is_resend, ..request };
                self.wait_for(ctx, canonical, request);
            }
            Some(entry) if entry.is_present() && covered => {
                // A delta server sends each name that it reads (docs/protocol.md#f-14). A SotW
                // client has the member of the wildcard that it names now.
                if delta {
                    let request = NameRequest { has_resource: true, is_resend: true, ..request };
                    self.wait_for(ctx, canonical, request);
                }
            }
            Some(entry) => {
                if covered {
                    self.sent.put(ctx.catalog, canonical, ResourceEntry { state: Presence::Again, ..entry });
                } else {
                    self.request_released(ctx.catalog, canonical, entry);
                }
                self.wait_for(ctx, canonical, request);
            }
            // A wildcard from before the recording may have brought the resource.
            None => {
                let is_unknown = was.wildcard == Wildcard::Unknown
                    || (was.is_wildcard() && !self.knows_all_resources(delta));
                let has_resource = is_unknown && !delta;
                self.wait_for(ctx, name, NameRequest { has_resource, ..request });
            }
        }
    }

    /// Records that the client requests a resource again that it has released, and so does not have
    /// any more. `entry`: the entry of the server.
    fn request_released(&mut self, catalog: &mut Catalog, name: Sym, entry: ResourceEntry) {
        self.sent.put(catalog, name, ResourceEntry { state: Presence::Again, ..entry });
        if let Some(accepted) = self.accepted.get(catalog, name).filter(ResourceEntry::is_present) {
            self.accepted.put(catalog, name, ResourceEntry { state: Presence::Again, ..accepted });
        }
    }

    /// Whether the client has subscribed to the resource of a name by another name, before and now
    /// (docs/protocol.md#f-30).
    fn keeps_by_other_name(&self, catalog: &Catalog, name: Sym, was: &SubscribedNames) -> bool {
        if self.aliases.is_empty() {
            return false;
        }
        let canonical = self.canonical(catalog, name);
        let blob = self.sent.get(catalog, canonical).and_then(|entry| entry.blob);
        let aliases = blob.map_or(&[][..], |blob| catalog.entry(blob).aliases);
        let mut names = aliases.iter().map(|alias| catalog.first_spelling(*alias)).chain([canonical]);
        names.any(|other| other != name && was.names.contains(other) && self.subscribed.names.contains(other))
    }

    /// Removes a name from the subscription.
    pub(crate) fn release(&mut self, ctx: &mut Context<'_>, name: Sym) {
        self.subscription.has_released = true;
        if is_needed(self.kind) || self.is_of_full_state() {
            self.subscription.released.add(name, ctx.seq, ctx.at);
        }
        if self.subscription.globs.contains(ctx.catalog, name) {
            self.subscription.globs.remove(ctx.catalog, name);
            self.release_members(ctx.catalog, Some(name));
        }
        self.waiting.remove(name);
        if let Some(entry) = self.sent.get(ctx.catalog, name).filter(|entry| entry.state == Presence::Again) {
            self.sent.put(ctx.catalog, name, ResourceEntry { state: Presence::Released, ..entry });
        }
    }

    /// SotW: records whether a list of names ends a wildcard. A server that follows the edition of
    /// Envoy 1.17 keeps the wildcard (docs/protocol.md#l-06).
    pub(crate) fn note_names_after_wildcard(&mut self, ctx: &Context<'_>, was: &SubscribedNames) {
        let now = &self.subscribed;
        let ended = &mut self.subscription.names_after_wildcard;
        if now.is_wildcard() || now.names.is_empty() {
            *ended = None;
        } else if was.is_wildcard() && self.kind.is_some_and(Kind::full_state) {
            *ended = Some(ctx.at);
        }
    }

    /// Returns how the server reads a list of names after a wildcard, once a response with full
    /// state shows it.
    ///
    /// A response that may have crossed the list shows nothing.
    pub(crate) fn read_names_after_wildcard(
        &mut self,
        ctx: &Context<'_>,
        push: &ResponseView<'_>,
    ) -> Option<WildcardReading> {
        let ended = self.subscription.names_after_wildcard?;
        let names = &self.subscribed.names;
        let mut sent = push.resources.blobs().iter().map(|id| key(ctx.catalog, *id));
        let has_others = sent.any(|name| !names.contains(name));
        if has_others && ctx.at.since(ended) <= CROSSING_TIME {
            return None;
        }
        self.subscription.names_after_wildcard = None;
        Some(if has_others { WildcardReading::Kept } else { WildcardReading::Ended })
    }

    /// Records that the wildcard was added or removed. `is_new`: a new wildcard was not in use
    /// before the recording.
    pub(crate) fn wildcard_changed(&mut self, ctx: &mut Context<'_>, was: &SubscribedNames, is_new: bool) {
        self.subscription.was_wildcard |= self.subscribed.is_wildcard();
        self.subscription.has_released |= was.may_be_wildcard() && !self.subscribed.may_be_wildcard();
        let is_explicit = self.subscribed.wildcard == Wildcard::Explicit;
        match (was.is_wildcard(), self.subscribed.may_be_wildcard()) {
            (true, false) => self.subscription.wildcard_released = Some((ctx.seq, ctx.at)),
            (_, true) => self.subscription.wildcard_released = None,
            _ => {}
        }
        match (was.is_wildcard(), self.subscribed.is_wildcard()) {
            // A client without on-demand routes opens VHDS with an empty request, which is not a
            // wildcard (docs/protocol.md#a-05).
            (false, true) if is_new && (self.kind != Some(Kind::Vhds) || is_explicit) => {
                self.subscription.wildcard_asked = Some((ctx.at, ctx.seq));
            }
            (true, false) => {
                self.subscription.wildcard_asked = None;
                self.subscription.unclassified.clear();
                self.release_members(ctx.catalog, None);
            }
            _ => {}
        }
    }

    /// Waits for the resources that the client had given up with the wildcard or a glob, or has
    /// ignored, and that it requests again with the wildcard or the glob. `was`: the subscription
    /// before.
    pub(crate) fn request_members(&mut self, ctx: &mut Context<'_>, was: &SubscribedNames) {
        let is_wildcard_new = was.wildcard == Wildcard::None && self.subscribed.is_wildcard();
        let new_globs = self.subscription.globs.names().filter(|glob| !was.names.contains(*glob));
        let new_globs: Vec<Sym> = new_globs.collect();
        if (!is_wildcard_new && new_globs.is_empty()) || self.traffic.requests == 0 {
            return;
        }
        let globs: Vec<Sym> = was.names.iter().filter(|name| is_glob(ctx.catalog.text(*name))).collect();
        for (name, entry) in self.sent.entries(ctx.catalog) {
            let is_member = |glob: &&Sym| glob_matches(ctx.catalog.text(**glob), ctx.catalog.text(name));
            let glob = new_globs.iter().find(is_member).copied();
            if glob.is_none() && !is_wildcard_new {
                continue;
            }
            let is_kept =
                entry.is_present() && (was.may_be_wildcard() || was.has(ctx.catalog, name, &entry, &globs));
            // The client may have wanted the name when the response came.
            let is_crossing = entry.is_present()
                && self.unrequested.contains(&name)
                && !self.responses.is_settled_before(entry.order, ctx.seq);
            let had_been_sent = entry.is_present() || entry.state == Presence::Released;
            if is_kept || is_crossing || !had_been_sent {
                continue;
            }
            self.unrequested.remove(&name);
            // A server need not answer a wildcard for most types (docs/protocol.md#l-07).
            if glob.is_some() || self.is_of_full_state() {
                self.request_released(ctx.catalog, name, entry);
                let request = NameRequest { is_member: true, ..self.traffic.name_request(ctx) };
                self.wait_for(ctx, name, request);
                self.subscription.awaits_members = true;
                if let Some(glob) = glob {
                    // The members stand for the glob.
                    self.waiting.remove(glob);
                }
            } else {
                self.sent.put(ctx.catalog, name, ResourceEntry { state: Presence::Released, ..entry });
            }
        }
    }

    /// Waits no more for members of a wildcard or a glob: the client has given that up, or the
    /// server has answered with other members. Without `glob`, waits for no member of any.
    pub(crate) fn release_members(&mut self, catalog: &mut Catalog, glob: Option<Sym>) {
        if !self.subscription.awaits_members {
            return;
        }
        self.subscription.awaits_members = glob.is_some();
        let is_of_glob =
            |name: Sym| glob.is_none_or(|glob| glob_matches(catalog.text(glob), catalog.text(name)));
        let members: Vec<Sym> =
            self.waiting.members().into_iter().filter(|member| is_of_glob(*member)).collect();
        for name in members {
            self.waiting.remove(name);
            if let Some(entry) = self.sent.get(catalog, name).filter(|entry| entry.state == Presence::Again) {
                self.sent.put(catalog, name, ResourceEntry { state: Presence::Released, ..entry });
            }
        }
    }

    /// Counts a request. `expects_response`: the request asks for something new. `asked`: the names
    /// that the request asks for. `kind`: the kind of the request.
    pub(crate) fn count_request(
        &mut self,
        ctx: &Context<'_>,
        expects_response: bool,
        asked: &[Sym],
        kind: MessageKind,
    ) {
        if expects_response && self.traffic.requests == 0 {
            self.traffic.awaits_names = !self.waiting.is_empty();
        } else if expects_response {
            let is_awaited = |name: &Sym| self.is_awaited_since(self.canonical(ctx.catalog, *name), ctx.seq);
            let awaits_member =
                self.subscription.awaits_members && self.waiting.members().iter().any(is_awaited);
            self.traffic.awaits_names = awaits_member || asked.iter().any(is_awaited);
        }
        self.traffic.requests += 1;
        self.traffic.first_request.get_or_insert(ctx.seq);
        self.traffic.last_request = Some(ctx.seq);
        if expects_response || !matches!(kind, MessageKind::Ack | MessageKind::Nack) {
            self.traffic.askings += 1;
            self.traffic.last_asking = Some(ctx.seq);
        }
        if expects_response {
            (self.traffic.unanswered, self.traffic.unanswered_at) = (Some(ctx.seq), ctx.at);
        }
    }

    /// Whether the client waits for a name that this request asks for.
    pub(crate) fn is_awaited_since(&self, name: Sym, request: Seq) -> bool {
        let asked = self.waiting.get(name);
        asked.is_some_and(|asked| asked.first == request || asked.last == request)
    }
}
