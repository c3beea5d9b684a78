//! The text of a bootstrap, parsed. Fields are found by the names in [`fields`].

use serde_json::{Map, Value};

use super::fields::{self, field, get, list};

use xdscope_wire::text::without_credentials;

/// Maximum nesting of the objects and lists that [`Document::each_object`] visits.
const MAX_DEPTH: usize = 64;

/// Most characters of a key in YAML, whose parsers search so far for its colon.
const MAX_KEY_CHARS: usize = 1000;

/// A bootstrap that has been parsed.
#[derive(Clone, Debug)]
pub struct Document {
    root: Value,
    syntax: Syntax,
    dialect: Dialect,
}

/// The language of a bootstrap's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// The client that a bootstrap is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Envoy.
    Envoy,
    /// A gRPC client library.
    Grpc,
}

/// A text that is not a bootstrap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The text does not parse. Holds the error of the YAML parser.
    #[error("neither JSON nor YAML: {0}")]
    Syntax(String),
    /// The YAML has a key that YAML cannot be written with.
    #[error("a key of {0} bytes is too long for YAML")]
    LongKey(usize),
    /// The text lacks the top-level fields of a bootstrap.
    #[error(
        "neither an Envoy bootstrap (static_resources, dynamic_resources) nor a gRPC bootstrap \
         (xds_servers)"
    )]
    NotABootstrap,
}

impl Document {
    /// Parses JSON, or else YAML.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is neither, or lacks the top-level fields of a bootstrap.
    pub fn parse(text: &str) -> Result<Document, DocumentError> {
        let (root, syntax) = match crate::read_json::<Value>(text.as_bytes()) {
            Ok(root) => (root, Syntax::Json),
            Err(_) => {
                let root = serde_saphyr::from_str(text);
                (root.map_err(|error| DocumentError::Syntax(crate::yaml_error(&error)))?, Syntax::Yaml)
            }
        };
        let has = |name| root.as_object().is_some_and(|fields| get(fields, name).is_some());
        let dialect = if has(fields::XDS_SERVERS) {
            Dialect::Grpc
        } else if has(fields::STATIC_RESOURCES) || has(fields::DYNAMIC_RESOURCES) {
            Dialect::Envoy
        } else {
            return Err(DocumentError::NotABootstrap);
        };
        if syntax == Syntax::Yaml {
            let mut longest = "";
            longest_key(&root, &mut longest);
            if written_len(longest) > MAX_KEY_CHARS {
                return Err(DocumentError::LongKey(longest.len()));
            }
        }
        Ok(Document { root, syntax, dialect })
    }

    /// Returns the client that the bootstrap is for.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the top-level object.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// Returns the top-level object, to change it.
    pub fn root_mut(&mut self) -> &mut Value {
        &mut self.root
    }

    /// Writes the document in the language of the original, without its comments.
    pub fn to_text(&self) -> String {
        let text = match self.syntax {
            Syntax::Json => crate::to_pretty_json(&self.root),
            Syntax::Yaml => crate::to_yaml(&self.root),
        };
        text.trim_end().to_owned() + "\n"
    }

    /// Returns the client's `node`, or null if absent.
    pub fn node(&self) -> &Value {
        &self.root[fields::NODE]
    }

    /// Returns a field of `dynamic_resources`, or null if absent.
    pub fn dynamic(&self, name: &str) -> &Value {
        field(field(&self.root, fields::DYNAMIC_RESOURCES), name)
    }

    /// Returns the `ads_config`, if it is an object.
    pub fn ads_config(&self) -> Option<&Value> {
        Some(self.dynamic(fields::ADS_CONFIG)).filter(|config| config.is_object())
    }

    /// Returns the static clusters.
    pub fn static_clusters(&self) -> &[Value] {
        list(field(field(&self.root, fields::STATIC_RESOURCES), fields::CLUSTERS))
    }

    /// Calls `visit` with each object and its path, such as `static_resources.clusters[1]`.
    pub fn each_object(&self, visit: &mut dyn FnMut(&str, &Map<String, Value>)) {
        each_object_in(&self.root, "", visit);
    }
}

/// Calls `visit` with each object in `value` and its path, which begins with `path`.
pub fn each_object_in(value: &Value, path: &str, visit: &mut dyn FnMut(&str, &Map<String, Value>)) {
    walk(value, &mut path.to_owned(), 0, visit);
}

fn walk(value: &Value, path: &mut String, depth: usize, visit: &mut dyn FnMut(&str, &Map<String, Value>)) {
    let length = path.len();
    match value {
        Value::Object(fields) if depth < MAX_DEPTH => {
            visit(path, fields);
            for (key, value) in fields {
                if length > 0 {
                    path.push('.');
                }
                path.push_str(key);
                walk(value, path, depth + 1, visit);
                path.truncate(length);
            }
        }
        Value::Array(items) if depth < MAX_DEPTH => {
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                walk(item, path, depth + 1, visit);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// Finds the key that takes the most characters in YAML.
fn longest_key<'a>(value: &'a Value, longest: &mut &'a str) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if written_len(key) > written_len(longest) {
                    *longest = key;
                }
                longest_key(value, longest);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| longest_key(item, longest)),
        _ => {}
    }
}

/// Returns the most characters that a key takes in YAML: escapes have up to ten.
fn written_len(key: &str) -> usize {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._-/:".contains(c);
    key.chars().map(|c| if is_plain(c) { 1 } else { 10 }).sum()
}

/// Returns the `grpc_services` of an `ApiConfigSource`. The v2 API has a single service instead of
/// a list.
pub fn grpc_services(source: &Map<String, Value>) -> &[Value] {
    match get(source, fields::GRPC_SERVICES) {
        Some(service @ Value::Object(_)) => std::slice::from_ref(service),
        Some(services) => list(services),
        None => &[],
    }
}

/// Returns the names of the static clusters that an `ApiConfigSource` leads to.
pub fn cluster_names(source: &Map<String, Value>) -> Vec<&str> {
    let services = grpc_services(source).iter();
    let by_grpc = services
        .filter_map(|service| field(field(service, fields::ENVOY_GRPC), fields::CLUSTER_NAME).as_str());
    let names = get(source, fields::CLUSTER_NAMES).map_or(&[][..], list).iter();
    by_grpc.chain(names.filter_map(Value::as_str)).collect()
}

/// Returns an Envoy `Address` as `host:port`, `[host]:port` or `unix:/path`.
pub fn address_text(address: &Value) -> Option<String> {
    if let Some(pipe) = address.get(fields::PIPE) {
        return Some(format!("unix:{}", pipe["path"].as_str()?));
    }
    let socket = field(address, fields::SOCKET_ADDRESS);
    let host = field(socket, fields::ADDRESS).as_str()?;
    let port = field(socket, fields::PORT_VALUE);
    let port = port.as_u64().or_else(|| port.as_str()?.parse().ok())?;
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

/// Returns a gRPC target without its scheme, its credentials and its query.
pub fn target_address(uri: &str) -> String {
    let uri = uri.strip_prefix("dns:").unwrap_or(uri);
    let uri = uri.strip_prefix("///").or(uri.strip_prefix("http://")).unwrap_or(uri);
    without_credentials(&uri.replace("unix:///", "unix:/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_credentials_of_targets() {
        for (uri, wanted) in [
            ("u:q3omisf2kuxexxoveu7u@h:1", "h:1"),
            ("dns:///u:pw@h:1?token=x", "h:1"),
            ("unix:///run/a@b", "unix:/run/a@b"),
        ] {
            assert_eq!(target_address(uri), wanted);
        }
    }

    #[test]
    fn tells_dialect_and_syntax() {
        let parse = |text| Document::parse(text).map(|document| (document.dialect, document.syntax));
        assert_eq!(parse("staticResources: {}"), Ok((Dialect::Envoy, Syntax::Yaml)));
        assert_eq!(parse(r#"{"xds_servers": []}"#), Ok((Dialect::Grpc, Syntax::Json)));
        assert_eq!(parse("a: 1"), Err(DocumentError::NotABootstrap));
        assert!(matches!(parse("{"), Err(DocumentError::Syntax(_))));
    }

    #[test]
    fn reads_addresses() {
        let socket = |host: &str, port: Value| {
            address_text(&serde_json::json!({"socketAddress": {"address": host, "portValue": port}}))
        };
        assert_eq!(socket("cp", 1.into()).as_deref(), Some("cp:1"));
        assert_eq!(socket("::1", "2".into()).as_deref(), Some("[::1]:2"));
        assert_eq!(target_address("dns:///cp:1"), "cp:1");
        assert_eq!(target_address("unix:///run/cp.sock"), "unix:/run/cp.sock");
    }
}
