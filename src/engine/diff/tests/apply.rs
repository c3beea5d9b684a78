//! Application of changes to a value, to check that the changes lead from the old value to the new
//! one.

use serde_json::Value;

use crate::diff::keys::key;
use crate::diff::{Change, DiffStep, ListKey, Op};

/// Applies changes to a value.
pub(super) fn applied(value: &Value, changes: &[Change]) -> Value {
    let all: Vec<(&[DiffStep], &Change)> =
        changes.iter().map(|change| (change.path.0.as_slice(), change)).collect();
    under("", Some(value), &all).expect("the root stays")
}

fn under(field: &str, value: Option<&Value>, changes: &[(&[DiffStep], &Change)]) -> Option<Value> {
    let here = changes.iter().find(|(rest, change)| rest.is_empty() && change.op != Op::Reordered);
    if let Some((_, change)) = here {
        assert_eq!(change.from.as_ref(), value, "{change:?}");
        return change.to.clone();
    }
    match value? {
        Value::Object(fields) => {
            let inside =
                |name: &str| below(changes, |step| matches!(step, DiffStep::Field(field) if field == name));
            let mut out = serde_json::Map::new();
            for (name, value) in fields {
                out.extend(under(name, Some(value), &inside(name)).map(|value| (name.clone(), value)));
            }
            for (rest, _) in changes {
                if let [DiffStep::Field(name), ..] = rest
                    && !fields.contains_key(name)
                {
                    out.extend(under(name, None, &inside(name)).map(|value| (name.clone(), value)));
                }
            }
            Some(Value::Object(out))
        }
        Value::Array(items) => {
            let keyed = changes.iter().find_map(|(rest, _)| match rest.first() {
                Some(DiffStep::Item { by, .. }) => Some(*by),
                _ => None,
            });
            Some(match keyed.or(reordered_by(field, items, changes)) {
                Some(by) => keyed_list(by, field, items, changes),
                None => plain_list(field, items, changes),
            })
        }
        other => Some(other.clone()),
    }
}

fn below<'a>(
    changes: &[(&'a [DiffStep], &'a Change)],
    is: impl Fn(&DiffStep) -> bool,
) -> Vec<(&'a [DiffStep], &'a Change)> {
    let rest = changes.iter().filter(|(rest, _)| rest.first().is_some_and(&is));
    rest.map(|(rest, change)| (&rest[1..], *change)).collect()
}

/// Returns the key of a list if only the order of its items changed.
fn reordered_by(field: &str, items: &[Value], changes: &[(&[DiffStep], &Change)]) -> Option<ListKey> {
    let change = changes.iter().find(|(rest, change)| rest.is_empty() && change.op == Op::Reordered)?.1;
    let from = change.from.as_ref()?.as_array()?;
    ListKey::ALL.into_iter().find(|by| {
        let keys: Option<Vec<Value>> =
            items.iter().map(|item| key(*by, field, item).map(Value::from)).collect();
        keys.as_ref() == Some(from)
    })
}

fn keyed_list(by: ListKey, field: &str, items: &[Value], changes: &[(&[DiffStep], &Change)]) -> Value {
    let is =
        |wanted: &str| below(changes, |step| matches!(step, DiffStep::Item { key, .. } if key == wanted));
    let known: Vec<String> = items.iter().map(|item| key(by, field, item).expect("keyed")).collect();
    let mut out: Vec<(String, Value)> = Vec::new();
    for (item, key) in items.iter().zip(&known) {
        out.extend(under("", Some(item), &is(key)).map(|item| (key.clone(), item)));
    }
    for (rest, change) in changes {
        if let [DiffStep::Item { key, at, .. }] = rest
            && !known.contains(key)
        {
            let at = at.unwrap_or(out.len()).min(out.len());
            out.insert(at, (key.clone(), change.to.clone().expect("added")));
        }
    }
    if let Some((_, change)) =
        changes.iter().find(|(rest, change)| rest.is_empty() && change.op == Op::Reordered)
    {
        let order: Vec<&str> =
            change.to.iter().flat_map(|to| to.as_array()).flatten().filter_map(Value::as_str).collect();
        out.sort_by_key(|(key, _)| order.iter().position(|wanted| wanted == key));
    }
    Value::Array(out.into_iter().map(|(_, item)| item).collect())
}

fn plain_list(field: &str, items: &[Value], changes: &[(&[DiffStep], &Change)]) -> Value {
    let mut out = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let here =
            below(changes, |step| matches!(step, DiffStep::Index { old: Some(old), .. } if *old == at));
        out.extend(under(field, Some(item), &here));
    }
    for (rest, change) in changes {
        if let [DiffStep::Index { old: None, new: Some(new) }] = rest {
            out.insert((*new).min(out.len()), change.to.clone().expect("added"));
        }
    }
    Value::Array(out)
}
