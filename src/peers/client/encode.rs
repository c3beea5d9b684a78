use std::collections::BTreeMap;

use crate::wire::ErrorDetail;
use crate::wire::content::Catalog;
use crate::wire::event::{Nonce, Sym, TypeUrl, VersionInfo};
use crate::wire::pb::put_len_field;

/// A request of either kind, before it is bytes.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// SotW only.
    pub version: VersionInfo,
    /// All names (SotW), or those to subscribe to (delta).
    pub names: Vec<Sym>,
    /// With a `*` among them.
    pub wildcard: bool,
    /// Delta only.
    pub unsubscribe: Vec<Sym>,
    pub unsubscribe_wildcard: bool,
    /// Delta only: name to version, on the first request after a reconnect (row F-15).
    pub initial: BTreeMap<Sym, Sym>,
    pub nonce: Nonce,
    pub error: Option<ErrorDetail>,
}

/// Field numbers of the two requests (checklists M.1 and M.3).
struct Numbers {
    node: u32,
    type_url: u32,
    names: u32,
    nonce: u32,
    error: u32,
}

const SOTW: Numbers = Numbers { node: 2, type_url: 4, names: 3, nonce: 5, error: 6 };
const DELTA: Numbers = Numbers { node: 1, type_url: 2, names: 3, nonce: 6, error: 7 };
const SOTW_VERSION: u32 = 1;
const DELTA_UNSUBSCRIBE: u32 = 4;
const DELTA_INITIAL: u32 = 5;

impl Request {
    /// Whether it would tell a server nothing.
    pub(super) fn is_empty(&self) -> bool {
        let none = self.names.is_empty() && self.unsubscribe.is_empty() && self.initial.is_empty();
        none && !self.wildcard && !self.unsubscribe_wildcard && self.nonce.is_empty()
    }

    /// The message. Names go out sorted, so that equal wishes are equal bytes.
    pub(super) fn encode(
        &self,
        delta: bool,
        url: &TypeUrl,
        node: Option<&[u8]>,
        catalog: &Catalog,
    ) -> Vec<u8> {
        let numbers = if delta { DELTA } else { SOTW };
        let mut out = Vec::new();
        let text = |out: &mut Vec<u8>, number, text: &str| put_len_field(out, number, text.as_bytes());
        // In the order of their numbers, as every library writes them.
        if !delta && !self.version.is_empty() {
            text(&mut out, SOTW_VERSION, self.version.as_str());
        }
        if let Some(node) = node {
            put_len_field(&mut out, numbers.node, node);
        }
        if delta {
            text(&mut out, numbers.type_url, url.as_str());
        }
        sorted(&self.names, self.wildcard, catalog).for_each(|name| text(&mut out, numbers.names, name));
        if delta {
            let names = sorted(&self.unsubscribe, self.unsubscribe_wildcard, catalog);
            names.for_each(|name| text(&mut out, DELTA_UNSUBSCRIBE, name));
        } else {
            text(&mut out, numbers.type_url, url.as_str());
        }
        for (name, version) in &self.initial {
            let mut entry = Vec::new();
            put_len_field(&mut entry, 1, catalog.text(*name).as_bytes());
            put_len_field(&mut entry, 2, catalog.text(*version).as_bytes());
            put_len_field(&mut out, DELTA_INITIAL, &entry);
        }
        if !self.nonce.is_empty() {
            text(&mut out, numbers.nonce, self.nonce.as_str());
        }
        if let Some(error) = &self.error {
            put_len_field(&mut out, numbers.error, &error.encode());
        }
        out
    }
}

fn sorted<'a>(names: &[Sym], wildcard: bool, catalog: &'a Catalog) -> impl Iterator<Item = &'a str> {
    let mut names: Vec<&str> = names.iter().map(|name| catalog.text(*name)).collect();
    names.sort_unstable();
    wildcard.then_some("*").into_iter().chain(names)
}
