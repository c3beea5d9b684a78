//! Who refers to a resource, looked for in slices so that no frame waits for the whole search.

use std::sync::Arc;

use crate::schema::links::referring_kinds;
use crate::tui::data::Contents;
use crate::wire::event::{ApiVersion, Kind, StreamId};

use crate::tui::screens::resources::Place;

/// Resources that are searched for references to one.
const SEARCHED: usize = 2000;
/// Of these in one step of a frame.
const SLICE: usize = 64;
/// Bytes of a resource that is searched so.
const SEARCHED_SIZE: u64 = 1 << 20;

/// Resources of a stream that refer to one of them.
#[derive(Clone, Debug)]
pub struct Users {
    pub found: Vec<Place>,
    stream: StreamId,
    kind: Kind,
    name: Arc<str>,
    /// Those that are still to be looked at, the next one last.
    rest: Vec<Place>,
    /// There are more than are looked at.
    more: bool,
}

impl Users {
    /// Begins to look for those of this resource; `None` where nothing can refer to it.
    pub fn of(contents: Contents<'_>, stream: StreamId, place: &Place) -> Option<Users> {
        let (kind, _) = Kind::of_type_url(place.type_url.as_str())?;
        let name = place.name.clone()?;
        let (mut rest, mut more) = (Vec::new(), false);
        for url in referring_kinds(kind).iter().filter_map(|other| other.type_url(ApiVersion::V3)) {
            let left = SEARCHED - rest.len();
            let names = contents.first_names(stream, &url, left + 1);
            more |= names.len() > left;
            let place = |name| Place { type_url: url.clone(), name: Some(name) };
            rest.extend(names.into_iter().take(left).map(place));
        }
        rest.reverse();
        Some(Users { found: Vec::new(), stream, kind, name, rest, more })
    }

    pub fn searching(&self) -> bool {
        !self.rest.is_empty()
    }

    /// There may be more than were found.
    pub fn at_least(&self) -> bool {
        self.more || self.searching()
    }

    /// Looks at more of them. True once the last of them was looked at.
    pub fn search(&mut self, contents: Contents<'_>) -> bool {
        let rest = self.rest.split_off(self.rest.len().saturating_sub(SLICE));
        let last = !rest.is_empty() && self.rest.is_empty();
        let found = rest.into_iter().rev().filter(|place| self.refers(contents, place));
        let found: Vec<Place> = found.collect();
        self.found.extend(found);
        last
    }

    fn refers(&self, contents: Contents<'_>, from: &Place) -> bool {
        let fact = from.name.as_ref().and_then(|name| contents.resource(self.stream, &from.type_url, name));
        let content = fact.and_then(|fact| fact.content).filter(|id| contents.size(*id) <= SEARCHED_SIZE);
        let links = content.and_then(|id| contents.body(id)).map(|body| contents.links(&body));
        let means =
            |link: &crate::schema::links::Link| link.kind == self.kind && link.matches_name(&self.name);
        links.unwrap_or_default().iter().any(means)
    }
}
