//! WHAT as typed: a type, a resource of a type, or a structured name.

use std::collections::BTreeSet;
use std::sync::Arc;

use xdscope_engine::store::{ResourceFact, Store};
use xdscope_wire::event::{Kind, TYPE_PREFIX, TypeUrl, foreign_type_url};
use xdscope_wire::xdstp::glob_matches;

use crate::cli::command::suggest;

/// Parses a structured name, which contains its type. The result is as requested: parameters in
/// order, without directives (docs/protocol.md#k-08).
fn structured(text: &str) -> Option<(TypeUrl, String)> {
    text.starts_with("xdstp:").then(|| xdscope_wire::xdstp::parse_subscription(text)).flatten()
}

/// Joins a type and the names after it, as kubectl does: `cds reviews` is `cds/reviews`.
///
/// A word that is a type, or has one before its first `/`, begins another WHAT.
pub(crate) fn join_names(words: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    // The type that names belong to, and whether it has a name.
    let mut last_type: Option<(&str, bool)> = None;
    for word in words {
        let head = word.split_once('/').map_or(word.as_str(), |(head, _)| head);
        let is_type = crate::cli::read::nodes::is_word(word)
            || word.starts_with("xdstp:")
            || word.starts_with(TYPE_PREFIX)
            || (is_first_or_foreign(last_type) && foreign_type_url(word).is_some())
            || Kind::parse(head).is_some();
        match &mut last_type {
            Some((of, has_name)) if !is_type => {
                if !std::mem::replace(has_name, true) {
                    joined.pop();
                }
                joined.push(format!("{of}/{word}"));
            }
            _ => {
                joined.push(word.clone());
                let is_foreign = foreign_type_url(word).is_some_and(|(_, name)| name.is_none());
                let is_bare = !word.contains('/') || Kind::parse(word).is_some() || is_foreign;
                last_type = is_bare.then_some((word.as_str(), false));
            }
        }
    }
    joined
}

/// Whether a word after this type can be a type URL of another API: a name may look like one.
fn is_first_or_foreign(last_type: Option<(&str, bool)>) -> bool {
    last_type.is_none_or(|(of, _)| foreign_type_url(of).is_some())
}

/// `TYPE`, `TYPE/NAME`, or a structured name.
#[derive(Clone)]
pub(crate) struct GetTarget {
    pub text: String,
    pub kind: Option<Kind>,
    /// Type as typed, for types without a short word: a message name, or a type URL of another API.
    pub(crate) type_text: String,
    pub name: Option<String>,
}

impl GetTarget {
    /// Parses WHAT, split at the first `/`, so that `xdstp://` names work. A type URL contains a
    /// `/` of its own, and one of another API may contain two: `istio.io/debug/syncz`.
    pub(crate) fn parse(text: &str) -> GetTarget {
        if let Some((url, name)) = structured(text) {
            let type_text = url.as_str().rsplit('/').next().unwrap_or_default().to_owned();
            let kind = Kind::of_message(&type_text).map(|(kind, _)| kind);
            return GetTarget { text: text.to_owned(), kind, type_text, name: Some(name) };
        }
        let (type_text, name) = match text.strip_prefix(TYPE_PREFIX) {
            Some(rest) => match rest.split_once('/') {
                Some((message, name)) => (message, Some(name)),
                None => (rest, None),
            },
            None => match (foreign_type_url(text), text.split_once('/')) {
                (Some((url, name)), _) => (url, name),
                (None, Some((word, name))) => (word, Some(name)),
                (None, None) => (text, None),
            },
        };
        GetTarget {
            text: text.to_owned(),
            kind: Kind::parse(type_text).or_else(|| Kind::of_message(type_text).map(|(kind, _)| kind)),
            type_text: type_text.to_owned(),
            name: name.map(|name| structured(name).map_or_else(|| name.to_owned(), |(_, name)| name)),
        }
    }

    /// Returns the URL of a type that has no short word; `None` if the typed word is no type.
    pub(crate) fn url_of_other_type(&self) -> Option<TypeUrl> {
        if foreign_type_url(&self.type_text).is_some() {
            return Some(TypeUrl::new(self.type_text.clone()));
        }
        let is_message = self.type_text.contains('.');
        is_message.then(|| TypeUrl::new(format!("{TYPE_PREFIX}{}", self.type_text)))
    }

    pub(crate) fn is_type(&self, url: &TypeUrl) -> bool {
        if self.type_text.contains('/') {
            return url.as_str() == self.type_text;
        }
        let message = url.as_str().rsplit('/').next().unwrap_or_default();
        match (self.kind, Kind::of_type_url(url.as_str())) {
            (Some(wanted), Some((have, _))) => wanted == have,
            _ => message == self.type_text || message.rsplit('.').next() == Some(self.type_text.as_str()),
        }
    }

    /// Returns the type or resource that a client requests: for a glob of names, the type.
    pub(crate) fn request(&self) -> &str {
        // A client can subscribe to the name `*`.
        let glob = self.name.as_deref().filter(|name| is_glob(name) && *name != "*");
        let of_type = glob.and_then(|glob| self.text.strip_suffix(glob)?.strip_suffix('/'));
        of_type.unwrap_or(&self.text)
    }

    /// Returns resources of the type with names that resemble the typed one: `cds/reviews`.
    pub(crate) fn near_names(&self, store: &Store) -> Vec<String> {
        let states = store.states().into_iter().filter(|state| self.is_type(&state.summary.type_url));
        let names: BTreeSet<Arc<str>> = states
            .flat_map(|state| store.resources(state.summary.stream, &state.summary.type_url))
            .map(|fact| fact.name)
            .collect();
        let typed = self.name.as_deref().unwrap_or_default();
        let near = suggest::near(typed, names.iter().map(|name| &**name).filter(|name| *name != typed));
        near.into_iter().map(|name| format!("{}/{name}", self.type_text)).collect()
    }

    pub(crate) fn is(&self, fact: &ResourceFact) -> bool {
        let is_alias = |name: &String| fact.aliases.iter().any(|alias| is_name(name, alias));
        self.is_named(&fact.type_url, &fact.name)
            || (self.is_type(&fact.type_url) && self.name.as_ref().is_some_and(is_alias))
    }

    /// Whether WHAT selects the resource of a type and name.
    pub(crate) fn is_named(&self, url: &TypeUrl, text: &str) -> bool {
        let own = structured(text).map(|(_, name)| name);
        let named =
            |name: &String| is_name(name, text) || own.as_ref() == Some(name) || glob_matches(name, text);
        self.is_type(url) && self.name.as_ref().is_none_or(named)
    }
}

/// Whether a name as typed is a glob of names: `re*`. A structured name has globs of its own.
fn is_glob(name: &str) -> bool {
    name.contains('*') && !name.starts_with("xdstp:")
}

/// Whether a name as typed selects a resource of this name.
fn is_name(name: &str, text: &str) -> bool {
    name == text || (is_glob(name) && suggest::is_match(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_select_names_and_request_their_type() {
        let url = TypeUrl::from("type.googleapis.com/envoy.config.cluster.v3.Cluster");
        let reviews = GetTarget::parse("cds/re*");
        assert!(reviews.is_named(&url, "reviews") && !reviews.is_named(&url, "ledger-re"));
        for (text, request) in [
            ("cds/re*", "cds"),
            ("cds/reviews", "cds/reviews"),
            ("cds", "cds"),
            ("cds/*", "cds/*"),
            ("type.googleapis.com/envoy.config.cluster.v3.Cluster/a*b", url.as_str()),
        ] {
            assert_eq!(GetTarget::parse(text).request(), request);
        }
        let collection = "xdstp://a/envoy.config.cluster.v3.Cluster/x/*";
        assert_eq!(GetTarget::parse(collection).request(), collection);
    }

    #[test]
    fn type_urls_of_other_apis_are_types_as_typed() {
        for (text, url, name) in [
            ("istio.io/debug/syncz", "istio.io/debug/syncz", None),
            ("istio.io/connections", "istio.io/connections", None),
            ("istio.io/debug/config_dump/web.default", "istio.io/debug/config_dump", Some("web.default")),
            ("networking.istio.io/v1alpha3/ServiceEntry", "networking.istio.io/v1alpha3/ServiceEntry", None),
            ("acme.v1.Widget/w", "type.googleapis.com/acme.v1.Widget", Some("w")),
            ("type.googleapis.com/acme.v1.Widget", "type.googleapis.com/acme.v1.Widget", None),
        ] {
            let what = GetTarget::parse(text);
            let wanted = TypeUrl::new(url.to_owned());
            assert_eq!(what.url_of_other_type().as_ref(), Some(&wanted), "{text}");
            assert_eq!(what.name.as_deref(), name, "{text}");
            assert!(what.is_type(&wanted) && what.kind.is_none(), "{text}");
            assert_eq!(what.request(), text);
        }
        assert!(GetTarget::parse("cluster").url_of_other_type().is_none());
    }

    #[test]
    fn joins_types_with_the_names_after_them() {
        let join = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            join_names(&words).join(" ")
        };
        for (words, wanted) in [
            ("cds", "cds"),
            ("cds reviews", "cds/reviews"),
            ("Clusters reviews ledger", "Clusters/reviews Clusters/ledger"),
            ("cds eds reviews", "cds eds/reviews"),
            ("cds/a eds", "cds/a eds"),
            ("cds a/b", "cds/a/b"),
            ("acme.v1.Widget w", "acme.v1.Widget/w"),
            ("nodes", "nodes"),
            ("lds example.com/a/b", "lds/example.com/a/b"),
            ("istio.io/debug/syncz istio.io/debug/edsz", "istio.io/debug/syncz istio.io/debug/edsz"),
            ("istio.io/debug/syncz", "istio.io/debug/syncz"),
            ("istio.io/debug/syncz cds a", "istio.io/debug/syncz cds/a"),
            ("istio.io/debug/config_dump web.default", "istio.io/debug/config_dump/web.default"),
            (
                "cds xdstp://a/envoy.config.cluster.v3.Cluster/n",
                "cds xdstp://a/envoy.config.cluster.v3.Cluster/n",
            ),
        ] {
            assert_eq!(join(words), wanted, "{words}");
        }
        let url = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
        assert_eq!(join(&format!("{url} a")), format!("{url}/a"));
    }
}
