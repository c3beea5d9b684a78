use proptest::prelude::*;
use serde_json::Number;

use super::*;
use xdscope_wire::GapCause;
use xdscope_wire::event::{Dir, Kind, Side, Time};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9._/|$%*-]{1,8}",
        "[a-z]{0,3}[ \"#\\\\\n{}@~=:é\u{202e}]{0,3}",
        Just("unset".into()),
        Just("node".into()),
        Just("true".into())
    ]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text(), 0..4)
}

fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((text(), text()), 0..3)
}

fn mapping() -> impl Strategy<Value = Value> {
    let key = || text().prop_filter("keys are not empty", |key| !key.is_empty());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|n| Value::Number(Number::from(n))),
        text().prop_map(Value::String),
    ];
    let value = leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((key(), inner), 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::vec((key(), value), 0..3).prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn type_ref(needed: bool) -> BoxedStrategy<TypeRef> {
    let word = prop::sample::select(Kind::all().collect::<Vec<_>>()).prop_map(TypeRef::Word);
    let url = prop_oneof![Just("type.googleapis.com/a.B".to_owned()), text()].prop_map(TypeRef::Url);
    if needed {
        prop_oneof![word, url].boxed()
    } else {
        prop_oneof![Just(TypeRef::Implied), word, url].boxed()
    }
}

fn resource(wrapper: bool) -> BoxedStrategy<ScriptResource> {
    let bare = prop_oneof![
        Just(TypeRef::Implied),
        Just(TypeRef::Word(Kind::Lds)),
        Just(TypeRef::Url("a/b.C".into()))
    ];
    let tag = prop::option::of(text());
    let content = prop_oneof![
        (prop::option::of(mapping()), tag).prop_map(|(fields, tag)| ResourceContent::Fields { fields, tag }),
        text().prop_map(ResourceContent::Redirect),
        Just(ResourceContent::Unset),
    ];
    let ttl = prop::option::of(any::<i64>().prop_map(|nanos| Ttl(i128::from(nanos))));
    (bare, text(), content, text(), ttl, texts())
        .prop_map(move |(ty, name, content, version, ttl, aliases)| {
            if wrapper {
                return ScriptResource { ty, name, content, version, ttl, aliases };
            }
            let content =
                if content == ResourceContent::Unset { ResourceContent::default() } else { content };
            ScriptResource { ty, name, content, ..ScriptResource::default() }
        })
        .boxed()
}

fn entry(delta: bool) -> BoxedStrategy<ScriptEntry> {
    let raw = prop::collection::vec(any::<u8>(), 0..5).prop_map(ScriptEntry::Raw);
    if delta {
        return prop_oneof![raw, resource(true).prop_map(ScriptEntry::Plain)].boxed();
    }
    prop_oneof![
        raw,
        resource(false).prop_map(ScriptEntry::Plain),
        resource(true).prop_map(ScriptEntry::Wrapped)
    ]
    .boxed()
}

fn request(delta: bool, aggregated: bool) -> impl Strategy<Value = MessageBody> {
    let nack = prop::option::of((prop_oneof![Just(0), Just(3), any::<i32>()], text()));
    let node = prop_oneof![
        Just(NodeUse::Usual),
        Just(NodeUse::Sent),
        Just(NodeUse::Without),
        mapping().prop_map(NodeUse::Changed)
    ];
    (type_ref(aggregated), text(), text(), texts(), texts(), pairs(), nack, node).prop_map(
        move |(ty, version, nonce, names, unsubscribe, initial, nack, node)| {
            let out = ScriptRequest { ty, nonce, nack, node, ..ScriptRequest::default() };
            MessageBody::Request(if delta {
                ScriptRequest { subscribe: names, unsubscribe, initial, ..out }
            } else {
                ScriptRequest { version, names, ..out }
            })
        },
    )
}

fn response(delta: bool, aggregated: bool) -> impl Strategy<Value = MessageBody> {
    let entries = prop::collection::vec(entry(delta), 0..4);
    (type_ref(aggregated), text(), text(), entries, texts(), prop::option::of(text()), pairs()).prop_map(
        move |(ty, version, nonce, resources, removed, control_plane, errors)| {
            let out =
                ScriptResponse { ty, nonce, resources, control_plane, errors, ..ScriptResponse::default() };
            MessageBody::Response(if delta {
                ScriptResponse { system_version: version, removed, ..out }
            } else {
                ScriptResponse { version, ..out }
            })
        },
    )
}

/// Generates a message on one of four streams: 1 ads, 2 delta-ads, 3 sotw, 4 delta.
fn message() -> impl Strategy<Value = (u32, MessageBody)> {
    (1u32..5, any::<bool>()).prop_flat_map(|(number, raw)| {
        let (delta, aggregated) = (number % 2 == 0, number < 3);
        let bytes = prop::collection::vec(any::<u8>(), 0..6);
        let body = if raw {
            (any::<bool>(), bytes)
                .prop_map(|(up, bytes)| MessageBody::Raw(if up { Dir::Req } else { Dir::Resp }, bytes))
                .boxed()
        } else {
            prop_oneof![request(delta, aggregated), response(delta, aggregated)].boxed()
        };
        (Just(number), body)
    })
}

fn wants() -> impl Strategy<Value = Vec<(String, ExpectedValue)>> {
    let want = prop_oneof![text().prop_map(ExpectedValue::Word), texts().prop_map(ExpectedValue::List)];
    prop::collection::vec(("[a-z_]{1,5}", want), 0..3)
}

fn pick() -> impl Strategy<Value = FindingPattern> {
    let rule = "x[a-z-]{1,5}";
    (rule, prop::option::of(any::<u64>()), prop::option::of(texts()))
        .prop_map(|(rule, at, names)| FindingPattern { rule, at, names })
}

fn expect() -> impl Strategy<Value = Expectation> {
    let word = || prop::option::of("[a-z]{1,5}");
    let ty = || prop_oneof![Just(TypeRef::Word(Kind::Cds)), Just(TypeRef::Url("a/b.C".into()))];
    prop_oneof![
        (pick(), prop::option::of(Just("warn".to_owned())))
            .prop_map(|(pattern, severity)| Expectation::Lint { pattern, severity }),
        pick().prop_map(Expectation::NoFinding),
        Just(Expectation::LintNone),
        Just(Expectation::LintOnly),
        (any::<u64>(), word(), wants()).prop_map(|(number, kind, fields)| Expectation::Message {
            number,
            kind,
            fields
        }),
        (1u32..5, ty(), word(), wants()).prop_map(|(stream, ty, state, fields)| Expectation::State {
            stream,
            ty,
            state,
            fields
        }),
        (1u32..5, ty(), text(), word(), wants()).prop_map(|(stream, ty, name, state, fields)| {
            Expectation::Resource { stream, ty, name, state, fields }
        }),
    ]
}

fn node() -> impl Strategy<Value = ScriptNode> {
    let part = "[a-z ]{0,3}";
    let meta = prop::option::of(mapping());
    (text(), text(), [part, part, part], text(), texts(), meta).prop_map(
        |(id, cluster, locality, agent, features, meta)| ScriptNode {
            id,
            cluster,
            locality,
            agent,
            features,
            meta,
        },
    )
}

fn item() -> impl Strategy<Value = Statement> {
    let time = || prop::option::of(0u64..5_000_000_000);
    prop_oneof![
        3 => (time(), message()).prop_map(|(at, (number, body))| Statement::Message {
            at: at.map(Time),
            stream: Some(number),
            body
        }),
        1 => expect().prop_map(Statement::Expect),
        1 => node().prop_map(Statement::Node),
        1 => text().prop_map(Statement::Server),
        1 => (1u32..5).prop_map(Statement::Partial),
        1 => gap(),
        1 => (0u64..9_000_000_000).prop_map(|nanos| Statement::Advance(std::time::Duration::from_nanos(nanos))),
    ]
}

fn gap() -> impl Strategy<Value = Statement> {
    let dir = prop::option::of(prop_oneof![Just(Dir::Req), Just(Dir::Resp)]);
    let cause = prop::sample::select(GapCause::ALL.to_vec());
    let place = (prop::option::of(0u64..5_000_000_000), 1u32..5);
    (place, dir, any::<u64>(), any::<u64>(), cause).prop_map(|((at, stream), dir, messages, bytes, cause)| {
        let gap = ScriptGap { dir, messages, bytes, cause };
        Statement::Gap { at: at.map(Time), stream: Some(stream), gap }
    })
}

fn ending() -> impl Strategy<Value = StreamEnd> {
    prop_oneof![
        Just(StreamEnd::Close),
        (any::<i32>().prop_map(|code| code & 0xff), text())
            .prop_map(|(code, text)| StreamEnd::Status(code, text)),
        prop_oneof![Just(Side::Client), Just(Side::Server)].prop_map(StreamEnd::Reset),
    ]
}

/// Generates a consistent script: streams first, times in order, nothing after an end.
fn script() -> impl Strategy<Value = Script> {
    let endings = prop::collection::vec(prop::option::of(ending()), 4);
    (prop::collection::vec(item(), 0..8), endings).prop_map(|(items, endings)| {
        let head = "stream 1 ads\nstream 2 delta-ads v2\nstream 3 sotw eds profile=002\nstream 4 delta vhds method=\"/a b\"";
        let mut out: Vec<Statement> =
            parse(head, "").map(|script| script.lines.into_iter().map(|line| line.statement).collect()).unwrap_or_default();
        let mut time = super::super::timeline::Timeline::default();
        for mut item in items {
            match &mut item {
                Statement::Message { at, .. } | Statement::Gap { at, .. } => {
                    // The generated time is relative to the previous line.
                    *at = at.map(|by| time.now().after(std::time::Duration::from_nanos(by.0)));
                    time.step(*at);
                }
                Statement::Advance(by) => {
                    time.advance(*by);
                }
                _ => {}
            }
            out.push(item);
        }
        for (number, end) in (1..).zip(endings) {
            out.extend(end.map(|end| Statement::End { at: None, stream: Some(number), end }));
        }
        let lines = (1..).zip(out).map(|(number, item)| ScriptLine { number, statement: item }).collect();
        Script { file: "x".into(), lines }
    })
}

proptest! {
    #[test]
    fn scripts_round_trip(script in script()) {
        let text = write(&script);
        let again = parse(&text, "x").map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(again, script, "{}", text);
    }

    #[test]
    fn arbitrary_text_parses_or_is_refused(text in "(stream 1 (ads|delta cds)\n)?[ -~é\n]{0,80}") {
        let _ = parse(&text, "x");
    }

    #[test]
    fn truncated_scripts_parse_or_are_refused(script in script(), cut in 0usize..400) {
        let text = write(&script);
        let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        if let Ok(script) = parse(&text[..cut], "x") {
            let _ = load(&script, &Plain);
        }
    }
}

#[test]
fn writes_empty_path() {
    let script = parse("stream 1 ads method=\n", "a.xds").expect("reads");
    assert_eq!(write(&script), "stream 1 ads method=\"\"\n");
    let again = parse(&write(&script), "a.xds").expect("reads");
    assert_eq!(again, script);
}

#[test]
fn faults_are_read_and_written_back() {
    let text = "stream 1 ads\nfault \"type:cds kind:push => status UNAVAILABLE \\\"come back\\\" times=1\"\n1 > cds\n";
    let script = parse(text, "x").expect("a script");
    let faults: Vec<_> = script.faults().collect();
    assert_eq!(faults, [(2, "type:cds kind:push => status UNAVAILABLE \"come back\" times=1")]);
    assert_eq!(parse(&write(&script), "x").expect("the written script").faults().collect::<Vec<_>>(), faults);
    let error = parse("stream 1 ads\nfault \"eds-unanswered\"\n", "x").expect_err("no cluster").to_string();
    assert_eq!(error, "x:2:7: read `\\\"…`, expected a fault: expected `eds-unanswered CLUSTER`");
}
