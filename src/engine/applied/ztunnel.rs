//! `/config_dump` of ztunnel: workloads, services, policies and certificates.
//!
//! ztunnel shows its own view of the resources, and not the messages that it was sent: the contents
//! are values of JSON (`google.protobuf.Struct`), without versions. The names are those of xDS.

use jiff::Timestamp;
use serde_json::Value;

use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::event::TypeUrl;

use super::dump::{DumpClient, DumpContent, DumpEntry};
use super::reader::DumpReader;
use crate::admin::{AdminCertificate, AdminFacts};

const ADDRESS: &str = "type.googleapis.com/istio.workload.Address";
const AUTHORIZATION: &str = "type.googleapis.com/istio.security.Authorization";
const STRUCT: &str = "google.protobuf.Struct";

/// Whether a value is such a dump, or one that a port has wrapped with its time.
pub(super) fn is_dump(value: &Value) -> bool {
    let dump = inner(value);
    ["workloads", "services", "policies"].iter().all(|name| is_list(&dump[*name]))
}

fn is_list(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Returns the dump in an item that a port has wrapped.
fn inner(value: &Value) -> &Value {
    if value["ztunnel"].is_object() { &value["ztunnel"] } else { value }
}

/// Reads the client of a dump.
pub(super) fn client(value: &Value, reader: &mut DumpReader<'_>) -> DumpClient {
    let dump = inner(value);
    let mut client = DumpClient::default();
    let mut add = |url: &str, name: Option<String>, item: &Value| {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return };
        let mut entry = DumpEntry::new(TypeUrl::new(url), name.into());
        let any = reader.schema.encode(STRUCT, item).ok();
        let any = any.map(|bytes| encode_any(&format!("type.googleapis.com/{STRUCT}"), &bytes));
        entry.active = Some(DumpContent { version: None, any });
        client.entries.push(entry);
    };
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let pair = |item: &Value, second: &str| {
        let (namespace, name) = (text(item, "namespace"), text(item, second));
        (!name.is_empty()).then(|| format!("{namespace}/{name}"))
    };
    for item in items(&dump["workloads"]) {
        add(ADDRESS, Some(text(item, "uid")), item);
    }
    for item in items(&dump["services"]) {
        add(ADDRESS, pair(item, "hostname"), item);
    }
    for item in items(&dump["policies"]) {
        add(AUTHORIZATION, pair(item, "name"), item);
    }
    for url in [ADDRESS, AUTHORIZATION] {
        client.add_type(TypeUrl::new(url), None);
    }
    // ztunnel lists a workload for each of its addresses.
    client.merge();
    client.admin = Some(AdminFacts {
        product: "ztunnel".to_owned(),
        version: dump["version"]["version"].as_str().map(str::to_owned),
        certificates: certificates(&dump["certificates"], &value["at"]),
        ..AdminFacts::default()
    });
    client
}

fn items(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

/// Reads the own certificates, if the time of the dump is known.
fn certificates(list: &Value, at: &Value) -> Vec<AdminCertificate> {
    let time = |value: &Value| value.as_str()?.parse::<Timestamp>().ok().map(Timestamp::as_second);
    let Some(now) = time(at) else { return Vec::new() };
    let own = items(list).into_iter().filter_map(|item| {
        let own = item["certChain"].as_array().or_else(|| item["cert_chain"].as_array())?.first()?;
        let field = |name: &str, other: &str| {
            if own[name].is_null() { own[other].clone() } else { own[name].clone() }
        };
        let days_left = (time(&field("expirationTime", "expiration_time"))? - now).div_euclid(24 * 3600);
        let serial = field("serialNumber", "serial_number").as_str().unwrap_or_default().to_owned();
        let path = item["identity"].as_str().unwrap_or_default().to_owned();
        Some(AdminCertificate { path, serial, days_left })
    });
    let mut own: Vec<AdminCertificate> = own.collect();
    own.sort_by(|a, b| (a.days_left, &a.path).cmp(&(b.days_left, &b.path)));
    own
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::applied::{DumpOrigin, read};
    use xdscope_schema::Schema;

    #[test]
    fn reads_workloads_services_policies_and_certificates() {
        let workload =
            json!({ "uid": "Kubernetes//Pod/shop/web-1", "name": "web-1", "workloadIps": ["10.0.0.1"] });
        let service = json!({ "name": "web", "namespace": "shop", "hostname": "web.shop.svc.cluster.local" });
        let dump = json!({
            "workloads": { "/10.0.0.1": workload.clone(), "/10.0.0.2": workload },
            "services": { "/10.1.0.1": service },
            "policies": [{ "name": "deny", "namespace": "shop", "action": "Deny" }],
            "certificates": [
                { "identity": "spiffe://a", "state": "Initializing", "certChain": [] },
                { "identity": "spiffe://b", "certChain": [{ "serialNumber": "7", "expirationTime": "2026-12-02T00:00:00Z" }] },
            ],
        });
        let wrapped = json!({ "at": "2026-11-30T12:00:00Z", "ztunnel": dump });
        let read = |value: &Value| {
            read("dump.json", value.to_string().as_bytes(), &Schema::builtin()).expect("a dump")
        };
        let found = read(&wrapped);
        assert_eq!(found.origin, DumpOrigin::Ztunnel);
        let names: Vec<&str> = found.clients[0].entries.iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, ["Kubernetes//Pod/shop/web-1", "shop/web.shop.svc.cluster.local", "shop/deny"]);
        let admin = found.clients[0].admin.as_ref().expect("facts");
        assert_eq!((admin.certificates.len(), admin.certificates[0].days_left), (1, 1));
        assert!(read(&dump).clients[0].admin.as_ref().expect("facts").certificates.is_empty(), "no time");
        assert!(!is_dump(&json!({ "workloads": {}, "services": {} })));
    }
}
