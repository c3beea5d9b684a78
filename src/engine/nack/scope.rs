//! The resources of a rejected response that a NACK names, and the use of the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use xdscope_wire::event::Kind;

use super::blame::Names;
use super::{ClientKind, MAX_TEXT_BYTES, guess, prefix, stated};

/// The first words of Envoy's text about listeners and clusters that it rejects one by one.
const ENVOY_ONE_BY_ONE: &str = "Error adding/updating ";

/// How a client uses the resources of a rejected response that its NACK does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialUse {
    /// Uses the valid listeners or clusters and removes those that the response omits or removes,
    /// and reports the previous version.
    Envoy,
    /// Uses nothing of the response: a listener or cluster breaks a constraint, which is checked
    /// before any of them is used.
    EnvoyNothing,
    /// Uses the resources in an order of its own, until the first invalid one.
    EnvoyInOrder,
    /// Uses the valid resources and reports the rejected version.
    GrpcNewVersion,
    /// Uses the valid resources.
    Grpc,
}

/// Whether a client uses the resources of a rejected response that its NACK does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestUse {
    /// The client uses the resources.
    Used,
    /// The client keeps what it had before, as the protocol says (docs/protocol.md#e-26).
    #[default]
    NotUsed,
    /// The client may use some of the resources.
    Unknown,
}

impl RestUse {
    /// All uses.
    pub const ALL: [RestUse; 3] = [RestUse::Used, RestUse::NotUsed, RestUse::Unknown];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            RestUse::Used => "used",
            RestUse::NotUsed => "not_used",
            RestUse::Unknown => "unknown",
        }
    }
}

impl PartialUse {
    /// Returns the use by `client` of a rejected response with `count` resources of a type.
    ///
    /// The behavior of Envoy was observed with Envoy 1.40, see the integration test `in_force`.
    /// `None` if nothing is known of the client.
    pub fn by_client(
        client: Option<ClientKind>,
        kind: Option<Kind>,
        text: &str,
        count: usize,
    ) -> Option<PartialUse> {
        let one_by_one = text.trim_start().starts_with(ENVOY_ONE_BY_ONE);
        match (client?, kind) {
            (ClientKind::Envoy, Some(Kind::Lds | Kind::Cds)) if one_by_one => Some(PartialUse::Envoy),
            (ClientKind::Envoy, Some(Kind::Lds | Kind::Cds)) => Some(PartialUse::EnvoyNothing),
            (ClientKind::Envoy, _) => (count > 1).then_some(PartialUse::EnvoyInOrder),
            (ClientKind::GrpcCore | ClientKind::GrpcJs, _) => Some(PartialUse::GrpcNewVersion),
            (ClientKind::GrpcGo | ClientKind::GrpcJava, _) => Some(PartialUse::Grpc),
        }
    }

    /// Returns whether the client uses the resources that its NACK does not name.
    pub fn rest(self) -> RestUse {
        match self {
            PartialUse::Envoy | PartialUse::GrpcNewVersion | PartialUse::Grpc => RestUse::Used,
            PartialUse::EnvoyNothing => RestUse::NotUsed,
            PartialUse::EnvoyInOrder => RestUse::Unknown,
        }
    }
}

/// The resources of a rejected response that the NACK is about, and the use of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NackScope {
    /// The resources that the text states; empty if the NACK is about all of them.
    named: BTreeSet<String>,
    rest: RestUse,
}

impl NackScope {
    /// Reads the text of a NACK. `names` are the names in the response, `removed` are the names
    /// that the response removes, `agent` is the implementation of the client by its node.
    ///
    /// The text names a resource in the place of a known format, else as a separate word.
    pub fn read(
        text: &str,
        names: &[Arc<str>],
        removed: &[Arc<str>],
        agent: Option<ClientKind>,
        kind: Option<Kind>,
    ) -> NackScope {
        if names.is_empty() || text.is_empty() {
            return NackScope::default();
        }
        let push = Names(names);
        let nack = stated(prefix(text, MAX_TEXT_BYTES), &push);
        let by_index =
            |index: Option<usize>| index.and_then(|index| names.get(index)).map(|name| name.to_string());
        let faults = nack.entries.into_iter();
        let stated =
            faults.filter_map(|fault| fault.name.map(|name| name.value).or_else(|| by_index(fault.index)));
        let known: BTreeSet<&str> = names.iter().map(|name| &**name).collect();
        let mut named: BTreeSet<String> = stated.filter(|name| known.contains(name.as_str())).collect();
        for searched in [names, removed] {
            if named.is_empty() {
                named.extend(guess::find_names(text, searched).into_iter().map(str::to_owned));
            }
        }
        if named.is_empty() {
            let [only] = names else { return NackScope::default() };
            named.insert(only.to_string());
        }
        let partial_use = PartialUse::by_client(nack.client.or(agent), kind, text, names.len());
        NackScope { named, rest: partial_use.map(PartialUse::rest).unwrap_or_default() }
    }

    /// Whether the NACK is about a resource: names it, or names none.
    pub fn is_about(&self, name: &str) -> bool {
        self.named.is_empty() || self.named.contains(name)
    }

    /// Whether the NACK names any resource.
    pub fn names_any(&self) -> bool {
        !self.named.is_empty()
    }

    /// Returns whether the client uses the resources that the NACK is not about.
    pub fn rest(&self) -> RestUse {
        self.rest
    }
}
