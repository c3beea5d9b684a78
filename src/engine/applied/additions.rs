//! Values that Envoy adds to dumped endpoints.

use serde_json::Value;

use xdscope_schema::bootstrap::fields::{get, get_mut, remove};

/// Removes the values that Envoy adds to dumped endpoints: good health, weights and other defaults.
pub(super) fn remove_additions(assignment: &mut Value) {
    let empty = Value::Object(serde_json::Map::new());
    for locality in items_mut(assignment, "endpoints") {
        remove_if(locality, "locality", &empty);
        remove_if(locality, "load_balancing_weight", &0.into());
        for endpoint in items_mut(locality, "lb_endpoints") {
            remove_if(endpoint, "health_status", &"HEALTHY".into());
            remove_if(endpoint, "load_balancing_weight", &1.into());
            if let Some(inner) = endpoint.get_mut("endpoint") {
                remove_if(inner, "health_check_config", &empty);
            }
        }
    }
    if let Some(policy) = assignment.get_mut("policy") {
        remove_if(policy, "overprovisioning_factor", &140.into());
    }
    remove_if(assignment, "policy", &empty);
}

/// Returns the items of a list. Empty for other values.
fn items_mut<'a>(object: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = object.as_object_mut().and_then(|fields| get_mut(fields, name));
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

/// Removes a field that has this value.
fn remove_if(object: &mut Value, name: &str, value: &Value) {
    if let Some(fields) = object.as_object_mut().filter(|fields| get(fields, name) == Some(value)) {
        remove(fields, name);
    }
}
