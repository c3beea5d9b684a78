//! Symmetric and private keys in JSON Web Key Sets.

use serde_json::Value;

/// Members of a key that are secret: of symmetric keys `k`, of private keys the others.
const SECRET_MEMBERS: [&str; 8] = ["k", "d", "p", "q", "dp", "dq", "qi", "oth"];

/// Secret members that are replaced one by one. A set with more is replaced as a whole.
const MAX_MEMBERS: usize = 64;

/// Whether a member of an object with a `kty` is secret.
pub(super) fn is_secret_member(name: &str) -> bool {
    SECRET_MEMBERS.contains(&name)
}

/// Replaces the secret members of a key set. Returns `None` if there are none.
///
/// `replace` returns the replacement of a secret, or `None` if the secret was replaced before. A
/// set that is not JSON is replaced as a whole if it may have a symmetric key.
pub(super) fn clean(set: &[u8], replace: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    match serde_json::from_slice::<Value>(set) {
        Ok(json) => collect(&json, &mut found),
        Err(_) => return memchr::memmem::find(set, b"oct").and_then(|_| replace(set)),
    }
    found.retain(|secret| replace(secret.as_bytes()).is_some());
    found.dedup();
    let text = std::str::from_utf8(set).ok()?;
    if found.is_empty() {
        return None;
    }
    if found.len() > MAX_MEMBERS || found.iter().any(|secret| !text.contains(&format!("\"{secret}\""))) {
        return replace(set);
    }
    let mut out = text.to_owned();
    for secret in found {
        let mark = replace(secret.as_bytes()).unwrap_or_default();
        out = out.replace(&format!("\"{secret}\""), &format!("\"{}\"", String::from_utf8_lossy(&mark)));
    }
    Some(out.into_bytes())
}

/// Collects the secret members of all keys.
fn collect(json: &Value, found: &mut Vec<String>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => {
            let is_key = members.contains_key("kty");
            for (name, value) in members {
                match is_key && is_secret_member(name) {
                    true => collect_texts(value, found),
                    false => collect(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Collects all texts of a secret member: `oth` is a list of objects.
fn collect_texts(json: &Value, found: &mut Vec<String>) {
    match json {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect_texts(member, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn replaces_symmetric_and_private_keys() {
        let replace = |secret: &[u8]| (!secret.starts_with(b"[")).then(|| b"[gone]".to_vec());
        let clean =
            |text: &str| super::clean(text.as_bytes(), &replace).map(|out| String::from_utf8(out).unwrap());
        let set =
            r#"{"keys": [{"kty":"oct", "k":"c2VjcmV0", "kid":"1"}, {"kty":"RSA","n":"pub","d":"priv"}]}"#;
        let wanted =
            r#"{"keys": [{"kty":"oct", "k":"[gone]", "kid":"1"}, {"kty":"RSA","n":"pub","d":"[gone]"}]}"#;
        assert_eq!(clean(set).as_deref(), Some(wanted));
        assert_eq!(clean(wanted), None);
        assert_eq!(clean(r#"{"keys":[{"kty":"RSA","n":"x","e":"AQAB"}]}"#), None);
        assert_eq!(clean(r#"{"kty":"oct","k":"escaped\u0041"}"#).as_deref(), Some("[gone]"));
        assert_eq!(clean("{\"kty\":\"oct\",\"k\":\"cut").as_deref(), Some("[gone]"));
        assert_eq!(clean("not JSON"), None);
        let primes = r#"{"kty":"RSA","n":"pub","oth":[{"r":"one","d":"two","t":"three"}]}"#;
        let wanted = r#"{"kty":"RSA","n":"pub","oth":[{"r":"[gone]","d":"[gone]","t":"[gone]"}]}"#;
        assert_eq!(clean(primes).as_deref(), Some(wanted));
    }
}
