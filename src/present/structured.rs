//! Texts on `xdstp` names: parts, members of collections, redirects, alternatives, relays.

use xdscope_engine::store::GlobMembers;
use xdscope_engine::structured::{
    HopFact, ListMembers, MemberFact, MemberState, Members, NameParts, StructuredFact,
};
use xdscope_wire::text::{count, plural, shown_name};

/// Entries of a list that have a line each; the others are counted.
const MAX_ENTRY_LINES: usize = 8;

/// The authority of a name, or `(empty)`.
pub fn authority(authority: &str) -> &str {
    if authority.is_empty() { "(empty)" } else { authority }
}

/// Formats context parameters: `env=prod region=eu`.
pub fn parameters(parts: &NameParts) -> String {
    let pairs = parts.parameters.iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Formats directives: `alt=xdstp://b/T/y entry=x`.
pub fn directives(parts: &NameParts) -> String {
    parts.directives.join(" ")
}

/// Formats a name without its authority: `x/1 env=prod`, with the type if it is not `type_name`.
pub fn short_name(parts: &NameParts, type_name: &str) -> String {
    let own_type = (parts.resource_type != type_name)
        .then(|| format!("{}/", parts.resource_type.rsplit('.').next().unwrap_or_default()));
    let mut text = format!("{}{}", own_type.unwrap_or_default(), parts.id);
    for rest in [parameters(parts), directives(parts)].into_iter().filter(|rest| !rest.is_empty()) {
        text.push_str(&format!(" {rest}"));
    }
    text
}

/// Formats the number of members: `3, 1 deeper`, `2 of 3, 1 inline, 1 waiting`.
pub fn members(members: &Members) -> String {
    match members {
        Members::Glob(glob) => glob_members(*glob),
        Members::List(list) => list_members(list),
    }
}

/// Formats the number of members of a glob: `3, 1 deeper`, `2, 1 refused`.
pub fn glob_members(members: GlobMembers) -> String {
    let mut text = count(members.total());
    for (n, word) in [(members.deeper, "deeper"), (members.refused, "refused")] {
        if n > 0 {
            text.push_str(&format!(", {} {word}", count(n)));
        }
    }
    text
}

/// Formats how many members of a collection the client has: `3`, `2 of 3`.
pub fn present_members(members: &Members) -> String {
    match members {
        Members::Glob(glob) => count(glob.in_use()),
        Members::List(list) => format!("{} of {}", count(list.inline + list.present), count(list.entries)),
    }
}

fn list_members(list: &ListMembers) -> String {
    let mut text = format!("{} of {}", count(list.inline + list.present), count(list.entries));
    let states = [
        (list.inline, "inline"),
        (list.waiting, "waiting"),
        (list.absent, "absent"),
        (list.not_requested, "not requested"),
    ];
    for (n, word) in states.into_iter().filter(|(n, _)| *n > 0) {
        text.push_str(&format!(", {} {word}", count(n)));
    }
    text
}

/// Describes an entry of a list: `bar  inline, version 8`.
fn entry(member: &MemberFact) -> String {
    let version = member_version(member).map(|version| format!(", version {version}")).unwrap_or_default();
    format!("{}  {}{version}", shown_name(&member.name), member_state(member.state))
}

/// Returns the name of an entry beside those of resources: `xdstp://a/TCollection/c#entry=bar`.
pub fn member_name(collection: &str, member: &MemberFact) -> String {
    match member.state {
        MemberState::Inline if member.name.is_empty() => format!("{collection} (anonymous)"),
        MemberState::Inline => format!("{collection}#entry={}", member.name),
        _ => member.name.clone(),
    }
}

/// Returns the version of an inline entry, unless it is empty.
pub fn member_version(member: &MemberFact) -> Option<&str> {
    member.version.as_deref().filter(|version| !version.is_empty())
}

/// Returns the words for the state of an entry.
pub fn member_state(state: MemberState) -> String {
    state.word().replace('_', " ")
}

/// Returns the entries of a list that are not resources of the client: inline ones, and locators
/// whose targets were not requested.
pub fn other_entries(members: &Members) -> impl Iterator<Item = &MemberFact> {
    let list = match members {
        Members::List(list) => list.first.as_slice(),
        Members::Glob(_) => &[],
    };
    list.iter().filter(|member| matches!(member.state, MemberState::Inline | MemberState::NotRequested))
}

/// Describes what a name leads to or stands in for: `redirects to xdstp://b/T/y`.
pub fn leads_to(fact: &StructuredFact) -> Option<String> {
    let mut parts: Vec<String> = redirect(fact).map(|to| format!("redirects to {to}")).into_iter().collect();
    match &fact.served_by {
        Some(name) => parts.push(format!("served by the alternative {name}")),
        None => parts.extend(alternatives(fact).map(|names| format!("alternative {names}"))),
    }
    parts.extend(alternative_of(fact).map(|names| format!("alternative of {names}")));
    parts.extend(served_members(fact).map(|(name, by)| format!("{name} served by the alternative {by}")));
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn redirect(fact: &StructuredFact) -> Option<String> {
    redirects(&fact.redirects)
}

/// Lists the targets of a redirect, hop by hop: `xdstp://b/T/y, then to xdstp://b/T/z`.
pub fn redirects(targets: &[String]) -> Option<String> {
    (!targets.is_empty()).then(|| targets.join(", then to "))
}

fn alternatives(fact: &StructuredFact) -> Option<String> {
    (!fact.alternatives.is_empty()).then(|| fact.alternatives.join(", then "))
}

fn alternative_of(fact: &StructuredFact) -> Option<String> {
    (!fact.alternative_of.is_empty()).then(|| fact.alternative_of.join(", "))
}

/// The members of a list that an alternative serves, and the alternative.
fn served_members(fact: &StructuredFact) -> impl Iterator<Item = (&str, &str)> {
    let list = match &fact.members {
        Some(Members::List(list)) => list.first.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|member| Some((member.name.as_str(), member.served_by.as_deref()?)))
}

/// Formats the hops of a relay side by side: `#1 relay @1, #2 a @1`, the origin first.
pub fn hops(hops: &[HopFact], arrow: &str) -> Option<String> {
    let text = |hop: &HopFact| {
        let node = hop.node.as_deref().map(|node| format!(" {node}")).unwrap_or_default();
        let server = hop.server.as_deref().map(|server| format!("{server} ")).unwrap_or_default();
        let version = hop.version.as_deref().unwrap_or("-");
        let remark = match (hop.refused, hop.is_same) {
            (true, _) => " refused",
            (false, false) => " other content",
            (false, true) => "",
        };
        format!("{server}#{}{node} @{version}{remark}", hop.stream.0)
    };
    (!hops.is_empty()).then(|| hops.iter().map(text).collect::<Vec<_>>().join(&format!(" {arrow} ")))
}

/// The lines about a name below its title: label and text.
pub fn lines(fact: &StructuredFact, arrow: &str) -> Vec<(&'static str, String)> {
    let parts = &fact.parts;
    let mut name = authority(&parts.authority).to_owned();
    for (label, text) in [("parameters", parameters(parts)), ("directives", directives(parts))] {
        if !text.is_empty() {
            name.push_str(&format!("  {label} {text}"));
        }
    }
    let mut lines = vec![("authority", name)];
    lines.extend(fact.members.as_ref().map(|of| {
        let kind = match of {
            Members::Glob(_) => "glob",
            Members::List(_) => "list",
        };
        (kind, format!("members {}", members(of)))
    }));
    if let Some(Members::List(list)) = &fact.members {
        let shown = list.first.iter().take(MAX_ENTRY_LINES);
        let more = list.entries.saturating_sub(shown.len() as u64 + list.empty);
        lines.extend(shown.map(|member| ("entry", entry(member))));
        lines.extend((more > 0).then(|| ("entry", format!("{} more", count(more)))));
    }
    lines.extend(fact.glob.as_ref().map(|glob| ("member of", glob.to_string())));
    lines.extend(redirect(fact).map(|text| ("redirect", text)));
    let served = fact.served_by.as_ref().map(|name| format!("this name is served by {name}"));
    lines.extend(served.or_else(|| alternatives(fact)).map(|text| ("alternative", text)));
    lines.extend(alternative_of(fact).map(|text| ("instead of", text)));
    lines.extend(served_members(fact).map(|(name, by)| ("alternative", format!("{name} is served by {by}"))));
    lines.extend(hops(&fact.hops, arrow).map(|text| ("hops", text)));
    lines
}

/// The short lines about what stands in for a name, or what the name stands in for.
pub fn alternative_lines(fact: &StructuredFact) -> Vec<(&'static str, String)> {
    let served = fact.served_by.as_ref().map(|name| ("served", format!("by the alternative {name}")));
    let instead = alternative_of(fact).map(|names| ("instead", format!("of {names}")));
    served.into_iter().chain(instead).collect()
}

/// Formats the number of names of an authority: `a  3 names`.
pub fn authority_heading(name: &str, names: usize) -> String {
    format!("authority {}  {}", authority(name), plural(names as u64, "name"))
}
