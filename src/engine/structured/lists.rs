//! The members of a list collection (docs/protocol.md#k-12).

use crate::store::{ResourceFact, ResourceState};
use xdscope_wire::xdstp::lists::{ListEntry, alternative};

/// Members that are listed by name. Further members are only counted.
pub const MAX_LISTED_MEMBERS: usize = 100;
/// Entries whose state is looked up.
const MAX_SEARCHED_ENTRIES: usize = 10_000;

/// The entries of a list collection, counted by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMembers {
    /// Number of entries.
    pub entries: u64,
    /// Entries with their content inside.
    pub inline: u64,
    /// Locators whose target the client has.
    pub present: u64,
    /// Locators whose target was requested and not sent.
    pub waiting: u64,
    /// Locators whose target does not exist or was removed.
    pub absent: u64,
    /// Locators whose target was not requested.
    pub not_requested: u64,
    /// Entries that are neither.
    pub empty: u64,
    /// The first entries.
    pub first: Vec<MemberFact>,
}

/// An entry of a list collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberFact {
    /// The URI of a locator, or the name of an inline entry, which may be empty.
    pub name: String,
    /// The state of the entry.
    pub state: MemberState,
    /// The version of an inline entry.
    pub version: Option<String>,
    /// The alternative that the client has in place of the target.
    pub served_by: Option<String>,
}

/// The state of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// The content is in the list.
    Inline,
    /// The client has the target.
    Present,
    /// The target was requested and not sent.
    Waiting,
    /// The target does not exist or was removed.
    Absent,
    /// The target was not requested.
    NotRequested,
}

impl MemberState {
    /// All states.
    pub const ALL: [MemberState; 5] = [
        MemberState::Inline,
        MemberState::Present,
        MemberState::Waiting,
        MemberState::Absent,
        MemberState::NotRequested,
    ];

    /// Returns the word of the state in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            MemberState::Inline => "inline",
            MemberState::Present => "present",
            MemberState::Waiting => "waiting",
            MemberState::Absent => "absent",
            MemberState::NotRequested => "not_requested",
        }
    }

    fn from_fact(fact: Option<&ResourceFact>) -> MemberState {
        match fact.map(|fact| fact.state) {
            Some(ResourceState::Waiting) => MemberState::Waiting,
            Some(ResourceState::Absent | ResourceState::Removed | ResourceState::Expired) => {
                MemberState::Absent
            }
            Some(ResourceState::Released) | None => MemberState::NotRequested,
            Some(_) => MemberState::Present,
        }
    }
}

/// Counts the entries of a list. `find` finds a resource of the client by name.
pub(super) fn members(entries: &[ListEntry], find: impl Fn(&str) -> Option<ResourceFact>) -> ListMembers {
    let mut members = ListMembers { entries: entries.len() as u64, ..ListMembers::default() };
    for entry in entries.iter().take(MAX_SEARCHED_ENTRIES) {
        let member = match entry {
            ListEntry::Inline { name, version } => {
                let (name, version) = (name.clone(), Some(version.clone()));
                MemberFact { name, state: MemberState::Inline, version, served_by: None }
            }
            ListEntry::Locator(locator) => {
                let state = MemberState::from_fact(find(&locator.target()).as_ref());
                let is_held =
                    |name: &String| MemberState::from_fact(find(name).as_ref()) == MemberState::Present;
                let served_by = match state {
                    MemberState::Present => None,
                    _ => alternative(&locator.uri).filter(is_held),
                };
                MemberFact { name: locator.uri.clone(), state, version: None, served_by }
            }
            ListEntry::Empty => {
                members.empty += 1;
                continue;
            }
        };
        *match member.state {
            MemberState::Inline => &mut members.inline,
            MemberState::Present => &mut members.present,
            MemberState::Waiting => &mut members.waiting,
            MemberState::Absent => &mut members.absent,
            MemberState::NotRequested => &mut members.not_requested,
        } += 1;
        if members.first.len() < MAX_LISTED_MEMBERS {
            members.first.push(member);
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use xdscope_wire::pb::put_len_field;
    use xdscope_wire::xdstp::lists::entries;
    use xdscope_wire::xdstp::locator;

    use super::*;

    const LISTENER: &str = "envoy.config.listener.v3.Listener";

    /// An endless list is counted, and only its beginning is looked up.
    #[test]
    fn long_lists_are_bounded() {
        let locator = locator::encode(&format!("xdstp://a/{LISTENER}/x")).expect("a locator");
        let mut entry = Vec::new();
        put_len_field(&mut entry, 1, &locator);
        let mut bytes = Vec::new();
        for _ in 0..20_000 {
            put_len_field(&mut bytes, 1, &entry);
        }
        let looked_up = std::cell::Cell::new(0);
        let members = members(&entries(&bytes), |_| {
            looked_up.set(looked_up.get() + 1);
            None
        });
        assert_eq!((members.entries, members.first.len()), (20_000, MAX_LISTED_MEMBERS));
        assert!(looked_up.get() <= 10_000);
        let states: HashMap<&str, MemberState> = MemberState::ALL.map(|state| (state.word(), state)).into();
        assert_eq!(states.len(), MemberState::ALL.len());
    }
}
