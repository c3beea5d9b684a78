use std::collections::BTreeMap;

use xdscope_wire::ErrorDetail;
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::RequestFields;
use xdscope_wire::event::{Nonce, Sym, TypeUrl, VersionInfo};

/// A request in either form, before encoding.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// SotW only.
    pub version: VersionInfo,
    /// All names (SotW), or the names to subscribe to (delta).
    pub names: Vec<Sym>,
    /// Adds `*` to the names.
    pub wildcard: bool,
    /// Delta only.
    pub unsubscribe: Vec<Sym>,
    pub unsubscribe_wildcard: bool,
    /// Delta only: version by name, in the first request after a reconnect (docs/protocol.md#f-15).
    pub initial: BTreeMap<Sym, Sym>,
    pub nonce: Nonce,
    pub error: Option<ErrorDetail>,
}

impl Request {
    /// Whether the request has nothing to say.
    pub(super) fn is_empty(&self) -> bool {
        let none = self.names.is_empty() && self.unsubscribe.is_empty() && self.initial.is_empty();
        none && !self.wildcard && !self.unsubscribe_wildcard && self.nonce.is_empty()
    }

    /// Returns the encoded message. Names are sorted, so that equal subscriptions give equal bytes.
    pub(super) fn encode(
        &self,
        delta: bool,
        url: &TypeUrl,
        node: Option<&[u8]>,
        catalog: &Catalog,
    ) -> Vec<u8> {
        let versions = self.initial.iter();
        let fields = RequestFields {
            version_info: self.version.as_str(),
            node,
            type_url: url.as_str(),
            names: sorted(&self.names, self.wildcard, catalog),
            unsubscribe: sorted(&self.unsubscribe, self.unsubscribe_wildcard, catalog),
            initial_versions: versions
                .map(|(name, version)| (catalog.text(*name), catalog.text(*version)))
                .collect(),
            response_nonce: self.nonce.as_str(),
            error_detail: self.error.as_ref(),
        };
        fields.encode(delta)
    }
}

/// Returns the texts of names, sorted, after `*` for the wildcard.
fn sorted<'a>(names: &[Sym], wildcard: bool, catalog: &'a Catalog) -> Vec<&'a str> {
    let mut out: Vec<&str> = wildcard.then_some("*").into_iter().collect();
    out.extend(names.iter().map(|name| catalog.text(*name)));
    if let Some(names) = out.get_mut(usize::from(wildcard)..) {
        names.sort_unstable();
    }
    out
}
