use std::fmt;

use serde_json::Value;

/// What the items of a list are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKey {
    Name,
    /// `key`, also that of a `header`.
    Key,
    Domains,
    /// A socket address, pipe or CIDR range, also that of an `endpoint`.
    Address,
    Locality,
    Priority,
}

impl ListKey {
    /// In the order in which they are tried.
    pub const ALL: [ListKey; 6] = [
        ListKey::Name,
        ListKey::Domains,
        ListKey::Address,
        ListKey::Key,
        ListKey::Locality,
        ListKey::Priority,
    ];

    /// As it stands in a path: `[name=shop]`.
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

/// One step down into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffStep {
    /// A field of a message or a key of a map.
    Field(String),
    /// An item of a keyed list. `at`: where it stands in the new list, where order has a meaning.
    Item { by: ListKey, key: String, at: Option<usize> },
    /// An item of any other list, with its place in each of the two that it is in.
    Index { old: Option<usize>, new: Option<usize> },
}

/// Where in a content: `circuit_breakers.thresholds[priority=DEFAULT].max_connections`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffPath(pub Vec<DiffStep>);

impl DiffPath {
    /// The path one step further down.
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
                DiffStep::Field(name) if plain(name) => {
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

/// A name that can't be taken for anything else.
fn plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '@'))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A key as it stands between `=` and `]`.
pub(super) fn key_text(key: &str) -> String {
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']' | '"' | '\\');
    if key.is_empty() || key.chars().any(odd) { quoted(key) } else { key.to_owned() }
}
