//! The debug port of istiods: `/debug/syncz`, or the config dump that one proxy should have.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::Timestamp;
use serde_json::{Value, json};

use xdscope_schema::read_json;

use super::{PageAnswer, PageRequest, PortFault, PortReader, PortStep};

/// Reads the debug ports of the istiods of one mesh. Each knows its own streams only.
pub struct IstiodReader {
    /// Number of addresses.
    ports: usize,
    /// The proxy whose config dump is wanted. `None`: the state of all proxies.
    proxy: Option<String>,
    /// The address to ask next; `None` between two rounds.
    next: Option<usize>,
    /// The proxies of this round.
    proxies: Vec<Value>,
    /// The config dump of this round, and the first answer that has none.
    dump: Option<Vec<u8>>,
    /// Hash of the last round.
    last: Option<u64>,
}

impl IstiodReader {
    /// Creates a reader of so many addresses. `proxy` is `POD.NAMESPACE`.
    pub fn new(ports: usize, proxy: Option<String>) -> IstiodReader {
        IstiodReader { ports, proxy, next: None, proxies: Vec::new(), dump: None, last: None }
    }

    fn path(&self) -> String {
        match &self.proxy {
            None => "/debug/syncz".to_owned(),
            Some(proxy) => format!("/debug/config_dump?proxyID={}&include_eds", encoded(proxy)),
        }
    }

    /// Returns the dump of a round that has ended.
    fn end(&mut self, now: i128) -> Option<Vec<u8>> {
        let proxies = std::mem::take(&mut self.proxies);
        let dump = self.dump.take();
        let mut hasher = DefaultHasher::new();
        dump.hash(&mut hasher);
        // The age of what a proxy has not acknowledged changes all the time.
        let has_open = proxies.iter().any(has_open);
        for proxy in &proxies {
            proxy.to_string().hash(&mut hasher);
        }
        let hash = hasher.finish();
        if self.last.replace(hash) == Some(hash) && !has_open {
            return None;
        }
        match &self.proxy {
            Some(_) => dump,
            None => {
                let now = Timestamp::from_nanosecond(now).ok().map(|now| now.to_string());
                Some(json!({ "at": now, "syncz": proxies }).to_string().into_bytes())
            }
        }
    }

    fn take_syncz(&mut self, answer: &PageAnswer) -> Result<(), PortFault> {
        let list = read_json::<Value>(&answer.body).ok().filter(|_| answer.status == 200);
        let list = list.and_then(|list| match list {
            Value::Array(items) => Some(items),
            _ => None,
        });
        let Some(list) = list.filter(|list| list.iter().all(Value::is_object)) else {
            return Err(PortFault::other_service("/debug/syncz", answer, "a list of proxies"));
        };
        self.proxies.extend(list);
        Ok(())
    }

    fn take_dump(&mut self, answer: PageAnswer, is_last: bool) -> Result<(), PortFault> {
        if answer.status == 200 && memchr::memmem::find(&answer.body, b"ConfigDump").is_some() {
            self.dump.get_or_insert(answer.body);
        } else if is_last && self.dump.is_none() {
            let proxy = self.proxy.as_deref().unwrap_or_default();
            let what = format!("no dump of {proxy}: {}", answer.shown());
            return Err(PortFault { what, is_other_service: false });
        }
        Ok(())
    }
}

/// Whether a proxy has not acknowledged what was sent.
fn has_open(proxy: &Value) -> bool {
    let resources = proxy["resources"].as_object();
    resources.is_some_and(|resources| resources.values().any(|status| status["sent"] != status["acked"]))
}

/// Returns a text as it stands in the query of a URL.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

impl PortReader for IstiodReader {
    fn next(&mut self, now: i128) -> PortStep {
        let port = *self.next.get_or_insert(0);
        if port < self.ports {
            return PortStep::Get(PageRequest { port, path: self.path() });
        }
        self.next = None;
        PortStep::Dump(self.end(now))
    }

    fn take(&mut self, answer: PageAnswer) -> Result<(), PortFault> {
        let Some(port) = self.next else { return Ok(()) };
        self.next = Some(port + 1);
        match self.proxy {
            None => self.take_syncz(&answer),
            Some(_) => self.take_dump(answer, port + 1 == self.ports),
        }
    }

    fn restart(&mut self) {
        *self = IstiodReader::new(self.ports, self.proxy.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> PageAnswer {
        PageAnswer { status, body: body.into() }
    }

    fn round(reader: &mut IstiodReader, answers: &[PageAnswer]) -> Result<Option<String>, PortFault> {
        loop {
            match reader.next(1_700_000_000_000_000_000) {
                PortStep::Get(page) => reader.take(answers[page.port].clone())?,
                PortStep::Dump(dump) => return Ok(dump.map(|dump| String::from_utf8(dump).expect("text"))),
            }
        }
    }

    const SYNCED: &str = r#"[{"proxy": "a.shop", "resources": {"x": {"sent": "1", "acked": "1"}}}]"#;
    const STALE: &str = r#"[{"proxy": "b.shop", "resources": {"x": {"sent": "2", "acked": "1"}}}]"#;

    #[test]
    fn merges_the_proxies_of_all_istiods() {
        let mut reader = IstiodReader::new(2, None);
        let answers = [answer(200, SYNCED), answer(200, STALE)];
        let dump = round(&mut reader, &answers).expect("istiods").expect("a dump");
        assert!(dump.starts_with(r#"{"at":"2023-11-14T22:13:20Z","syncz":[{"proxy":"a.shop""#), "{dump}");
        assert!(dump.contains("b.shop"));
        assert!(round(&mut reader, &answers).expect("istiods").is_some(), "the age of what is stale changes");
        let synced = [answer(200, SYNCED), answer(200, "[]")];
        assert!(round(&mut reader, &synced).expect("istiods").is_some());
        assert_eq!(round(&mut reader, &synced), Ok(None));
    }

    #[test]
    fn asks_all_istiods_for_the_dump_of_a_proxy() {
        let mut reader = IstiodReader::new(2, Some("web 1.shop".into()));
        let PortStep::Get(page) = reader.next(0) else { panic!("a page") };
        assert_eq!(page.path, "/debug/config_dump?proxyID=web%201.shop&include_eds");
        let dump = r#"{"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump"}]}"#;
        let gone = || answer(404, "Proxy not connected to this Pilot instance");
        let found = round(&mut reader, &[gone(), answer(200, dump)]);
        assert_eq!(found, Ok(Some(dump.to_owned())));
        let fault = round(&mut reader, &[gone(), gone()]).expect_err("no dump");
        assert!(!fault.is_other_service && fault.what.contains("no dump of web 1.shop: HTTP 404"), "{fault}");
    }

    #[test]
    fn names_other_services() {
        for body in ["<html>", "{}", "[1]"] {
            let fault =
                round(&mut IstiodReader::new(1, None), &[answer(200, body)]).expect_err("another service");
            assert!(fault.is_other_service, "{body}");
        }
    }
}
