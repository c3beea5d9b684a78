//! The bootstrap of gRPC clients: its proposals A27, A47, A65 and A71.

use serde_json::Value;

use super::{Identity, Source, Upstream, field, file, list, unsupported};
use crate::net::bootstrap::{BootstrapError, plain_uri};
use crate::net::tls::ClientOptions;
use crate::peers::client::FallbackServer;
use crate::wire::event::Variant;

/// Features of a server that ask nothing of a client which only looks.
const KNOWN: [&str; 4] = ["xds_v2", "xds_v3", "trusted_xds_server", "fail_on_data_errors"];

pub(super) fn read(root: &Value) -> Result<Identity, BootstrapError> {
    let mut notes = Vec::new();
    let servers = servers(field(root, "xds_servers"), "xds_servers", &mut notes)?;
    if servers.is_empty() {
        return Err(BootstrapError::NoServer);
    }
    // gRPC has no sources of another kind.
    let ads = |servers| Source { servers, variant: Variant::Ads };
    let mut identity = Identity { node: root["node"].clone(), ..Identity::default() };
    identity.add(ads(servers));
    for (name, authority) in field(root, "authorities").as_object().into_iter().flatten() {
        let place = format!("authorities.{name}.xds_servers");
        let own = self::servers(field(authority, "xds_servers"), &place, &mut notes)?;
        let number = if own.is_empty() { 0 } else { identity.number(ads(own)) };
        identity.authorities.push((name.clone(), number));
        // A name of another authority can't be had (A47).
        identity.others = FallbackServer::Nobody;
    }
    identity.notes = notes;
    Ok(identity)
}

fn servers(all: &Value, place: &str, notes: &mut Vec<String>) -> Result<Vec<Upstream>, BootstrapError> {
    let mut out = Vec::new();
    for (at, server) in list(all).iter().enumerate() {
        let place = format!("{place}[{at}]");
        let Some(uri) = field(server, "server_uri").as_str() else {
            return unsupported(format!("{place} has no server_uri"));
        };
        let tls = credentials(field(server, "channel_creds"), &place)?;
        if let Some(call) = list(field(server, "call_creds")).first() {
            let kind = call["type"].as_str().unwrap_or_default();
            return unsupported(format!(
                "{place}: call_creds of type `{kind}` are not supported: --token-file FILE"
            ));
        }
        for feature in list(field(server, "server_features")).iter().filter_map(Value::as_str) {
            match feature {
                "ignore_resource_deletion" => notes.push(format!(
                    "{place} has ignore_resource_deletion: such a client keeps what the server deletes; here it is shown \
                     as deleted"
                )),
                known if KNOWN.contains(&known) => {}
                other => notes.push(format!("{place}: the server feature `{other}` has no effect here")),
            }
        }
        out.push(Upstream { address: plain_uri(uri), tls, authority: None, headers: Vec::new() });
    }
    Ok(out)
}

/// The first credentials that are supported, as gRPC picks them.
fn credentials(all: &Value, place: &str) -> Result<Option<ClientOptions>, BootstrapError> {
    let mut refused = Vec::new();
    for one in list(all) {
        match one["type"].as_str().unwrap_or_default() {
            "insecure" => return Ok(None),
            "tls" => {
                let config = &one["config"];
                let of = |name: &str| file(field(config, name));
                let (cert, key) = (of("certificate_file"), of("private_key_file"));
                if cert.is_some() != key.is_some() {
                    return unsupported(format!(
                        "{place}: certificate_file and private_key_file belong together"
                    ));
                }
                let cacert = of("ca_certificate_file");
                return Ok(Some(ClientOptions { cacert, cert, key, ..ClientOptions::default() }));
            }
            other => refused.push(format!("`{other}`")),
        }
    }
    match refused.is_empty() {
        true => unsupported(format!("{place} has no channel_creds")),
        false => unsupported(format!(
            "{place}: channel_creds of type {} are not supported, only insecure and tls",
            refused.join(", ")
        )),
    }
}

/// As it would be typed.
impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls.is_some() { "https://" } else { "" };
        write!(f, "{scheme}{}", self.address)
    }
}
