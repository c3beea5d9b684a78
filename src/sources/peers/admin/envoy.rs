//! Envoy's admin port: `/config_dump`, joined with what other pages say.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};

use xdscope_engine::admin::ADMIN_PAGE;
use xdscope_schema::read_json;

use super::{PageAnswer, PageRequest, PortFault, PortReader, PortStep};

/// The whole dump. One answer, so that its parts belong together.
const CONFIG_DUMP: &str = "/config_dump?include_eds";

/// Statistics about updates: `(update_success|…|connected_state)$` in a URL.
const STATS: &str = "/stats?format=json&filter=%28update_success%7Cupdate_rejected%7Cupdate_failure\
                     %7Cinit_fetch_timeout%7Cversion_text%7Cconnected_state%29%24";

/// A list of the dump that a round looks at, and the fields that tell whether a resource of the
/// list has changed. Without fields, the whole list is asked for.
struct Probe {
    list: &'static str,
    fields: &'static str,
    /// Further parameters of the request.
    parameters: &'static str,
}

const fn probe(list: &'static str, fields: &'static str) -> Probe {
    Probe { list, fields, parameters: "" }
}

/// Lists of resources from xDS. The dump of endpoints has neither versions nor times.
const PROBES: [Probe; 8] = [
    probe("dynamic_active_clusters", "version_info,last_updated,error_state"),
    probe("dynamic_warming_clusters", "version_info,last_updated"),
    Probe { list: "dynamic_endpoint_configs", fields: "", parameters: "&include_eds" },
    probe(
        "dynamic_listeners",
        "name,error_state,active_state.version_info,active_state.last_updated,warming_state.version_info,\
         warming_state.last_updated,draining_state.version_info",
    ),
    probe("dynamic_route_configs", "version_info,last_updated,error_state"),
    probe("dynamic_scoped_route_configs", "name,version_info,last_updated"),
    probe("dynamic_active_secrets", "name,version_info,last_updated"),
    probe("ecds_filters", "version_info,last_updated,error_state"),
];

/// A page of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    ServerInfo,
    /// A list of [`PROBES`].
    Probe(usize),
    Dump,
    InitDump,
    Stats,
    Certificates,
}

/// Reads the pages of Envoy's admin port.
#[derive(Default)]
pub struct EnvoyReader {
    /// Whether later rounds follow the first one.
    follows: bool,
    /// Pages of this round that are not answered yet; `None` between two rounds.
    pages: Option<VecDeque<Page>>,
    /// Hashes of the answers to the probes.
    hashes: BTreeMap<usize, u64>,
    /// Whether this Envoy refuses to choose fields of a list.
    has_no_masks: bool,
    /// Whether the dump is missing or has changed.
    needs_dump: bool,
    dump: Vec<u8>,
    /// Items to add to the dump, by the names of their pages.
    facts: BTreeMap<&'static str, Value>,
    /// Seconds since this process of Envoy began.
    uptime: u64,
    has_changed: bool,
}

impl EnvoyReader {
    /// Creates a reader. `follows`: more rounds come after the first one.
    pub fn new(follows: bool) -> EnvoyReader {
        EnvoyReader { follows, needs_dump: true, ..EnvoyReader::default() }
    }

    fn first_pages(&self) -> VecDeque<Page> {
        let mut pages = VecDeque::from([Page::ServerInfo]);
        if self.follows {
            // Before the dump, which is then at least as new.
            pages.extend((0..PROBES.len()).map(Page::Probe));
        }
        pages.extend([Page::Dump, Page::InitDump, Page::Stats, Page::Certificates]);
        pages
    }

    fn path(&self, page: Page) -> String {
        match page {
            Page::ServerInfo => "/server_info".to_owned(),
            Page::Dump => CONFIG_DUMP.to_owned(),
            Page::InitDump => "/init_dump".to_owned(),
            Page::Stats => STATS.to_owned(),
            Page::Certificates => "/certs".to_owned(),
            Page::Probe(index) => {
                let Probe { list, fields, parameters } = &PROBES[index];
                match self.has_no_masks || fields.is_empty() {
                    true => format!("/config_dump?resource={list}{parameters}"),
                    false => format!("/config_dump?resource={list}&mask={fields}"),
                }
            }
        }
    }

    fn server_info(&mut self, answer: &PageAnswer) -> Result<(), PortFault> {
        let info = read_json::<Value>(&answer.body).ok().filter(|_| answer.status == 200);
        let info = info.filter(|info| info["version"].is_string() && info["state"].is_string());
        let Some(info) = info else {
            return Err(PortFault::other_service("/server_info", answer, "the version of an Envoy"));
        };
        let uptime =
            info["uptime_current_epoch"].as_str().and_then(|text| text.strip_suffix('s')?.parse().ok());
        let uptime = uptime.unwrap_or(self.uptime);
        if uptime < self.uptime {
            self.needs_dump = true;
        }
        self.uptime = uptime;
        self.note("server_info", Some(json!({ "version": info["version"], "state": info["state"] })));
        Ok(())
    }

    /// Notes the facts of a page. `None`: this Envoy does not have the page.
    fn note(&mut self, name: &'static str, facts: Option<Value>) {
        let before = match facts {
            Some(facts) => self.facts.insert(name, facts),
            None => self.facts.remove(name),
        };
        self.has_changed |= before.as_ref() != self.facts.get(name);
    }

    /// Takes the answer to a probe. Returns whether to ask again in another way.
    fn probed(&mut self, index: usize, answer: &PageAnswer) -> bool {
        if answer.status == 400 && !self.has_no_masks {
            self.has_no_masks = true;
            return true;
        }
        let mut hasher = DefaultHasher::new();
        // 404: there is no such list, which a later round may find.
        (answer.status, &answer.body).hash(&mut hasher);
        let hash = hasher.finish();
        if self.hashes.insert(index, hash) != Some(hash) {
            self.needs_dump = true;
        }
        false
    }

    /// Returns the dump with the facts of the other pages as further items of `configs`.
    fn joined(&self) -> Vec<u8> {
        let end = memchr::memrchr(b']', &self.dump).unwrap_or(self.dump.len());
        let (configs, rest) = self.dump.split_at(end);
        let mut out = configs.to_vec();
        for (name, answer) in &self.facts {
            let item = json!({ "@type": format!("{ADMIN_PAGE}{name}"), "answer": answer });
            out.extend_from_slice(format!(",\n{item}").as_bytes());
        }
        out.extend_from_slice(rest);
        out
    }
}

impl PortReader for EnvoyReader {
    fn next(&mut self, _now: i128) -> PortStep {
        if self.pages.is_none() {
            self.pages = Some(self.first_pages());
        }
        let pages = self.pages.get_or_insert_default();
        if pages.front() == Some(&Page::Dump) && !self.needs_dump {
            pages.pop_front();
        }
        match pages.front().copied() {
            Some(page) => PortStep::Get(PageRequest { port: 0, path: self.path(page) }),
            None => {
                self.pages = None;
                PortStep::Dump(std::mem::take(&mut self.has_changed).then(|| self.joined()))
            }
        }
    }

    fn take(&mut self, answer: PageAnswer) -> Result<(), PortFault> {
        let Some(page) = self.pages.as_mut().and_then(VecDeque::pop_front) else { return Ok(()) };
        let optional = || read_json::<Value>(&answer.body).ok().filter(|_| answer.status == 200);
        match page {
            Page::ServerInfo => self.server_info(&answer)?,
            Page::Probe(index) => {
                if self.probed(index, &answer)
                    && let Some(pages) = &mut self.pages
                {
                    pages.push_front(page);
                }
            }
            Page::Dump => {
                let is_dump = memchr::memmem::find(&answer.body, b"ConfigDump").is_some();
                if answer.status != 200 || !is_dump {
                    return Err(PortFault::other_service(CONFIG_DUMP, &answer, "a config dump"));
                }
                self.needs_dump = false;
                self.has_changed |= self.dump != answer.body;
                self.dump = answer.body;
            }
            Page::InitDump => self.note("init_dump", optional()),
            Page::Stats => self.note("stats", optional()),
            Page::Certificates => self.note("certs", optional()),
        }
        Ok(())
    }

    fn restart(&mut self) {
        *self = EnvoyReader { has_no_masks: self.has_no_masks, ..EnvoyReader::new(self.follows) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = r#"{"version": "abc/1.40.0/Clean", "state": "LIVE", "uptime_current_epoch": "5s"}"#;
    const DUMP: &str = r#"{"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump"}]}"#;

    /// Runs a round with these answers, by the beginnings of paths. Returns the paths and the dump.
    fn round(reader: &mut EnvoyReader, answers: &[(&str, u16, &str)]) -> (Vec<String>, Option<Value>) {
        let mut paths = Vec::new();
        loop {
            match reader.next(0) {
                PortStep::Dump(dump) => {
                    return (paths, dump.map(|dump| serde_json::from_slice(&dump).expect("JSON")));
                }
                PortStep::Get(PageRequest { path, .. }) => {
                    let found = answers.iter().find(|(start, ..)| path.starts_with(start));
                    let (status, body) = found.map_or((404, ""), |(_, status, body)| (*status, *body));
                    paths.push(path);
                    reader.take(PageAnswer { status, body: body.into() }).expect("an Envoy");
                    assert!(paths.len() < 30, "{paths:?}");
                }
            }
        }
    }

    #[test]
    fn joins_the_pages_of_one_round() {
        let mut reader = EnvoyReader::new(false);
        let init = r#"{"unready_targets_dumps": []}"#;
        let answers =
            [("/server_info", 200, INFO), ("/config_dump?include", 200, DUMP), ("/init", 200, init)];
        let (paths, dump) = round(&mut reader, &answers);
        assert_eq!(paths.len(), 5, "{paths:?}");
        let dump = dump.expect("a dump");
        let types: Vec<&str> = dump["configs"]
            .as_array()
            .expect("items")
            .iter()
            .filter_map(|item| item["@type"].as_str())
            .collect();
        let wanted = [
            "type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
            "xdscope.admin/init_dump",
            "xdscope.admin/server_info",
        ];
        assert_eq!(types, wanted, "pages that this Envoy does not have are left out");
    }

    #[test]
    fn unchanged_lists_cost_no_dump() {
        let mut reader = EnvoyReader::new(true);
        let clusters = ("/config_dump?resource=dynamic_active_clusters", 200, r#"{"configs": [1]}"#);
        let fixed = [("/server_info", 200, INFO), ("/config_dump?include", 200, DUMP)];
        let answers = [&fixed[..], &[clusters]].concat();
        let is_dump = |path: &String| path == CONFIG_DUMP;
        let (paths, dump) = round(&mut reader, &answers);
        assert!(paths.iter().any(is_dump) && dump.is_some());
        let (paths, dump) = round(&mut reader, &answers);
        assert!(!paths.iter().any(is_dump) && dump.is_none(), "{paths:?}");
        let changed = [&fixed[..], &[(clusters.0, 200, r#"{"configs": [2]}"#)]].concat();
        let (paths, dump) = round(&mut reader, &changed);
        assert!(paths.iter().any(is_dump) && dump.is_none(), "the dump is the one before");
        let restarted = INFO.replace("\"5s\"", "\"1s\"");
        let (paths, _) = round(&mut reader, &[&[("/server_info", 200, &*restarted)], &changed[..]].concat());
        assert!(paths.iter().any(is_dump), "of a new process");
    }

    #[test]
    fn asks_for_whole_lists_without_masks() {
        let mut reader = EnvoyReader::new(true);
        let answers = [
            ("/server_info", 200, INFO),
            ("/config_dump?include", 200, DUMP),
            ("/config_dump?resource=dynamic_active_clusters&mask", 400, "no masks"),
        ];
        let (paths, _) = round(&mut reader, &answers);
        let clusters = "/config_dump?resource=dynamic_active_clusters";
        assert!(paths.iter().any(|path| path == clusters), "{paths:?}");
        assert_eq!(paths.iter().filter(|path| path.contains("mask")).count(), 1, "{paths:?}");
    }

    #[test]
    fn other_services_are_named() {
        for (status, body) in [(404, "404 page not found\n"), (200, "<html>"), (200, r#"{"version": "1"}"#)] {
            let mut reader = EnvoyReader::new(false);
            assert!(
                matches!(reader.next(0), PortStep::Get(PageRequest { path, .. }) if path == "/server_info")
            );
            let fault = reader.take(PageAnswer { status, body: body.into() }).expect_err("another service");
            assert!(fault.is_other_service && fault.what.contains(&format!("HTTP {status} \"")), "{fault}");
        }
    }
}
