//! The credentials of xDS servers in Envoy's bootstrap: transport sockets and `google_grpc`.

use serde_json::Value;

use super::config::{BootstrapError, XdsServer, unsupported};
use super::tls::{ClientOptions, Pem};
use crate::bootstrap::fields::{self, field, list, text};
use crate::bootstrap::target_address;
use crate::json::base64;

/// Sources of certificates that only a running Envoy has.
const UNSUPPORTED_CERTIFICATES: [&str; 4] = [
    "tls_certificate_sds_secret_configs",
    "validation_context_sds_secret_config",
    "tls_certificate_provider_instance",
    "custom_validator_config",
];

/// Reads the TLS settings of a cluster; `None`: plaintext.
pub(super) fn transport_socket(cluster: &Value, name: &str) -> Result<Option<ClientOptions>, BootstrapError> {
    let socket = field(cluster, fields::TRANSPORT_SOCKET);
    if socket.is_null() {
        if !field(cluster, "tls_context").is_null() {
            return unsupported(format!("the cluster {name} has a tls_context: use a transport_socket"));
        }
        return Ok(None);
    }
    let config = field(socket, "typed_config");
    let url = config["@type"].as_str().unwrap_or_default();
    match url.rsplit('.').next().unwrap_or_default() {
        "UpstreamTlsContext" => upstream_tls_context(config, name).map(Some),
        "RawBuffer" => Ok(None),
        _ => {
            let kind = if url.is_empty() { socket["name"].as_str().unwrap_or_default() } else { url };
            unsupported(format!("the transport socket `{kind}` of the cluster {name} is not supported"))
        }
    }
}

fn upstream_tls_context(config: &Value, name: &str) -> Result<ClientOptions, BootstrapError> {
    let common = field(config, "common_tls_context");
    for certificates in UNSUPPORTED_CERTIFICATES {
        if !field(common, certificates).is_null() {
            return unsupported(format!(
                "the cluster {name} has {certificates}: only certificates in files or inline are supported"
            ));
        }
    }
    let path = |field: &str| format!("{field} of the cluster {name}");
    let combined = field(common, "combined_validation_context");
    if !field(combined, "validation_context_sds_secret_config").is_null() {
        let path = path("the validation_context_sds_secret_config");
        return unsupported(format!("{path} is not supported"));
    }
    let contexts = [field(common, "validation_context"), field(combined, "default_validation_context")];
    let validation = contexts.into_iter().find(|context| context.is_object()).unwrap_or(&Value::Null);
    let cacert = pem(field(validation, "trusted_ca"), &path("trusted_ca"))?;
    let (mut cert, mut key) = (None, None);
    if let Some(own) = list(field(common, "tls_certificates")).first() {
        cert = pem(field(own, "certificate_chain"), &path("certificate_chain"))?;
        key = pem(field(own, "private_key"), &path("private_key"))?;
        if cert.is_none() || key.is_none() {
            return unsupported(format!("a certificate of the cluster {name} lacks its chain or its key"));
        }
    }
    let matchers = ["match_typed_subject_alt_names", "match_subject_alt_names"]
        .map(|matchers| list(field(validation, matchers)));
    let exact = matchers.iter().copied().flatten().find_map(|matcher| {
        let inner = if matcher["matcher"].is_object() { &matcher["matcher"] } else { matcher };
        text(&inner["exact"])
    });
    let any_name = matchers.iter().all(|matchers| matchers.is_empty());
    if !any_name && exact.is_none() {
        let path = path("match_typed_subject_alt_names");
        return unsupported(format!("{path}: only exact matchers are supported"));
    }
    // Envoy verifies nothing without a CA, and no name without matchers.
    let servername = if any_name { text(&config["sni"]) } else { exact };
    Ok(ClientOptions { insecure: cacert.is_none(), cacert, cert, key, servername, any_name })
}

/// Reads a `DataSource`.
fn pem(source: &Value, path: &str) -> Result<Option<Pem>, BootstrapError> {
    if source.is_null() {
        return Ok(None);
    }
    if let Some(file) = text(field(source, "filename")) {
        return Ok(Some(Pem::File(file.into())));
    }
    if let Some(inline) = text(field(source, "inline_string")) {
        return Ok(Some(Pem::Inline(inline.into_bytes())));
    }
    match field(source, "inline_bytes").as_str().map(base64::decode) {
        Some(Some(bytes)) => Ok(Some(Pem::Inline(bytes))),
        Some(None) => unsupported(format!("{path}: inline_bytes are not base64")),
        None => unsupported(format!("{path} is neither a file nor inline")),
    }
}

/// Reads a `GoogleGrpc`: a target with credentials.
pub(super) fn google_grpc(
    google: &Value,
    mut headers: Vec<(String, String)>,
) -> Result<XdsServer, BootstrapError> {
    let Some(target) = field(google, fields::TARGET_URI).as_str() else {
        return unsupported("google_grpc without a target_uri");
    };
    let credentials = field(google, "channel_credentials");
    let ssl = field(credentials, "ssl_credentials");
    let tls = if ssl.is_object() {
        let path = |field: &str| format!("{field} of google_grpc");
        let cacert = pem(field(ssl, "root_certs"), &path("root_certs"))?;
        let cert = pem(field(ssl, "cert_chain"), &path("cert_chain"))?;
        let key = pem(field(ssl, "private_key"), &path("private_key"))?;
        Some(ClientOptions { cacert, cert, key, ..ClientOptions::default() })
    } else {
        for refused in ["google_default", "local_credentials"] {
            if !field(credentials, refused).is_null() {
                return unsupported(format!("google_grpc: {refused} is not supported, only ssl_credentials"));
            }
        }
        None
    };
    for call in list(field(google, "call_credentials")) {
        match text(field(call, "access_token")) {
            Some(token) => headers.push(("authorization".into(), format!("Bearer {token}"))),
            None => {
                let kind = call.as_object().and_then(|call| call.keys().next().cloned()).unwrap_or_default();
                return unsupported(format!(
                    "google_grpc: call_credentials with {kind} are not supported; use --token-file FILE"
                ));
            }
        }
    }
    Ok(XdsServer { address: target_address(target), tls, authority: None, headers })
}
