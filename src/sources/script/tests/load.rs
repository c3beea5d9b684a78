use super::*;
use crate::record::Loaded;
use xdscope_wire::event::{Code, Side, StreamId, Time};
use xdscope_wire::{FramePayload, Message, MessageBody as Said};

fn frames(text: &str) -> Loaded {
    load(&parse(text, "x").expect("a script"), &Plain).expect("frames")
}

fn messages(loaded: &Loaded) -> Vec<&Message> {
    let message = |frame: &'_ xdscope_wire::Frame| matches!(frame.what, FramePayload::Message(_));
    let said = loaded.frames.iter().filter(|frame| message(frame)).map(|frame| match &frame.what {
        FramePayload::Message(message) => &**message,
        _ => unreachable!("filtered"),
    });
    said.collect()
}

/// Returns the JSON that [`Plain`] got for entry `index` of the last message.
pub(super) fn payload_json(loaded: &Loaded, index: usize) -> Value {
    let list = messages(loaded).last().and_then(|message| message.resources().cloned()).expect("a response");
    let payload = loaded.catalog.entry(list.blobs()[index]).payload.expect("a payload");
    let any = loaded.catalog.bytes(payload).expect("bytes");
    let value = Fields::new(&any).map_while(Result::ok).find(|field| field.number == 2).expect("a value");
    Plain.decode("", value.bytes()).expect("json")
}

#[test]
fn first_request_carries_node() {
    let loaded = frames(
        "node a cluster=c\nstream 1 ads\n> cds\n> eds\n> eds node\n> eds node={cluster: d}\nstream 2 ads\n> cds nonode\n\
         > cds\nnode b\nstream 3 rest cds\n>\n<\n>\n1 > lds node",
    );
    let nodes: Vec<_> = messages(&loaded)
        .iter()
        .map(|message| message.node().map_or(String::new(), |node| format!("{}/{}", node.id, node.cluster)))
        .collect();
    assert_eq!(nodes, ["a/c", "", "a/c", "a/d", "", "", "b/", "", "b/", "a/c"]);
}

#[test]
fn stream_without_requests_has_node_hint() {
    let loaded = frames(
        "node a\nserver s\nstream 1 ads\nclose status=14\nstream 2 ads\npartial 2\n> cds\nstream 3 ads\n> cds",
    );
    let opens = loaded.frames.iter().filter_map(|frame| match &frame.what {
        FramePayload::Open(open) => Some((open.node_hint.is_some(), open.partial, open.server.as_deref())),
        _ => None,
    });
    assert_eq!(
        opens.collect::<Vec<_>>(),
        [(true, false, Some("s")), (true, true, Some("s")), (false, false, Some("s"))]
    );
    assert!(messages(&loaded)[0].node().is_none(), "a partial stream sent its node before the script");
    let ends = loaded.frames.iter().filter_map(|frame| match &frame.what {
        FramePayload::End(end) => Some((end.by, end.status.clone())),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [(Some(Side::Server), Some((Code(14), String::new())))]);
}

#[test]
fn advances_time_by_step_unless_stated() {
    let loaded = frames("stream 1 ads\n> cds\n+1s > cds\n> cds\nadvance 2s\n> cds\nclose\nadvance 20s");
    let times: Vec<_> = loaded.frames.iter().map(|frame| frame.at.0 / 1_000_000).collect();
    assert_eq!(times, [0, 10, 1000, 1010, 3020, 3030]);
    assert_eq!(loaded.end, Time(23_030_000_000));
    let untimed = frames("notime\nstream 1 ads\n> cds\n> cds");
    assert!(untimed.clock.untimed && untimed.frames.iter().all(|frame| frame.at == Time::ZERO));
}

#[test]
fn resolves_type_words_by_stream_version() {
    let loaded = frames(
        "stream 1 ads v2\n> cds\n> type.googleapis.com/x.Y\n> type=odd\nstream 7 delta eds\n>\n> type=\"\"\nstream 9 sotw \
         type.googleapis.com/envoy.api.v2.Cluster\n>",
    );
    let urls: Vec<_> = messages(&loaded).iter().map(|message| message.type_url().to_string()).collect();
    let eds = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
    let cds = "type.googleapis.com/envoy.api.v2.Cluster";
    assert_eq!(urls, [cds, "type.googleapis.com/x.Y", "odd", eds, "", cds]);
    assert!(loaded.frames.iter().any(|frame| frame.stream == StreamId(9)));
}

#[test]
fn encodes_all_delta_response_fields() {
    let loaded = frames(
        "stream 1 delta eds\n< n=1 sys=42 [a@1 b@2 unset ttl=1.5s c@3 aliases=[x y] d=>\"xdstp://a/t.T/x\"@4] rm=[g] cp=me \
         errors={q:\"no such\"}",
    );
    let message = messages(&loaded)[0];
    let Said::DeltaResponse(response) = &message.body else { panic!("{:?}", message.body) };
    assert_eq!((response.nonce.as_str(), response.system_version_info.as_str()), ("1", "42"));
    assert_eq!(response.control_plane.as_deref(), Some("me"));
    assert_eq!(loaded.catalog.text(response.removed[0]), "g");
    assert_eq!(loaded.catalog.text(response.resource_errors[0].name), "q");
    assert_eq!(&*response.resource_errors[0].detail.message, "no such");
    let catalog = &loaded.catalog;
    let entries = response.resources.blobs().iter().map(|blob| {
        let entry = catalog.entry(*blob);
        (
            catalog.text(entry.name),
            catalog.text(entry.version),
            entry.payload.is_some(),
            entry.ttl,
            entry.aliases.len(),
        )
    });
    assert_eq!(
        entries.collect::<Vec<_>>(),
        [
            ("a", "1", true, None, 0),
            ("b", "2", false, Some(1_500_000_000), 0),
            ("c", "3", true, None, 2),
            ("d", "4", true, None, 0)
        ]
    );
    let redirect = catalog.entry(response.resources.blobs()[3]);
    assert_eq!(catalog.text(redirect.type_url), "type.googleapis.com/xds.core.v3.ResourceLocator");
}

#[test]
fn encodes_equal_tags_as_equal_content() {
    for kind in xdscope_wire::event::Kind::all() {
        let loaded = frames(&format!("stream 1 delta {}\n< [a@1 a~x@1 a~x@2 a~y@1]", kind.word()));
        let list = messages(&loaded)[0].resources().cloned().expect("a response");
        let payload: Vec<_> = list.blobs().iter().map(|blob| loaded.catalog.entry(*blob).payload).collect();
        assert_eq!(payload[1], payload[2], "{}", kind.word());
        assert!(payload[0] != payload[1] && payload[1] != payload[3], "{}", kind.word());
    }
}

#[test]
fn encodes_name_in_field_of_type() {
    for kind in xdscope_wire::event::Kind::all().filter(|kind| kind.name_field().is_some()) {
        let loaded = frames(&format!("stream 1 ads\n< {} [here wrap(there@7 ttl=5s)]", kind.word()));
        let list = messages(&loaded)[0].resources().cloned().expect("a response");
        let names: Vec<_> =
            list.blobs().iter().map(|blob| loaded.catalog.text(loaded.catalog.entry(*blob).name)).collect();
        assert_eq!(names, ["here", "there"], "{}", kind.word());
        assert!(loaded.catalog.entry(list.blobs()[1]).wrapped);
    }
}

#[test]
fn encodes_collection_named_by_xdstp_name() {
    let text = r#"stream 1 delta lds
< ["xdstp://a/envoy.config.listener.v3.ListenerCollection/c"{entries: [{locator: "xdstp://a/envoy.config.listener.v3.Listener/x"}, {inline: bar, version: "8"}, {}]}@1]"#;
    let loaded = frames(text);
    let list = messages(&loaded)[0].resources().cloned().expect("a response");
    let entry = loaded.catalog.entry(list.blobs()[0]);
    assert_eq!(
        loaded.catalog.text(entry.type_url),
        "type.googleapis.com/envoy.config.listener.v3.ListenerCollection"
    );
    let any = entry.payload.and_then(|id| loaded.catalog.bytes(id)).expect("bytes");
    let value = Fields::new(&any).map_while(Result::ok).find(|field| field.number == 2).expect("a value");
    let arms = Fields::new(value.bytes()).map_while(Result::ok).map(|entry| {
        Fields::new(entry.bytes()).map_while(Result::ok).map(|arm| arm.number).collect::<Vec<_>>()
    });
    assert_eq!(arms.collect::<Vec<_>>(), [vec![1], vec![2], vec![]]);
}

#[test]
fn encode_error_names_line() {
    let fails =
        |text: &str| load(&parse(text, "x").expect("a script"), &Plain).err().map(|error| error.to_string());
    assert_eq!(
        fails("stream 1 ads\n\n< cds [a{bad: 1}]").as_deref(),
        Some("x:3: envoy.config.cluster.v3.Cluster has no field `bad`")
    );
    assert!(fails("stream 1 ads\n> cds node").is_some_and(|error| error.contains("no `node` line")));
    assert!(fails("stream 1 delta cds\n< [a=>nothing]").is_some_and(|error| error.contains("xdstp://")));
}

#[test]
fn keeps_raw_message_bytes() {
    let loaded = frames("stream 1 ads\n> raw=CgF4\n< raw=/////w==");
    assert_eq!(messages(&loaded)[0].bytes(&loaded.catalog), Some(b"\x0a\x01x".to_vec()));
    assert!(matches!(messages(&loaded)[1].body, Said::Undecodable { .. }));
}
