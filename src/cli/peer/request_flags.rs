//! Servers that a client asks, and the protocol variant of each, from flags and bootstrap.

use std::collections::BTreeMap;

use crate::net::client::Server;
use crate::net::tls;
use crate::net::transport::Address;
use xdscope_schema::bootstrap::FallbackServer;
use xdscope_schema::bootstrap::{BootstrapConfig, ConfigSource};
use xdscope_sources::peers::client::ServerProfile;
use xdscope_wire::event::{Kind, Variant};
use xdscope_wire::xdstp;

use super::client::ClientSetup;
use super::connect::reach;
use super::identity::{self, ClientModel};
use crate::cli::args::VariantWord;
use crate::cli::error::CliError;

/// Servers and variants as in [`client::Config`], without the first server.
pub(crate) struct ServerPlan {
    pub profile: ServerProfile,
    pub profiles: BTreeMap<u32, ServerProfile>,
    pub kinds: BTreeMap<Kind, u32>,
    pub own: BTreeMap<Kind, u32>,
    pub clusters: BTreeMap<(Box<str>, Variant), u32>,
    pub beside: BTreeMap<String, u32>,
    pub authorities: BTreeMap<String, u32>,
    pub others: FallbackServer,
    /// Further servers, numbered from 1.
    pub servers: Vec<Server>,
}

impl ClientSetup<'_> {
    /// Combines the sources of the bootstrap with the servers of `--xdstp-authority NAME=SERVER`,
    /// which come first; several names can share a server. A typed SOURCE answers for everything
    /// without an authority.
    pub(crate) fn server_plan(
        &self,
        bootstrap: &BootstrapConfig,
        like: Option<&ClientModel>,
    ) -> Result<ServerPlan, CliError> {
        let stated = self.variant().or(like.map(|like| like.variant));
        let profile = |variant: Variant| {
            let legacy = like.map_or(!variant.is_delta(), |like| like.legacy_wildcard);
            // go-control-plane 0.14 takes `*` for the name of a resource in SotW, so use the form
            // of Envoy.
            let legacy_wildcard = self.flags.legacy_wildcard || (legacy && !self.flags.explicit_wildcard);
            ServerProfile { variant, legacy_wildcard }
        };
        let own = self.server.is_none();
        let wire =
            |url: &str| xdstp::parse_subscription(url).map_or_else(|| url.to_owned(), |(_, name)| name);
        let beside = bootstrap.locator_sources.iter().filter(|_| own);
        let mut out = ServerPlan {
            profile: profile(stated.or(bootstrap.variant()).unwrap_or(Variant::Ads)),
            profiles: BTreeMap::new(),
            kinds: bootstrap.type_sources.iter().filter(|_| own).copied().collect(),
            own: bootstrap.non_ads_type_sources.iter().filter(|_| own).copied().collect(),
            clusters: BTreeMap::new(),
            beside: beside.map(|(url, number)| (wire(url), *number)).collect(),
            authorities: bootstrap.authority_sources.iter().cloned().collect(),
            others: bootstrap.fallback,
            servers: Vec::new(),
        };
        for source in bootstrap.sources.iter().skip(1) {
            let flags = self.to(Address::Tcp(String::new()), None)?;
            out.servers.extend(identity::servers(&source.servers, &flags, self.connect)?);
            if stated.is_none() {
                out.profiles.insert(number(out.servers.len()), profile(source.variant));
            }
        }
        self.add_clusters(bootstrap, &profile, &mut out)?;
        let (before, mut known) = (out.servers.len(), Vec::<&str>::new());
        for pair in &self.flags.xdstp_authority {
            let (name, typed) = pair.split_once('=').ok_or_else(|| {
                CliError::usage(format!("not a NAME=SERVER pair: `{pair}`"))
                    .next("--xdstp-authority shop.example=cp-2.mesh:15010")
            })?;
            let at = match known.iter().position(|other| *other == typed) {
                _ if self.server == Some(typed) => 0,
                Some(at) => before + at + 1,
                None => {
                    let (address, tls) = reach(typed, self.connect)?;
                    out.servers.push(self.to(address, tls)?);
                    known.push(typed);
                    out.servers.len()
                }
            };
            out.authorities.insert(name.to_owned(), number(at));
            // Without a bootstrap, flags alone name the servers.
            if bootstrap.sources.is_empty() {
                out.others = FallbackServer::Nobody;
            }
        }
        Ok(out)
    }

    /// Adds the clusters of the bootstrap, which references from resources can name as sources.
    ///
    /// A typed SOURCE replaces the server of the bootstrap, also where a reference names that
    /// server's cluster.
    fn add_clusters(
        &self,
        bootstrap: &BootstrapConfig,
        profile: &dyn Fn(Variant) -> ServerProfile,
        out: &mut ServerPlan,
    ) -> Result<(), CliError> {
        let flags = self.to(Address::Tcp(String::new()), None)?;
        for (name, upstreams) in &bootstrap.clusters {
            let is_replaced = self.server.is_some() && upstreams == bootstrap.servers();
            for variant in [Variant::Sotw, Variant::Delta, Variant::Rest] {
                let is_source =
                    |source: &ConfigSource| source.variant == variant && source.servers == *upstreams;
                let known = bootstrap.sources.iter().position(is_source).filter(|_| !is_replaced);
                // --variant may have changed the variant of the source.
                let is_kept = |at: &usize| {
                    let profile = out.profiles.get(&number(*at)).unwrap_or(&out.profile);
                    profile.variant == variant
                };
                let at = match known.filter(is_kept) {
                    Some(at) => at,
                    None => {
                        let typed = self.server.filter(|_| is_replaced);
                        let server = match typed.map(|typed| reach(typed, self.connect)).transpose()? {
                            Some((address, tls)) => self.to(address, tls)?,
                            // A cluster that is not needed may have missing certificates.
                            None => match identity::servers(upstreams, &flags, self.connect) {
                                Ok(Some(server)) => server,
                                _ => continue,
                            },
                        };
                        out.servers.push(server);
                        out.profiles.insert(number(out.servers.len()), profile(variant));
                        out.servers.len()
                    }
                };
                out.clusters.insert((name.as_str().into(), variant), number(at));
            }
        }
        Ok(())
    }

    /// Applies `--variant` to all servers.
    fn variant(&self) -> Option<Variant> {
        Some(match self.flags.variant? {
            VariantWord::Ads => Variant::Ads,
            VariantWord::DeltaAds => Variant::DeltaAds,
            VariantWord::Sotw => Variant::Sotw,
            VariantWord::Delta => Variant::Delta,
            VariantWord::Rest => Variant::Rest,
        })
    }

    /// Returns the server as typed; else that of the bootstrap with its fallbacks; else that of the
    /// recorded client.
    pub(crate) fn server(
        &self,
        bootstrap: &BootstrapConfig,
        like: Option<&ClientModel>,
    ) -> Result<Server, CliError> {
        let typed = match (self.server, like) {
            (Some(typed), _) => Some(typed.to_owned()),
            (None, Some(like)) if bootstrap.servers().is_empty() => like.server.clone(),
            (None, _) => None,
        };
        let none = || {
            CliError::usage("the bootstrap names no xDS server")
                .next("xdscope watch HOST:PORT --bootstrap FILE")
        };
        let (address, tls) = match &typed {
            Some(typed) => reach(typed, self.connect)?,
            // The address is replaced below.
            None if bootstrap.servers().is_empty() => return Err(none()),
            None => (Address::Tcp(String::new()), None),
        };
        let flags = self.to(address, tls)?;
        match typed {
            Some(_) => Ok(flags),
            None => identity::servers(bootstrap.servers(), &flags, self.connect)?.ok_or_else(none),
        }
    }

    /// Describes a server by the connection flags.
    fn to(&self, address: Address, tls: Option<tls::ClientTls>) -> Result<Server, CliError> {
        Ok(Server {
            address,
            tls,
            authority: self.connect.authority.clone(),
            headers: self.connect.headers()?,
            token: self.connect.token()?,
            timeout: self.flags.connect_timeout,
            max_message: self.flags.max_message_size,
            keepalive: self.flags.keepalive,
            keepalive_timeout: self.flags.keepalive_timeout,
            fallback: Vec::new(),
        })
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
