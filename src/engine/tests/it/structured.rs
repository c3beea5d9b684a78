use std::sync::Arc;
use xdscope_engine::store::Options;

use xdscope_engine::store::Store;
use xdscope_engine::structured::*;
use xdscope_schema::Schema;
use xdscope_sources::script;
use xdscope_wire::event::{StreamId, TYPE_PREFIX, TypeUrl};

const LISTENER: &str = "envoy.config.listener.v3.Listener";

/// Returns the store after a script.
fn store(text: &str) -> (Store, Arc<Schema>) {
    let schema = Schema::builtin();
    let script = script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error:?}"));
    let codec = xdscope_sources::SchemaCodec(schema.clone());
    let loaded = script::load(&script, &codec).unwrap_or_else(|error| panic!("{error:?}"));
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    store.advance(loaded.end);
    (store, schema)
}

fn fact(store: &Store, schema: &Schema, name: &str) -> StructuredFact {
    let streams: Vec<StreamId> = store.stream_ids().collect();
    let url = TypeUrl::new(format!("{TYPE_PREFIX}{LISTENER}"));
    let fact = streams.iter().rev().find_map(|id| store.resource(*id, &url, name)).expect("a resource");
    StructuredNames::new(store, schema, streams).of(&fact).expect("a structured name")
}

/// docs/protocol.md#k-02
#[test]
fn splits_name_into_parts() {
    let parts = NameParts::parse("xdstp://a/T/x/y?k=v&b=#alt=z,entry=e").expect("a name");
    assert_eq!((&*parts.authority, &*parts.resource_type, &*parts.id), ("a", "T", "x/y"));
    assert_eq!(parts.parameters, [("k".to_owned(), "v".to_owned()), ("b".to_owned(), String::new())]);
    assert_eq!(parts.directives, ["alt=z", "entry=e"]);
    assert_eq!(NameParts::parse("plain"), None);
}

/// docs/protocol.md#k-18 and docs/protocol.md#k-19
#[test]
fn counts_members_of_globs_by_depth() {
    let name = |id: &str| format!("xdstp://a/{LISTENER}/{id}");
    let (glob, x, y) = (name("g/*"), name("g/x"), name("g/d/y"));
    let push = format!("< n=1 [\"{x}\"@1 \"{y}\"@1]\n> n=1\n");
    let begin = format!("node n\nstream 1 delta lds\n> sub=[\"{glob}\"]\n{push}");
    let count = |text: &str| {
        let (store, schema) = store(text);
        match fact(&store, &schema, &glob).members {
            Some(Members::Glob(members)) => (members.direct, members.deeper),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(count(&begin), (1, 1));
    assert_eq!(count(&format!("{begin}< n=2 rm=[\"{x}\"]\n> n=2\n")), (0, 1));
    let (store, schema) = store(&begin);
    assert_eq!(fact(&store, &schema, &x).glob.as_deref(), Some(&*glob));
}

/// docs/protocol.md#k-12 and docs/protocol.md#k-29
#[test]
fn members_of_a_list_have_states_and_alternatives() {
    let name = |id: &str| format!("xdstp://a/{LISTENER}/{id}");
    let list = format!("xdstp://a/{LISTENER}Collection/c");
    let entries = format!(
        "{{entries: [{{locator: \"{}\"}}, {{locator: \"{}#alt=xdstp://b/{LISTENER}/p\"}}, {{locator: \"{}\"}}, \
         {{inline: q, version: \"1\"}}]}}",
        name("x"),
        name("p"),
        name("z")
    );
    let (store, schema) = store(&format!(
        "node n\nstream 1 delta lds\n> sub=[\"{list}\"]\n< n=1 [\"{list}\"{entries}@1]\n\
         > n=1 sub=[\"{}\" \"{}\"]\n< n=2 [\"{}\"@1]\n> n=2 sub=[\"xdstp://b/{LISTENER}/p\"]\n\
         < n=3 [\"xdstp://b/{LISTENER}/p\"@1]\n> n=3\n",
        name("x"),
        name("p"),
        name("x")
    ));
    let Some(Members::List(members)) = fact(&store, &schema, &list).members else { panic!("a list") };
    let counts = (members.entries, members.inline, members.present, members.waiting, members.not_requested);
    assert_eq!(counts, (4, 1, 1, 1, 1));
    let alternative = format!("xdstp://b/{LISTENER}/p");
    assert_eq!(members.first[1].served_by.as_deref(), Some(&*alternative));
    let primary = fact(&store, &schema, &name("p"));
    assert_eq!(primary.served_by.as_deref(), Some(&*alternative));
    assert_eq!(fact(&store, &schema, &alternative).alternative_of, [name("p")]);
}

/// docs/protocol.md#m-37
#[test]
fn redirects_are_followed_up_to_a_loop() {
    let name = |id: &str| format!("\"xdstp://a/{LISTENER}/{id}\"");
    let (x, y) = (name("x"), name("y"));
    let (store, schema) = store(&format!(
        "node n\nstream 1 delta lds\n> sub=[{x} {y}]\n< n=1 [{x}=>{y}@1 {y}=>{x}@1]\n> n=1\n"
    ));
    let found = fact(&store, &schema, x.trim_matches('"')).redirects;
    assert_eq!(found, [y.trim_matches('"'), x.trim_matches('"')]);
}
