use serde_json::Value;

use super::object::Object;
use xdscope_wire::{Certificate, Secured, Tls, date};

/// The member `tls` of a `stream`: the legs with TLS, and what mutual TLS loses between them.
pub(super) fn legs(tls: &Tls) -> Value {
    let mut out = Object::bare();
    out.some("client", tls.client.as_deref().map(leg));
    out.some("server", tls.server.as_deref().map(leg));
    out.some("not_kept", tls.not_kept());
    out.done()
}

fn leg(leg: &Secured) -> Value {
    let mut out = Object::bare();
    out.put("version", (!leg.version.is_empty()).then_some(leg.version.as_str()));
    out.put("alpn", leg.alpn.as_deref());
    out.put("sni", leg.sni.as_deref());
    out.put("server_certificate", leg.server.as_ref().map(certificate));
    out.put("client_certificate", leg.client.as_ref().map(certificate));
    out.put("client_certificate_asked", leg.is_client_certificate_requested);
    out.put("verified", !leg.unverified);
    out.done()
}

/// A certificate: the member `certificate` of a `resource`, or one of a handshake.
pub fn certificate(of: &Certificate) -> Value {
    let mut out = Object::bare();
    out.put("subject", of.subject.as_str());
    out.put("names", of.names.clone());
    out.put("issuer", of.issuer.as_str());
    out.put("not_before", date(of.not_before));
    out.put("not_after", date(of.not_after));
    out.put("serial", of.serial.as_str());
    out.done()
}
