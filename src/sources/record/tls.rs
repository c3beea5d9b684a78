use super::decode::{fields, text};
use super::encode::put_text;
use super::header::{put_u64, unzigzag, zigzag};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Certificate, Secured, Tls};

pub(super) const CLIENT_LEG: u32 = 10;
pub(super) const SERVER_LEG: u32 = 11;

/// Writes the TLS fields of an open.
pub(super) fn put(out: &mut Vec<u8>, tls: &Tls) {
    for (number, leg) in [(CLIENT_LEG, &tls.client), (SERVER_LEG, &tls.server)] {
        if let Some(leg) = leg {
            put_len_field(out, number, &encoded(leg));
        }
    }
}

fn encoded(leg: &Secured) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, 1, &leg.version);
    for (number, value) in [(2, &leg.alpn), (3, &leg.sni)] {
        if let Some(value) = value {
            put_len_field(&mut out, number, value.as_bytes());
        }
    }
    for (number, certificate) in [(4, &leg.server), (5, &leg.client)] {
        if let Some(certificate) = certificate {
            put_len_field(&mut out, number, &encoded_certificate(certificate));
        }
    }
    put_u64(&mut out, 6, leg.is_client_certificate_requested.into());
    put_u64(&mut out, 7, leg.unverified.into());
    out
}

fn encoded_certificate(certificate: &Certificate) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, 1, &certificate.subject);
    for name in &certificate.names {
        put_len_field(&mut out, 2, name.as_bytes());
    }
    put_text(&mut out, 3, &certificate.issuer);
    put_u64(&mut out, 4, zigzag(certificate.not_before));
    put_u64(&mut out, 5, zigzag(certificate.not_after));
    put_text(&mut out, 6, &certificate.serial);
    out
}

/// Decodes a leg. Unknown fields are ignored.
pub(super) fn leg(bytes: &[u8]) -> Secured {
    let mut leg = Secured::default();
    for field in fields(bytes) {
        match field.number {
            1 => leg.version = text(&field),
            2 => leg.alpn = Some(text(&field)),
            3 => leg.sni = Some(text(&field)),
            4 => leg.server = Some(certificate(field.bytes())),
            5 => leg.client = Some(certificate(field.bytes())),
            6 => leg.is_client_certificate_requested = field.varint() != 0,
            7 => leg.unverified = field.varint() != 0,
            _ => {}
        }
    }
    leg
}

fn certificate(bytes: &[u8]) -> Certificate {
    let mut out = Certificate::default();
    for field in fields(bytes) {
        match field.number {
            1 => out.subject = text(&field),
            2 => out.names.push(text(&field)),
            3 => out.issuer = text(&field),
            4 => out.not_before = unzigzag(field.varint()),
            5 => out.not_after = unzigzag(field.varint()),
            6 => out.serial = text(&field),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::{decode, encode};
    use xdscope_wire::Open;

    #[test]
    fn round_trips_both_legs() {
        let certificate = |name: &str| Certificate {
            subject: format!("CN={name}"),
            names: vec![name.into(), "spiffe://mesh/ns/a/sa/b".into()],
            issuer: "CN=root".into(),
            not_before: -5,
            not_after: 1_800_000_000,
            serial: "01ff".into(),
        };
        let client =
            Secured { sni: Some("cp.mesh".into()), server: Some(certificate("tap")), ..Secured::default() };
        let server = Secured {
            version: "TLSv1.3".into(),
            alpn: Some("h2".into()),
            client: Some(certificate("edge")),
            is_client_certificate_requested: true,
            unverified: true,
            ..Secured::default()
        };
        let tls = Tls { client: Some(Arc::new(client)), server: Some(Arc::new(server)) };
        let open = Open { method: "/x.Y/Z".into(), tls, ..Open::default() };
        let mut bytes = Vec::new();
        encode::open(&mut bytes, &open, true);
        assert_eq!(decode::open(&bytes), open);
        bytes.clear();
        encode::open(&mut bytes, &open, false);
        assert!(decode::open(&bytes).tls.is_empty(), "not said again in each segment");
        // Damage must not panic.
        assert_eq!(leg(&[0x22, 0xff]), Secured::default());
    }
}
