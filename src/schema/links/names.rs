use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use prost_reflect::{FieldDescriptor, Kind as FieldKind, MessageDescriptor};

use super::SourceKind;
use super::source::{CONFIG_SOURCE_FIELDS, cluster_from_bytes, timeout_from_bytes};
use super::walk::{inner_message, name_field_kind, v3_name};
use crate::{Schema, message_name};
use xdscope_wire::event::Kind;
use xdscope_wire::pb::{Fields, Value, WireField, field_bit};

/// Maximum nesting of messages, as in [`links_of`](super::links_of).
const MAX_DEPTH: u32 = 100;

/// A finder of the names that serialized resources refer to, without the paths of the fields.
///
/// Finds the same references as [`links_of`](super::links_of) at a small part of the cost, for
/// callers that scan every resource. Scans only the fields that can lead to a name, determined when
/// a type first occurs. A field that occurs twice counts twice.
pub struct ReferenceFinder {
    schema: Arc<Schema>,
    plans: Vec<MessagePlan>,
    /// Indexes in `plans` by full message name.
    index_by_name: HashMap<String, usize>,
    /// Indexes in `plans` by the type URL of an `Any`. `None` for types that are unknown or lead to
    /// no name.
    index_by_type_url: HashMap<Box<[u8]>, Option<usize>, RandomState>,
}

/// A reference to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundReference {
    /// Type of the referenced resource.
    pub kind: Kind,
    /// Name of the referenced resource.
    pub name: String,
    /// The config source of the referenced resource, if stated.
    pub source: Option<SourceKind>,
    /// The cluster that the config source names.
    pub cluster: Option<Box<str>>,
    /// The `initial_fetch_timeout` that the config source states; zero for no limit.
    pub initial_fetch_timeout: Option<Duration>,
    /// For scoped routes: the stated source of the route configurations that they lead to.
    pub routes: Option<Box<RouteSource>>,
    /// For a discovered filter: whether a default configuration is in use until the filter arrives.
    pub is_optional: bool,
    /// For a cluster of a route: whether the client refuses the routes if it lacks the cluster
    /// (`RouteConfiguration.validate_clusters`).
    pub is_validated: bool,
}

/// The source of the route configurations of scoped routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteSource {
    /// The kind of the source.
    pub kind: SourceKind,
    /// The cluster that the source names.
    pub cluster: Option<Box<str>>,
}

impl FoundReference {
    /// Creates a reference with the field that holds its config source.
    fn new(kind: Kind, name: String, config: Option<WireField<'_>>) -> FoundReference {
        let source = config.as_ref().and_then(|config| SourceKind::from_bytes(config.bytes()));
        let cluster = config.as_ref().and_then(|config| cluster_from_bytes(config.bytes()));
        let initial_fetch_timeout = config.as_ref().and_then(|config| timeout_from_bytes(config.bytes()));
        let (routes, is_optional, is_validated) = (None, false, false);
        FoundReference {
            kind,
            name,
            source,
            cluster,
            initial_fetch_timeout,
            routes,
            is_optional,
            is_validated,
        }
    }
}

impl RouteSource {
    fn of(config: &WireField<'_>) -> Option<Box<RouteSource>> {
        let kind = SourceKind::from_bytes(config.bytes())?;
        Some(Box::new(RouteSource { kind, cluster: cluster_from_bytes(config.bytes()) }))
    }
}

/// The fields of a message type that can lead to a name.
#[derive(Default)]
struct MessagePlan {
    roles: Vec<(u32, FieldRole)>,
    composite: Option<CompositeReference>,
    /// The field that holds the config source of the names beside it.
    source: Option<u32>,
    /// The field that says whether the client checks that it has the clusters of routes.
    validates: Option<u32>,
    /// Whether a message of this type can contain a name.
    reaches_name: bool,
    /// The [`field_bit`]s of the fields in `roles` and `composite`.
    fields: u64,
}

impl MessagePlan {
    fn includes(&self, number: u32) -> bool {
        self.fields & field_bit(number) != 0
    }

    fn role(&self, number: u32) -> Option<&FieldRole> {
        self.roles.iter().find(|(known, _)| *known == number).map(|(_, role)| role)
    }
}

/// The way in which a field leads to a name.
enum FieldRole {
    /// The field holds a name.
    Name(Kind),
    /// The field holds a message that can contain a name.
    Message(usize),
    /// The field is a map whose values are messages that can contain a name.
    Map(usize),
    /// The field holds an `Any`.
    Any,
}

/// A reference that consists of several fields of a message.
struct CompositeReference {
    /// The message refers to a resource if this field is set
    when: u32,
    /// and this field of the message in `when` is not set.
    unless: Option<u32>,
    /// The field that holds the name. `None` for a reference to all names.
    name: Option<u32>,
    /// The field of the message in `when` that holds the config source. `None` if `when` itself is
    /// the config source.
    source: Option<u32>,
    /// The field that holds the config source of the route configurations that scopes lead to.
    routes: Option<u32>,
    /// The field of the message in `when` that says that the referring resource does not wait.
    optional: Option<u32>,
    /// Appended to the name.
    suffix: &'static str,
    kind: Kind,
}

impl ReferenceFinder {
    /// Creates a finder. Inspects no types until they occur.
    pub fn new(schema: Arc<Schema>) -> ReferenceFinder {
        ReferenceFinder {
            schema,
            plans: Vec::new(),
            index_by_name: HashMap::new(),
            index_by_type_url: HashMap::default(),
        }
    }

    /// Returns the references of a serialized `Any`.
    pub fn references(&mut self, any: &[u8]) -> Vec<FoundReference> {
        let mut found = Vec::new();
        self.any(any, MAX_DEPTH, &mut found);
        found
    }

    fn any(&mut self, bytes: &[u8], depth: u32, found: &mut Vec<FoundReference>) {
        let (mut url, mut value) = (&[][..], &[][..]);
        for field in Fields::new(bytes).map_while(Result::ok) {
            match field.number {
                1 => url = field.bytes(),
                2 => value = field.bytes(),
                _ => {}
            }
        }
        if let Some(plan) = self.plan_for_type_url(url) {
            self.message(plan, value, depth, found);
        }
    }

    /// Returns the plan of the type, or `None` if the type is unknown or leads to no name.
    fn plan_for_type_url(&mut self, url: &[u8]) -> Option<usize> {
        if let Some(plan) = self.index_by_type_url.get(url) {
            return *plan;
        }
        let text = std::str::from_utf8(url).ok();
        let message = text.and_then(|url| self.schema.message(message_name(url)));
        let plan = message.map(|message| self.plan_for(&message));
        let plan = plan.filter(|plan| self.plans.get(*plan).is_some_and(|plan| plan.reaches_name));
        // Bounds the memory of a peer that sends ever new types.
        if self.index_by_type_url.len() < MAX_CACHED_TYPES {
            self.index_by_type_url.insert(url.into(), plan);
        }
        plan
    }

    fn message(&mut self, plan: usize, bytes: &[u8], depth: u32, found: &mut Vec<FoundReference>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let (first, mut when, mut name) = (found.len(), None, None);
        for field in Fields::new(bytes).map_while(Result::ok) {
            let Some(plan) = self.plans.get(plan) else { return };
            if !plan.includes(field.number) {
                continue;
            }
            if let Some(composite) = &plan.composite {
                when = if field.number == composite.when { Some(field) } else { when };
                name = if Some(field.number) == composite.name { Some(field) } else { name };
            }
            let (Value::Len(value) | Value::Group(value)) = field.value else { continue };
            match plan.role(field.number) {
                Some(FieldRole::Name(kind)) if !value.is_empty() => {
                    let config = plan.source.and_then(|number| last_field(number, bytes));
                    found.push(FoundReference::new(*kind, field.text().into_owned(), config));
                }
                Some(FieldRole::Message(inner)) => self.message(*inner, value, depth, found),
                Some(FieldRole::Any) => self.any(value, depth, found),
                Some(FieldRole::Map(inner)) => self.map_entry(*inner, value, depth, found),
                _ => {}
            }
        }
        let composite = self.plans.get(plan).and_then(|plan| plan.composite.as_ref());
        if let Some(mut reference) = composite.and_then(|composite| composite.read(&when?, name)) {
            let routes = composite.and_then(|composite| last_field(composite.routes?, bytes));
            reference.routes = routes.as_ref().and_then(RouteSource::of);
            found.insert(first, reference);
        }
        let validates = self.plans.get(plan).and_then(|plan| plan.validates);
        if validates.is_some_and(|number| is_validated(number, bytes, depth)) {
            let clusters = found.iter_mut().skip(first).filter(|reference| reference.kind == Kind::Cds);
            clusters.for_each(|reference| reference.is_validated = true);
        }
    }

    fn map_entry(&mut self, plan: usize, entry: &[u8], depth: u32, found: &mut Vec<FoundReference>) {
        for value in Fields::new(entry).map_while(Result::ok).filter(|field| field.number == 2) {
            match plan {
                ANY => self.any(value.bytes(), depth, found),
                plan => self.message(plan, value.bytes(), depth, found),
            }
        }
    }

    /// Returns the plan of a message. Creates plans for all messages that the message can contain.
    fn plan_for(&mut self, root: &MessageDescriptor) -> usize {
        if let Some(index) = self.index_by_name.get(root.full_name()) {
            return *index;
        }
        let first = self.plans.len();
        let mut queue = Vec::new();
        let index = index_or_enqueue(root, &mut self.index_by_name, &mut queue);
        let mut next = 0;
        while let Some(message) = queue.get(next).cloned() {
            next += 1;
            let roles: Vec<_> = message
                .fields()
                .filter_map(|field| {
                    let role = field_role(&message, &field, &mut self.index_by_name, &mut queue)?;
                    Some((field.number(), role))
                })
                .collect();
            let source = CONFIG_SOURCE_FIELDS.iter().find_map(|name| message.get_field_by_name(name));
            let source = source.map(|field| field.number());
            let composite = CompositeReference::of(&message);
            let validates = validation_field(&message);
            let (reaches_name, fields) = (false, 0);
            self.plans.push(MessagePlan { roles, composite, source, validates, reaches_name, fields });
        }
        self.prune(first);
        index
    }

    /// Drops the roles that lead to no name from the plans from `first` on.
    fn prune(&mut self, first: usize) {
        let leads = |plans: &[MessagePlan], role: &FieldRole| match role {
            FieldRole::Name(_) | FieldRole::Any | FieldRole::Map(ANY) => true,
            FieldRole::Message(inner) | FieldRole::Map(inner) => {
                plans.get(*inner).is_some_and(|plan| plan.reaches_name)
            }
        };
        loop {
            let reaches = |plan: &MessagePlan| {
                !plan.reaches_name
                    && (plan.composite.is_some()
                        || plan.roles.iter().any(|(_, role)| leads(&self.plans, role)))
            };
            let found: Vec<usize> =
                (first..self.plans.len()).filter(|at| self.plans.get(*at).is_some_and(reaches)).collect();
            if found.is_empty() {
                break;
            }
            for at in found {
                self.plans[at].reaches_name = true;
            }
        }
        for at in first..self.plans.len() {
            let mut roles = std::mem::take(&mut self.plans[at].roles);
            roles.retain(|(_, role)| leads(&self.plans, role));
            let plan = &mut self.plans[at];
            let composite = plan.composite.iter().flat_map(|part| [Some(part.when), part.name]).flatten();
            let numbers = roles.iter().map(|(number, _)| *number).chain(composite);
            plan.fields = numbers.fold(0, |fields, number| fields | field_bit(number));
            plan.roles = roles;
        }
    }
}

/// The field of a discovered filter whose default configuration is in use at once.
const OPTIONAL: &str = "apply_default_config_without_warming";

/// Stands for the plan of `google.protobuf.Any`.
const ANY: usize = usize::MAX;

/// Maximum number of type URLs to remember.
const MAX_CACHED_TYPES: usize = 4096;

/// Returns the index of a message's plan, and queues the message if the plan does not exist.
fn index_or_enqueue(
    message: &MessageDescriptor,
    index_by_name: &mut HashMap<String, usize>,
    queue: &mut Vec<MessageDescriptor>,
) -> usize {
    let next = index_by_name.len();
    *index_by_name.entry(message.full_name().to_owned()).or_insert_with(|| {
        queue.push(message.clone());
        next
    })
}

/// Returns the role of a field, or `None` if the field holds neither a name nor a message.
fn field_role(
    message: &MessageDescriptor,
    field: &FieldDescriptor,
    index_by_name: &mut HashMap<String, usize>,
    queue: &mut Vec<MessageDescriptor>,
) -> Option<FieldRole> {
    if let Some(kind) = named_kind(message, field) {
        return Some(FieldRole::Name(kind));
    }
    let inner = inner_message(field)?;
    if inner.full_name() == "google.protobuf.Any" {
        return Some(if field.is_map() { FieldRole::Map(ANY) } else { FieldRole::Any });
    }
    let index = index_or_enqueue(&inner, index_by_name, queue);
    Some(if field.is_map() { FieldRole::Map(index) } else { FieldRole::Message(index) })
}

/// Returns the type of resource that the value of a field names.
fn named_kind(message: &MessageDescriptor, field: &FieldDescriptor) -> Option<Kind> {
    let kind = name_field_kind(message.full_name(), field.name())?;
    matches!(field.kind(), FieldKind::String).then_some(kind)
}

/// Returns the field of a route configuration that says whether its clusters are checked.
fn validation_field(message: &MessageDescriptor) -> Option<u32> {
    let is_routes = v3_name(message.full_name()) == "envoy.config.route.v3.RouteConfiguration";
    let field = message.get_field_by_name("validate_clusters").filter(|_| is_routes)?;
    Some(field.number())
}

/// Whether the clusters of a route configuration are checked. Without a statement those of inline
/// routes are, and those of a resource are not. `depth`: levels of messages left below it.
fn is_validated(number: u32, bytes: &[u8], depth: u32) -> bool {
    let is_inline = depth + 1 < MAX_DEPTH;
    match last_field(number, bytes) {
        Some(stated) => last_field(1, stated.bytes()).is_some_and(|value| value.varint() != 0),
        None => is_inline,
    }
}

/// Returns the last field with this number.
fn last_field(number: u32, bytes: &[u8]) -> Option<WireField<'_>> {
    Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == number).last()
}

impl CompositeReference {
    fn of(message: &MessageDescriptor) -> Option<CompositeReference> {
        let number = |name: &str| message.get_field_by_name(name).map(|field| field.number());
        let (when, name, kind, suffix) = match v3_name(message.full_name()) {
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
            let fields = CONFIG_SOURCE_FIELDS.iter().chain([&"scoped_rds_config_source"]);
            Some(fields.into_iter().find_map(|name| inner.get_field_by_name(name))?.number())
        });
        let name = match name {
            Some(name) => Some(number(name)?),
            None => None,
        };
        let routes = number("rds_config_source").filter(|_| kind == Kind::Srds);
        let discovery = message.get_field_by_name(when).and_then(|field| inner_message(&field));
        let optional = discovery.and_then(|inner| inner.get_field_by_name(OPTIONAL)).map(|of| of.number());
        Some(CompositeReference { when: number(when)?, unless, name, source, routes, optional, suffix, kind })
    }

    /// Reads the reference from the last fields with the numbers `when` and `name`.
    fn read(&self, when: &WireField<'_>, name: Option<WireField<'_>>) -> Option<FoundReference> {
        if self
            .unless
            .and_then(|number| last_field(number, when.bytes()))
            .is_some_and(|field| !field.bytes().is_empty())
        {
            return None;
        }
        let name = match self.name {
            Some(_) => name?.text().into_owned(),
            None => String::new(),
        };
        let config = match self.source {
            Some(number) => last_field(number, when.bytes()),
            None => Some(*when),
        };
        let is_complete = self.name.is_none() || !name.is_empty();
        let optional = self.optional.and_then(|number| last_field(number, when.bytes()));
        let is_optional = optional.is_some_and(|field| field.varint() != 0);
        is_complete.then(|| FoundReference {
            is_optional,
            ..FoundReference::new(self.kind, name + self.suffix, config)
        })
    }
}
