//! The Kubernetes objects that a resource was made from.
//!
//! Control planes state them in `metadata.filter_metadata` of clusters, listeners, filter chains,
//! virtual hosts and routes:
//!
//! | control plane | key | fields |
//! |---|---|---|
//! | Istio | `istio` | `config`: `/apis/…/namespaces/NAMESPACE/KIND/NAME`, `services[]` |
//! | Envoy Gateway | `envoy-gateway` | `resources[]`, `policies[]`: `kind`, `namespace`, `name` |
//! | kgateway | begins with `dev.kgateway` or `io.kgateway` | `kind`, `namespace`, `name` |
//!
//! Resources without such marks often have the object in their name, which is a guess.

use std::borrow::Cow;
use std::fmt;

use xdscope_wire::pb::{Fields, Value};

/// The most owners of one resource.
pub const MAX_OWNERS: usize = 64;

/// Source of the owner of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OwnerSource {
    /// The metadata of the resource.
    Metadata,
    /// The structure of the name of the resource, or a host in place of a name: a guess.
    Name,
}

/// A Kubernetes object that a resource was made from.
///
/// Displayed as `VirtualService shop/reviews`, with a question mark if it is a guess.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// The kind, such as `VirtualService`.
    pub kind: String,
    /// The namespace. Empty if not stated.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// Source of the owner.
    pub source: OwnerSource,
}

impl Owner {
    /// Returns the owner as filters spell it: `VirtualService/shop/reviews`.
    pub fn path(&self) -> String {
        format!("{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Owner { kind, namespace, name, source } = self;
        out.write_str(kind)?;
        out.write_str(" ")?;
        if !namespace.is_empty() {
            write!(out, "{namespace}/")?;
        }
        out.write_str(name)?;
        match source {
            OwnerSource::Metadata => Ok(()),
            OwnerSource::Name => out.write_str("?"),
        }
    }
}

/// Returns the owners of a resource, each once, in the order of its fields.
///
/// `any` is the serialized resource in its `google.protobuf.Any`. Metadata wins over the name. The
/// time is proportional to the size of the resource.
pub fn owners_of(any: &[u8], name: &str) -> Vec<Owner> {
    let mut owners = Owners(Vec::new());
    let type_url = field(any, 1).and_then(|url| std::str::from_utf8(url).ok()).unwrap_or_default();
    let message = type_url.rsplit('/').next().unwrap_or_default();
    if let (Some((_, part)), Some(value)) =
        (MARKED_MESSAGES.iter().find(|(name, _)| *name == message), field(any, 2))
    {
        owners.read_message(value, part);
    }
    if owners.0.is_empty() {
        owners.0.extend(owner_by_name(name));
    }
    owners.0
}

/// A message with metadata: the number of its field `metadata`, and its fields with such messages.
struct MarkedMessage {
    metadata: u32,
    children: &'static [(u32, &'static MarkedMessage)],
}

static ROUTE: MarkedMessage = MarkedMessage { metadata: 4, children: &[] };
static VIRTUAL_HOST: MarkedMessage = MarkedMessage { metadata: 24, children: &[(3, &ROUTE)] };
static ROUTE_CONFIGURATION: MarkedMessage = MarkedMessage { metadata: 17, children: &[(2, &VIRTUAL_HOST)] };
static FILTER_CHAIN: MarkedMessage = MarkedMessage { metadata: 5, children: &[] };
static LISTENER: MarkedMessage =
    MarkedMessage { metadata: 6, children: &[(3, &FILTER_CHAIN), (25, &FILTER_CHAIN)] };
static CLUSTER: MarkedMessage = MarkedMessage { metadata: 25, children: &[] };

static MARKED_MESSAGES: [(&str, &MarkedMessage); 4] = [
    ("envoy.config.cluster.v3.Cluster", &CLUSTER),
    ("envoy.config.listener.v3.Listener", &LISTENER),
    ("envoy.config.route.v3.RouteConfiguration", &ROUTE_CONFIGURATION),
    ("envoy.config.route.v3.VirtualHost", &VIRTUAL_HOST),
];

/// The owners that were found.
struct Owners(Vec<Owner>);

impl Owners {
    fn read_message(&mut self, message: &[u8], part: &MarkedMessage) {
        for (number, value) in submessages(message) {
            if number == part.metadata {
                for (key, mark) in entries(value) {
                    self.read_mark(&key, mark);
                }
            } else if let Some((_, child)) = part.children.iter().find(|(field, _)| *field == number) {
                self.read_message(value, child);
            }
        }
    }

    /// Reads the entry of `filter_metadata` with this key; `mark` is a `google.protobuf.Struct`.
    fn read_mark(&mut self, key: &str, mark: &[u8]) {
        match key {
            "istio" => {
                let config = entries(mark).find(|(name, _)| name == "config");
                self.add(config.and_then(|(_, value)| object_of_path(&string(value)?)));
                objects(mark, "services").for_each(|service| self.add(istio_service(service)));
            }
            "envoy-gateway" => {
                objects(mark, "resources").for_each(|object| self.add(stated_object(object)));
                objects(mark, "policies").for_each(|object| self.add(stated_object(object)));
            }
            _ if key.starts_with("dev.kgateway") || key.starts_with("io.kgateway") => {
                self.add(stated_object(mark));
            }
            _ => {}
        }
    }

    fn add(&mut self, owner: Option<Owner>) {
        if let Some(owner) = owner
            && self.0.len() < MAX_OWNERS
            && !self.0.contains(&owner)
        {
            self.0.push(owner);
        }
    }
}

/// Returns the objects in a list of a mark. Both are a `google.protobuf.Struct`.
fn objects<'a>(mark: &'a [u8], list: &str) -> impl Iterator<Item = &'a [u8]> {
    let lists = entries(mark).filter(move |(name, _)| name == list);
    let lists = lists.filter_map(|(_, value)| field(value, VALUE_LIST));
    lists.flat_map(submessages).filter_map(|(_, item)| field(item, VALUE_STRUCT))
}

/// Reads an object with the members `kind`, `namespace` and `name`.
fn stated_object(object: &[u8]) -> Option<Owner> {
    let [kind, namespace, name] = ["kind", "namespace", "name"].map(|key| member(object, key));
    let (kind, name) = (kind?, name?);
    let namespace = namespace.unwrap_or_default();
    if kind.is_empty() || name.is_empty() {
        return None;
    }
    Some(owner(&kind, &namespace, &name, OwnerSource::Metadata))
}

/// Reads an entry of Istio's `services`, which has no kind. The name of a `Service` is a DNS label;
/// a name with dots is a host of a `ServiceEntry`, whose own name is not stated.
fn istio_service(service: &[u8]) -> Option<Owner> {
    let (namespace, name) = (member(service, "namespace")?, member(service, "name")?);
    match name.contains('.') {
        _ if name.is_empty() => None,
        true => Some(owner("ServiceEntry", &namespace, &name, OwnerSource::Name)),
        false => Some(owner("Service", &namespace, &name, OwnerSource::Metadata)),
    }
}

fn owner(kind: &str, namespace: &str, name: &str, source: OwnerSource) -> Owner {
    Owner { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned(), source }
}

/// Reads an object as Istio states it: `/apis/GROUP/VERSION/namespaces/NAMESPACE/KIND/NAME`.
fn object_of_path(path: &str) -> Option<Owner> {
    let mut parts = path.rsplitn(5, '/');
    let (name, kind, namespace) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next()? != "namespaces" || name.is_empty() || kind.is_empty() {
        return None;
    }
    Some(owner(&camel_case(kind), namespace, name, OwnerSource::Metadata))
}

/// Turns `virtual-service` into `VirtualService`.
fn camel_case(kebab: &str) -> String {
    let mut text = String::new();
    for word in kebab.split('-') {
        let mut letters = word.chars();
        text.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

/// Kinds of routes whose names Envoy Gateway puts in front of the names of its resources.
const ROUTE_KINDS: [(&str, &str); 5] = [
    ("httproute", "HTTPRoute"),
    ("grpcroute", "GRPCRoute"),
    ("tlsroute", "TLSRoute"),
    ("tcproute", "TCPRoute"),
    ("udproute", "UDPRoute"),
];

/// Guesses the owner by the structure of a name.
fn owner_by_name(name: &str) -> Option<Owner> {
    // Istio: outbound|80|v1|reviews.shop.svc.cluster.local, outbound_.80_.v1_.reviews.shop.svc.….
    let host = match name.split_once('|') {
        Some((direction, rest)) if direction.ends_with("bound") => rest.rsplit('|').next()?,
        _ => match name.split_once("_.") {
            Some((direction, rest)) if direction.ends_with("bound") => rest.rsplit("_.").next()?,
            _ => "",
        },
    };
    let mut labels = host.split('.');
    if let (Some(service), Some(namespace), Some("svc")) = (labels.next(), labels.next(), labels.next())
        && !service.is_empty()
        && !namespace.is_empty()
    {
        return Some(owner("Service", namespace, service, OwnerSource::Name));
    }
    // Envoy Gateway: httproute/shop/reviews/rule/0.
    let mut parts = name.split('/');
    let (prefix, namespace, object) = (parts.next()?, parts.next()?, parts.next()?);
    let (_, kind) = ROUTE_KINDS.iter().find(|(known, _)| *known == prefix)?;
    if namespace.is_empty() || object.is_empty() {
        return None;
    }
    Some(owner(kind, namespace, object, OwnerSource::Name))
}

/// Number of the field `string_value` of a `google.protobuf.Value`.
const VALUE_STRING: u32 = 3;
/// Number of the field `struct_value` of a `google.protobuf.Value`.
const VALUE_STRUCT: u32 = 5;
/// Number of the field `list_value` of a `google.protobuf.Value`.
const VALUE_LIST: u32 = 6;

/// Returns the fields with a length, and their numbers.
fn submessages(message: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    Fields::new(message).map_while(Result::ok).filter_map(|field| match field.value {
        Value::Len(value) => Some((field.number, value)),
        _ => None,
    })
}

/// Returns the last value of a field with a length.
fn field(message: &[u8], number: u32) -> Option<&[u8]> {
    submessages(message).filter(|(field, _)| *field == number).map(|(_, value)| value).last()
}

/// Returns the entries of the map in field 1: that of a `Metadata` or of a `Struct`.
fn entries(message: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, &[u8])> {
    let maps = submessages(message).filter(|(number, _)| *number == 1);
    maps.filter_map(|(_, entry)| Some((String::from_utf8_lossy(field(entry, 1)?), field(entry, 2)?)))
}

/// Returns the text in a field of a `google.protobuf.Struct`.
fn member<'a>(object: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    entries(object).find(|(name, _)| name == key).and_then(|(_, value)| string(value))
}

/// Returns the text of a `google.protobuf.Value`, if it is one.
fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    field(value, VALUE_STRING).map(String::from_utf8_lossy)
}

#[cfg(test)]
mod tests;
