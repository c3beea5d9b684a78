//! A virtual host is requested by a name without a slash.
//!
//! Why: The name of a virtual host is the route configuration, a slash, and the host. A server
//! cannot find a virtual host by another name.
//!
//! Example:
//! ```text
//! stream 1 delta vhds
//! > sub=[foo.com]
//! ```
//!
//! Advice: Subscribe to ROUTE_CONFIGURATION/HOST.
//!
//! Reference: Envoy documentation, "Virtual Host Discovery Service (VHDS)".

use crate::lint::prelude::*;
use xdscope_wire::event::{Kind, Sym};

rule! {
    vhds-name-form: Info, rows "A-05";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.track.kind != Some(Kind::Vhds) {
        return;
    }
    let lacks_route = |name: &Sym| {
        let text = ctx.text(*name);
        text != "*" && !text.starts_with("xdstp:") && !text.contains('/')
    };
    let names: Vec<_> = request.outcome.added.iter().copied().filter(lacks_route).collect();
    ctx.report_names(&RULE, Blame::Client, "name of a virtual host lacks ROUTE_CONFIGURATION/", &names);
}
