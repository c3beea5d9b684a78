//! Selects the server of a structured name, and a substitute while that server is unreachable.

use std::collections::{BTreeMap, BTreeSet};

use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Sym, Time, TypeUrl};

use super::references::OwnSource;
use super::structured;
use super::track::{Changes, Track};
use super::{Client, Lane, Refused, TrackKey, Unrequested};
use xdscope_schema::bootstrap::FallbackServer;
use xdscope_wire::xdstp::is_glob;
use xdscope_wire::xdstp::{BadName, StructuredName};

/// Names without a server that are remembered.
const MAX_UNMAPPED_NAMES: usize = 1000;

impl Client {
    /// Returns the server of a name, and the name on the wire.
    pub(super) fn place(
        &mut self,
        url: &TypeUrl,
        name: Sym,
        catalog: &mut Catalog,
    ) -> Result<(u32, Sym), Refused> {
        let text = catalog.text(name);
        if !self.config.structured || !structured::is_structured_name(text) {
            return Ok((self.config.plain(url), name));
        }
        let wish = StructuredName::configured(text)?;
        if wish.type_url != *url {
            return Err(BadName::Type(text.to_owned()).into());
        }
        let beside = self.config.beside.get(&wish.name).copied();
        let server = beside.or_else(|| self.source(&wish));
        let server = server.ok_or_else(|| Refused::Unmapped(wish.authority.clone()))?;
        if !self.takes(server, text) {
            return Err(BadName::GlobInSotw(text.to_owned()).into());
        }
        let name = catalog.intern(&wish.name);
        self.keep_alternatives(url, name, wish);
        Ok((server, name))
    }

    /// Returns the server of a structured name (docs/protocol.md#k-24).
    ///
    /// `plain` is the server of the plain names of the type.
    fn server(&self, wish: &StructuredName, plain: u32) -> Option<u32> {
        let known = self.config.authorities.get(&wish.authority).copied();
        known.or(match self.config.others {
            FallbackServer::Plain => Some(plain),
            FallbackServer::Server(server) => Some(server),
            FallbackServer::Nobody => None,
        })
    }

    /// Returns the server of a structured name without a source in the referring resource.
    fn source(&self, wish: &StructuredName) -> Option<u32> {
        self.server(wish, self.config.plain(&wish.type_url))
    }

    /// Whether the server supports a name: globs need a delta stream (docs/protocol.md#k-26).
    fn takes(&self, server: u32, name: &str) -> bool {
        self.config.profile_of(server).variant.is_delta() || !is_glob(name)
    }

    pub(super) fn keep_alternatives(&mut self, url: &TypeUrl, name: Sym, wish: StructuredName) {
        if !wish.alternatives.is_empty() {
            self.alternatives.insert((url.clone(), name), wish.alternatives);
        }
    }

    /// Subscribes to the alternatives of the lane's names, or unsubscribes from them.
    pub(super) fn stand_in(&mut self, now: Time, lane: Lane, needed: bool, catalog: &mut Catalog) {
        if self.alternatives.is_empty() {
            return;
        }
        let mut wishes = Vec::new();
        for key in self.keys_on(lane) {
            let Some(track) = self.tracks.get(&key) else { continue };
            let alternatives = self.alternatives.iter().filter(|((url, _), _)| *url == key.url);
            let wanted = alternatives
                .filter(|((_, name), _)| track.asked.contains(name) || track.referred.contains(name));
            // Use the first alternative of another server, because the lane's own is unreachable.
            wishes.extend(wanted.filter_map(|(_, list)| {
                let reachable =
                    |wish: &&StructuredName| self.source(wish).is_some_and(|server| server != key.server);
                list.iter().find(reachable).cloned()
            }));
        }
        let mut keys = BTreeSet::new();
        for wish in wishes {
            let Some(server) = self.source(&wish) else { continue };
            let (name, key) = (catalog.intern(&wish.name), TrackKey { url: wish.type_url, server });
            // The variant has no stream for the type.
            let Ok(track) = self.track(now, &key) else { continue };
            let changed = if needed { track.stand_ins.insert(name) } else { track.stand_ins.remove(&name) };
            if changed {
                keys.insert(key);
            }
        }
        for key in keys {
            let gone = self.tracks.get(&key).map(Track::unwanted).unwrap_or_default();
            self.settle(&key, catalog);
            self.follow(now, &key.url, Changes { gone, ..Changes::default() }, catalog);
        }
    }

    /// Groups the names of a type by server, with an empty group for servers that lost all names.
    ///
    /// A name without a server is left out and remembered (docs/protocol.md#i-06,
    /// docs/protocol.md#k-24).
    pub(super) fn by_server(
        &mut self,
        url: &TypeUrl,
        names: BTreeSet<Sym>,
        catalog: &Catalog,
    ) -> BTreeMap<u32, BTreeSet<Sym>> {
        let known = self.keys_of(url).into_iter();
        let mut out: BTreeMap<u32, BTreeSet<Sym>> = known.map(|key| (key.server, BTreeSet::new())).collect();
        self.unmapped.retain(|(other, _), _| other != url);
        let plain = self.config.plain(url);
        let kind = Kind::of_type_url(url.as_str()).map(|(kind, _)| kind);
        // Authorities are not configured, so all names have the same server.
        let alike = self.config.authorities.is_empty() && self.config.others == FallbackServer::Plain;
        for name in names {
            let text = catalog.text(name);
            let own = kind.and_then(|kind| Some((kind, self.references.own_source(kind, name)?)));
            let plain = match own.map(|(kind, source)| self.own_server(kind, source, plain)) {
                None => plain,
                Some(Ok(server)) => server,
                Some(Err(cause)) => {
                    self.remember_unrequested(url, name, cause);
                    continue;
                }
            };
            let found = |text| StructuredName::found(text).and_then(|wish| self.server(&wish, plain));
            let server =
                if alike || !structured::is_structured_name(text) { Some(plain) } else { found(text) };
            match server {
                Some(server) if !self.takes(server, text) => {}
                Some(server) => {
                    out.entry(server).or_default().insert(name);
                }
                None => self.remember_unrequested(url, name, Unrequested::Authority),
            }
        }
        out
    }

    fn remember_unrequested(&mut self, url: &TypeUrl, name: Sym, cause: Unrequested) {
        if self.unmapped.len() < MAX_UNMAPPED_NAMES {
            self.unmapped.insert((url.clone(), name), cause);
        }
    }

    /// Returns the server of a resource that its reference requests outside of ADS.
    ///
    /// Never the aggregated stream: a server of a cluster has resources that the ADS does not have.
    fn own_server(&self, kind: Kind, source: &OwnSource, plain: u32) -> Result<u32, Unrequested> {
        let cluster = source.cluster.clone().unwrap_or_default();
        let unknown = || Unrequested::Cluster(cluster.to_string());
        if let Some(server) = self.config.clusters.get(&(cluster.clone(), source.variant)) {
            return Ok(*server);
        }
        if cluster.is_empty()
            && let Some(server) = self.config.own.get(&kind)
        {
            return Ok(*server);
        }
        // Without a bootstrap, one server stands for all clusters.
        let is_alone = self.config.clusters.is_empty();
        let separate = !self.config.profile_of(plain).variant.is_aggregated();
        if is_alone && separate { Ok(plain) } else { Err(unknown()) }
    }
}
