//! Output of verbs against the JSON Schema, and the schema against the output.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use xdscope_wire::GapCause;

use serde_json::{Map, Value};

use super::{TOUR, run};
use xdscope_sources::record;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Dir, StreamId, Time};
use xdscope_wire::{Certificate, End, Frame, FramePayload, Open, Secured, Tls};

/// A validator for the part of JSON Schema that the contract uses; it refuses unknown keywords.
struct Check<'a> {
    schema: &'a Value,
    /// Fields of the schema that were found, by their path.
    met: BTreeSet<String>,
}

impl Check<'_> {
    /// Returns where and why `value` does not match `schema`, which stands at `place`; `None` if it
    /// matches.
    fn wrong(&mut self, schema: &Value, place: &str, value: &Value) -> Option<String> {
        let keywords = schema.as_object().expect("a schema is an object");
        keywords.iter().find_map(|(keyword, says)| self.keyword(keywords, keyword, says, place, value))
    }

    fn keyword(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
        says: &Value,
        place: &str,
        value: &Value,
    ) -> Option<String> {
        let array = || says.as_array().expect("an array");
        let no = |ok: bool| (!ok).then(|| format!("{place}: {value} against {keyword} {says}"));
        match keyword {
            "description" | "$schema" | "title" | "$defs" | "then" => None,
            "$ref" => {
                let to = says.as_str().and_then(|to| to.strip_prefix("#")).expect("a reference");
                let target = self.schema.pointer(to).expect("a target").clone();
                self.wrong(&target, &to.replace("/$defs/", ""), value)
            }
            "type" => {
                let is = |word: &Value| match word.as_str().expect("a word") {
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("type {other}"),
                };
                no(says.as_array().map_or_else(|| is(says), |words| words.iter().any(is)))
            }
            "const" => no(value == says),
            "enum" => no(array().contains(value)),
            "minimum" => no(value.as_f64().is_none_or(|n| Some(n) >= says.as_f64())),
            "items" => {
                let place = format!("{place}[]");
                value.as_array()?.iter().find_map(|item| self.wrong(says, &place, item))
            }
            "required" => {
                let name = array().iter().find(|name| value.get(name.as_str().expect("a name")).is_none())?;
                value.is_object().then(|| format!("{place}: no {name} in {value}"))
            }
            "properties" => says.as_object().expect("an object").iter().find_map(|(name, field)| {
                let place = format!("{place}.{name}");
                let value = value.get(name)?;
                if !value.is_null() {
                    self.met.insert(place.clone());
                }
                self.wrong(field, &place, value)
            }),
            "additionalProperties" => {
                let known = keywords.get("properties")?.as_object()?;
                let unknown = value.as_object()?.keys().find(|key| !known.contains_key(*key))?;
                Some(format!("{place}: {unknown} is unknown"))
            }
            "not" => no(self.wrong(says, "-", value).is_some()),
            "anyOf" | "oneOf" => {
                let wrong: Vec<String> =
                    array().iter().filter_map(|one| self.wrong(one, place, value)).collect();
                let right = array().len() - wrong.len();
                let ok = if keyword == "oneOf" { right == 1 } else { right > 0 };
                (!ok).then(|| wrong.join("\n"))
            }
            "allOf" => array().iter().find_map(|one| self.wrong(one, place, value)),
            "if" => match self.wrong(says, "-", value) {
                None => self.wrong(keywords.get("then")?, place, value),
                Some(_) => None,
            },
            other => panic!("keyword {other} is not known here"),
        }
    }

    fn objects(&mut self, text: &str, args: &[&str]) -> usize {
        let objects: Vec<Value> = match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(objects)) => objects,
            _ => text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect(),
        };
        for object in &objects {
            let def = format!("/$defs/{}", object["object"].as_str().expect("an object's name"));
            let def = self.schema.pointer(&def).unwrap_or_else(|| panic!("{args:?}: {object}")).clone();
            let name = object["object"].as_str().unwrap_or_default();
            // Compare by name first, for one clear reason; then as a validator does.
            assert_eq!(self.wrong(&def, name, object), None, "{args:?}");
            assert_eq!(self.wrong(self.schema, "", object), None, "{args:?}");
        }
        objects.len()
    }
}

/// Paths of all fields below an object of the schema.
fn fields(schema: &Value, place: &str, out: &mut BTreeSet<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        out.insert(place.clone());
        for below in [Some(field), field["anyOf"].get(0)].into_iter().flatten() {
            fields(below, &place, out);
        }
        fields(&field["items"], &format!("{place}[]"), out);
    }
}

/// A recording of one stream with TLS on both sides.
fn under_tls(path: &std::path::Path) {
    let certificate = |subject: &str| Certificate {
        subject: subject.into(),
        names: vec![format!("{subject}.mesh")],
        issuer: "ca".into(),
        not_before: 1_772_460_000,
        not_after: 1_803_996_000,
        serial: "0a".into(),
    };
    let leg = |client: &str| Secured {
        version: "TLSv1.3".into(),
        alpn: Some("h2".into()),
        sni: Some("cp.mesh".into()),
        server: Some(certificate("cp")),
        client: Some(certificate(client)),
        is_client_certificate_requested: true,
        unverified: false,
    };
    let tls = Tls { client: Some(Arc::new(leg("edge"))), server: Some(Arc::new(leg("tap"))) };
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
    let open = Open {
        method: method.into(),
        peer: Some("10.1.0.7:40112".into()),
        server: Some("cp.mesh:15010".into()),
        tls,
        ..Open::default()
    };
    let ping = FramePayload::Opaque { dir: Dir::Req, messages: 0, bytes: 0 };
    let whats = [
        FramePayload::Open(Box::new(open)),
        ping.clone(),
        ping.clone(),
        ping,
        FramePayload::Gap { dir: None, messages: 2, bytes: 90, cause: GapCause::Lost },
        FramePayload::Gap { dir: None, messages: 1, bytes: 12_000_000, cause: GapCause::Names },
        FramePayload::End(Box::new(End { reset: Some(8), ..End::default() })),
    ];
    let header = record::Header {
        created: 1_772_460_000_000_000_000,
        seed: 1,
        keep_secrets: false,
        tool: "test".into(),
        source: "test".into(),
        clock: Clock { epoch: Some(1_772_460_000_000_000_000), untimed: false },
    };
    let mut writer =
        record::Writer::new(crate::app::recording::recording_file::create(path).unwrap(), header).unwrap();
    let catalog = Catalog::in_memory();
    for (at, what) in whats.into_iter().enumerate() {
        let at = Time::from_secs_f64(at as f64);
        writer.write(&Frame { at, stream: StreamId(1), what }, &catalog).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn output_matches_the_json_schema_and_covers_its_fields() {
    let schema = xdscope_present::json::schema();
    let mut check = Check { schema: &schema, met: BTreeSet::new() };
    let folder = tempfile::tempdir().unwrap();
    let secured = folder.path().join("tls.xdsrec");
    under_tls(&secured);
    let mut sources: Vec<PathBuf> =
        std::fs::read_dir("tests/fixtures/scripts").unwrap().flatten().map(|file| file.path()).collect();
    sources.sort();
    sources.extend(
        [
            TOUR,
            "tests/fixtures/cli/diff.xds",
            "tests/fixtures/tui/gateway.xds",
            "tests/fixtures/tui/refused.xds",
        ]
        .map(PathBuf::from),
    );
    sources.extend([PathBuf::from("tests/fixtures/recordings/v1.xdsrec"), secured]);
    let rows = ["I-14", "M-04", "M-10", "M-13", "M-14"];
    sources.extend(rows.map(|row| PathBuf::from(format!("tests/fixtures/rows/{row}.xds"))));
    sources.push("tests/fixtures/cli/resources/clusters.yaml".into());
    let mut printed = 0;
    for source in &sources {
        let source = source.to_str().unwrap();
        let verbs: [&[&str]; 8] = [
            &["log", source, "-o", "jsonl"],
            &["log", source, "--body", "-o", "json"],
            &["status", source, "-o", "json"],
            &["get", source, "--subscriptions", "-o", "jsonl"],
            &["info", source, "-o", "jsonl"],
            &["export", source, "--to", "jsonl"],
            &["diff", source, "@start", "@end", "-o", "jsonl"],
            &["lint", source, "-o", "jsonl"],
        ];
        let kinds = xdscope_wire::event::Kind::all().map(|kind| kind.word());
        let get: Vec<_> = kinds.map(|word| ["get", source, word, "-o", "jsonl"]).collect();
        for args in verbs.into_iter().chain(get.iter().map(|args| &args[..])) {
            let output = run(args);
            printed += check.objects(&output.out, args);
        }
    }
    for args in [
        &["diff", "tests/fixtures/cli/diff.xds", "tests/fixtures/cli/config_dump.json", "-o", "json"][..],
        &[
            "status",
            "tests/fixtures/cli/diff.xds",
            "--applied",
            "tests/fixtures/cli/config_dump.json",
            "-o",
            "json",
        ],
        &["diff", TOUR, "cds/reviews", "41", "42", "-o", "json"],
        &["status", "tests/fixtures/scripts/S-35f.xds", "-o", "json"],
        &["get", "tests/fixtures/scripts/S-35f.xds", "-o", "json"],
        &["get", "tests/fixtures/cli/gaps.xds", "-o", "json"],
        &["get", "tests/fixtures/views/other-sources.xds", "-o", "json"],
        &["get", "tests/fixtures/views/owners.xds", "cds", "-o", "json"],
        &["log", "tests/fixtures/views/owners.xds", "--body", "-o", "json"],
        &["diff", "tests/fixtures/views/owners.xds", "@start", "@end", "-o", "json"],
        &["blame", "tests/fixtures/views/owners.xds", "-o", "json"],
        &["blame", "tests/fixtures/views/owners.xds", "*", "-o", "json"],
        &["blame", "tests/fixtures/views/made.xds", "*", "-o", "json"],
        &["doctor", "-o", "json"],
        &["doctor", "unix:/no/such/socket", "-o", "json"],
        &["check", "unix:/no/such/socket", "--variant", "ads", "--timeout", "1s", "-o", "jsonl"],
        &["lint", "--list-rules", "-o", "json"],
        &["lint", "tests/fixtures/lint/break-before-make.bad.xds", "-o", "json"],
        &["lint", "tests/fixtures/lint/bootstrap-ads-missing.bad.yaml", "-o", "json"],
        &["get", "tests/fixtures/views/pending-reclassification.xds", "cds", "-o", "json"],
        &["status", "tests/fixtures/views/requested-again.xds", "-o", "json"],
        &["status", "tests/fixtures/views/shared-problem.xds", "-o", "json"],
        &["get", "tests/fixtures/views/requested-again.xds", "eds", "-o", "json"],
        &["get", "tests/fixtures/views/globs.refused.xds", "lds", "-o", "json"],
        &["get", "tests/fixtures/views/globs.refused.xds", "lds", "--subscriptions", "-o", "json"],
        &["get", "tests/fixtures/rows/K-23.xds", "cds", "-o", "json"],
        &["get", "tests/fixtures/rows/K-29.xds", "eds", "-o", "json"],
        &["get", "tests/fixtures/cli/relay.jsonl", "cds", "-o", "json"],
        &["log", "tests/fixtures/cli/intercepted.jsonl", "-o", "json"],
        &["status", "tests/fixtures/cli/intercepted.jsonl", "-o", "json"],
        &["status", "tests/fixtures/cli/recovered.jsonl", "-o", "json"],
        &["status", "tests/fixtures/cli/caused.jsonl", "-o", "json"],
        &["get", "tests/fixtures/cli/caused.jsonl", "cds", "-o", "json"],
        &["lint", "tests/fixtures/cli/caused.jsonl", "-o", "json"],
        &["info", "tests/fixtures/cli/ended.jsonl", "-o", "json"],
        &["info", "tests/fixtures/cli/goaway.jsonl", "-o", "json"],
        &["log", "tests/fixtures/cli/goaway.jsonl", "-o", "json"],
        &["log", "tests/fixtures/cli/edited.jsonl", "--body", "-o", "json"],
        &["status", "tests/fixtures/cli/edited-accepted.jsonl", "-o", "json"],
        &["get", "tests/fixtures/cli/alternative.xds", "lds", "-o", "json"],
        &["status", "tests/fixtures/cli/absent-routes.xds", "-o", "json"],
        &["status", "tests/fixtures/cli/admin_port.json", "-o", "json"],
        &["get", "tests/fixtures/cli/admin_port.json", "lds", "-o", "json"],
        &["get", "tests/fixtures/cli/absent-routes.xds", "lds", "-o", "json"],
        &["get", "tests/fixtures/views/owed-removal.xds", "eds", "-o", "json"],
        // Between a request with an old nonce and its successor.
        &["get", "tests/fixtures/scripts/S-09.xds", "--subscriptions", "--at", "#7", "-o", "json"],
    ] {
        printed += check.objects(&run(args).out, args);
    }
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("xdscope")).unwrap();
    std::fs::copy("tests/fixtures/recordings/v1.xdsrec", home.path().join("xdscope/a.xdsrec")).unwrap();
    let sessions = super::sharing::at(home.path()).run(&["sessions", "-o", "json"]);
    printed += check.objects(&sessions.out, &["sessions"]);
    // A terminal and a home, which the environment of tests lacks.
    for known in ["doctor.terminal.term", "doctor.terminal.columns", "doctor.terminal.rows"] {
        check.met.insert(known.to_owned());
    }
    for known in ["doctor.paths.config", "doctor.paths.sessions"] {
        check.met.insert(known.to_owned());
    }
    // An exchange with a server: `tests/it/behaviour/network/check`.
    check.met.insert("check.script".to_owned());
    assert!(printed > 1000, "{printed} objects");
    let mut all = BTreeSet::new();
    for (name, def) in schema["$defs"].as_object().unwrap() {
        fields(def, name, &mut all);
    }
    let never: Vec<_> = all.difference(&check.met).collect();
    assert!(never.is_empty(), "nothing prints {never:?}");
}

#[test]
fn reports_objects_that_do_not_match_the_schema() {
    let schema = xdscope_present::json::schema();
    let mut check = Check { schema: &schema, met: BTreeSet::new() };
    let output = run(&["log", TOUR, "-o", "jsonl", "--tail", "1"]);
    let object: Value = serde_json::from_str(&output.out).unwrap();
    let mut wrong = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut object = object.as_object().unwrap().clone();
        change(&mut object);
        check.wrong(&schema, "", &Value::Object(object)).is_some()
    };
    assert!(!wrong(&|_| ()));
    assert!(wrong(&|object| drop(object.insert("extra".into(), Value::Null))));
    assert!(wrong(&|object| drop(object.remove("size"))));
    assert!(wrong(&|object| drop(object.insert("size".into(), (-1).into()))));
    assert!(wrong(&|object| drop(object.insert("kind".into(), "nak".into()))));
    assert!(wrong(&|object| drop(object.insert("object".into(), "messages".into()))));
    assert!(wrong(&|object| drop(object.insert("names".into(), serde_json::json!([1])))));
}
