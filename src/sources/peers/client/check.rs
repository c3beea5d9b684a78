use std::collections::HashSet;

use xdscope_engine::session::content_faults;
use xdscope_schema::Schema;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{DenseHash, Sym, TYPE_PREFIX, TypeUrl};
use xdscope_wire::xdstp::is_glob;
use xdscope_wire::{ErrorDetail, Message, ResponseView};

/// The verdict on a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Send an ACK.
    Accept,
    /// Send a NACK with this `error_detail`.
    Refuse(ErrorDetail),
    /// Send nothing until [`Client::rule`](super::Client::rule).
    Hold,
}

const INVALID_ARGUMENT: i32 = 3;

impl Ruling {
    /// Creates a NACK with this text.
    pub fn refuse(text: impl Into<std::sync::Arc<str>>) -> Ruling {
        Ruling::Refuse(ErrorDetail { code: INVALID_ARGUMENT, message: text.into(), details: Vec::new() })
    }
}

/// Resources that the text of a NACK lists; the others are counted.
const MAX_LISTED_RESOURCES: usize = 20;

/// Checks a response for errors that every client must reject.
///
/// These are a duplicate name (docs/protocol.md#e-43, docs/protocol.md#f-29), a resource of another
/// type than the response's (docs/protocol.md#e-28), and a redirect in place of a glob
/// (docs/protocol.md#k-28). Returns the text of the NACK, which names the resources; `None` if
/// there are no errors.
pub fn check(message: &Message, catalog: &Catalog) -> Option<String> {
    let ResponseView { removed, type_url: url, resources, .. } = message.response()?;
    let (mut seen, mut faults): (HashSet<Sym, DenseHash>, _) = (HashSet::default(), Vec::new());
    let mut fit = Sym::EMPTY;
    let blobs = resources.blobs();
    seen.reserve(blobs.len());
    for id in blobs {
        let entry = catalog.entry(*id);
        let name = || catalog.text(entry.name);
        if entry.name != Sym::EMPTY && !seen.insert(entry.name) {
            faults.push(format!("{}: duplicate resource name", name()));
        }
        // Usually all resources have the same type.
        if entry.payload.is_some() && (entry.type_url != fit || fit == Sym::EMPTY) {
            let own = catalog.text(entry.type_url);
            if own.ends_with(".ResourceLocator") {
                if is_glob(name()) {
                    faults.push(format!("{}: a glob can't be redirected", name()));
                }
            } else if fits(url, own) {
                fit = entry.type_url;
            } else {
                faults.push(format!("{}: type {own} in a response of {url}", name()));
            }
        }
    }
    let both = removed.iter().filter(|name| seen.contains(name));
    faults.extend(both.map(|name| format!("{}: both present and removed", catalog.text(*name))));
    text(faults)
}

/// Whether a resource type may appear in a response of a type: the type itself, a redirect, an
/// empty `Any`, or a collection of the type (docs/protocol.md#e-28). No resource has the type URL
/// of another API, such as Istio's `istio.io/debug/syncz`.
fn fits(url: &TypeUrl, own: &str) -> bool {
    let exempt = own.is_empty() || own.ends_with(".ResourceLocator") || url.is_empty();
    exempt
        || !url.as_str().starts_with(TYPE_PREFIX)
        || own == url.as_str()
        || own.strip_suffix("Collection") == Some(url.as_str())
}

/// Validates the content of a response, for `--ack validate`.
///
/// Content must decode as its type and satisfy the constraints of its fields. Returns the text of
/// the NACK, which names resource and field; `None` if everything is valid.
pub fn validated(message: &Message, catalog: &Catalog, schema: &Schema) -> Option<String> {
    let mut faults = Vec::new();
    for id in message.resources()?.blobs() {
        let entry = catalog.entry(*id);
        let Some(bytes) = entry.payload.and_then(|payload| catalog.bytes(payload)) else { continue };
        let name = catalog.text(entry.name);
        faults.extend(content_faults(schema, &bytes).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    text(faults)
}

/// Joins the first faults into one text; `None` if there are none.
fn text(faults: Vec<String>) -> Option<String> {
    if faults.is_empty() {
        return None;
    }
    let more = faults.len().saturating_sub(MAX_LISTED_RESOURCES);
    let mut text = faults.into_iter().take(MAX_LISTED_RESOURCES).collect::<Vec<_>>().join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_wire::MessageShape;
    use xdscope_wire::discovery::encode::{ResponseFields, encode_any};
    use xdscope_wire::pb::put_len_field;

    /// docs/protocol.md#j-01, docs/protocol.md#j-02
    #[test]
    fn accepts_violations_unless_validation_is_wanted() {
        const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
        // A cluster whose connect_timeout is 0 s, which must be greater.
        let mut cluster = Vec::new();
        put_len_field(&mut cluster, 1, b"a");
        put_len_field(&mut cluster, 4, b"");
        let fields = ResponseFields { version: "1", type_url: CDS, nonce: "n", ..ResponseFields::default() };
        let bytes = fields.encode(false, [encode_any(CDS, &cluster)]);
        let mut catalog = Catalog::in_memory();
        let message = Message::parse(MessageShape::SotwResponse, &bytes, &mut catalog);
        assert_eq!(check(&message, &catalog), None);
        let refusal = validated(&message, &catalog, &Schema::builtin()).expect("a refusal");
        assert!(refusal.starts_with("a: connect_timeout"), "{refusal}");
    }
}
