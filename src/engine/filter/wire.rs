//! Filters of messages on the wire, before anything is stored.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use crate::session::MessageKind;
use crate::store::MessageFact;
use xdscope_wire::event::{ApiVersion, Clock, Dir, Kind, Time, TypeUrl};

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
        let clock = Clock { epoch: None, untimed: true };
        let at = EvalContext { now: Time(0), clock, zone: &TimeZone::UTC, store: None };
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
        let known = Kind::all()
            .flat_map(|kind| versions.into_iter().filter_map(move |version| kind.type_url(version)));
        let may_be =
            |type_url: &TypeUrl| self.may_match(&WireStream { type_url: Some(type_url), node: None });
        has_unknown || known.chain([OTHER_TYPE.into()]).any(|type_url| may_be(&type_url))
    }

    /// Whether any message of a kind may match, whatever its size and its number of resources.
    pub fn may_match_kind(&self, kind: MessageKind) -> bool {
        let Some(expr) = &self.expr else { return true };
        let may_be = |size, res| {
            let message = PossibleMessage { kind, size, res };
            decided(expr, &|term| message.decides(term)).unwrap_or(true)
        };
        let bytes =
            |test: &Predicate| if let Predicate::Bytes(_, bytes) = test { Some(*bytes) } else { None };
        let count =
            |test: &Predicate| if let Predicate::Count(_, count) = test { Some(*count) } else { None };
        samples(expr, bytes).into_iter().any(|size| may_be(Some(size), None))
            && samples(expr, count).into_iter().any(|res| may_be(None, Some(res)))
    }

    /// Checks that any message may match at all.
    ///
    /// # Errors
    ///
    /// Returns an error if the terms exclude each other.
    pub fn check_possible(&self) -> Result<(), FilterError> {
        if self.may_match_types() && WIRE_KINDS.into_iter().any(|kind| self.may_match_kind(kind)) {
            return Ok(());
        }
        let reason = "no message can match: the terms exclude each other (| joins alternatives)".to_owned();
        Err(FilterError { at: 0, reason })
    }
}

/// The kinds of messages that are known while they pass.
pub const WIRE_KINDS: [MessageKind; 6] = [
    MessageKind::Push,
    MessageKind::Ack,
    MessageKind::Nack,
    MessageKind::Subscribe,
    MessageKind::Unsubscribe,
    MessageKind::Repeat,
];

/// A message that may come, if known. `None`: any number.
struct PossibleMessage {
    kind: MessageKind,
    size: Option<u64>,
    res: Option<u64>,
}

impl PossibleMessage {
    /// Returns whether a term matches the message. `None`: it depends.
    fn decides(&self, term: &Term) -> Option<bool> {
        let dir = if self.kind == MessageKind::Push { Dir::Resp } else { Dir::Req };
        match (&term.test, term.field()) {
            (Predicate::Text(pattern), Some((FilterField::Dir, _))) => Some(pattern.matches(dir.word())),
            (Predicate::Text(pattern), Some((FilterField::Kind, _))) => {
                Some(pattern.matches(self.kind.word()))
            }
            // Only a NACK has an error.
            (Predicate::Text(_), Some((FilterField::Err, _))) if self.kind != MessageKind::Nack => {
                Some(false)
            }
            (Predicate::Bytes(compare, bytes), _) => Some(compare.holds(&self.size?, bytes)),
            (Predicate::Count(compare, count), _) => Some(compare.holds(&self.res?, count)),
            _ => None,
        }
    }
}

/// Returns numbers on all sides of those that an expression compares with.
fn samples(expr: &Expr, compared: impl Fn(&Predicate) -> Option<u64>) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::from([0]);
    expr.visit(&mut |term| {
        if let Some(number) = compared(&term.test) {
            numbers.extend([number.saturating_sub(1), number, number.saturating_add(1)]);
        }
    });
    numbers
}

fn has_wire_kind(term: &Term) -> bool {
    match &term.test {
        Predicate::Text(pattern) => WIRE_KINDS.iter().any(|kind| pattern.matches(kind.word())),
        _ => true,
    }
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
    fn decides_about_kinds() {
        for (text, on_acks, on_pushes) in [
            ("", true, true),
            ("kind:push", false, true),
            ("dir:req", true, false),
            ("!kind:push name:x", true, false),
            ("kind:ack | kind:nack", true, false),
            ("kind:ack | name:x", true, true),
            ("dir:req kind:push", false, false),
            ("err:bad", false, false),
            ("!err:bad", true, true),
            ("size>1 size<1", false, false),
            ("size>1 size<3", true, true),
            ("size>1 size<2", false, false),
            ("size<1 | size>4kB kind:ack", true, true),
            ("res>3 res<=3", false, false),
            ("res>3 (res<=3 | kind:ack)", true, false),
            ("!(size>5 | size<=5)", false, false),
        ] {
            let filter = Filter::parse(text).expect(text);
            let matches = [MessageKind::Ack, MessageKind::Push].map(|kind| filter.may_match_kind(kind));
            assert_eq!(matches, [on_acks, on_pushes], "{text}");
        }
    }

    #[test]
    fn refuses_terms_that_exclude_each_other() {
        for text in ["type:cds type:eds", "dir:req kind:push", "size>1 size<1", "kind:ack kind:nack"] {
            let error = Filter::parse(text).expect(text).check_possible().expect_err(text);
            assert!(error.reason.starts_with("no message can match"), "{text}");
        }
        assert_eq!(Filter::parse("size>1 | size<1").expect("a filter").check_possible(), Ok(()));
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
