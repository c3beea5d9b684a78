//! The resources of a source at two moments.

use xdscope_engine::store::Store;
use xdscope_sources::{FrameSink, Limit};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Seq, Time};

use super::side::{Clients, Content, Member, members};
use crate::cli::args::StreamPick;
use crate::cli::error::CliError;
use crate::cli::source::target::GetTarget;

/// A fold that takes the resources at two moments.
pub(super) struct Moments<'a> {
    store: Store,
    whats: &'a [GetTarget],
    pick: Option<StreamPick>,
    clients: Clients,
    moments: [Moment; 2],
    /// Number of the last message of the source.
    n: Seq,
    end: Time,
}

/// A moment, and the resources then.
struct Moment {
    limit: Limit,
    members: Option<Vec<Member>>,
}

/// The resources at two moments.
pub(super) struct TakenMoments {
    /// The store at the end of the source.
    pub store: Store,
    pub clients: Clients,
    /// In the order of the moments on the command line.
    pub members: [Vec<Member>; 2],
}

impl<'a> Moments<'a> {
    pub(super) fn new(
        store: Store,
        limits: [Limit; 2],
        whats: &'a [GetTarget],
        pick: Option<StreamPick>,
    ) -> Moments<'a> {
        let moments = limits.map(|limit| Moment { limit, members: None });
        let (clients, n, end) = (Clients::default(), Seq(0), Time::ZERO);
        Moments { store, whats, pick, clients, moments, n, end }
    }

    /// Takes the resources of the moments that `is_passed` accepts.
    fn take(&mut self, is_passed: impl Fn(&Limit) -> bool) {
        for moment in &mut self.moments {
            if moment.members.is_some() || !is_passed(&moment.limit) {
                continue;
            }
            match moment.limit {
                Limit::All => self.store.advance(self.end),
                Limit::Time(last) => self.store.advance(last),
                Limit::Message(_) => {}
            }
            // Nothing is picked yet.
            let _ = self.clients.note(&self.store, self.pick.as_ref());
            moment.members = Some(members(&self.store, &self.clients, self.whats));
        }
    }

    /// Returns the resources at the moments.
    ///
    /// # Errors
    /// The flags pick a client that the source does not have.
    pub(super) fn finish(mut self) -> Result<TakenMoments, CliError> {
        self.take(|_| true);
        self.store.advance(self.end);
        self.clients.note(&self.store, self.pick.as_ref())?;
        let members = self.moments.map(|moment| moment.members.unwrap_or_default());
        Ok(TakenMoments { store: self.store, clients: self.clients, members })
    }
}

impl FrameSink for Moments<'_> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.store.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.n.0 += u64::from(xdscope_sources::is_message(&frame));
        self.end = self.end.max(frame.at);
        let n = self.n;
        self.take(|limit| !limit.includes(&frame, n));
        self.store.handle(frame);
    }

    fn advance(&mut self, now: Time) {
        self.end = self.end.max(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        if !self.store.is_over_budget() {
            return None;
        }
        // Nothing is picked yet.
        let _ = self.clients.note(&self.store, self.pick.as_ref());
        let taken = self.moments.iter().filter_map(|moment| moment.members.as_ref()).flatten();
        let contents = taken.filter_map(|member| match member.content {
            Content::Blob(id) => Some(id),
            Content::Tree(_) | Content::Unknown => None,
        });
        Some(self.store.drop_old_facts(|used| {
            mark(used);
            contents.for_each(|id| used.blob(id));
        }))
    }
}
