//! Filters of messages on the wire, before anything is stored.

use jiff::tz::TimeZone;

use crate::engine::session::MessageKind;
use crate::engine::store::MessageFact;
use crate::wire::event::{ApiVersion, Clock, Dir, Kind, Time, TypeUrl};

use super::content::NoContent;
use super::eval::{EvalContext, FilterRow, matches, matches_type};
use super::parse::Expr;
use super::term::{FilterField, Predicate, Term};
use super::{Filter, FilterError};

/// A type that no server has.
pub const OTHER_TYPE: &str = "type.googleapis.com/-";

/// Facts about a stream before its first message. `None`: not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireStream<'a> {
    /// The only type of the stream.
    pub type_url: Option<&'a TypeUrl>,
    /// The node id of the client.
    pub node: Option<&'a str>,
}

impl Filter {
    /// Checks that the expression can be decided while a message passes.
    ///
    /// # Errors
    ///
    /// Returns an error for a field that is known later only.
    pub fn check_wire(&self) -> Result<(), FilterError> {
        use FilterField as F;
        let mut found = None;
        if let Some(expr) = &self.expr {
            expr.visit(&mut |term| {
                if found.is_none() {
                    found = term.field().and_then(|(field, at)| match field {
                        F::Type | F::Node | F::Dir | F::Name | F::Version | F::Nonce | F::Err => None,
                        F::Size | F::Res => None,
                        F::Kind if has_wire_kind(term) => None,
                        F::Kind => Some((at, "this `kind` is not known while a message passes".to_owned())),
                        _ => Some((at, format!("`{}` is not known while a message passes", field.word()))),
                    });
                }
            });
        }
        found.map_or(Ok(()), |(at, reason)| Err(FilterError { at, reason }))
    }

    /// Whether a message matches while it passes.
    pub fn passing_message(&self, fact: &MessageFact) -> bool {
        let at =
            EvalContext { now: Time(0), clock: Clock { epoch: None, untimed: true }, zone: &TimeZone::UTC };
        self.expr.as_ref().is_none_or(|expr| matches(expr, &FilterRow::Message(fact), &at, &NoContent))
    }

    /// Whether any message of a stream may match.
    pub fn may_match(&self, stream: &WireStream<'_>) -> bool {
        self.expr.as_ref().and_then(|expr| decided(expr, &|term| on_stream(term, stream))).unwrap_or(true)
    }

    /// Whether messages of any type may match.
    pub fn may_match_types(&self) -> bool {
        let Some(expr) = &self.expr else { return true };
        let mut has_unknown = false;
        expr.visit(&mut |term| has_unknown |= matches!(&term.test, Predicate::Type { kind: None, .. }));
        let versions = [ApiVersion::V2, ApiVersion::V3];
        let known = Kind::all().flat_map(|kind| versions.into_iter().filter_map(move |of| kind.type_url(of)));
        let may_be =
            |type_url: &TypeUrl| self.may_match(&WireStream { type_url: Some(type_url), node: None });
        has_unknown || known.chain([OTHER_TYPE.into()]).any(|type_url| may_be(&type_url))
    }

    /// Whether any message of a direction may match.
    pub fn may_match_dir(&self, dir: Dir) -> bool {
        let Some(expr) = &self.expr else { return true };
        let kinds = MessageKind::ALL.into_iter().filter(|kind| is_known_on_wire(*kind));
        let mut kinds = kinds.filter(|kind| (*kind == MessageKind::Push) == (dir == Dir::Resp));
        kinds.any(|kind| decided(expr, &|term| on_kind(term, kind, dir)).unwrap_or(true))
    }
}

fn has_wire_kind(term: &Term) -> bool {
    match &term.test {
        Predicate::Text(pattern) => {
            MessageKind::ALL.iter().any(|kind| is_known_on_wire(*kind) && pattern.matches(kind.word()))
        }
        _ => true,
    }
}

/// Whether a message of the kind is known while it passes.
fn is_known_on_wire(kind: MessageKind) -> bool {
    use MessageKind as K;
    matches!(kind, K::Nack | K::Ack | K::Subscribe | K::Unsubscribe | K::Repeat | K::Push)
}

/// Evaluates an expression by what is known of its terms. `None`: it depends on the message.
fn decided(expr: &Expr, known: &dyn Fn(&Term) -> Option<bool>) -> Option<bool> {
    match expr {
        Expr::Any(parts) => {
            let mut all = parts.iter().map(|part| decided(part, known));
            any(&mut all)
        }
        Expr::All(parts) => {
            let mut all = parts.iter().map(|part| decided(part, known).map(|holds| !holds));
            any(&mut all).map(|holds| !holds)
        }
        Expr::Not(inner) => decided(inner, known).map(|holds| !holds),
        Expr::Term(term) => known(term),
    }
}

fn on_stream(term: &Term, stream: &WireStream<'_>) -> Option<bool> {
    match (&term.test, term.field()) {
        (Predicate::Type { kind, url }, _) => Some(matches_type(stream.type_url?, *kind, url)),
        (Predicate::Text(pattern), Some((FilterField::Node, _))) => Some(pattern.matches(stream.node?)),
        _ => None,
    }
}

fn on_kind(term: &Term, kind: MessageKind, dir: Dir) -> Option<bool> {
    match (&term.test, term.field()) {
        (Predicate::Text(pattern), Some((FilterField::Dir, _))) => Some(pattern.matches(dir.word())),
        (Predicate::Text(pattern), Some((FilterField::Kind, _))) => Some(pattern.matches(kind.word())),
        _ => None,
    }
}

/// Returns true if any part is true, false if all are false.
fn any(parts: &mut dyn Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all_known = true;
    for part in parts {
        match part {
            Some(true) => return Some(true),
            Some(false) => {}
            None => all_known = false,
        }
    }
    all_known.then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decides_about_streams_by_type_and_node() {
        let cds = Kind::Cds.type_url(ApiVersion::V3).expect("a type");
        let known = WireStream { type_url: Some(&cds), node: Some("edge-1") };
        let open = WireStream::default();
        for (text, on_known, on_open) in [
            ("", true, true),
            ("type:cds", true, true),
            ("type:eds", false, true),
            ("type:type.googleapis.com/envoy.api.v2.Cluster", false, true),
            ("!type:cds", false, true),
            ("type:cds node:edge-*", true, true),
            ("type:cds node:other", false, true),
            ("type:eds | node:edge-1", true, true),
            ("type:eds | name:x", true, true),
            ("type:eds name:x", false, true),
            ("reviews", true, true),
        ] {
            let filter = Filter::parse(text).expect(text);
            assert_eq!((filter.may_match(&known), filter.may_match(&open)), (on_known, on_open), "{text}");
        }
    }

    #[test]
    fn decides_about_directions() {
        for (text, on_requests, on_pushes) in [
            ("", true, true),
            ("kind:push", false, true),
            ("dir:req", true, false),
            ("!kind:push name:x", true, false),
            ("kind:ack | kind:nack", true, false),
            ("kind:ack | name:x", true, true),
            ("dir:req kind:push", false, false),
        ] {
            let filter = Filter::parse(text).expect(text);
            let matches = (filter.may_match_dir(Dir::Req), filter.may_match_dir(Dir::Resp));
            assert_eq!(matches, (on_requests, on_pushes), "{text}");
        }
    }

    #[test]
    fn rejects_fields_that_are_known_later_only() {
        for text in ["type:cds kind:push", "size>1M name:/^a/", "kind:nack err:bad", "res>3 dir:resp"] {
            assert_eq!(Filter::parse(text).expect(text).check_wire(), Ok(()), "{text}");
        }
        for text in ["stream:1", "lat>1s", "age>1s", "#4", "has:name", "kind:resend", "after:14:00"] {
            assert!(Filter::parse(text).expect(text).check_wire().is_err(), "{text}");
        }
    }
}
