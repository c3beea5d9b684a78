//! Types and nodes of an expression that no row has.

use std::sync::Arc;

use xdscope_wire::event::{ApiVersion, Kind, TypeUrl};
use xdscope_wire::text::near::nearest;

use super::Filter;
use super::eval::matches_type;
use super::term::{FilterField, Predicate, Term};

/// Words that resemble a mistyped one.
const MAX_NEAR: usize = 3;

/// The types and nodes of a source.
#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    /// The types, apart from those that are built in.
    pub types: Vec<TypeUrl>,
    /// The node ids. `None`: nodes may come later.
    pub nodes: Option<Vec<Arc<str>>>,
}

/// A type or node of an expression that a source does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownValue {
    /// `type` or `node`.
    pub field: &'static str,
    /// The value as typed.
    pub value: String,
    /// Values of the source that resemble it.
    pub near: Vec<String>,
}

impl Filter {
    /// Returns the types and nodes of the expression that a source does not have.
    pub fn unknown_values(&self, known: &KnownValues) -> Vec<UnknownValue> {
        let mut found = Vec::new();
        if let Some(expr) = &self.expr {
            expr.visit(&mut |term| found.extend(known.lacks(term)));
        }
        found
    }
}

impl KnownValues {
    /// Returns the value of a term that the source does not have.
    fn lacks(&self, term: &Term) -> Option<UnknownValue> {
        let (field, _) = term.field()?;
        let has_value = match (&term.test, field) {
            (Predicate::Type { kind, url }, _) => {
                let urls = Kind::all()
                    .flat_map(|kind| [ApiVersion::V3, ApiVersion::V2].map(|version| kind.type_url(version)));
                kind.is_some()
                    || urls.flatten().any(|known| matches_type(&known, None, url))
                    || self.types.iter().any(|known| matches_type(known, None, url))
            }
            (Predicate::Text(node), FilterField::Node) => {
                self.nodes.as_ref().is_none_or(|nodes| nodes.iter().any(|known| node.matches(known)))
            }
            _ => true,
        };
        if has_value {
            return None;
        }
        let value = term.value.clone();
        let typed = value.trim_matches(['*', '/']);
        let mut words: Vec<&str> = Vec::new();
        if field == FilterField::Type {
            Kind::words().for_each(|word| words.push(word));
            words.extend(self.types.iter().map(TypeUrl::as_str));
        } else {
            words.extend(self.nodes.iter().flatten().map(|node| &**node));
        }
        let near = nearest(typed, words, MAX_NEAR).into_iter().map(str::to_owned).collect();
        Some(UnknownValue { field: field.word(), value, near })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(text: &str, nodes: Option<&[&str]>) -> Vec<(String, Vec<String>)> {
        let nodes = nodes.map(|nodes| nodes.iter().map(|node| Arc::from(*node)).collect());
        let known = KnownValues { types: vec![TypeUrl::new("type.googleapis.com/acme.v1.Widget")], nodes };
        let filter = Filter::parse(text).expect(text);
        filter.unknown_values(&known).into_iter().map(|unknown| (unknown.value, unknown.near)).collect()
    }

    #[test]
    fn names_what_is_near_an_unknown_type() {
        let near = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(unknown("type:cd", None), [("cd".into(), near(&["cds"]))]);
        assert_eq!(unknown("!type:clsters kind:push", None), [("clsters".into(), near(&["clusters"]))]);
        for known in ["type:cds", "type:Clusters", "type:*Listener", "type:/Cluster$/", "type:widget", "cd"] {
            assert_eq!(unknown(known, None), [], "{known}");
        }
    }

    #[test]
    fn names_what_is_near_an_unknown_node() {
        let nodes = Some(&["edge-gw-1", "ratings"][..]);
        assert_eq!(unknown("node:edge-gv-1", nodes), [("edge-gv-1".into(), vec!["edge-gw-1".into()])]);
        assert_eq!(unknown("node:nope | node:ratings", nodes), [("nope".into(), vec![])]);
        assert_eq!(unknown("node:edge-*", nodes), []);
        assert_eq!(unknown("node:nope", None), [], "nodes may come later");
    }
}
