use std::borrow::Cow;
use std::collections::BTreeMap;

use xdscope_wire::MessageShape;
use xdscope_wire::discovery::fields::{DiscoveryField, NAME, map_entry, node, status};
use xdscope_wire::pb::Fields;

/// The fields of a request that a control plane reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// `node.id`; `None` without a node.
    pub node: Option<Cow<'a, str>>,
    /// `node.client_features`.
    pub features: Vec<Cow<'a, str>>,
    /// Empty if the method implies the type (docs/protocol.md#i-02).
    pub type_url: Cow<'a, str>,
    pub nonce: Cow<'a, str>,
    /// SotW: the accepted version.
    pub version: Cow<'a, str>,
    /// All names (SotW), or the names to subscribe to (delta).
    pub names: Vec<Cow<'a, str>>,
    pub unsubscribe: Vec<Cow<'a, str>>,
    /// Delta: version by name of the resources that the client has (docs/protocol.md#f-15).
    pub held: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    /// The error text of a NACK.
    pub error: Option<Cow<'a, str>>,
}

impl<'a> Request<'a> {
    /// Reads a request; `None` if the bytes are malformed.
    pub(super) fn read(delta: bool, bytes: &'a [u8]) -> Option<Request<'a>> {
        let shape = if delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
        let mut request = Request::default();
        for field in Fields::new(bytes) {
            let field = field.ok()?;
            let Some(known) = DiscoveryField::of(shape, field.number) else { continue };
            match known {
                DiscoveryField::Node => {
                    request.node = Some(inner_text(field.bytes(), node::ID));
                    request.features = inner_texts(field.bytes(), node::CLIENT_FEATURES).collect();
                }
                DiscoveryField::Names => request.names.push(field.text()),
                DiscoveryField::TypeUrl => request.type_url = field.text(),
                DiscoveryField::Nonce => request.nonce = field.text(),
                DiscoveryField::Version => request.version = field.text(),
                DiscoveryField::ErrorDetail => {
                    request.error = Some(inner_text(field.bytes(), status::MESSAGE));
                }
                DiscoveryField::Unsubscribe => request.unsubscribe.push(field.text()),
                DiscoveryField::InitialVersions => {
                    let entry = field.bytes();
                    let name = inner_text(entry, map_entry::KEY);
                    request.held.insert(name, inner_text(entry, map_entry::VALUE));
                }
                // Locators are names too.
                DiscoveryField::Locators => request.names.push(inner_text(field.bytes(), NAME)),
                DiscoveryField::LocatorsUnsubscribe => {
                    request.unsubscribe.push(inner_text(field.bytes(), NAME));
                }
                _ => {}
            }
        }
        Some(request)
    }
}

/// Returns the last field with this number as text; empty if there is none.
fn inner_text(bytes: &[u8], number: u32) -> Cow<'_, str> {
    inner_texts(bytes, number).last().unwrap_or_default()
}

/// Returns all fields with this number as text.
fn inner_texts(bytes: &[u8], number: u32) -> impl Iterator<Item = Cow<'_, str>> {
    let fields = Fields::new(bytes).map_while(Result::ok);
    fields.filter(move |field| field.number == number).map(|field| field.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_wire::pb::put_len_field;

    #[test]
    fn reads_sotw_and_delta_requests() {
        let mut node = Vec::new();
        put_len_field(&mut node, 1, b"edge");
        put_len_field(&mut node, 10, b"one");
        put_len_field(&mut node, 10, b"two");
        let mut error = Vec::new();
        put_len_field(&mut error, 2, b"no");
        let mut sotw = Vec::new();
        for (number, bytes) in
            [(1, &b"7"[..]), (2, &node), (3, b"a"), (3, b"b"), (4, b"T"), (5, b"n"), (6, &error)]
        {
            put_len_field(&mut sotw, number, bytes);
        }
        let read = Request::read(false, &sotw).expect("a request");
        assert_eq!((read.node.as_deref(), &*read.type_url, &*read.nonce), (Some("edge"), "T", "n"));
        assert_eq!(read.features, ["one", "two"]);
        assert_eq!((read.names, read.error.as_deref()), (vec!["a".into(), "b".into()], Some("no")));

        let mut held = Vec::new();
        put_len_field(&mut held, 1, b"a");
        put_len_field(&mut held, 2, b"1");
        let mut delta = Vec::new();
        for (number, bytes) in
            [(1, &node[..]), (2, b"T"), (3, b"a"), (4, b"b"), (5, &held), (6, b"n"), (7, &error)]
        {
            put_len_field(&mut delta, number, bytes);
        }
        let read = Request::read(true, &delta).expect("a request");
        assert_eq!((read.names, read.unsubscribe), (vec!["a".into()], vec!["b".into()]));
        assert_eq!(read.held, BTreeMap::from([("a".into(), "1".into())]));
        assert!(read.error.is_some() && Request::read(true, b"\xff\xff").is_none());
    }
}
