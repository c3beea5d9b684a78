//! Named queries, as SQL for DuckDB.
//!
//! A query reads the batches with a manifest. Values that users give become literals.

use jiff::Timestamp;

use crate::batch::{LANDING, MANIFESTS};

/// A named query.
#[derive(Clone, Copy, Debug)]
pub struct NamedQuery {
    /// The name.
    pub name: &'static str,
    /// The question that the query answers, as a fragment.
    pub about: &'static str,
    /// The tables that the query reads.
    tables: &'static [&'static str],
    /// The columns that conditions may compare.
    filters: &'static [&'static str],
    /// The values that the query itself needs, beside conditions on columns.
    values: &'static [QueryValue],
    sql: &'static str,
}

/// A value that a query needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueryValue {
    /// A time; by default that of the newest batch.
    At,
    /// Hours before this time; by default one.
    Hours,
    /// A version, which must be given.
    Version,
}

impl QueryValue {
    fn key(self) -> &'static str {
        match self {
            QueryValue::At => "at",
            QueryValue::Hours => "hours",
            QueryValue::Version => "version",
        }
    }

    /// Returns the SQL for a value as typed.
    fn parse(self, text: &str) -> Result<String, QueryError> {
        let wrong = |expected| QueryError::Value { key: self.key(), text: text.to_owned(), expected };
        match self {
            QueryValue::At => match text.parse::<Timestamp>() {
                Ok(at) => Ok(at.as_nanosecond().to_string()),
                Err(_) => Err(wrong("a time such as 2026-11-30T15:00:00Z")),
            },
            QueryValue::Hours => match text.parse::<u32>() {
                Ok(hours) => Ok(hours.to_string()),
                Err(_) => Err(wrong("a whole number")),
            },
            QueryValue::Version => Ok(literal(text)),
        }
    }

    /// Returns the SQL without a value.
    fn default(self) -> Option<&'static str> {
        match self {
            QueryValue::At => Some("(SELECT max(last_ns) FROM batches)"),
            QueryValue::Hours => Some("1"),
            QueryValue::Version => None,
        }
    }
}

/// An error in the conditions of a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A condition without a value.
    #[error("not a KEY=VALUE condition: \"{0}\"")]
    Condition(String),
    /// A key that the query does not have.
    #[error("unknown key `{key}` of `{query}`; known: {known}")]
    Key {
        /// The key as typed.
        key: String,
        /// The query.
        query: &'static str,
        /// The keys of the query.
        known: String,
    },
    /// A value of another form.
    #[error("{key}: expected {expected}, not \"{text}\"")]
    Value {
        /// The key.
        key: &'static str,
        /// The value as typed.
        text: String,
        /// The form of values.
        expected: &'static str,
    },
    /// A value that the query needs is missing.
    #[error("`{query}` needs a condition {key}=…")]
    Missing {
        /// The query.
        query: &'static str,
        /// The key.
        key: &'static str,
    },
}

/// Returns the named queries.
pub fn queries() -> &'static [NamedQuery] {
    const OF_CLIENTS: &[&str] = &["tap", "node", "type"];
    const OF_PUSHES: &[&str] = &["tap", "node", "type", "control_plane"];
    const OF_RESOURCES: &[&str] = &["tap", "node", "type", "control_plane", "name", "owner"];
    &[
        NamedQuery {
            name: "refusals",
            about: "which nodes refused what in the last hour, by version",
            tables: &["messages", "resources"],
            filters: OF_RESOURCES,
            values: &[QueryValue::At, QueryValue::Hours],
            sql: include_str!("refusals.sql"),
        },
        NamedQuery {
            name: "ack-latency",
            about: "time from response to verdict, by control plane and type",
            tables: &["verdicts"],
            filters: OF_PUSHES,
            values: &[],
            sql: include_str!("ack-latency.sql"),
        },
        NamedQuery {
            name: "disappeared",
            about: "the push after which a client no longer had a resource",
            tables: &["resources"],
            filters: OF_RESOURCES,
            values: &[],
            sql: include_str!("disappeared.sql"),
        },
        NamedQuery {
            name: "never-got",
            about: "clients that were never sent a version, of the types that have the version",
            tables: &["messages", "streams"],
            filters: OF_CLIENTS,
            values: &[QueryValue::Version],
            sql: include_str!("never-got.sql"),
        },
        NamedQuery {
            name: "refused-owners",
            about: "the Kubernetes objects whose resources were refused most often",
            tables: &["resources"],
            filters: OF_RESOURCES,
            values: &[],
            sql: include_str!("refused-owners.sql"),
        },
        NamedQuery {
            name: "unchanged-bytes",
            about: "bytes that were pushed without a change, by control plane",
            tables: &["streams"],
            filters: OF_PUSHES,
            values: &[],
            sql: include_str!("unchanged-bytes.sql"),
        },
        NamedQuery {
            name: "problems-at",
            about: "problems that were open at a time",
            tables: &["problems"],
            filters: OF_CLIENTS,
            values: &[QueryValue::At, QueryValue::Hours],
            sql: include_str!("problems-at.sql"),
        },
    ]
}

impl NamedQuery {
    /// Returns the keys of conditions, those of values first.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.values.iter().map(|value| value.key()).chain(self.filters.iter().copied())
    }

    /// Returns the SQL that reads the tables of a folder. Conditions are `KEY=VALUE`.
    ///
    /// # Errors
    /// A condition has an unknown key or a wrong value, or a needed one is missing.
    pub fn sql(&self, folder: &str, conditions: &[String]) -> Result<String, QueryError> {
        let mut filters = String::new();
        let mut values: Vec<Option<String>> = vec![None; self.values.len()];
        for condition in conditions {
            let (key, text) =
                condition.split_once('=').ok_or_else(|| QueryError::Condition(condition.clone()))?;
            if let Some(index) = self.values.iter().position(|value| value.key() == key) {
                values[index] = Some(self.values[index].parse(text)?);
            } else if self.filters.contains(&key) {
                let operator = if text.contains(['*', '?', '[']) { "GLOB" } else { "=" };
                filters.push_str(&format!("\n    AND {key} {operator} {}", literal(text)));
            } else {
                let known = self.keys().collect::<Vec<_>>().join(", ");
                return Err(QueryError::Key { key: key.to_owned(), query: self.name, known });
            }
        }
        let mut places = vec![("filters", filters)];
        for (value, given) in self.values.iter().zip(values) {
            let missing = QueryError::Missing { query: self.name, key: value.key() };
            let text = given.or(value.default().map(str::to_owned)).ok_or(missing)?;
            places.push((value.key(), text));
        }
        let body = filled(self.sql, &places);
        let with = self.with(folder);
        let seam = if body.starts_with("SELECT") { "\n" } else { ",\n" };
        let about = format!("-- {}: {}.", self.name, self.about);
        Ok(format!("{about}\nWITH {with}{seam}{}\n", body.trim_end()))
    }

    /// Returns the common table expressions of the batches and the tables.
    fn with(&self, folder: &str) -> String {
        let folder = without_globs(folder.trim_end_matches('/'));
        let manifests = literal(&format!("{folder}/{MANIFESTS}/*/*.json"));
        let mut with = format!(
            "batches AS (\n    SELECT * FROM read_json({manifests}, columns = {{batch: 'VARCHAR', tap: 'VARCHAR', \
             run: 'VARCHAR',\n        first_ns: 'BIGINT', last_ns: 'BIGINT'}})\n)"
        );
        for table in self.tables {
            let files = literal(&format!("{folder}/{LANDING}/{table}/*/*.parquet"));
            with.push_str(&format!(
                ",\n{table} AS (\n    SELECT * FROM read_parquet({files}, hive_partitioning = true, union_by_name = \
                 true)\n    WHERE batch IN (SELECT batch FROM batches)\n)"
            ));
        }
        with
    }
}

/// Replaces each `{KEY}` of a template by its text, in which braces stand for themselves.
fn filled(template: &str, places: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, (key, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        out.push_str(before);
        out.extend(places.iter().filter(|(known, _)| *known == key).map(|(_, text)| text.as_str()));
        rest = after;
    }
    out + rest
}

/// Returns an SQL literal of a text.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns a path in which the signs of globs stand for themselves.
fn without_globs(path: &str) -> String {
    let mut out = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' => out.extend(['[', c, ']']),
            c => out.push(c),
        }
    }
    out
}

/// Returns the queries as a list for people.
pub fn listed() -> String {
    let width = queries().iter().map(|query| query.name.len()).max().unwrap_or_default();
    let lines = queries().iter().map(|query| {
        let keys = query.keys().collect::<Vec<_>>().join(", ");
        format!("{:width$}  {}\n{:width$}  --where {keys}\n", query.name, query.about, "")
    });
    lines.collect()
}
