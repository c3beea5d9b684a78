//! Clients that were sent a resource, with the version sent and the version in force.

use std::collections::HashSet;

use crate::data::Data;
use crate::screens::screen::ResourcePlace;
use xdscope_engine::store::ResourceFact;
use xdscope_wire::event::StreamId;
use xdscope_wire::text::{display_safe, plural, type_label};

use super::model::Model;

/// Clients that are named for each version.
const MAX_NAMED_CLIENTS: usize = 6;

/// Says which clients have the selected resource, by the version in force.
pub(super) fn say(model: &mut Model, data: &dyn Data) {
    let Some(resource) = model.active().selected_resource() else {
        return model.say("choose a resource first: 4 lists them, 5 shows what changed");
    };
    let ResourcePlace { stream, type_url, name } = &resource;
    let mut facts: Vec<ResourceFact> = data.store().resource(*stream, type_url, name).into_iter().collect();
    facts.extend(data.contents().held_elsewhere(*stream, type_url, name));
    let versions: Vec<(String, String)> =
        facts.iter().map(|fact| (standing(fact), client(model, data, fact.stream))).collect();
    // A client may have the resource on several streams.
    let clients: HashSet<&str> = versions.iter().map(|(_, client)| client.as_str()).collect();
    let clients = plural(clients.len() as u64, "client");
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (version, client) in versions {
        match groups.iter_mut().find(|(known, _)| *known == version) {
            Some((_, clients)) if clients.contains(&client) => {}
            Some((_, clients)) => clients.push(client),
            None => groups.push((version, vec![client])),
        }
    }
    groups.sort_by_key(|(_, clients)| std::cmp::Reverse(clients.len()));
    let words = groups.iter().map(|(version, clients)| {
        let more = clients.len().saturating_sub(MAX_NAMED_CLIENTS);
        let named = clients.iter().take(MAX_NAMED_CLIENTS).cloned().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{version}: {named}{more}")
    });
    let words = words.collect::<Vec<_>>().join("; ");
    let label = type_label(type_url.as_str());
    let text = format!("{label} {} on {clients}; {words}", display_safe(name));
    model.say(text);
}

/// `42 in force`, `42 refused, 41 in force`, `42 not answered`.
fn standing(fact: &ResourceFact) -> String {
    let sent = fact.version.as_deref().filter(|version| !version.is_empty());
    let in_force = fact.in_force.as_ref().map(|known| &*known.version).filter(|version| !version.is_empty());
    match (sent, in_force) {
        _ if fact.is_missing() => "missing".to_owned(),
        (Some(sent), Some(kept)) if fact.refused => format!("{sent} refused, {kept} in force"),
        (Some(sent), None) if fact.refused => format!("{sent} refused, none in force"),
        (Some(sent), _) if fact.is_unanswered => format!("{sent} not answered"),
        (Some(sent), Some(kept)) if sent != kept => format!("{sent} sent, {kept} in force"),
        (Some(sent), _) => format!("{sent} in force"),
        (None, _) => fact.state.word().to_owned(),
    }
}

/// Says whose resource is shown, and how many other clients have a resource of this name.
pub(super) fn say_owner(model: &mut Model, data: &dyn Data, resource: &ResourcePlace) {
    let ResourcePlace { stream, type_url, name } = resource;
    let others = data.contents().held_elsewhere(*stream, type_url, name).len();
    let owner = client(model, data, *stream);
    let others = match others {
        0 => String::new(),
        n => format!("; {} with this name: W names the clients", plural(n as u64, "other resource")),
    };
    model.say(format!("{} {} of {owner}{others}", type_label(type_url.as_str()), display_safe(name)));
}

fn client(model: &Model, data: &dyn Data, stream: StreamId) -> String {
    let fact = data.stream(stream);
    let node = fact.and_then(|fact| fact.node.map(|node| node.id.clone()));
    model.common.client_name(node.as_deref(), stream)
}
