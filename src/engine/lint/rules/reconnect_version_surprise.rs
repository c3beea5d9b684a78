//! A client reconnects with a version that it neither accepted last nor was sent last.
//!
//! Why: The first request of a later stream carries the newest version that the client has seen. An
//! older version shows that the client has lost an update. A version that was never sent comes from
//! another server, or from a cache of the client. A server believes that a client has the version
//! that it states, also if the client has refused that version, and does not send it again.
//!
//! Example:
//! ```text
//! stream 1 sotw eds
//! > names=[foo]
//! < v=1 n=A [foo]
//! > v=1 n=A names=[foo]
//! < v=2 n=B [foo~2]
//! > v=2 n=B names=[foo]
//! 1 close
//! stream 2 sotw eds
//! > v=1 names=[foo]
//! ```
//!
//! Advice: Keep the newest accepted version of each type per server. The server must send its
//! newest version again.
//!
//! Reference: xDS protocol, "ACK/NACK and resource type instance version".

use crate::lint::prelude::*;
use xdscope_wire::event::Sym;
use xdscope_wire::text::shown_name;

rule! {
    reconnect-version-surprise: Info, rows "E-02";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !request.outcome.first || !ctx.is_grpc() {
        return;
    }
    if let Some(refused) = request.track.carried.refused {
        return check_refused(ctx, request, refused);
    }
    let Some(stated) = request.track.carried.outdated else { return };
    let Some(prior) = ctx.previous_track(&request.track.type_url) else { return };
    let stated = ctx.catalog().text(stated);
    let sent = prior.responses.newest_with_version(stated).map(|response| response.seq);
    let known = prior.version_in_force().map_or("none", |version| version.as_str());
    let kind = if sent.is_some() { "an older version" } else { "a version that was not sent" };
    let (stated, known) = (shown_name(stated), shown_name(known));
    let text = format!("reconnected with {stated}, {kind}, but acknowledged {known} before");
    let acked = prior.verdicts.in_force.as_ref().map(|known| known.n);
    let evidence: Vec<_> = sent.into_iter().chain(acked).collect();
    ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).evidence(&evidence).guessed());
}

/// Reports a version that the client has refused on an earlier stream.
fn check_refused(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>, stated: Sym) {
    let stated = shown_name(ctx.text(stated));
    let in_force = match request.track.version_in_force() {
        Some(version) => format!("{} is in force", shown_name(version.as_str())),
        None => "no version is in force".to_owned(),
    };
    let text = format!(
        "reconnected with {stated}, which it has refused: {in_force}, and the server need not send {stated} \
         again"
    );
    ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]));
}
