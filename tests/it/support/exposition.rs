//! A strict reader of metrics: the text format 0.0.4 of Prometheus, and OpenMetrics 1.0.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::http::{Response, get_with};

/// The metrics of a scrape.
#[derive(Debug, Default)]
pub struct Scrape {
    /// Values by name and labels, as written.
    pub samples: BTreeMap<String, f64>,
    /// Types of the metrics by the names of the families, as written.
    pub types: BTreeMap<String, String>,
    /// The texts of exemplars by sample.
    pub exemplars: BTreeMap<String, String>,
}

impl Scrape {
    /// Gets and reads `/metrics`.
    ///
    /// # Panics
    /// Panics if the text breaks a rule of its format.
    pub fn of(server: SocketAddr, is_open_metrics: bool) -> Scrape {
        let accept = if is_open_metrics { "application/openmetrics-text" } else { "*/*" };
        let Response { status, body, .. } =
            get_with(server, "/metrics", &format!("accept: {accept}\r\n")).expect("an answer");
        assert_eq!(status, 200, "{body}");
        Scrape::read(&body, is_open_metrics)
    }

    /// Reads metrics.
    pub fn read(text: &str, is_open_metrics: bool) -> Scrape {
        assert!(text.ends_with('\n'), "the last line has an end");
        assert_eq!(text.ends_with("\n# EOF\n"), is_open_metrics, "only OpenMetrics has an end mark");
        let mut scrape = Scrape::default();
        let mut family = Family::default();
        for line in text.lines().filter(|line| *line != "# EOF") {
            match line.strip_prefix("# ") {
                Some(fact) => family = family.after(fact, is_open_metrics, &mut scrape),
                None => family.sample(line, is_open_metrics, &mut scrape),
            }
        }
        scrape.check_histograms();
        scrape
    }

    /// Returns a value; zero for a sample that is not there.
    pub fn value(&self, sample: &str) -> f64 {
        self.samples.get(sample).copied().unwrap_or_default()
    }

    /// Returns the samples of a metric by their labels, without those that are zero.
    pub fn family(&self, name: &str) -> BTreeMap<String, u64> {
        let own = self.samples.iter().filter_map(|(sample, value)| {
            let labels = sample.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('{'))?;
            (*value != 0.0).then(|| (labels.to_owned(), *value as u64))
        });
        own.collect()
    }

    /// Checks that buckets grow, and that the last one has all observations.
    fn check_histograms(&self) {
        for (name, _) in self.types.iter().filter(|(_, kind)| *kind == "histogram") {
            let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
            for (sample, value) in &self.samples {
                let Some(labels) = sample.strip_prefix(&format!("{name}_bucket{{")) else { continue };
                let (others, end) = labels.rsplit_once("le=\"").expect("an end");
                let end = end.strip_suffix("\"}").expect("the last label").parse().expect("a number");
                series.entry(others.trim_end_matches(',').to_owned()).or_default().push((end, *value));
            }
            for (labels, mut buckets) in series {
                buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert!(buckets.is_sorted_by_key(|bucket| bucket.1), "{name} {labels} {buckets:?}");
                let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
                let (end, count) = buckets.last().copied().expect("a bucket");
                assert_eq!((end, count), (f64::INFINITY, self.samples[&format!("{name}_count{labels}")]));
                assert!(self.samples.contains_key(&format!("{name}_sum{labels}")), "{name}");
            }
        }
    }
}

/// The family whose samples come.
#[derive(Default)]
struct Family {
    name: String,
    kind: String,
    facts: BTreeSet<String>,
}

impl Family {
    /// Reads a line about a family.
    fn after(mut self, fact: &str, is_open_metrics: bool, scrape: &mut Scrape) -> Family {
        let mut parts = fact.splitn(3, ' ');
        let [word, name, text] = [parts.next(), parts.next(), parts.next()].map(|part| part.expect("a part"));
        if self.name != name {
            assert!(!scrape.types.contains_key(name), "the samples of {name} stay together");
            self = Family { name: name.to_owned(), ..Family::default() };
        }
        assert!(self.facts.insert(word.to_owned()), "{word} of {name} twice");
        match word {
            "HELP" => assert!(!text.is_empty() && !text.contains(['\\', '"']), "{name}: {text}"),
            "TYPE" => {
                let kinds: &[&str] = match is_open_metrics {
                    true => &["counter", "gauge", "histogram", "info"],
                    false => &["counter", "gauge", "histogram"],
                };
                assert!(kinds.contains(&text), "{name}: {text}");
                self.kind = text.to_owned();
                scrape.types.insert(name.to_owned(), text.to_owned());
            }
            "UNIT" => assert!(is_open_metrics && name.ends_with(&format!("_{text}")), "{name}: {text}"),
            other => panic!("{other} of {name}"),
        }
        self
    }

    /// Reads a sample, which must be of the family.
    fn sample(&mut self, line: &str, is_open_metrics: bool, scrape: &mut Scrape) {
        let (line, exemplar) = match line.split_once(" # ") {
            Some((line, exemplar)) => (line, Some(exemplar)),
            None => (line, None),
        };
        let (sample, value) = line.rsplit_once(' ').expect("a value");
        let name = sample.split('{').next().expect("a name");
        let suffix = name.strip_prefix(&self.name).unwrap_or_else(|| panic!("{name} is of {}", self.name));
        let suffixes: &[&str] = match (self.kind.as_str(), is_open_metrics) {
            ("counter", true) => &["_total"],
            ("info", _) => &["_info"],
            ("histogram", _) => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        assert!(suffixes.contains(&suffix), "{name} is a {}", self.kind);
        if self.kind == "counter" {
            assert!(name.ends_with("_total"), "{name}");
        }
        check_labels(sample.strip_prefix(name).expect("labels"));
        let value: f64 = value.parse().expect("a number");
        assert!(self.kind == "gauge" || value >= 0.0, "{sample} {value}");
        assert!(scrape.samples.insert(sample.to_owned(), value).is_none(), "{sample} twice");
        if let Some(exemplar) = exemplar {
            assert!(is_open_metrics && suffix == "_bucket", "{sample} has an exemplar");
            scrape.exemplars.insert(sample.to_owned(), exemplar.to_owned());
        }
    }
}

/// Checks `{name="value",…}`, or no labels at all.
fn check_labels(labels: &str) {
    if labels.is_empty() {
        return;
    }
    let inside = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).expect("braces");
    let mut rest = inside;
    let mut names = BTreeSet::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").expect("a value");
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(!name.is_empty() && name.chars().all(is_name) && names.insert(name), "{labels}");
        let mut escaped = false;
        let end = after.find(|c: char| {
            let is_end = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            is_end
        });
        let (value, after) = after.split_at(end.expect("the end of a value"));
        assert!(!value.contains(char::is_control), "{labels:?}");
        rest = after[1..].strip_prefix(',').unwrap_or(&after[1..]);
    }
}
