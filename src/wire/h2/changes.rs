use std::fmt;

use super::literal::HeaderField;

/// The changes to make in each request.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Replaces `:authority`, and `host` if the client sends that.
    pub authority: Option<String>,
    /// Replaces all headers with these names, which are in lower case.
    pub headers: Vec<(String, String)>,
}

/// Omits the values, which may be secrets.
impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Changes").field(&self.names()).finish()
    }
}

impl Changes {
    /// Returns the changed names, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.authority.iter().map(|_| ":authority").collect();
        for (name, _) in &self.headers {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Replaces the fields that the user has given.
    pub(super) fn apply(&self, fields: &mut Vec<HeaderField>) {
        fields.retain(|(name, _)| self.headers.iter().all(|(given, _)| given.as_bytes() != name));
        if let Some(authority) = &self.authority {
            for (name, value) in fields.iter_mut() {
                if name == b":authority" || name == b"host" {
                    *value = authority.clone().into();
                }
            }
            if fields.iter().all(|(name, _)| name != b":authority") {
                // Pseudo-headers come first.
                let at = fields.iter().position(|(name, _)| !name.starts_with(b":"));
                let at = at.unwrap_or(fields.len());
                fields.insert(at, (b":authority".to_vec(), authority.clone().into()));
            }
        }
        fields.extend(self.headers.iter().map(|(name, value)| (name.clone().into(), value.clone().into())));
    }
}
