//! Texts of Envoy and of control planes that speak about secrets without having one.

use serde_json::{Value as Json, json};

use super::{bytes, holds, redactor};
use xdscope_wire::content::Redact;

const ROUTES: &str = "envoy.config.route.v3.RouteConfiguration";
const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";

/// Texts that the binary of Envoy 1.40 contains, with the marks of its formatter.
const BINARY: [&str; 126] = [
    "%s Credential=%s/%s, SignedHeaders=%s, Signature=%s",
    "AWSCredentialsFileRegionProvider: Region string retrieved: {}",
    "AWSCredentialsFileRegionProvider: RegionSet string retrieved: {}",
    "Invalid private key: key data is corrupted or malformed.",
    "ProcessClientHelloAfterCalculateSharedKeys: attempted to use connection ID ",
    "Session subject mismatch: session='{}'",
    "asyncGetAccessToken: Dispatched OAuth request for access token.",
    "asyncGetAccessToken: OAuth cluster not found. Retrying in {} seconds.",
    "asyncGetAccessToken: client secret is empty, retrying in {} seconds.",
    "basic auth: duplicate users",
    "basic auth: empty user name or password",
    "basic auth: invalid htpasswd format, invalid SHA hash length",
    "basic auth: invalid htpasswd format, username:password is expected",
    "basic auth: unsupported htpasswd format: please use {SHA}",
    "createSignature: EVP_MD_CTX_new failure",
    "createSignature: EVP_SignFinal failure",
    "createSignature: EVP_SignInit_ex failure",
    "createSignature: EVP_get_digestbyname failure",
    "createSignature: Failed to read private key",
    "creating new session: downstream={} local={} upstream={}",
    "deleting the session: downstream={} local={} upstream={}",
    "session idle timeout: downstream={} local={}",
    "envoy.formatter.generic_secret: secret '{}' is not configured in secret_configs",
    "envoy.formatter.generic_secret: secret '{}' not found in static bootstrap resources",
    "oauth2: legacy AES-256-CBC cookie decrypt fallback used; this path is gated by envoy.reloadable_features.oauth2_legacy_cbc_decrypt_compat and partially reopens CVE-2026-47775",
    "onGetAccessTokenFailure: Cached token has expired, clearing it.",
    "onGetAccessTokenFailure: Failed to get access token",
    "onGetAccessTokenSuccess: Token fetched successfully, expires in {} seconds.",
    "reverse_tunnel: jwt: audience not allowed",
    "reverse_tunnel: jwt: issuer mismatch (expected '{}', got '{}')",
    "reverse_tunnel: jwt: missing token header '{}'",
    "reverse_tunnel: jwt: no JWKS available yet",
    "reverse_tunnel: jwt: token has no `exp` claim",
    "reverse_tunnel: jwt: token parse failed",
    "reverse_tunnel: jwt: verification failed: {}",
    "reverse_tunnel: jwt: verified; claims published to namespace '{}'",
    "reverse_tunnel: jwt: {} values on token header '{}'; using the first",
    "absl::Status Envoy::Json::Wuffs::WuffsJsonCursor::handleStructureToken(uint64_t, size_t)",
    "absl::Status Envoy::Json::Wuffs::WuffsJsonCursor::handleUnicodeCodePointToken(uint64_t)",
    "absl::Status Envoy::Extensions::Common::Aws::IAMRolesAnywhereX509CredentialsProvider::pemToDerB64(absl::string_view, std::string &, bool)",
    "void grpc_core::ExternalAccountCredentials::ExternalFetchRequest::ExchangeToken(absl::StatusOr<std::string>)",
    "Unknown static secret: {}",
    "Unknown tls session ticket keys: {}",
    "Unexpected SDS secret (expecting {}): {}",
    "TLS error: Secret is not supplied by SDS",
    "{} '{}': no such static secret",
    "{} '{}': secrets can only be subscribed during config initialization",
    "sds: secret '{}' config rejected: {}",
    "static secret #{}: {}",
    "Unregister secret provider. hash key: {}",
    "Unexpected case for oneof session_ticket_keys: {}",
    "'encryption_key' length was {}, but it must be length {}",
    "'stage' field and 'disable_key' field are not supported",
    "A new TokenBucket has been configured by the RLQS filter for id: {}",
    "AWS STS credentials expiration time (unix timestamp): {}",
    "AWS credentials path: {}",
    "Added pending metadata: namespace={}, key={}",
    "Authority (host) '%s' != Target '%s'",
    "Cannot skip field value, unexpected token: ",
    "Certificate configuration can't have both pkcs12 and private_key",
    "Certificate configuration can't have both pkcs12 and private_key_provider",
    "Could not parse AWS credentials document from STS: {}",
    "Credentials file path = {}, profile name = {}",
    "Duplicated credential key: '{}'",
    "ERR Syntax error: HELLO AUTH specified more than once",
    "Failed JWT authentication: ",
    "Failed to fetch token: {}",
    "Failed to get subject for session: {}",
    "Failed to inject credential: {}",
    "Failed to load incomplete private key from path: {}",
    "Failed to load private key from {}, Cause: {}",
    "Failed to load private key provider: {}",
    "Failed to parse session: {}",
    "GCP authentication filter: audience metadata in wrong format for cluster ",
    "Generated authentication token (sanitised): {}{}",
    "IAMRolesAnywhere: Private key decoding failed",
    "Illegal characters in gRPC initial metadata header key: {}.",
    "Invalid cookie value for parameter: ",
    "Invalid key type: private key required for signing operation.",
    "Invalid retrieve signing keys response: JSON type is not object",
    "Invalid token exchange response: JSON type is not object",
    "JWT extraction completed with status: {}, treating as success",
    "Jwks doesn't have key to match kid or alg from Jwt",
    "LocalRateLimit for share_key '{}' is creating a new token bucket due to no match found",
    "Missing :authority header",
    "More than 1 alternative header specified in token: ",
    "OAuth request failed: stream reset",
    "OAuth server returned an error: {}",
    "OAuth2 filter: end session endpoint is only supported for OpenID Connect.",
    "OAuth2 filter: invalid authorization endpoint URL '{}' in config.",
    "OAuth2 filter: token_secret is ignored when auth_type is TLS_CLIENT_AUTH",
    "OAuth2 filter: unknown cluster '{}' in config. ",
    "One of 'header'/'query'/'cookie' must be set.",
    "Original connection ID already in session_map: ",
    "Private key method doesn't support FIPS mode with current parameters",
    "Provider '{}' in jwt_authn config has invalid local jwks: {}",
    "Redis external authentication failed: {}",
    "State query param does not contain url or CSRF token: {}",
    "TLS compute signature done. ok:",
    "The signature algorithm {} from the private key is not expected: {}",
    "Unauthorized, and redirecting to OAuth server is not allowed: {}",
    "Unexpected token '%', ...\"%\"... is not valid JSON",
    "Unknown google grpc credentials factory: ",
    "User authentication failed. Expected 'Basic' authentication scheme.",
    "Using container role credentials provider with URI: {} and authorization token",
    "WebTransport session bridge: session ready",
    "WebTransport session closed, code={}, message={}",
    "ai_protocol_manager: token usage published to namespace {}",
    "error fetching oauth2 token: ",
    "expected token starting at position %d; found '%c'",
    "field: \"token_formation\", reason: is required",
    "field: \"credential_specifier\", reason: is required",
    "gcp_auth: cache object not found in filter config",
    "invalid forward_id_token configuration: header '",
    "invalid key=value pair for encoded tag: missing \"=\" in: ",
    "local rate limit descriptor token bucket fill timer must be >= 50ms",
    "received HTTP/2 specific setting in HTTP/3 session: ",
    "redis: AWS IAM AUTH init failed (connection error)",
    "select_cert_error: pre-shared keys not supported",
    "token recognition error at: '",
    "unknown public key type '%s'",
    "wrong config type in stateful session filter: ",
    "{}: JWT verification completed with: {}",
    "{}: startVerify: tokens size {}",
    "{}Responding with 401 Unauthorized. Cause: {}",
    "{}redirecting to OAuth server: {}",
];

/// Texts with the names that a formatter puts in.
const FORMATTED: [&str; 22] = [
    "Unknown static secret: server-cert-2",
    "Unknown static secret: server_cert",
    "SDS: secret spiffe://cluster.local/ns/default/sa/app not found",
    "SDS: secret kubernetes://default/cert-2 not found",
    "secret: spiffe://cluster.local/ns/default/sa/app not found",
    "duplicate secret: server-cert-2",
    "missing SDS secret: server-cert-2",
    "sds: secret 'server-cert-2' config rejected: not a key",
    "envoy.formatter.generic_secret: secret 'api-2' is not configured in secret_configs",
    "reverse_tunnel: jwt: issuer mismatch (expected 'https://a.test', got 'https://b.test')",
    "creating new session: downstream=127.0.0.1:4242 local=10.0.0.1:53 upstream=10.0.0.2:53",
    "Session subject mismatch: session='CN=app'",
    "Failed to load private key provider: cryptomb",
    "jwt: verification failed",
    "token_class: gold",
    "session: blue",
    "header token-class=gold is missing",
    "authorization: %DYNAMIC_METADATA(envoy.filters.http.jwt_authn:token)%",
    "\"authorization\": \"%REQ(X-TOKEN)%\"",
    "authorization: Bearer %ENVIRONMENT(TOKEN)%",
    "authorization: \"Bearer %REQ(X-TOKEN):20%\"",
    "x-api-key=%FILE_CONTENT(/etc/key)%",
];

#[test]
fn keeps_texts_of_envoy() {
    for text in BINARY.iter().chain(&FORMATTED) {
        assert_eq!(redactor().text(text), None, "{text}");
    }
}

/// Removes the secret that stands where another text of Envoy has a name.
#[test]
fn removes_secrets_in_texts_of_envoy() {
    for text in [
        "basic auth: HERE",
        "jwt: HERE is expired",
        "session: HERE",
        "Invalid private key: HERE",
        "Failed to load secret: HERE",
        "createSignature: HERE",
        "authorization: Bearer HERE %REQ(X)%",
        "token-class=gold token=HERE",
    ] {
        let text = text.replace("HERE", "hUnter2x9");
        let clean = redactor().text(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(!clean.contains("hUnter2x9"), "{text}: {clean}");
    }
}

/// A name of a header or a descriptor, its value, and whether the value is a secret.
const NAMED_VALUES: [(&str, &str, bool); 20] = [
    ("authorization", "%REQ()%", false),
    ("authorization", "%REQ(X-TOKEN?AUTHORIZATION)%", false),
    ("authorization", "Bearer %REQ(X-TOKEN)%", false),
    ("authorization", "Bearer %DYNAMIC_METADATA(envoy.filters.http.jwt_authn:token)%", false),
    ("x-api-key", "%DYNAMIC_METADATA()%", false),
    ("x-api-key", "%ENVIRONMENT(API_KEY)%", false),
    ("x-api-key", "%FILTER_STATE(key:PLAIN)%", false),
    ("cookie", "%REQ(COOKIE)%", false),
    ("token_class", "gold", false),
    ("x-token-type", "bearer", false),
    ("x-secret-name", "server-cert", false),
    ("session", "blue", false),
    ("session", "green-2", true),
    ("session", "0a1b2c3d4e5f6071", true),
    ("authorization", "hunter2x", true),
    ("authorization", "Bearer hunter2x %REQ(X)%", true),
    ("authorization", "%REQ(X)% hunter2x", true),
    ("x-api-key", "%41%42%43", true),
    ("x-session-id", "blue", true),
    ("x-token", "gold", true),
];

/// Returns resources with a named value: headers, matchers, descriptors and structs.
fn resources(name: &str, value: &str) -> Vec<(&'static str, Json)> {
    let header = json!([{"header": {"key": name, "value": value}}]);
    let route = |matcher: Json| {
        let route = json!({"match": {"prefix": "/", "headers": [matcher]}});
        json!({"virtual_hosts": [{"name": "h", "domains": ["*"], "routes": [route]}]})
    };
    let structure = |member: Json| json!({"name": "c", "metadata": {"filter_metadata": {"acme": member}}});
    let limit = json!({"stat_prefix": "s", "descriptors": [{"entries": [{"key": name, "value": value}],
        "token_bucket": {"max_tokens": 1, "fill_interval": "1s"}}]});
    vec![
        (ROUTES, json!({"name": "r", "request_headers_to_add": header})),
        (ROUTES, json!({"name": "r", "response_headers_to_add": header})),
        (ROUTES, route(json!({"name": name, "exact_match": value}))),
        (ROUTES, route(json!({"name": name, "string_match": {"exact": value}}))),
        ("envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit", limit),
        (CLUSTER, structure(json!({name: value}))),
        (CLUSTER, structure(json!({"name": name, "value": value}))),
    ]
}

#[test]
fn keeps_named_values_that_are_no_secrets() {
    for (name, value, is_secret) in NAMED_VALUES {
        for (kind, resource) in resources(name, value) {
            let before = bytes(kind, &resource);
            let after = redactor().resource(&before);
            assert_eq!(after.is_some(), is_secret, "{name}: {value} in {resource}");
            assert!(after.is_none_or(|after| !holds(&after, value)), "{name}: {value} in {resource}");
        }
        let after = redactor().metadata(name, value);
        assert_eq!(after.is_some(), is_secret || name == "session", "{name}: {value}");
    }
}
