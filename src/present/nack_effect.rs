//! Texts on the effect of NACKs on traffic.

use xdscope_engine::nack::{InUse, NackEffect};
use xdscope_engine::store::ResourceState;
use xdscope_wire::event::Kind;

/// Describes the effect of a NACK on traffic.
pub fn nack_effect_text(effect: &NackEffect) -> String {
    let Some(name) = &effect.name else { return of_type(effect) };
    match &effect.in_use {
        InUse::Earlier(version) => earlier(effect.kind, name, &at(version)),
        InUse::Nothing => nothing(effect.kind, name),
        InUse::Unknown => {
            format!("unknown: whether the client has an earlier version of {name} was not recorded")
        }
        InUse::Later => format!("over: the client accepted a later version of {name}"),
        InUse::Gone(ResourceState::Released) => format!("over: the client requests {name} no longer"),
        InUse::Gone(ResourceState::Expired) => format!("over: the time to live of {name} has run out"),
        InUse::Gone(_) => format!("over: the server has removed {name}"),
    }
}

fn at(version: &str) -> String {
    if version.is_empty() { "an earlier version".to_owned() } else { format!("version {version}") }
}

/// Describes what an earlier version goes on doing.
fn earlier(kind: Option<Kind>, name: &str, version: &str) -> String {
    match kind {
        Some(Kind::Lds) => format!("listener {name} keeps serving with {version}"),
        Some(Kind::Rds) => format!("requests are still routed by {version} of route configuration {name}"),
        Some(Kind::Cds) => format!("cluster {name} keeps taking requests with {version}"),
        Some(Kind::Eds) => format!("requests still go to the endpoints of {name} in {version}"),
        Some(Kind::Sds) => format!("secret {name} stays in use at {version}"),
        _ => format!("{name} stays in force at {version}"),
    }
}

/// Describes what is missing where no version was accepted.
fn nothing(kind: Option<Kind>, name: &str) -> String {
    match kind {
        Some(Kind::Lds) => format!("the client has no listener {name}: the listener accepts no connections"),
        Some(Kind::Rds) => {
            format!("the client has no route configuration {name}: listeners that use it have no routes")
        }
        Some(Kind::Cds) => format!("the client has no cluster {name}: requests that are routed to it fail"),
        Some(Kind::Eds) => format!("the client has no endpoints of {name}: it cannot send requests there"),
        Some(Kind::Sds) => {
            format!("the client has no secret {name}: TLS that needs the secret does not work")
        }
        _ => format!("the client has no version of {name}"),
    }
}

/// Describes the effect on a type where the NACK names no resource.
fn of_type(effect: &NackEffect) -> String {
    let label = effect.kind.map_or("this type", Kind::label);
    match &effect.in_use {
        InUse::Earlier(version) => format!("{} of {label} stays in use", at(version)),
        InUse::Nothing => format!("no version of {label} is in use on this stream"),
        InUse::Unknown => format!("unknown: the version of {label} in use was not recorded"),
        InUse::Later | InUse::Gone(_) => "over: the client accepted a later version".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_stays_in_use_and_what_is_missing() {
        let effect =
            |kind, in_use| nack_effect_text(&NackEffect { name: Some("x".into()), kind: Some(kind), in_use });
        let earlier = || InUse::Earlier("41".into());
        assert_eq!(effect(Kind::Lds, earlier()), "listener x keeps serving with version 41");
        assert_eq!(effect(Kind::Cds, earlier()), "cluster x keeps taking requests with version 41");
        let missing = effect(Kind::Cds, InUse::Nothing);
        assert_eq!(missing, "the client has no cluster x: requests that are routed to it fail");
        for kind in [Kind::Lds, Kind::Rds, Kind::Cds, Kind::Eds, Kind::Sds, Kind::Rtds] {
            for in_use in [earlier(), InUse::Earlier("".into()), InUse::Nothing, InUse::Unknown, InUse::Later]
            {
                assert!(effect(kind, in_use).contains('x'));
            }
        }
    }
}
