//! Reordering of a resource to match another one, where the order does not matter.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::keys;

/// Reorders the fields and keyed lists of `new` to the order of `old`.
///
/// Fields and items that only `new` has stay behind their predecessor.
pub(super) fn aligned(field: &str, old: &Value, new: Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let entries: Vec<(String, Value)> = new.into_iter().collect();
            let order = order(old.keys(), entries.iter().map(|(name, _)| name.as_str()));
            let inside = |(name, value): (String, Value)| match old.get(&name) {
                Some(old) => (name.clone(), aligned(&name, old, value)),
                None => (name, value),
            };
            Value::Object(arrange(entries, &order).into_iter().map(inside).collect::<Map<_, _>>())
        }
        (Value::Array(old), Value::Array(new)) => match keys::common_key(field, old, &new) {
            Some(by) => {
                let key = |item: &Value| keys::key(by, field, item).unwrap_or_default();
                let (before, after): (Vec<_>, Vec<_>) =
                    (old.iter().map(key).collect(), new.iter().map(key).collect());
                let order = if keys::is_ordered(field) {
                    (0..new.len()).collect()
                } else {
                    order(before.iter(), after.iter().map(String::as_str))
                };
                let partner: HashMap<&String, &Value> = before.iter().zip(old).collect();
                let items = new.into_iter().zip(&after).map(|(item, key)| match partner.get(key) {
                    Some(old) => aligned("", old, item),
                    None => item,
                });
                Value::Array(arrange(items.collect(), &order))
            }
            None => {
                let mut rest = old.iter();
                Value::Array(
                    new.into_iter()
                        .map(|item| match rest.next() {
                            Some(old) => aligned(field, old, item),
                            None => item,
                        })
                        .collect(),
                )
            }
        },
        (_, new) => new,
    }
}

/// Returns the indexes of `new`'s keys, with the common keys in the order of `old`.
fn order<'a>(old: impl Iterator<Item = &'a String>, new: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let old: Vec<&str> = old.map(String::as_str).collect();
    let new: Vec<&str> = new.collect();
    let place: HashMap<&str, usize> = new.iter().enumerate().map(|(at, key)| (*key, at)).collect();
    let common: Vec<usize> = old.iter().filter_map(|key| place.get(key).copied()).collect();
    let mut is_common = vec![false; new.len()];
    for at in &common {
        if let Some(mark) = is_common.get_mut(*at) {
            *mark = true;
        }
    }
    // Added keys stay behind the preceding common key.
    let follows = |from: usize| (from..new.len()).take_while(|at| is_common.get(*at) == Some(&false));
    let mut out: Vec<usize> = follows(0).collect();
    for at in common {
        out.push(at);
        out.extend(follows(at + 1));
    }
    out
}

fn arrange<T>(items: Vec<T>, order: &[usize]) -> Vec<T> {
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.iter().filter_map(|at| items.get_mut(*at)?.take()).collect()
}
