//! `-o custom-columns=`: members of JSON objects as the columns of a table, as in kubectl.

use std::str::FromStr;

use serde_json::Value;

use xdscope_present::table::Heading;

/// Columns of a table, each a member of the JSON objects that a verb prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomColumns {
    columns: Vec<CustomColumn>,
}

/// A title, and the path of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CustomColumn {
    title: String,
    path: Vec<Step>,
}

/// A step from a value to those in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// `.name`
    Member(String),
    /// `[2]`
    Element(usize),
    /// `[*]`
    All,
}

/// Columns that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    #[error("`{0}` is not TITLE:PATH; example: custom-columns=NODE:.node,TYPE:.type")]
    NoPath(String),
    #[error("`{0}` is not a path; examples: .node, .nack.code, .names[0], .names[*]")]
    BadPath(String),
}

impl FromStr for CustomColumns {
    type Err = ColumnError;

    /// Parses `TITLE:PATH,TITLE:PATH`.
    fn from_str(text: &str) -> Result<CustomColumns, ColumnError> {
        let columns = text.split(',').map(CustomColumn::from_str).collect::<Result<_, _>>()?;
        Ok(CustomColumns { columns })
    }
}

impl FromStr for CustomColumn {
    type Err = ColumnError;

    fn from_str(text: &str) -> Result<CustomColumn, ColumnError> {
        match text.split_once(':') {
            Some((title, path)) if !title.is_empty() && !path.is_empty() => {
                let path = parse_path(path).ok_or_else(|| ColumnError::BadPath(path.to_owned()))?;
                Ok(CustomColumn { title: title.to_owned(), path })
            }
            _ => Err(ColumnError::NoPath(text.to_owned())),
        }
    }
}

impl CustomColumns {
    /// Returns the headings.
    pub(crate) fn headings(&self) -> Vec<Heading> {
        self.columns.iter().map(|column| Heading::new(column.title.clone())).collect()
    }

    /// Returns the texts of an object's members; `None` if it has none of them.
    pub(crate) fn cells(&self, object: &Value) -> Option<Vec<String>> {
        let cells: Vec<Option<String>> =
            self.columns.iter().map(|column| text_at(object, &column.path)).collect();
        let absent = || "<none>".to_owned();
        let has_member = cells.iter().any(Option::is_some);
        has_member.then(|| cells.into_iter().map(|cell| cell.unwrap_or_else(absent)).collect())
    }
}

/// Parses `.name`, `.a.b`, `.names[0]` or `.names[*]`. A dot in a name is written `\.`.
fn parse_path(text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let step;
        (step, rest) = match rest.strip_prefix('[') {
            Some(index) => parse_index(index)?,
            None => parse_member(rest.strip_prefix('.').or(steps.is_empty().then_some(rest))?)?,
        };
        steps.push(step);
    }
    Some(steps)
}

/// Parses what follows `[`. Returns the rest of the path too.
fn parse_index(text: &str) -> Option<(Step, &str)> {
    let (index, rest) = text.split_once(']')?;
    let step = if index == "*" { Step::All } else { Step::Element(index.parse().ok()?) };
    Some((step, rest))
}

/// Parses a name up to the next step. Returns the rest of the path too.
fn parse_member(text: &str) -> Option<(Step, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, next)) = chars.next() {
        match next {
            '\\' => name.push(chars.next()?.1),
            '.' | '[' => return (!name.is_empty()).then(|| (Step::Member(name), &text[at..])),
            _ => name.push(next),
        }
    }
    (!name.is_empty()).then_some((Step::Member(name), ""))
}

/// Returns the text of the values at a path; `None` if there are none.
fn text_at(object: &Value, path: &[Step]) -> Option<String> {
    let mut values = vec![object];
    for step in path {
        values = values.into_iter().flat_map(|value| inner(value, step)).collect();
    }
    let texts: Vec<String> = values.into_iter().filter_map(text_of).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

/// Returns the values that a step leads to.
fn inner<'a>(value: &'a Value, step: &Step) -> Vec<&'a Value> {
    match (step, value) {
        (Step::Member(name), Value::Object(members)) => members.get(name).into_iter().collect(),
        (Step::Element(index), Value::Array(elements)) => elements.get(*index).into_iter().collect(),
        (Step::All, Value::Array(elements)) => elements.iter().collect(),
        (Step::All, Value::Object(members)) => members.values().collect(),
        _ => Vec::new(),
    }
}

/// Returns a value as a cell; `None` for `null` and for a list without elements.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(elements) => {
            let texts: Vec<String> = elements.iter().filter_map(text_of).collect();
            (!texts.is_empty()).then(|| texts.join(","))
        }
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cells(columns: &str, object: &Value) -> Option<Vec<String>> {
        columns.parse::<CustomColumns>().unwrap().cells(object)
    }

    #[test]
    fn members_of_an_object_are_cells() {
        let object = json!({
            "node": "edge", "n": 3, "nack": {"code": 13}, "names": ["a", "b"], "none": null, "empty": [],
            "list": [{"name": "x"}, {"name": "y"}], "a.b": true,
        });
        let columns =
            "NODE:.node,N:n,CODE:.nack.code,NAMES:.names,FIRST:.names[0],ALL:.list[*].name,DOT:.a\\.b";
        assert_eq!(cells(columns, &object).unwrap(), ["edge", "3", "13", "a,b", "a", "x,y", "true"]);
        assert_eq!(
            cells("A:.node,B:.none,C:.empty,D:.names[7]", &object).unwrap(),
            ["edge", "<none>", "<none>", "<none>"]
        );
        assert_eq!(cells("ALL:.nack", &object).unwrap(), ["{\"code\":13}"]);
        assert_eq!(cells("A:.absent,B:.none", &object), None);
    }

    #[test]
    fn columns_that_cannot_be_read_say_why() {
        let error = |text: &str| text.parse::<CustomColumns>().unwrap_err();
        for text in ["", "NODE", ":.node", "NODE:", "NODE:.node,"] {
            assert!(matches!(error(text), ColumnError::NoPath(_)), "{text}");
        }
        for path in [".", "..a", ".a.", ".a[", ".a[x]", ".a[0]b", ".a\\", "[]"] {
            assert!(matches!(error(&format!("A:{path}")), ColumnError::BadPath(_)), "{path}");
        }
    }
}
