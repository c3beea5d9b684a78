//! Remarks on rows of the timeline.

use xdscope_engine::store::{Divergence, EndFact, NonceNote, NonceReadings, ResponseNote, RowNote};
use xdscope_wire::event::{Dir, Side};
use xdscope_wire::text::{count, plural, shown_name, type_label};
use xdscope_wire::{Interference, InterventionFacts};

/// Returns the remark: the method or the end of a stream, or what is unusual about the message.
pub fn row_note(note: &RowNote) -> String {
    match note {
        RowNote::Opened { method, tls } => {
            let parts = [method.clone(), tls.legs(), tls.not_kept().unwrap_or_default()];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
        }
        RowNote::Closed(end) => ending(end),
        RowNote::Unchanged => "304 Not Modified: the server has nothing new".into(),
        RowNote::Gap(part) => super::not_kept::missing(part),
        RowNote::Intercepted(facts) => intervention(facts),
        RowNote::Undecodable(reason) => format!("undecodable: {reason}"),
        RowNote::NotKept => "its content is not kept any more".to_owned(),
        RowNote::Nonce(note) => nonce_note(note),
        RowNote::Response(note) => response_note(note),
    }
}

/// Returns what xdscope did: `push dropped by fault 1: type:cds => drop`.
pub fn intervention(facts: &InterventionFacts) -> String {
    let what = match facts.dir {
        Dir::Req => "request",
        Dir::Resp => "push",
    };
    match facts.interference {
        Interference::Ended => format!("stream ended by {}", facts.by),
        Interference::GoAway => format!("GOAWAY sent by {}", facts.by),
        Interference::Blackholed => format!("connection silenced by {}", facts.by),
        Interference::Bounced => format!("push refused for the client by {}", facts.by),
        Interference::Restated => format!("{what} sent with another nonce by {}", facts.by),
        other => format!("{what} {} by {}", other.word(), facts.by),
    }
}

/// Returns `; caused by xdscope: push dropped by fault 1: ...`, to append to a consequence; nothing
/// without an intervention.
pub(super) fn caused_by(facts: Option<&InterventionFacts>) -> String {
    facts.map(|facts| format!("; caused by xdscope: {}", intervention(facts))).unwrap_or_default()
}

/// Returns that client and server believe different things: `diverged: push dropped by fault 1:
/// ...`.
pub fn diverged(diverged: &Divergence) -> String {
    let more = match diverged.count {
        0 | 1 => String::new(),
        count => format!(", {} in all", plural(count, "intervention")),
    };
    let Divergence { offered, withheld, refused, runs_changed, .. } = diverged;
    let mut beliefs = Vec::new();
    if *withheld > 0 {
        let pushes =
            if *withheld == 1 { "1 push".to_owned() } else { format!("{} pushes", count(*withheld)) };
        let newest = offered.as_deref().filter(|version| !version.is_empty());
        let newest = newest.map(|version| format!(", the newest of version {}", shown_name(version)));
        beliefs.push(format!("client never got {pushes}{}", newest.unwrap_or_default()));
    }
    beliefs.extend((*refused > 0).then(|| format!("server got {} from xdscope", plural(*refused, "NACK"))));
    beliefs.extend(runs_changed.as_deref().map(|version| match version {
        "" => "client runs changed resources".to_owned(),
        version => format!("client runs version {} as changed", shown_name(version)),
    }));
    let parts = [format!("diverged: {}{more}", intervention(&diverged.facts))].into_iter().chain(beliefs);
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns how a stream ended: `UNAVAILABLE keepalive timeout by the server`.
fn ending(end: &EndFact) -> String {
    let mut parts = Vec::new();
    parts.extend(end.code.map(|code| code.to_string()));
    parts.extend(end.message.clone().filter(|message| !message.is_empty()));
    parts.extend(end.reset.map(|reset| format!("reset {reset}")));
    // The note may name the side.
    let is_named = |by: &Side| end.note.as_deref().is_some_and(|note| note.contains(by.word()));
    parts.extend(end.by.filter(|by| !is_named(by)).map(|by| format!("by the {}", by.word())));
    parts.extend(end.note.clone());
    parts.join(" ")
}

/// Returns `nonce of #4, which is not the newest`.
fn nonce_note(note: &NonceNote) -> String {
    match note {
        NonceNote::Missing => "no nonce, after one was used".to_owned(),
        NonceNote::Unknown => "nonce never issued".to_owned(),
        NonceNote::NotRecorded => "nonce of no recorded response".to_owned(),
        NonceNote::OfOtherType { response, type_url } if type_url.is_empty() => {
            format!("nonce of #{}, which has no type URL", response.0)
        }
        NonceNote::OfOtherType { response, type_url } => {
            format!("nonce of #{}, which is of {}", response.0, type_label(type_url.as_str()))
        }
        NonceNote::OfEarlierStream { response, stream } => {
            format!("nonce of #{}, which is of the earlier stream {}", response.0, stream.0)
        }
        NonceNote::Older(response) => format!("nonce of #{}, older than one used before", response.0),
        NonceNote::NotNewest(response) => format!("nonce of #{}, which is not the newest", response.0),
        NonceNote::Settled(response) => format!("nonce of #{}, which is settled", response.0),
        NonceNote::Ambiguous { is_empty, readings } => {
            let nonce = if *is_empty { "no nonce" } else { "repeated nonce" };
            both_readings(nonce, *readings)
        }
    }
}

/// Returns both readings of a request whose nonce fits more than one response, or is empty.
fn both_readings(nonce: &str, readings: NonceReadings) -> String {
    match readings {
        NonceReadings::OtherResponse(one, other) => {
            format!("{nonce}: counts for #{}, may mean #{}", one.0, other.0)
        }
        NonceReadings::Crossing(response) => {
            format!("{nonce} and no version: accepts #{}, or was sent before it", response.0)
        }
        NonceReadings::NamesOrAck(response) => {
            format!("{nonce}: changes names, may also accept #{}", response.0)
        }
        NonceReadings::NoVerdictOrRefusal(response) => {
            format!("{nonce}: not a verdict on #{}, or a refusal by version", response.0)
        }
    }
}

fn response_note(note: &ResponseNote) -> String {
    let mut parts = Vec::new();
    if !note.repeated.is_empty() {
        let names: Vec<&str> = note.repeated.iter().map(|name| shown_name(name)).collect();
        let more = if note.has_more { ", …" } else { "" };
        parts.push(format!("more than once: {}{more}", names.join(", ")));
    }
    if note.is_nonce_reused {
        parts.push("nonce issued before".to_owned());
    }
    parts.join("; ")
}
