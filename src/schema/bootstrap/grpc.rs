//! The bootstrap of gRPC clients (gRFC A27, A47, A65 and A71).

use std::path::PathBuf;

use serde_json::Value;

use super::config::FallbackServer;
use super::config::{BootstrapConfig, BootstrapError, ConfigSource, XdsServer, unsupported};
use super::tls::{ClientOptions, Pem};
use crate::bootstrap::fields::{self, field, list};
use crate::bootstrap::{Document, target_address};
use xdscope_wire::event::Variant;

/// Server features without an effect on a client that has no traffic of its own.
const IGNORED_FEATURES: [&str; 4] = ["xds_v2", "xds_v3", "trusted_xds_server", "fail_on_data_errors"];

pub(super) fn read(document: &Document) -> Result<BootstrapConfig, BootstrapError> {
    let root = document.root();
    let mut notes = Vec::new();
    let servers = servers(field(root, fields::XDS_SERVERS), fields::XDS_SERVERS, &mut notes)?;
    if servers.is_empty() {
        return Err(BootstrapError::NoServer);
    }
    // gRPC clients use ADS only.
    let ads = |servers| ConfigSource { servers, variant: Variant::Ads };
    let mut config = BootstrapConfig { node: document.node().clone(), ..BootstrapConfig::default() };
    config.add(ads(servers));
    for (name, authority) in field(root, fields::AUTHORITIES).as_object().into_iter().flatten() {
        let path = format!("{}.{name}.{}", fields::AUTHORITIES, fields::XDS_SERVERS);
        let own = self::servers(field(authority, fields::XDS_SERVERS), &path, &mut notes)?;
        let number = if own.is_empty() { 0 } else { config.find_or_add(ads(own)) };
        config.authority_sources.push((name.clone(), number));
        // gRFC A47: a name of an authority that the bootstrap does not list is an error.
        config.fallback = FallbackServer::Nobody;
    }
    config.notes = notes;
    Ok(config)
}

fn servers(all: &Value, path: &str, notes: &mut Vec<String>) -> Result<Vec<XdsServer>, BootstrapError> {
    let mut out = Vec::new();
    for (index, server) in list(all).iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Some(uri) = field(server, fields::SERVER_URI).as_str() else {
            return unsupported(format!("{path} has no server_uri"));
        };
        let tls = credentials(field(server, fields::CHANNEL_CREDS), &path)?;
        if let Some(call) = list(field(server, "call_creds")).first() {
            let kind = call["type"].as_str().unwrap_or_default();
            return unsupported(format!(
                "{path}: call_creds of type `{kind}` are not supported; use --token-file FILE"
            ));
        }
        for feature in list(field(server, "server_features")).iter().filter_map(Value::as_str) {
            match feature {
                "ignore_resource_deletion" => notes.push(format!(
                    "{path} has ignore_resource_deletion: that client keeps resources that the \
                     server deletes; xdscope shows them as deleted"
                )),
                known if IGNORED_FEATURES.contains(&known) => {}
                other => notes.push(format!("{path}: the server feature `{other}` has no effect here")),
            }
        }
        out.push(XdsServer { address: target_address(uri), tls, authority: None, headers: Vec::new() });
    }
    Ok(out)
}

/// Returns the TLS settings of the first supported credentials, which gRPC uses too.
fn credentials(all: &Value, path: &str) -> Result<Option<ClientOptions>, BootstrapError> {
    let mut refused = Vec::new();
    for credentials in list(all) {
        match credentials["type"].as_str().unwrap_or_default() {
            "insecure" => return Ok(None),
            "tls" => {
                let config = &credentials["config"];
                let (cert, key) = (file(config, "certificate_file"), file(config, "private_key_file"));
                if cert.is_some() != key.is_some() {
                    return unsupported(format!(
                        "{path}: certificate_file and private_key_file belong together"
                    ));
                }
                let cacert = file(config, "ca_certificate_file");
                return Ok(Some(ClientOptions { cacert, cert, key, ..ClientOptions::default() }));
            }
            other => refused.push(format!("`{other}`")),
        }
    }
    if refused.is_empty() {
        return unsupported(format!("{path} has no channel_creds"));
    }
    unsupported(format!(
        "{path}: channel_creds of type {} are not supported, only insecure and tls",
        refused.join(", ")
    ))
}

/// A file that a bootstrap names.
fn file(config: &Value, name: &str) -> Option<Pem> {
    let path = fields::text(field(config, name))?;
    Some(Pem::File(PathBuf::from(path)))
}
