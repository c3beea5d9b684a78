mod export;
mod files;
mod fixtures;
mod load;
mod roundtrip;

use serde_json::{Value, json};

use super::*;
use xdscope_wire::pb::{Fields, put_len_field};

/// A codec without descriptors, which stores the JSON in field 99, behind the name.
struct Plain;

impl Codec for Plain {
    fn encode(&self, message: &str, json: &Value) -> Result<Vec<u8>, CodecError> {
        if json.get("bad").is_some() {
            return Err(CodecError::new(format!("{message} has no field `bad`")));
        }
        let mut out = Vec::new();
        let name = json.get("name").or_else(|| json.get("cluster_name"));
        put_len_field(&mut out, 1, name.and_then(Value::as_str).unwrap_or_default().as_bytes());
        put_len_field(&mut out, 99, json.to_string().as_bytes());
        Ok(out)
    }

    fn decode(&self, _message: &str, bytes: &[u8]) -> Option<Value> {
        let field = Fields::new(bytes).map_while(Result::ok).find(|field| field.number == 99)?;
        serde_json::from_slice(field.bytes()).ok()
    }
}

/// A script with every form of the syntax.
const SAMPLE: &str = r##"
# who speaks, and how
node    edge-gw-1 cluster=edge feature=xds.config.supports-resource-ttl     # the client
server  cp1
stream  1 ads
stream  2 delta eds v2
partial 2                        # it had begun before
stream  4 sotw srds profile=003 method=/some.Service/Method

+0s      1 > cds
+10ms    1 < cds v=1 n=a [A B]
+20ms    1 > cds v=1 n=a
+1s      1 > eds v= n= names=[foo bar]
+1.1s    1 < eds v=7 n=b [foo bar]
+1.2s    1 > eds v= n=b names=[foo bar] nack="bad endpoint" code=3

+2s      2 > sub=[a b *] unsub=[c] irv={a:1 b:7}
         2 < n=1 [a@1 b@7] rm=[c] sys=42
         2 > n=1
+3s      2 < n=2 [a@1 unset ttl=30s]
+4s      2 < n=3 [d@1 aliases=[x y] ttl=10s]

+5s      1 close
+9s      stream 3 ads
         > lds names=["xdstp://a/b.C/d?e=f"] node={cluster: other, meta: {k: [1, x]}}
         < lds [l{rds: r} web{a: {b: web-v2}, type: EDS}~2 "x y"=>"xdstp://a/b.C/d" wrap(name@1 ttl=10s) raw:CgA= type:cds z] cp=me
         < type.googleapis.com/x.Y errors={q:"not here" "r s":no}
         > type="" nack="" nonode
advance 20s
         3 reset server
         stream 5 rest cds
         > v=1
         < http=304
         < http=503
         stream 6 rest cds
         6 close status=14 "keepalive timeout"
expect lint break-before-make at 9 sev=warn names=[X]
expect lint none
expect lint only
expect no nack-loop at 3 names=[a]
expect message 5 push class=R6 error.code=3
expect state 1 cds synced offered=1 in_force=1 wildcard=legacy names=[] pending=[] open_nack=
expect resource 2 eds d waiting version=
"##;

#[test]
fn sample_round_trips() {
    let script = parse(SAMPLE, "sample.xds").expect("the sample");
    let items = |script: &Script| script.lines.iter().map(|line| line.statement.clone()).collect::<Vec<_>>();
    let text = write(&script);
    let again = parse(&text, "sample.xds").unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(items(&script), items(&again), "{text}");
    assert_eq!(text, write(&again));
    assert_eq!(script.lines.len(), 38);
}

fn error(text: &str) -> String {
    parse(text, "x.xds").expect_err(text).to_string()
}

#[test]
fn errors_state_position_input_and_expectation() {
    let ads = |line: &str| error(&format!("stream 1 ads\n{line}"));
    assert_eq!(
        ads("1 > "),
        "x.xds:2:5: read the end of the line, expected a type (lds cds rds eds sds srds vhds rtds ecds leds) or a full type URL"
    );
    assert!(ads("1 > cds v=1 v=2").contains("x.xds:2:13: read `v=2`"));
    assert!(ads("1 > cds sub=[a]").starts_with("x.xds:2:9: read `sub=[a]`, expected one of v= n= names="));
    assert!(ads("1 < cds [a@1]").contains("x.xds:2:11: read `@1]`"));
    assert!(ads("1 < cds [a b").contains("expected a resource or `]`"));
    assert!(ads("2 > cds").contains("read `2`, expected the number of a stream opened above: 1"));
    assert!(ads("1 > cds names=[é]").contains("x.xds:2:16: read `é]`, expected a name or `]`"));
    assert!(ads("1 > cds code=3").contains("x.xds:2:9:"));
    assert!(ads("1 > cds v=1 raw=AAAA").contains("the complete message"));
    assert!(ads("+2s 1 > cds\n+1s 1 > cds").starts_with("x.xds:3:1: read `+1s`"));
    assert!(ads("close\n> cds").contains("a stream that is still open"));
    assert!(ads("stream 1 ads").contains("a stream number that is not used above"));
    assert!(ads("1 > cds [a]").contains("x.xds:2:9: read `[a]`"));
    assert!(ads("expect state 1 cds synced synced").contains("`FIELD=VALUE`"));
    assert!(ads("partial 7").contains("x.xds:2:9"));
    assert!(error("stream 1 sotw vhds").contains("published sotw method"));
    assert!(error("nonsense").starts_with("x.xds:1:1: read `nonsense`, expected `>`"));
    assert!(error("> cds").contains("a `stream` line above"));
    assert!(error("notime\nstream 1 ads\n+1s > cds").contains("a line without a time"));
    assert!(error("stream 1 ads\nnotime").starts_with("x.xds:2:1: read `notime`"));
    assert!(error("node \"a").contains("double quotes"));
}

#[test]
fn quoted_word_is_not_a_keyword() {
    let script = parse("stream 1 delta cds\n< n=1 [a \"unset\" unset]", "x").expect("a script");
    let Some(Statement::Message { body: MessageBody::Response(response), .. }) =
        script.lines.last().map(|line| &line.statement)
    else {
        panic!("a response");
    };
    let names = response.resources.iter().map(|entry| match entry {
        ScriptEntry::Plain(resource) => (resource.name.as_str(), resource.content == ResourceContent::Unset),
        _ => panic!("plain entries"),
    });
    assert_eq!(names.collect::<Vec<_>>(), [("a", false), ("unset", true)]);
}

#[test]
fn fills_in_nack_defaults() {
    let nack = |fields: &str| {
        let script = parse(&format!("stream 1 sotw cds\n> n=a {fields}"), "x").expect("a script");
        match script.lines.last().map(|line| line.statement.clone()) {
            Some(Statement::Message { body: MessageBody::Request(request), .. }) => request.nack,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(nack(""), None);
    assert_eq!(nack("nack=bad"), Some((3, "bad".into())));
    assert_eq!(nack("nack=bad code=13"), Some((13, "bad".into())));
    assert_eq!(nack(r#"nack="""#), Some((0, String::new())));
    assert_eq!(nack(r#"nack="" code=3"#), Some((3, String::new())));
}

#[test]
fn expands_short_forms_for_codec() {
    let script = parse("stream 1 ads\n< cds [c{eds: other}]", "x").expect("a script");
    let loaded = super::load(&script, &Plain).expect("frames");
    let json = self::load::payload_json(&loaded, 0);
    assert_eq!(json["name"], "c");
    assert_eq!(json["eds_cluster_config"]["service_name"], "other");
    assert_eq!(json!("EDS"), json["type"]);
}
