use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use prost_reflect::{FieldDescriptor, Kind as FieldKind, MessageDescriptor};

use super::SourceKind;
use super::source;
use super::walk::{NAME_FIELDS, inner_message};
use crate::schema::{Schema, message_name};
use crate::wire::event::Kind;
use crate::wire::pb::{Field, Fields, Value, field_bit};

/// Levels that are looked into, as in [`of`](super::of).
const MAX_DEPTH: u32 = 100;

/// Finds what resources refer to in their bytes, without their paths: what [`of`](super::of) finds, at a small part of
/// its cost, for whoever looks at every resource that passes. Only the fields that can lead to a name are looked at;
/// which these are is found out when a type is first met. A field that stands twice counts twice.
pub struct ReferenceFinder {
    schema: Arc<Schema>,
    nodes: Vec<MessagePlan>,
    /// By full name, in one number each.
    places: HashMap<String, usize>,
    /// By what stands in an `Any`; none: unknown, or nothing to be found there.
    types: HashMap<Box<[u8]>, Option<usize>, RandomState>,
}

/// Type and name of a reference, and where the resource says that it comes from.
type Found = (Kind, String, Option<SourceKind>);

/// What matters of one message type.
#[derive(Default)]
struct MessagePlan {
    /// By field number.
    steps: Vec<(u32, FieldRole)>,
    whole: Option<CompositeReference>,
    /// The field that says where what is named comes from (row I-06).
    source: Option<u32>,
    /// There can be a name in it.
    reaches: bool,
    /// A bit for each field of `steps` and `whole`, the last for all numbers from there on: most fields are neither.
    fields: u64,
}

impl MessagePlan {
    fn looks_at(&self, number: u32) -> bool {
        self.fields & field_bit(number) != 0
    }
}

enum FieldRole {
    /// The field holds a name.
    Name(Kind),
    /// The field holds a message that may lead to one.
    Inner(usize),
    /// The same for the values of a map.
    Map(usize),
    /// A message of any type.
    Any,
}

/// A reference that a message makes by more than one of its fields.
struct CompositeReference {
    /// Where this field is set,
    when: u32,
    /// and this field within it is not,
    unless: Option<u32>,
    /// what this field holds is a name; without it, all names are meant.
    name: Option<u32>,
    /// Within the first field, the one that says where it comes from; without it the field itself does.
    source: Option<u32>,
    /// What follows the name.
    end: &'static str,
    kind: Kind,
}

impl ReferenceFinder {
    pub fn new(schema: Arc<Schema>) -> ReferenceFinder {
        ReferenceFinder { schema, nodes: Vec::new(), places: HashMap::new(), types: HashMap::default() }
    }

    /// Each reference of a serialized `Any`: type, name, and where the resource says that it comes from.
    pub fn of(&mut self, any: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        self.any(any, MAX_DEPTH, &mut found);
        found
    }

    fn any(&mut self, bytes: &[u8], depth: u32, found: &mut Vec<Found>) {
        let (mut url, mut value) = (&[][..], &[][..]);
        for field in Fields::new(bytes).map_while(Result::ok) {
            match field.number {
                1 => url = field.bytes(),
                2 => value = field.bytes(),
                _ => {}
            }
        }
        let node = match self.types.get(url) {
            Some(node) => *node,
            None => {
                let text = std::str::from_utf8(url).ok();
                let message = text.and_then(|url| self.schema.message(message_name(url)));
                let node = message.map(|message| self.plan_for(&message));
                let node = node.filter(|node| self.nodes.get(*node).is_some_and(|node| node.reaches));
                // Whoever sends ever new types is asked about each anew.
                if self.types.len() < MAX_CACHED_TYPES {
                    self.types.insert(url.into(), node);
                }
                node
            }
        };
        if let Some(node) = node {
            self.message(node, value, depth, found);
        }
    }

    fn message(&mut self, node: usize, bytes: &[u8], depth: u32, found: &mut Vec<Found>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let (first, mut when, mut name) = (found.len(), None, None);
        for field in Fields::new(bytes).map_while(Result::ok) {
            let Some(node) = self.nodes.get(node) else { return };
            if !node.looks_at(field.number) {
                continue;
            }
            if let Some(whole) = &node.whole {
                when = if field.number == whole.when { Some(field) } else { when };
                name = if Some(field.number) == whole.name { Some(field) } else { name };
            }
            let step = node.steps.iter().find(|(number, _)| *number == field.number);
            let (Value::Len(inside) | Value::Group(inside)) = field.value else { continue };
            match step.map(|(_, step)| step) {
                Some(FieldRole::Name(kind)) if !inside.is_empty() => {
                    let config = node.source.and_then(|number| last(number, bytes));
                    let source = config.and_then(|config| SourceKind::from_bytes(config.bytes()));
                    found.push((*kind, field.text().into_owned(), source));
                }
                Some(FieldRole::Inner(inner)) => self.message(*inner, inside, depth, found),
                Some(FieldRole::Any) => self.any(inside, depth, found),
                Some(FieldRole::Map(inner)) => {
                    let inner = *inner;
                    for value in Fields::new(inside).map_while(Result::ok).filter(|field| field.number == 2) {
                        match inner {
                            ANY => self.any(value.bytes(), depth, found),
                            inner => self.message(inner, value.bytes(), depth, found),
                        }
                    }
                }
                _ => {}
            }
        }
        let whole = self.nodes.get(node).and_then(|node| node.whole.as_ref());
        if let Some(reference) = whole.and_then(|whole| whole.read(&when?, name)) {
            found.insert(first, reference);
        }
    }

    /// The node of a message, made with those of all messages in it.
    fn plan_for(&mut self, root: &MessageDescriptor) -> usize {
        if let Some(place) = self.places.get(root.full_name()) {
            return *place;
        }
        let first = self.nodes.len();
        let mut todo = vec![root.clone()];
        let mut made = Vec::new();
        let mut place_of = |message: &MessageDescriptor, todo: &mut Vec<MessageDescriptor>| {
            let next = self.places.len();
            *self.places.entry(message.full_name().to_owned()).or_insert_with(|| {
                todo.push(message.clone());
                next
            })
        };
        let place = place_of(root, &mut Vec::new());
        let mut at = 0;
        while let Some(message) = todo.get(at).cloned() {
            at += 1;
            let steps = message.fields().filter_map(|field| {
                let step = match (named(&message, &field), inner_message(&field)) {
                    (Some(kind), _) => FieldRole::Name(kind),
                    (None, None) => return None,
                    (None, Some(inside)) => {
                        match (inside.full_name() == "google.protobuf.Any", field.is_map()) {
                            (true, true) => FieldRole::Map(ANY),
                            (true, false) => FieldRole::Any,
                            (false, true) => FieldRole::Map(place_of(&inside, &mut todo)),
                            (false, false) => FieldRole::Inner(place_of(&inside, &mut todo)),
                        }
                    }
                };
                Some((field.number(), step))
            });
            let steps: Vec<_> = steps.collect();
            let source = source::CONFIG_SOURCE_FIELDS.iter().find_map(|name| message.get_field_by_name(name));
            let source = source.map(|field| field.number());
            made.push(MessagePlan {
                steps,
                whole: CompositeReference::of(&message),
                source,
                reaches: false,
                fields: 0,
            });
        }
        self.nodes.extend(made);
        self.prune(first);
        place
    }

    /// Drops the steps from `first` on that lead to no name.
    fn prune(&mut self, first: usize) {
        let leads = |nodes: &[MessagePlan], step: &FieldRole| match step {
            FieldRole::Name(_) | FieldRole::Any | FieldRole::Map(ANY) => true,
            FieldRole::Inner(inner) | FieldRole::Map(inner) => {
                nodes.get(*inner).is_some_and(|node| node.reaches)
            }
        };
        loop {
            let reach = |node: &MessagePlan| {
                !node.reaches
                    && (node.whole.is_some() || node.steps.iter().any(|(_, step)| leads(&self.nodes, step)))
            };
            let found: Vec<usize> =
                (first..self.nodes.len()).filter(|at| self.nodes.get(*at).is_some_and(reach)).collect();
            if found.is_empty() {
                break;
            }
            for at in found {
                self.nodes[at].reaches = true;
            }
        }
        for at in first..self.nodes.len() {
            let mut steps = std::mem::take(&mut self.nodes[at].steps);
            steps.retain(|(_, step)| leads(&self.nodes, step));
            let node = &mut self.nodes[at];
            let whole = node.whole.iter().flat_map(|whole| [Some(whole.when), whole.name]).flatten();
            let numbers = steps.iter().map(|(number, _)| *number).chain(whole);
            node.fields = numbers.fold(0, |fields, number| fields | field_bit(number));
            node.steps = steps;
        }
    }
}

/// Stands for the node of `google.protobuf.Any`.
const ANY: usize = usize::MAX;

/// Types that are remembered.
const MAX_CACHED_TYPES: usize = 4096;

/// The type that a field's value is a name of.
fn named(message: &MessageDescriptor, field: &FieldDescriptor) -> Option<Kind> {
    let named = NAME_FIELDS.iter().find(|(of, name, _)| *of == message.full_name() && *name == field.name());
    named.filter(|_| matches!(field.kind(), FieldKind::String)).map(|(_, _, kind)| *kind)
}

/// The last field of that number.
fn last(number: u32, bytes: &[u8]) -> Option<Field<'_>> {
    Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == number).last()
}

impl CompositeReference {
    fn of(message: &MessageDescriptor) -> Option<CompositeReference> {
        let number = |name: &str| message.get_field_by_name(name).map(|field| field.number());
        let (when, name, kind, end) = match message.full_name() {
            "envoy.config.cluster.v3.Cluster" => ("eds_cluster_config", Some("name"), Kind::Eds, ""),
            "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig" => {
                ("sds_config", Some("name"), Kind::Sds, "")
            }
            "envoy.config.route.v3.RouteConfiguration" => ("vhds", Some("name"), Kind::Vhds, "/*"),
            "envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes" => {
                ("scoped_rds", None, Kind::Srds, "*")
            }
            filter if filter.ends_with("Filter") => ("config_discovery", Some("name"), Kind::Ecds, ""),
            _ => return None,
        };
        let unless = message.get_field_by_name(when).and_then(|field| inner_message(&field));
        let unless = unless.filter(|_| kind == Kind::Eds);
        let unless = unless.and_then(|inner| Some(inner.get_field_by_name("service_name")?.number()));
        let source = message.get_field_by_name(when).and_then(|field| inner_message(&field));
        let source = source.and_then(|inner| {
            let fields = source::CONFIG_SOURCE_FIELDS.iter().chain([&"scoped_rds_config_source"]);
            Some(fields.into_iter().find_map(|name| inner.get_field_by_name(name))?.number())
        });
        let name = match name {
            Some(name) => Some(number(name)?),
            None => None,
        };
        Some(CompositeReference { when: number(when)?, unless, name, source, end, kind })
    }

    /// The reference, by the last fields of the message that have the numbers `when` and `name`.
    fn read(&self, when: &Field<'_>, name: Option<Field<'_>>) -> Option<Found> {
        if self
            .unless
            .and_then(|number| last(number, when.bytes()))
            .is_some_and(|field| !field.bytes().is_empty())
        {
            return None;
        }
        let name = match self.name {
            Some(_) => name?.text().into_owned(),
            None => String::new(),
        };
        let config = match self.source {
            Some(number) => last(number, when.bytes()),
            None => Some(*when),
        };
        let source = config.and_then(|config| SourceKind::from_bytes(config.bytes()));
        (self.name.is_none() || !name.is_empty()).then(|| (self.kind, name + self.end, source))
    }
}
