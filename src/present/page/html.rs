//! HTML in which all text is escaped.

use std::fmt::Write as _;

use crate::report::Role;
use crate::text::{Keep, cut};
use xdscope_wire::text::{display_safe, json_safe, must_escape};

/// Columns of a text from the wire in a table, a row or a label. The rest is cut, and marked.
const MAX_TEXT_COLUMNS: usize = 300;

/// An HTML document, or a part of one.
///
/// Tags and the names of attributes are literals of the program. Texts and the values of attributes
/// may come from the wire: only [`Html::text`], [`Html::open`] and [`Html::json`] add them, and all
/// three escape them.
#[derive(Debug, Default)]
pub(super) struct Html {
    out: String,
}

impl Html {
    /// Adds markup of the page itself.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// Adds a part that is complete.
    pub(super) fn append(&mut self, part: &Html) {
        self.out.push_str(&part.out);
    }

    /// Adds text.
    pub(super) fn text(&mut self, text: &str) {
        escape(&display_safe(text), &mut self.out);
    }

    /// Adds an opening tag. Leaves out an empty class.
    pub(super) fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attributes.iter().filter(|of| **of != ("class", "")) {
            let _ = write!(self.out, " {name}=\"");
            escape(&display_safe(value), &mut self.out);
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// Adds a closing tag.
    pub(super) fn close(&mut self, tag: &'static str) {
        let _ = write!(self.out, "</{tag}>");
    }

    /// Adds an element that contains text.
    pub(super) fn element(&mut self, tag: &'static str, attributes: &[(&'static str, &str)], text: &str) {
        self.open(tag, attributes);
        self.text(text);
        self.close(tag);
    }

    /// Adds text with line ends of its own.
    pub(super) fn lines(&mut self, text: &str) {
        for (at, line) in text.lines().enumerate() {
            if at > 0 {
                self.raw("<br>");
            }
            self.text(line);
        }
    }

    /// Adds JSON as a block of data, which browsers do not run.
    pub(super) fn json(&mut self, id: &'static str, json: &str) {
        self.open("script", &[("type", "application/json"), ("id", id)]);
        // Line ends stand between values only.
        for line in json.split_inclusive('\n') {
            for c in json_safe(line.trim_end_matches('\n')).chars() {
                match c {
                    // No tag or comment can begin or end within the block.
                    '<' => self.out.push_str("\\u003c"),
                    '>' => self.out.push_str("\\u003e"),
                    '&' => self.out.push_str("\\u0026"),
                    c => self.out.push(c),
                }
            }
            if line.ends_with('\n') {
                self.out.push('\n');
            }
        }
        self.close("script");
        self.raw("\n");
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Returns the text of the document.
    pub(super) fn into_string(self) -> String {
        self.out
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// Returns an upper limit of the bytes that JSON takes in [`Html::json`].
pub(super) fn json_bytes(json: &str) -> usize {
    let bytes = |c: char| match c {
        '<' | '>' | '&' => 6,
        c if must_escape(c) => 12,
        c => c.len_utf8(),
    };
    json.chars().map(bytes).sum()
}

/// Returns the class of a role; empty for text without emphasis.
pub(super) fn class(role: Role) -> &'static str {
    match role {
        Role::Plain | Role::Title | Role::Key | Role::Name | Role::Value => "",
        Role::Muted => "muted",
        Role::Ok => "good",
        Role::Pending => "wait",
        Role::Warn => "warn",
        Role::Bad => "bad",
        Role::Wire => "wire",
        Role::Added | Role::AddedWord => "added",
        Role::Changed => "changed",
        Role::Removed | Role::RemovedWord => "removed",
    }
}

/// Cuts a text to the width of a cell.
pub(super) fn cell(text: &str) -> String {
    cut(&display_safe(text), MAX_TEXT_COLUMNS, Keep::Head, "…").into_owned()
}

/// Adds items while they fit into `bytes`. Returns the number of items that did not.
pub(super) fn bounded<T>(
    html: &mut Html,
    bytes: usize,
    items: &[T],
    mut add: impl FnMut(&mut Html, &T),
) -> usize {
    let limit = html.len() + bytes;
    for (at, item) in items.iter().enumerate() {
        let mut part = Html::default();
        add(&mut part, item);
        if html.len() + part.len() > limit {
            return items.len() - at;
        }
        html.append(&part);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_text_attributes_and_data() {
        let planted = "</script><img src=x onerror=\"alert()\">&\u{1b}\u{202e}\u{2028}";
        let mut html = Html::default();
        html.element("a", &[("title", planted)], planted);
        html.json("data", &format!("[\n{}\n]", serde_json::json!(planted)));
        let text = html.into_string();
        assert!(!text.contains("<img") && !text.contains("=\"alert") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(text.matches("</script>").count(), 1, "{text}");
        let data = text.split_once("id=\"data\">").unwrap().1.trim_end().strip_suffix("</script>").unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(data).unwrap(), [planted]);
    }

    #[test]
    fn bytes_of_json_are_not_underestimated() {
        for text in ["<>&\"\\", "é\u{202e}\u{e0041}\u{1f600}\u{7f}", "plain"] {
            let json = serde_json::json!(text).to_string();
            let mut html = Html::default();
            html.json("a", "");
            let empty = html.len();
            html.json("a", &json);
            assert!(html.len() - 2 * empty <= json_bytes(&json), "{text}");
        }
    }

    #[test]
    fn counts_items_that_do_not_fit() {
        let mut html = Html::default();
        let left = bounded(&mut html, 20, &["a"; 9], |html, text| html.element("p", &[], text));
        assert_eq!((left, html.into_string().as_str()), (7, "<p>a</p><p>a</p>"));
    }
}
