//! Facts of admin ports besides resources.
//!
//! A dump of Envoy that was read from a port has further items in `configs`, one for each page of
//! the port: `{"@type": "xdscope.admin/init_dump", "answer": …}`.

use serde_json::{Value, json};

use xdscope_schema::bootstrap::fields::list;
use xdscope_wire::Open;
use xdscope_wire::event::{Kind, TypeUrl};

/// Type of the items of a dump that hold pages of the admin port, up to the name of the page.
pub const ADMIN_PAGE: &str = "xdscope.admin/";

/// Listeners with a wait, targets of a wait, and certificates that are kept.
const MAX_ITEMS: usize = 64;

/// Facts of an admin port about its program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdminFacts {
    /// Name of the program.
    pub product: String,
    /// Version, such as `1.40.0`.
    pub version: Option<String>,
    /// State of the server, such as `LIVE`.
    pub state: Option<String>,
    /// Whether a control plane is connected, if a statistic says so.
    pub is_connected: Option<bool>,
    /// The listeners that wait, from `/init_dump`.
    pub waits: Vec<InitWait>,
    /// Counts of updates by type, from `/stats`.
    pub updates: Vec<UpdateCounts>,
    /// Certificates in use, from `/certs`, the one that expires first at the beginning.
    pub certificates: Vec<AdminCertificate>,
}

/// A listener that waits for its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitWait {
    /// Name of the listener.
    pub listener: String,
    /// The targets that are not ready.
    pub targets: Vec<InitTarget>,
}

/// A target of Envoy's init manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitTarget {
    /// A resource that has not come.
    Resource(Kind, String),
    /// Another target, in Envoy's words.
    Other(String),
}

/// How often Envoy has taken updates of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Type of the resources.
    pub kind: Kind,
    /// Updates that were applied (`update_success`).
    pub success: u64,
    /// Updates that were rejected (`update_rejected`).
    pub rejected: u64,
    /// Failures of the network or of the stream (`update_failure`).
    pub failure: u64,
    /// Waits for a first response that ended without one (`init_fetch_timeout`).
    pub timeouts: u64,
    /// The version that was applied last (`version_text`), for types with one subscription.
    pub version: Option<String>,
}

/// A certificate that Envoy uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminCertificate {
    /// Path of the file, `<inline>` for one that came over xDS.
    pub path: String,
    /// Serial number in hexadecimal.
    pub serial: String,
    /// Days until it expires, rounded down.
    pub days_left: i64,
}

impl AdminFacts {
    /// Reads an item of a dump, if it is a page of the admin port. Returns whether it is one.
    pub(crate) fn read_page(&mut self, config: &Value) -> bool {
        let page = config["@type"].as_str().and_then(|url| url.strip_prefix(ADMIN_PAGE));
        let (Some(page), answer) = (page, &config["answer"]) else { return false };
        match page {
            "server_info" => {
                self.product = "Envoy".to_owned();
                self.version = answer["version"].as_str().map(short_version);
                self.state = answer["state"].as_str().map(str::to_owned);
            }
            "init_dump" => self.waits = waits_of(answer),
            "stats" => self.read_stats(list(&answer["stats"])),
            "certs" => self.certificates = certificates_of(answer),
            _ => {}
        }
        true
    }

    fn read_stats(&mut self, stats: &[Value]) {
        // Only a cluster with a version has endpoints from xDS.
        let name = |stat: &Value| stat["name"].as_str().map(str::to_owned);
        let names: std::collections::HashSet<String> = stats.iter().filter_map(name).collect();
        for stat in stats {
            let Some(name) = stat["name"].as_str() else { continue };
            if name == "control_plane.connected_state" {
                self.is_connected = stat["value"].as_u64().map(|value| value > 0);
                continue;
            }
            let Some((subscription, figure)) = name.rsplit_once('.') else { continue };
            let Some(kind) = kind_of_subscription(subscription) else { continue };
            if kind == Kind::Eds && !names.contains(&format!("{subscription}.version_text")) {
                continue;
            }
            let counts = self.counts_of(kind);
            let value = stat["value"].as_u64().unwrap_or_default();
            match figure {
                "update_success" => counts.success = counts.success.saturating_add(value),
                "update_rejected" => counts.rejected = counts.rejected.saturating_add(value),
                "update_failure" => counts.failure = counts.failure.saturating_add(value),
                "init_fetch_timeout" => counts.timeouts = counts.timeouts.saturating_add(value),
                "version_text" if matches!(kind, Kind::Cds | Kind::Lds) => {
                    counts.version =
                        stat["value"].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
                }
                _ => {}
            }
        }
    }

    fn counts_of(&mut self, kind: Kind) -> &mut UpdateCounts {
        let known = self.updates.iter().position(|counts| counts.kind == kind);
        let index = known.unwrap_or_else(|| {
            let none = UpdateCounts { kind, success: 0, rejected: 0, failure: 0, timeouts: 0, version: None };
            self.updates.push(none);
            self.updates.len() - 1
        });
        &mut self.updates[index]
    }

    /// Returns the facts as the metadata of a stream.
    pub(crate) fn to_metadata(&self) -> String {
        let target = |target: &InitTarget| match target {
            InitTarget::Resource(kind, name) => json!([kind.word(), name]),
            InitTarget::Other(text) => json!([text]),
        };
        let waits = self.waits.iter().map(|wait| {
            let targets: Vec<Value> = wait.targets.iter().map(target).collect();
            json!([wait.listener, targets])
        });
        let updates = self.updates.iter().map(|counts| {
            let UpdateCounts { kind, success, rejected, failure, timeouts, version } = counts;
            json!([kind.word(), success, rejected, failure, timeouts, version])
        });
        let certificates =
            self.certificates.iter().map(|held| json!([held.path, held.serial, held.days_left]));
        json!({
            "product": self.product,
            "version": self.version,
            "state": self.state,
            "connected": self.is_connected,
            "waits": waits.collect::<Vec<_>>(),
            "updates": updates.collect::<Vec<_>>(),
            "certificates": certificates.collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// Returns what an admin port says about the client of a dump. `None` for other streams, and
    /// for dumps from files.
    pub fn from_open(open: &Open) -> Option<AdminFacts> {
        let value: Value = serde_json::from_str(open.fact(Open::ADMIN)?).ok()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let kind = |value: &Value| value.as_str().and_then(Kind::parse);
        let target = |target: &Value| match (kind(&target[0]), text(&target[1])) {
            (Some(kind), Some(name)) => Some(InitTarget::Resource(kind, name)),
            _ => Some(InitTarget::Other(text(&target[0])?)),
        };
        let wait = |wait: &Value| {
            let targets = list(&wait[1]).iter().filter_map(target).collect();
            Some(InitWait { listener: text(&wait[0])?, targets })
        };
        let counts = |row: &Value| {
            Some(UpdateCounts {
                kind: kind(&row[0])?,
                success: number(&row[1]),
                rejected: number(&row[2]),
                failure: number(&row[3]),
                timeouts: number(&row[4]),
                version: text(&row[5]),
            })
        };
        let certificate = |row: &Value| {
            let days_left = row[2].as_i64()?;
            Some(AdminCertificate { path: text(&row[0])?, serial: text(&row[1])?, days_left })
        };
        Some(AdminFacts {
            product: text(&value["product"]).unwrap_or_default(),
            version: text(&value["version"]),
            state: text(&value["state"]),
            is_connected: value["connected"].as_bool(),
            waits: list(&value["waits"]).iter().filter_map(wait).collect(),
            updates: list(&value["updates"]).iter().filter_map(counts).collect(),
            certificates: list(&value["certificates"]).iter().filter_map(certificate).collect(),
        })
    }

    /// Returns the counts of updates of a type.
    pub fn updates_of(&self, type_url: &TypeUrl) -> Option<&UpdateCounts> {
        let (kind, _) = Kind::of_type_url(type_url.as_str())?;
        self.updates.iter().find(|counts| counts.kind == kind)
    }

    /// Returns the targets that a listener waits for.
    pub fn targets_of(&self, listener: &str) -> &[InitTarget] {
        let wait = self.waits.iter().find(|wait| wait.listener == listener);
        wait.map_or(&[], |wait| &wait.targets)
    }
}

/// Returns `1.40.0` of `9e5580933739/1.40.0/Clean/RELEASE/BoringSSL`.
fn short_version(text: &str) -> String {
    text.split('/').nth(1).unwrap_or(text).to_owned()
}

/// Returns the type that a subscription is for, by the first part of the name of its statistics.
fn kind_of_subscription(name: &str) -> Option<Kind> {
    if let Some(rest) = name.strip_prefix("http.") {
        // Both the prefix of the filter and the name of the routes may have dots.
        return match rest {
            _ if rest.contains(".rds.") => Some(Kind::Rds),
            _ if rest.contains(".scoped_rds.") => Some(Kind::Srds),
            _ => None,
        };
    }
    match name.split('.').next()? {
        "cluster_manager" => (name == "cluster_manager.cds").then_some(Kind::Cds),
        "listener_manager" => (name == "listener_manager.lds").then_some(Kind::Lds),
        "cluster" => Some(Kind::Eds),
        "sds" => Some(Kind::Sds),
        "extension_config_discovery" => Some(Kind::Ecds),
        _ => None,
    }
}

/// Reads `/init_dump`: the init manager of each listener, and its targets.
fn waits_of(answer: &Value) -> Vec<InitWait> {
    let wait = |dump: &Value| {
        let name = dump["name"].as_str()?.strip_prefix("init manager ")?;
        // The name ends with a hash of the configuration.
        let (listener, _) = name.strip_prefix("Listener-local-init-manager ")?.rsplit_once(' ')?;
        let targets = list(&dump["target_names"]).iter().filter_map(Value::as_str).map(target_of);
        Some(InitWait { listener: listener.to_owned(), targets: targets.take(MAX_ITEMS).collect() })
    };
    list(&answer["unready_targets_dumps"]).iter().filter_map(wait).take(MAX_ITEMS).collect()
}

/// Reads a target: `shared target SdsApi cert`, `target RdsRouteConfigSubscription RDS init edge`.
fn target_of(text: &str) -> InitTarget {
    let text = text.strip_prefix("shared ").unwrap_or(text);
    let text = text.strip_prefix("target ").unwrap_or(text);
    let named = |prefix: &str| text.strip_prefix(prefix).map(str::to_owned);
    if let Some(name) = named("SdsApi ") {
        return InitTarget::Resource(Kind::Sds, name);
    }
    for (kind, class) in
        [(Kind::Rds, "RdsRouteConfigSubscription "), (Kind::Ecds, "FilterConfigSubscription ")]
    {
        if let Some(rest) = text.strip_prefix(class)
            && let Some((_, name)) = rest.split_once("init ")
        {
            return InitTarget::Resource(kind, name.to_owned());
        }
    }
    InitTarget::Other(text.to_owned())
}

fn certificates_of(answer: &Value) -> Vec<AdminCertificate> {
    let certificate = |details: &Value| {
        let days = &details["days_until_expiration"];
        // 64-bit numbers are texts in the JSON of protobuf.
        let days_left = days.as_i64().or_else(|| days.as_str()?.parse().ok())?;
        let text = |name: &str| details[name].as_str().unwrap_or_default().to_owned();
        Some(AdminCertificate { path: text("path"), serial: text("serial_number"), days_left })
    };
    let all = list(&answer["certificates"]).iter();
    let all = all.flat_map(|one| list(&one["ca_cert"]).iter().chain(list(&one["cert_chain"])));
    let mut out: Vec<AdminCertificate> = all.filter_map(certificate).collect();
    out.sort_by(|a, b| (a.days_left, &a.path, &a.serial).cmp(&(b.days_left, &b.path, &b.serial)));
    out.dedup();
    out.truncate(MAX_ITEMS);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str, answer: Value) -> Value {
        json!({ "@type": format!("{ADMIN_PAGE}{name}"), "answer": answer })
    }

    /// Answers of Envoy 1.40, shortened.
    fn facts() -> AdminFacts {
        let stat = |name: &str, value: Value| json!({ "name": name, "value": value });
        let pages = [
            page(
                "server_info",
                json!({
                    "version": "9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL",
                    "state": "PRE_INITIALIZING",
                }),
            ),
            page(
                "init_dump",
                json!({ "unready_targets_dumps": [
                { "name": "init manager Listener-local-init-manager ok 13263135893896931044" },
                {
                    "name": "init manager Listener-local-init-manager waits one 9592971300169264131",
                    "target_names": [
                        "shared target SdsApi sec1",
                        "shared target RdsRouteConfigSubscription RDS init r-missing",
                        "target RemoteAsyncDataProvider",
                    ],
                },
            ] }),
            ),
            page(
                "stats",
                json!({ "stats": [
                stat("cluster.c2.version_text", json!("")),
                stat("cluster_manager.cds.version_text", json!("3")),
                stat("cluster.c1.update_success", json!(7)),
                stat("cluster.c2.update_failure", json!(4)),
                stat("cluster.c2.init_fetch_timeout", json!(1)),
                stat("cluster_manager.cds.update_success", json!(1)),
                stat("cluster_manager.cds.update_rejected", json!(2)),
                stat("http.w.rds.r.missing.update_success", json!(5)),
                stat("sds.sec1.update_success", json!(6)),
                stat("control_plane.connected_state", json!(0)),
            ] }),
            ),
            page(
                "certs",
                json!({ "certificates": [{
                "ca_cert": [{ "path": "ca.pem", "serial_number": "1f", "days_until_expiration": "300" }],
                "cert_chain": [{ "path": "<inline>", "serial_number": "2a", "days_until_expiration": "3" }],
            }] }),
            ),
        ];
        let mut facts = AdminFacts::default();
        assert!(pages.iter().all(|page| facts.read_page(page)));
        assert!(
            !facts.read_page(&json!({ "@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump" }))
        );
        facts
    }

    #[test]
    fn reads_the_pages_of_an_admin_port() {
        let facts = facts();
        assert_eq!(facts.version.as_deref(), Some("1.40.0"));
        assert_eq!((facts.state.as_deref(), facts.is_connected), (Some("PRE_INITIALIZING"), Some(false)));
        assert_eq!(facts.targets_of("ok"), []);
        let resource = |kind, name: &str| InitTarget::Resource(kind, name.to_owned());
        let wanted = [
            resource(Kind::Sds, "sec1"),
            resource(Kind::Rds, "r-missing"),
            InitTarget::Other("RemoteAsyncDataProvider".to_owned()),
        ];
        assert_eq!(facts.targets_of("waits one"), wanted);
        let counts = |kind| {
            let found = facts.updates.iter().find(|counts| counts.kind == kind).expect("its counts");
            (found.success, found.rejected, found.failure, found.timeouts, found.version.as_deref())
        };
        assert_eq!(counts(Kind::Cds), (1, 2, 0, 0, Some("3")));
        assert_eq!(counts(Kind::Eds), (0, 0, 4, 1, None), "c1 has no endpoints from xDS");
        assert_eq!((counts(Kind::Rds).0, counts(Kind::Sds).0), (5, 6));
        let days: Vec<_> =
            facts.certificates.iter().map(|held| (held.path.as_str(), held.days_left)).collect();
        assert_eq!(days, [("<inline>", 3), ("ca.pem", 300)]);
    }

    #[test]
    fn metadata_holds_all_facts() {
        let facts = facts();
        let open = Open { metadata: vec![(Open::ADMIN.to_owned(), facts.to_metadata())], ..Open::default() };
        assert_eq!(AdminFacts::from_open(&open), Some(facts));
        assert_eq!(AdminFacts::from_open(&Open::default()), None);
    }
}
