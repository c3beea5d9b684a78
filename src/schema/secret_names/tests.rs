use super::*;

#[test]
fn recognizes_keys_of_secrets() {
    let names = SecretNames::default();
    for name in [
        "pass",
        "dbPass",
        "keyMaterial",
        "passwordOld",
        "pass\u{200b}word",
        "\u{ff50}assword",
        "passphrases",
        "password",
        "dbPassword",
        "DB_PASSWORD_2",
        "dbpassword",
        "client_secret",
        "clientSecret",
        "token",
        "access-token",
        "api_key",
        "apiKey",
        "APIKey",
        "x-api-key",
        "aws_secret_access_key",
        "AWS_ACCESS_KEY_ID",
        "aws.session-token",
        "private_key",
        "sasl.password",
        "secretValue",
        "jwt",
        "credentials",
        "hmac_key_base64",
        "Authorization",
        "storageAccountKey",
        "tokens",
        "auth",
        "basicAuth",
        "session",
        "sessionId",
        "csrf",
        "sig",
        "client-key-data",
        "kubeconfig",
        "dockerconfigjson",
        ".dockerconfigjson",
        "tls_key",
        "rsa_key",
        "license_key",
        "private_key_pem",
        "privateKeyPem",
        "passwordHash",
        "connection_string",
        "credentialsJson",
        "service_account_json",
        "pin",
        "otp",
        "mnemonic",
        "access_token_v2",
    ] {
        assert!(names.is_key(name), "{name}");
    }
    assert!(names.is_key(&format!("{}_password", "é".repeat(500))));
}

#[test]
fn keeps_keys_of_other_values() {
    let names = SecretNames::default();
    for name in [
        "",
        "name",
        "key",
        "keys",
        "token_bucket",
        "max_tokens",
        "tokens_per_fill",
        "secret_name",
        "tokenEndpoint",
        "password_file",
        "sds_secret_configs",
        "authority",
        "runtime_key",
        "cluster_key",
        "keynote",
        "credentials_profile",
        "session_affinity",
        "session_name",
        "pinned",
        "spin",
        "auth_type",
        "envoy.filters.http.jwt_authn",
        "envoy.filters.http.ext_auth",
        "author",
        "signal",
        "json",
        "data",
        "hash",
        "string",
        "v",
        "cert_hash",
        "client_id",
        "tls_version",
        "redis_key",
        "2",
    ] {
        assert!(!names.is_key(name), "{name}");
    }
}

#[test]
fn recognizes_headers_of_secrets() {
    let names = SecretNames::default();
    for name in [
        "authorization",
        "Proxy-Authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "x-jwt-assertion",
        "jwt",
        "x-auth-request-user",
        "x-access-key",
        "x-vault-namespace",
        "x-session-id",
        "x-signature",
        "x-hub-signature-256",
        "x-csrf-token",
        "x-goog-iap-jwt-assertion",
        "x-amz-security-token",
        "x-functions-key",
        "dd-application-key",
        "x-honeycomb-team",
        "x-sentry-auth",
        "x-user-auth",
        "x-basic-auth",
        "authentication",
        "authz",
        "dpop",
        "sessionid",
        "phpsessid",
        "x-sid",
        "x-hmac",
        "x-app-key",
        "x-client-key",
        "x-license-key",
        "x-otp",
        "x-pin",
        "x-pass",
        "x-ldap-pass",
        "x-amzn-oidc-data",
        "x-ms-client-principal",
    ] {
        assert!(names.is_header(name), "{name}");
    }
    for name in [
        "user-agent",
        "x-request-id",
        "content-type",
        ":authority",
        "x-envoy-peer-metadata",
        "",
        "key",
        "idempotency-key",
        "sec-websocket-key",
        "www-authenticate",
        "x-pinned",
        "x-bypass",
    ] {
        assert!(!names.is_header(name), "{name}");
    }
}

#[test]
fn sees_quickly_that_bytes_have_no_names() {
    let names = SecretNames::default();
    for text in ["authUsername", "pkcs12", "private_key_provider", "contextExtensions", "users", "keys"] {
        assert!(names.is_name_in_text(text) || names.is_block(text), "{text}");
        assert!(names.may_be_in(format!("say {}", text.to_uppercase()).as_bytes()), "{text}");
    }
    for text in ["pkcs_12", "PKCS.12", "auth-user-name", "context_extensions", "key_s"] {
        assert!(names.is_name_in_text(text) || names.is_block(text), "{text}");
        assert!(names.may_be_in(text.as_bytes()), "{text}");
    }
    assert!(names.may_be_in("\u{ff50}assword".as_bytes()));
    assert!(!names.may_be_in(b"connect_timeout: 5s"));
    let added = SecretNames::new(&[], &["wifi_code".to_owned()], &[]).unwrap();
    assert!(added.may_be_in(b"wificode"));
}

#[test]
fn adds_valid_names_only() {
    let list = |name: &str| vec![name.to_owned()];
    let names = SecretNames::new(&list("X-Acme-Ticket"), &list("wifi_code"), &list("acme.v1.Widget.pin"));
    let names = names.unwrap();
    assert!(names.is_header("x-acme-ticket") && names.is_key("wifiCode") && names.is_header("wifi-code"));
    assert!(names.is_field("acme.v1.Widget.pin") && !names.is_field("acme.v1.Widget.pins"));
    assert!(SecretNames::new(&list("a b"), &[], &[]).is_err());
    assert!(SecretNames::new(&[], &list("-"), &[]).is_err());
    for field in ["pin", "acme..pin", "acme.1pin", "acme.v1.pi n", ""] {
        assert!(SecretNames::new(&[], &[], &list(field)).is_err(), "{field}");
    }
}
