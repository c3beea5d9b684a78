//! The account of a recording: messages and gaps.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::path::Path;

use crate::hop::say;
use xdscope_schema::Schema;
use xdscope_sources::{BoundedCatalog, FrameSink, ReadProgress, Spec};
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{StreamId, Time};
use xdscope_wire::{Frame, FramePayload, GapCause};

/// Bytes of contents while the recording is read.
const BUDGET: usize = 64 << 20;

/// Messages and gaps of some streams.
#[derive(Default)]
pub struct Account {
    pub messages: u64,
    /// Messages in gaps.
    pub lost: u64,
    /// Gaps by cause.
    causes: BTreeMap<GapCause, u64>,
}

impl Account {
    fn add(&mut self, frame: &Frame) {
        match &frame.what {
            FramePayload::Message(_) => self.messages += 1,
            FramePayload::Gap { messages, cause, .. } => {
                self.lost += messages;
                *self.causes.entry(*cause).or_default() += 1;
            }
            _ => {}
        }
    }

    /// Returns the number of gaps of each cause.
    pub fn gaps(&self) -> String {
        let causes = self.causes.iter().map(|(cause, count)| format!("{cause:?} {count}"));
        causes.collect::<Vec<_>>().join(", ")
    }
}

/// The account of a session.
pub struct Recorded {
    pub traffic: Account,
    /// Streams to the target of attacks.
    pub attacks: Account,
    attackers: HashSet<StreamId>,
    target: String,
    contents: BoundedCatalog,
}

/// Reads the recording in a folder.
pub fn count(folder: &Path, target: SocketAddr) -> Recorded {
    let folded =
        xdscope_sources::fold(&Spec::new(folder), &Schema::builtin(), &mut Silent, |catalog, _| Recorded {
            traffic: Account::default(),
            attacks: Account::default(),
            attackers: HashSet::new(),
            target: target.to_string(),
            contents: BoundedCatalog::new(catalog, BUDGET),
        });
    let folded = folded.expect("a recording");
    folded.notices.iter().for_each(|notice| say(notice));
    folded.facts
}

struct Silent;

impl ReadProgress for Silent {
    fn start(&mut self, _size: u64) {}
    fn update(&mut self, _position: &dyn Fn() -> u64) {}
}

impl FrameSink for Recorded {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.contents.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        if let FramePayload::Open(open) = &frame.what
            && open.server.as_ref() == Some(&self.target)
        {
            self.attackers.insert(frame.stream);
        }
        match self.attackers.contains(&frame.stream) {
            true => self.attacks.add(&frame),
            false => self.traffic.add(&frame),
        }
    }

    fn advance(&mut self, _now: Time) {}

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        self.contents.drop_old(mark)
    }
}
