//! Labels of resource types, whose number is bounded.

use std::collections::BTreeSet;
use std::sync::Arc;

use xdscope_wire::event::{Kind, TypeUrl};

/// Type URLs without a short name that have a label of their own.
pub const MAX_OTHER_TYPES: usize = 32;

/// Longest type URL that has a label of its own, in bytes.
pub const MAX_TYPE_URL_BYTES: usize = 256;

/// The label of a resource type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TypeLabel {
    /// A type with a short name.
    Known(Kind),
    /// One of the first [`MAX_OTHER_TYPES`] other type URLs.
    Url(Arc<str>),
    /// All further type URLs.
    Other,
    /// A message that states no type.
    Missing,
}

impl TypeLabel {
    /// The value of the label: the word or URL of the JSON contract, `other` or `none`.
    pub fn word(&self) -> &str {
        match self {
            TypeLabel::Known(kind) => kind.word(),
            TypeLabel::Url(url) => url,
            TypeLabel::Other => "other",
            TypeLabel::Missing => "none",
        }
    }
}

/// The type URLs that have labels of their own: the first ones that messages state.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeLabels {
    urls: BTreeSet<Arc<str>>,
}

impl TypeLabels {
    /// Returns the label of a type.
    pub(super) fn label(&self, url: &TypeUrl) -> TypeLabel {
        match Kind::of_type_url(url.as_str()) {
            Some((kind, _)) => TypeLabel::Known(kind),
            None if url.is_empty() => TypeLabel::Missing,
            None => self.urls.get(url.as_str()).map_or(TypeLabel::Other, |url| TypeLabel::Url(url.clone())),
        }
    }

    /// Returns the label of a type, which gets one of its own while there is room.
    pub(super) fn learn(&mut self, url: &TypeUrl) -> TypeLabel {
        let label = self.label(url);
        let has_room = self.urls.len() < MAX_OTHER_TYPES && url.as_str().len() <= MAX_TYPE_URL_BYTES;
        if label != TypeLabel::Other || !has_room {
            return label;
        }
        self.urls.insert(url.as_str().into());
        self.label(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_types_share_a_label_beyond_the_limit() {
        let mut labels = TypeLabels::default();
        let url = |n: usize| TypeUrl::new(format!("type.googleapis.com/a.B{n}"));
        let words: BTreeSet<String> = (0..1000).map(|n| labels.learn(&url(n)).word().to_owned()).collect();
        assert_eq!(words.len(), MAX_OTHER_TYPES + 1);
        assert_eq!(labels.label(&url(0)).word(), "type.googleapis.com/a.B0");
        assert_eq!(labels.label(&url(999)), TypeLabel::Other);
        let cds = TypeUrl::new("type.googleapis.com/envoy.config.cluster.v3.Cluster".to_owned());
        assert_eq!(labels.learn(&cds).word(), "cds", "a type with a short name always has room");
        assert_eq!(labels.learn(&TypeUrl::default()).word(), "none");
    }

    #[test]
    fn long_type_urls_have_no_label() {
        let mut labels = TypeLabels::default();
        let url = |len: usize| TypeUrl::new("x".repeat(len));
        assert_eq!(labels.learn(&url(MAX_TYPE_URL_BYTES + 1)), TypeLabel::Other);
        assert_ne!(labels.learn(&url(MAX_TYPE_URL_BYTES)), TypeLabel::Other);
    }
}
