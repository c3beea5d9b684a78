//! Removal of secrets from what is not content: texts, nodes, the beginnings and ends of streams.

use super::content::{Catalog, Redact};
use super::text::without_credentials;
use super::{End, Open};

impl Catalog {
    /// Removes secrets from a text that a peer wrote.
    pub fn clean_text(&self, text: String) -> String {
        self.redactor().and_then(|redact| redact.text(&text)).unwrap_or(text)
    }

    /// Removes secrets from the texts of the end of a stream.
    pub fn clean_end(&self, end: End) -> End {
        let status = end.status.map(|(code, text)| (code, self.clean_text(text)));
        let note = end.note.map(|note| self.clean_text(note));
        End { status, note, ..end }
    }

    /// Removes secrets from the beginning of a stream.
    pub fn clean_open(&self, open: Open) -> Open {
        let mut open = open;
        if let Some(redact) = self.redactor() {
            clean_open(&mut open, &**redact);
        }
        open
    }
}

/// Removes secrets from the beginning of a stream. Returns the number of values that had some.
pub fn clean_open(open: &mut Open, redact: &dyn Redact) -> u64 {
    let mut values = 0;
    let texts = open.metadata.iter_mut().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let others = [Some((":path", &mut open.method)), open.peer.as_mut().map(|peer| ("peer", peer))];
    let others = others.into_iter().flatten().map(|(name, value)| (name.to_owned(), value));
    for (name, value) in texts.chain(others) {
        if let Some(clean) = redact.metadata(&name, value) {
            *value = clean;
            values += 1;
        }
    }
    if let Some(server) = &mut open.server
        && let clean = without_credentials(server)
        && clean != *server
    {
        *server = clean;
        values += 1;
    }
    if let Some(node) = &mut open.node_hint
        && let Some(clean) = redact.whole_node(node)
    {
        *node = clean;
        values += 1;
    }
    values
}
