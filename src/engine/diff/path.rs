use std::fmt;

use serde_json::Value;

/// The key that identifies the items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKey {
    /// `name`.
    Name,
    /// `key`, also of the `header` in an item.
    Key,
    /// The list of `domains` of a virtual host.
    Domains,
    /// A socket address, pipe or CIDR range, also of the `endpoint` in an item.
    Address,
    /// `locality`, with `priority` if set.
    Locality,
    /// `priority`.
    Priority,
}

impl ListKey {
    /// All keys, in order of preference.
    pub const ALL: [ListKey; 6] = [
        ListKey::Name,
        ListKey::Domains,
        ListKey::Address,
        ListKey::Key,
        ListKey::Locality,
        ListKey::Priority,
    ];

    /// Returns the name of the key in a path, such as `name` in `[name=shop]`.
    pub fn word(self) -> &'static str {
        match self {
            ListKey::Name => "name",
            ListKey::Key => "key",
            ListKey::Domains => "domains",
            ListKey::Address => "address",
            ListKey::Locality => "locality",
            ListKey::Priority => "priority",
        }
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffStep {
    /// A field of a message or a key of a map.
    Field(String),
    /// An item of a keyed list.
    Item {
        /// The field that identifies the items of the list.
        by: ListKey,
        /// The value of that field.
        key: String,
        /// Index in the new list, if the order matters.
        at: Option<usize>,
    },
    /// An item of another list.
    Index {
        /// Index in the old list. `None` for an added item.
        old: Option<usize>,
        /// Index in the new list. `None` for a removed item.
        new: Option<usize>,
    },
}

/// A path in a resource, such as `circuit_breakers.thresholds[priority=DEFAULT].max_connections`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffPath(pub Vec<DiffStep>);

impl DiffPath {
    /// Returns the path with `step` appended.
    pub fn then(&self, step: DiffStep) -> DiffPath {
        let mut steps = self.0.clone();
        steps.push(step);
        DiffPath(steps)
    }
}

impl fmt::Display for DiffPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                DiffStep::Field(name) if is_plain(name) => {
                    write!(out, "{}{name}", if at == 0 { "" } else { "." })?;
                }
                DiffStep::Field(name) => write!(out, "[{}]", quoted(name))?,
                DiffStep::Item { by, key, .. } => write!(out, "[{}={}]", by.word(), key_text(key))?,
                DiffStep::Index { old: Some(old), new: Some(new) } if old != new => {
                    write!(out, "[{old}→{new}]")?;
                }
                DiffStep::Index { old, new } => write!(out, "[{}]", old.or(*new).unwrap_or_default())?,
            }
        }
        Ok(())
    }
}

/// Whether a name needs no quotes in a path.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '@'))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Formats a key for the place between `=` and `]`.
pub(super) fn key_text(key: &str) -> String {
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']' | '"' | '\\');
    if key.is_empty() || key.chars().any(odd) { quoted(key) } else { key.to_owned() }
}
