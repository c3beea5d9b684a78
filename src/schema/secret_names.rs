//! Names that tell that a value is a secret: of headers, of keys, and of protobuf fields.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::Regex;

use xdscope_wire::text::must_escape;

/// Names that a user adds to the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretNames {
    /// Names of headers, in lower case.
    headers: Vec<String>,
    /// Names of keys, without separators and in lower case.
    keys: Vec<String>,
    /// Full names of protobuf fields.
    fields: Vec<String>,
    /// The names in texts: of all headers and keys, and the last words of the fields, without
    /// separators and in lower case.
    in_texts: Vec<String>,
}

/// A name that cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name cannot be the name of a header.
    #[error("`{0}` is not a header name")]
    Header(String),
    /// The name has no letter and no digit.
    #[error("`{0}` is not a key")]
    Key(String),
    /// The name is not the full name of a field.
    #[error("`{0}` is not the full name of a field")]
    Field(String),
}

/// Headers with a credential in their value.
const HEADERS: [&str; 6] =
    ["jwt", "session", "x-signature", "authentication", "x-honeycomb-team", "x-amzn-oidc-data"];

/// Beginnings of the names of such headers.
const HEADER_PREFIXES: [&str; 7] =
    ["x-auth", "x-vault-", "x-session", "x-csrf", "x-xsrf", "x-jwt", "x-ms-client-principal"];

/// Last words of the names of such headers.
const HEADER_WORDS: [&str; 12] = [
    "auth",
    "authz",
    "dpop",
    "hmac",
    "otp",
    "pass",
    "pin",
    "sessid",
    "sessionid",
    "phpsessid",
    "jsessionid",
    "sid",
];

/// Words in front of `key` in the names of other headers: `Idempotency-Key` names a request.
const PLAIN_HEADER_KEYS: [&str; 9] =
    ["cache", "dedup", "hash", "idempotency", "partition", "routing", "shard", "surrogate", "websocket"];

/// Parts of the names of such headers.
const HEADER_PARTS: [&str; 14] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "api-key",
    "apikey",
    "api_key",
    "access-key",
    "credential",
    "signature",
    "-jwt",
];

/// Last words of the names of headers that tell of a secret without having it: `token_class`.
const PROPERTY_WORDS: [&str; 28] = [
    "bucket",
    "class",
    "cluster",
    "count",
    "enabled",
    "endpoint",
    "expiration",
    "expires",
    "expiry",
    "issuer",
    "kind",
    "length",
    "limit",
    "mode",
    "name",
    "path",
    "policy",
    "present",
    "provider",
    "required",
    "scope",
    "scopes",
    "size",
    "status",
    "ttl",
    "type",
    "url",
    "version",
];

/// Last words of keys whose values are written by machines, and also of words in sentences.
const SENTENCE_WORDS: [&str; 11] =
    ["auth", "authn", "authz", "csrf", "jwt", "oauth", "provider", "session", "sid", "signature", "xsrf"];

/// First words of the names of functions.
const VERBS: [&str; 22] = [
    "add", "async", "create", "decode", "delete", "encode", "fetch", "generate", "get", "handle", "load",
    "make", "on", "parse", "process", "read", "refresh", "set", "update", "validate", "verify", "write",
];

/// First words of the names of functions that return a value or take one.
const ACCESSORS: [&str; 5] = ["generate", "get", "read", "set", "update"];

/// Last words of keys with a secret in their value. Words may be written together: `dbpassword`.
const KEY_ENDINGS: [&str; 15] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passphrases",
    "passcode",
    "secret",
    "secrets",
    "token",
    "tokens",
    "credential",
    "credentials",
    "apikey",
    "accesskey",
    "privatekey",
];

/// Last words of such keys, which other words may end with.
const KEY_WORDS: [&str; 22] = [
    "csrf",
    "dockerconfigjson",
    "keytab",
    "kubeconfig",
    "mnemonic",
    "oauth",
    "otp",
    "pass",
    "pgpassword",
    "pin",
    "sig",
    "xsrf",
    "pwd",
    "creds",
    "jwt",
    "jwts",
    "psk",
    "cookie",
    "cookies",
    "bearer",
    "apikeys",
    "authorization",
];

/// Words in front of `key` or `keys` that make a secret of the key.
const KEY_KINDS: [&str; 28] = [
    "access",
    "account",
    "aes",
    "api",
    "app",
    "application",
    "auth",
    "cert",
    "client",
    "encryption",
    "hmac",
    "functions",
    "json",
    "license",
    "master",
    "preshared",
    "private",
    "rsa",
    "secret",
    "session",
    "shared",
    "signing",
    "ssh",
    "storage",
    "subscription",
    "symmetric",
    "ticket",
    "tls",
];

/// Last words of a key that say how the value is written, or which of several it is.
const FORM_WORDS: [&str; 18] = [
    "old",
    "new",
    "previous",
    "current",
    "value",
    "data",
    "string",
    "bytes",
    "text",
    "base64",
    "b64",
    "plain",
    "plaintext",
    "raw",
    "pem",
    "json",
    "hash",
    "v",
];

/// Endings of the names of secret fields of the API, without separators, in texts only: the
/// descriptors mark the fields.
const FIELD_ENDINGS: [&str; 6] =
    ["authusername", "pkcs12", "privatekeyprovider", "tokendatasource", "credentialsdatasource", "signature"];

/// Names of fields of the API that are lists, objects or maps with secrets.
const BLOCKS: [&str; 3] = ["keys", "users", "contextextensions"];

/// Words in front of `tokens` that make a number of the value.
const COUNT_WORDS: [&str; 5] = ["max", "min", "num", "count", "total"];

/// Query parameters with a secret in their value, besides those with the name of a key.
pub(super) const PARAMETERS: [&str; 11] = [
    "key",
    "sig",
    "signature",
    "auth",
    "session",
    "sid",
    "code",
    "code_verifier",
    "assertion",
    "client_assertion",
    "samlresponse",
];

/// Words of which each name of a secret has one, besides those above. Names may have separators
/// between their words and numbers: `pkcs_12`.
const OTHER_WORDS: [&str; 6] = ["context", "json", "key", "pkcs", "string", "user"];

/// Words of which each built-in name of a secret has one, as a pattern without regard to case.
pub(super) static ANY_WORD: LazyLock<String> = LazyLock::new(|| {
    let lists: [&[&str]; 9] = [
        &HEADERS,
        &HEADER_PREFIXES,
        &HEADER_WORDS,
        &HEADER_PARTS,
        &KEY_ENDINGS,
        &KEY_WORDS,
        &FIELD_ENDINGS,
        &BLOCKS,
        &OTHER_WORDS,
    ];
    lists.concat().join("|")
});

/// A quick search for such a word.
static HAS_WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("(?i-u){}", *ANY_WORD)).expect("a pattern of ours"));

/// Bytes of a name that are read, from its end.
const MAX_NAME_BYTES: usize = 128;

impl SecretNames {
    /// Creates the names of `headers`, `keys` and `fields`.
    ///
    /// # Errors
    ///
    /// Returns the first name that is not valid.
    pub fn new(headers: &[String], keys: &[String], fields: &[String]) -> Result<SecretNames, NameError> {
        let is_header = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c))
        };
        let is_field = |name: &str| {
            let is_word = |word: &str| {
                !word.starts_with(|c: char| c.is_ascii_digit())
                    && !word.is_empty()
                    && word.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
            };
            name.contains('.') && name.split('.').all(is_word)
        };
        if let Some(name) = headers.iter().find(|name| !is_header(name)) {
            return Err(NameError::Header(name.clone()));
        }
        if let Some(name) = keys.iter().find(|name| joined(name).is_empty()) {
            return Err(NameError::Key(name.clone()));
        }
        if let Some(name) = fields.iter().find(|name| !is_field(name)) {
            return Err(NameError::Field(name.clone()));
        }
        let last_words = fields.iter().filter_map(|name| name.rsplit('.').next());
        Ok(SecretNames {
            headers: headers.iter().map(|name| name.to_ascii_lowercase()).collect(),
            keys: keys.iter().map(|name| joined(name)).collect(),
            fields: fields.to_vec(),
            in_texts: headers.iter().chain(keys).map(String::as_str).chain(last_words).map(joined).collect(),
        })
    }

    /// Adds the names of another list.
    pub fn extend(&mut self, more: SecretNames) {
        self.headers.extend(more.headers);
        self.keys.extend(more.keys);
        self.fields.extend(more.fields);
        self.in_texts.extend(more.in_texts);
    }

    /// Whether no name was added.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.keys.is_empty() && self.fields.is_empty()
    }

    /// Whether a protobuf field was added.
    pub(super) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Whether a field was added, by its full name.
    pub(super) fn is_field(&self, full_name: &str) -> bool {
        self.fields.iter().any(|name| name == full_name)
    }

    /// Whether bytes may contain the name of a secret. Takes little time.
    pub(super) fn may_be_in(&self, bytes: &[u8]) -> bool {
        !self.is_empty() || !bytes.is_ascii() || HAS_WORD.is_match(bytes)
    }

    /// Whether the value of a header is a secret.
    pub fn is_header(&self, name: &str) -> bool {
        if !self.may_be_in(name.as_bytes()) {
            return false;
        }
        let name = shown_ending(name).to_ascii_lowercase();
        HEADERS.contains(&&*name)
            || HEADER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || HEADER_PARTS.iter().any(|part| name.contains(part)) && !is_property(&name)
            || self.headers.contains(&name)
            || is_header_by_words(&name)
            || self.is_key(&name)
    }

    /// Whether the value of a key in a `Struct`, a map or JSON is a secret.
    pub fn is_key(&self, name: &str) -> bool {
        if !self.may_be_in(name.as_bytes()) {
            return false;
        }
        let name = shown_ending(name);
        if !self.keys.is_empty() && self.keys.contains(&joined(&name)) {
            return true;
        }
        let words = words(&name);
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let [.., "connection", "string"] | [.., "account", "json"] | ["auth" | "session"] = words[..] {
            return true;
        }
        while words.len() > 1 && words.last().is_some_and(|word| FORM_WORDS.contains(word)) {
            words.pop();
        }
        match words[..] {
            [.., before, "token" | "tokens"] if COUNT_WORDS.contains(&before) => false,
            [.., "access", "key", "id"] | [.., "key", "material"] => true,
            [.., "session", "id"] | [.., "basic", "auth"] => true,
            [.., kind, "key" | "keys"] if KEY_KINDS.contains(&kind) => true,
            [.., last] => KEY_WORDS.contains(&last) || KEY_ENDINGS.iter().any(|end| last.ends_with(end)),
            [] => false,
        }
    }

    /// Whether the value of a query parameter is a secret.
    pub(super) fn is_parameter(&self, name: &str) -> bool {
        PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known)) || self.is_header(name)
    }

    /// Whether the value behind a name in a text is a secret.
    pub(super) fn is_name_in_text(&self, name: &str) -> bool {
        let is_field = || {
            let name = joined(&shown_ending(name));
            self.in_texts.contains(&name) || FIELD_ENDINGS.iter().any(|ending| name.ends_with(ending))
        };
        let is_header = || !name.contains(['_', ' ']) && !is_camel_case(name) && self.is_header(name);
        self.is_key(name) || is_header() || is_field()
    }

    /// Whether a name is that of a session. The value may be a word: a rate limit may count
    /// `session: blue`.
    pub(super) fn is_session(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("session") && !self.is_added(name)
    }

    /// Whether a name in a sentence is a word of the sentence: the value behind it must look like a
    /// credential.
    pub(super) fn is_sentence_word(&self, name: &str) -> bool {
        let end = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_last = |word: &&str| {
            let front = end.len().checked_sub(word.len()).and_then(|len| end.split_at_checked(len));
            front.is_some_and(|(front, last)| {
                last.eq_ignore_ascii_case(word) && !front.ends_with(|c: char| c.is_alphanumeric())
            })
        };
        !name.contains('-') && SENTENCE_WORDS.iter().any(is_last) && !self.is_added(name)
    }

    /// Whether a user added a name.
    fn is_added(&self, name: &str) -> bool {
        let joined = joined(name);
        self.keys.contains(&joined) || self.headers.iter().any(|header| header.eq_ignore_ascii_case(name))
    }

    /// Whether the quoted texts of a list or an object behind a name in a text are secrets.
    pub(super) fn is_block(&self, name: &str) -> bool {
        BLOCKS.contains(&&*joined(name))
    }
}

/// Whether the last words of a header's name tell that its value is a secret.
fn is_header_by_words(name: &str) -> bool {
    let mut words = name.rsplit('-');
    match (words.next(), words.next()) {
        (Some("key"), Some(kind)) => !PLAIN_HEADER_KEYS.contains(&kind),
        (Some(last), _) => HEADER_WORDS.contains(&last),
        _ => false,
    }
}

/// Whether the name of a header, in lower case, tells of a secret without having it.
fn is_property(name: &str) -> bool {
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    PROPERTY_WORDS.contains(&last)
}

/// Whether a name is one word with capitals in it.
fn is_camel_case(name: &str) -> bool {
    let is_inner = |two: &[u8]| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase();
    !name.contains('-') && name.as_bytes().windows(2).any(is_inner)
}

/// Whether a name in a text is that of a function: `asyncGetAccessToken`.
pub(super) fn is_function(name: &str) -> bool {
    if !is_camel_case(name) {
        return false;
    }
    let words = words(&shown_ending(name));
    let Some(first) = words.first().map(String::as_str) else { return false };
    // The result of a function may follow its name: `getToken: ...`.
    let is_accessor = words.len() == 2 && ACCESSORS.contains(&first);
    words.len() > 1 && VERBS.contains(&first) && !is_accessor
}

/// Returns the plain spelling of a character: of a letter of full width, the letter; of an
/// invisible character, nothing.
pub(super) fn plain_char(c: char) -> Option<char> {
    match c {
        '\0'..='\x7f' => Some(c),
        // The block repeats ASCII in its order.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xff01 + u32::from(b'!')),
        _ => Some(c).filter(|c| !must_escape(*c)),
    }
}

/// Returns the plain spelling of a name, and only the end of a name that is too long.
fn shown_ending(name: &str) -> Cow<'_, str> {
    let mut at = name.len().saturating_sub(MAX_NAME_BYTES);
    while !name.is_char_boundary(at) {
        at += 1;
    }
    let name = name.get(at..).unwrap_or_default();
    match name.is_ascii() {
        true => name.into(),
        false => name.chars().filter_map(plain_char).collect::<String>().into(),
    }
}

/// Returns the letters and digits of a name, in lower case.
fn joined(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Splits `awsSecretKey`, `AWS_SECRET_KEY` and `aws.secret-key2` into words in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        let is_start = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_uppercase() && rest.peek().is_some_and(|next| next.is_lowercase()));
        if (!c.is_alphanumeric() || is_start) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    for word in &mut words {
        // `password2`, but not `base64`.
        if !FORM_WORDS.contains(&word.as_str()) {
            word.truncate(word.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests;
