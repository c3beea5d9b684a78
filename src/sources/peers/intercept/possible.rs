//! Faults that can never act.

use super::action::Action;
use super::error::FaultError;
use super::fault::{Fault, FaultSet};
use xdscope_engine::filter::{Filter, KnownValues, OTHER_TYPE, UnknownValue, WireStream};
use xdscope_schema::Schema;
use xdscope_wire::event::{ApiVersion, Kind, TypeUrl};
use xdscope_wire::text::type_label;

/// Refuses an expression that matches nothing on which the action can act.
pub(super) fn check(filter: &Filter, action: &Action) -> Result<(), FaultError> {
    let unknown = filter.unknown_values(&KnownValues::default()).into_iter();
    // Anybody may have types of their own; their names have a package.
    let mut unknown = unknown.filter(|unknown| !unknown.value.contains('.'));
    if let Some(UnknownValue { value, near, .. }) = unknown.next() {
        return Err(FaultError::UnknownType { value, near });
    }
    if action.resource() == Some("*") {
        return Err(FaultError::NoSingleName { action: action.word() });
    }
    if matches!(action, Action::Rename { from, to } if from == to) {
        return Err(FaultError::SameName);
    }
    filter.check_possible()?;
    let kinds = action.kinds();
    if kinds.iter().any(|kind| filter.may_match_kind(*kind)) {
        return Ok(());
    }
    Err(FaultError::Kinds { action: action.word(), kinds })
}

impl Fault {
    /// Refuses a value that no type of the expression can have.
    fn check_value(&self, schema: &Schema) -> Result<(), FaultError> {
        let Action::Set { path, value } = &self.action else { return Ok(()) };
        if matches!(&path[..], [field] if field == "nonce" || field == "version") {
            return Ok(());
        }
        let may_be =
            |type_url: &TypeUrl| self.filter.may_match(&WireStream { type_url: Some(type_url), node: None });
        if may_be(&OTHER_TYPE.into()) {
            // The expression leaves the type open.
            return Ok(());
        }
        let mut refusal = None;
        for type_url in Kind::all().filter_map(|kind| kind.type_url(ApiVersion::V3)).filter(may_be) {
            match schema.check_value(type_url.as_str(), path, value) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let type_label = type_label(type_url.as_str());
                    let reason = error.to_string();
                    refusal.get_or_insert(FaultError::Value { path: path.join("."), type_label, reason });
                }
            }
        }
        refusal.map_or(Ok(()), Err)
    }
}

impl FaultSet {
    /// Refuses values that no type of a fault can have.
    ///
    /// # Errors
    ///
    /// The first such fault, as `fault 1: type:cds => set x=1`, and the reason.
    pub fn check_values(&self, schema: &Schema) -> Result<(), (String, FaultError)> {
        for (i, fault) in self.faults.iter().enumerate() {
            fault.check_value(schema).map_err(|error| (fault.title(i), error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUDED: &str =
        "no message can match: the terms exclude each other (| joins alternatives) at column 1";

    fn refusal(text: &str) -> Option<String> {
        let set = match FaultSet::parse([text], 0) {
            Ok(set) => set,
            Err((_, error)) => return Some(error.to_string()),
        };
        set.check_values(&Schema::builtin()).err().map(|(_, error)| error.to_string())
    }

    #[test]
    fn refuses_what_can_never_act() {
        for (text, reason) in [
            ("type:zzz => drop", "no type is called `zzz`"),
            ("type:cd => drop", "no type is called `cd`; near: cds"),
            ("duplicate-name foo bar", "no type is called `foo`"),
            ("kind:ack => bounce no", "`bounce` is for pushes (kind:push), which the expression leaves out"),
            ("dir:req => set version=1", "`set` is for pushes (kind:push), which the expression leaves out"),
            (
                "kind:push => forget",
                "`forget` is for first requests (kind:subscribe), which the expression leaves out",
            ),
            (
                "kind:ack => forget",
                "`forget` is for first requests (kind:subscribe), which the expression leaves out",
            ),
            ("dir:resp => rename * x", "`rename` is for requests (dir:req), which the expression leaves out"),
            (
                "kind:subscribe => drop-ack",
                "`drop-ack` is for pushes and their answers (kind:push, kind:ack, kind:nack), which the \
                 expression leaves out",
            ),
            ("dir:req kind:push => drop", EXCLUDED),
            ("type:cds type:eds => drop", EXCLUDED),
            ("!(type:cds | !type:cds) => drop", EXCLUDED),
            ("size>1 size<1 => drop", EXCLUDED),
            ("kind:push err:bad => drop", EXCLUDED),
            ("=> status UNAVILBLE", "no gRPC status is called `UNAVILBLE`; near: UNAVAILABLE"),
            (
                "=> status unathenticated x",
                "no gRPC status is called `unathenticated`; near: UNAUTHENTICATED",
            ),
            ("type:cds => drop p=0", "`p=0` leaves no chance to act"),
            ("type:cds => drop p=0.0", "`p=0.0` leaves no chance to act"),
            ("=> rename a a", "`rename` takes two different names"),
            (
                "=> drop nth=5 every=2",
                "match 5 is not a multiple of 2: `nth=5` and `every=2` exclude each other",
            ),
            ("=> remove *", "`remove` takes the name of one resource, not `*`"),
            ("=> reannounce *", "`reannounce` takes the name of one resource, not `*`"),
            (
                "type:cds => set nosuch=1",
                "CDS cannot have `nosuch`: envoy.config.cluster.v3.Cluster has no field `nosuch`",
            ),
        ] {
            assert_eq!(refusal(text).as_deref(), Some(reason), "{text}");
        }
        for text in ["type:cds => set connect_timeout=abc", "type:cds | type:eds => set lb_policy=NOPE"] {
            let reason = refusal(text).unwrap_or_default();
            assert!(reason.starts_with("CDS cannot have `"), "{text}: {reason}");
        }
    }

    #[test]
    fn accepts_what_may_act() {
        for text in [
            "type:acme.v1.Widget => drop",
            "type:acme.v1.* => drop",
            "!type:cds !type:eds => drop",
            "type:envoy.api.v2.Cluster => drop",
            "type:cds => drop p=0.001",
            "type:cds | type:eds => set connect_timeout=1s",
            "!type:cds => set cluster_name=x",
            "name:x => set nosuch=1",
            "type:acme.Widget => set nosuch=1",
            "kind:ack => drop-ack",
            "kind:push | kind:subscribe => drop-ack",
            "size>1 | size<1 => drop",
            "=> status unavailable",
            "=> drop nth=4 every=2",
            "kind:nack | kind:push => bounce no",
            "!kind:ack => bounce no",
            "dir:req => rename * x",
            "type:cds => set version=7",
        ] {
            assert_eq!(refusal(text), None, "{text}");
        }
    }
}
