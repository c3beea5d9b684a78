//! The resources that refer to a resource, found in slices so that no frame waits for a full
//! search.

use std::sync::Arc;

use crate::data::Contents;
use xdscope_schema::links::{Link, referring_kinds};
use xdscope_wire::event::{Kind, StreamId};

use super::path::TreePath;

/// Resources that are searched for references.
const MAX_SEARCHED: usize = 2000;
/// Resources searched in one step.
const RESOURCES_PER_STEP: usize = 64;
/// Larger resources are not searched.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;

/// Resources of a stream that refer to one resource.
#[derive(Clone, Debug)]
pub struct Referrers {
    pub found: Vec<TreePath>,
    stream: StreamId,
    kind: Kind,
    name: Arc<str>,
    /// Resources not searched yet, the next one last.
    rest: Vec<TreePath>,
    /// There are more resources than are searched.
    has_more: bool,
}

impl Referrers {
    /// Starts the search; `None` if no type can refer to the resource.
    pub fn new(contents: Contents<'_>, stream: StreamId, place: &TreePath) -> Option<Referrers> {
        let (kind, version) = Kind::of_type_url(place.type_url.as_str())?;
        let name = place.name.clone()?;
        let (mut rest, mut has_more) = (Vec::new(), false);
        for url in referring_kinds(kind).filter_map(|other| other.type_url(version)) {
            let left = MAX_SEARCHED - rest.len();
            let names = contents.store.first_resource_names(stream, &url, left + 1);
            has_more |= names.len() > left;
            let place = |name| TreePath { type_url: url.clone(), name: Some(name) };
            rest.extend(names.into_iter().take(left).map(place));
        }
        rest.reverse();
        Some(Referrers { found: Vec::new(), stream, kind, name, rest, has_more })
    }

    pub fn is_searching(&self) -> bool {
        !self.rest.is_empty()
    }

    /// There may be more referrers than were found.
    pub fn is_partial(&self) -> bool {
        self.has_more || self.is_searching()
    }

    /// Searches more resources. Returns true once, when the last one was searched.
    pub fn search(&mut self, contents: Contents<'_>) -> bool {
        let rest = self.rest.split_off(self.rest.len().saturating_sub(RESOURCES_PER_STEP));
        let last = !rest.is_empty() && self.rest.is_empty();
        let found = rest.into_iter().rev().filter(|place| self.refers(contents, place));
        let found: Vec<TreePath> = found.collect();
        self.found.extend(found);
        last
    }

    /// Whether the content of a resource refers to the searched one.
    fn refers(&self, contents: Contents<'_>, from: &TreePath) -> bool {
        let fact =
            from.name.as_ref().and_then(|name| contents.store.resource(self.stream, &from.type_url, name));
        let content =
            fact.and_then(|fact| fact.content).filter(|id| contents.size(*id) <= MAX_SEARCHED_BYTES);
        let links = content.and_then(|id| contents.body(id)).map(|body| contents.links(&body));
        let means = |link: &Link| link.kind == self.kind && link.matches_name(&self.name);
        links.unwrap_or_default().iter().any(means)
    }
}
