use serde_json::Value;

use xdscope_engine::lint;
use xdscope_engine::store;
use xdscope_sources::script::{self, Codec, Script, ScriptLine};
use xdscope_wire::pb::{Fields, put_len_field};

/// Checks that a text is either rejected with a position, or unchanged after writing and parsing.
///
/// The loaded messages can be written as a script again, which loads to the same messages. No rule
/// panics.
///
/// Input: the text.
pub fn arrow_script(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let script = match script::parse(&text, "a.xds") {
        Ok(script) => script,
        Err(error) => {
            let line = text.lines().nth(error.line as usize - 1).expect("a line of the text");
            assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}");
            return;
        }
    };
    let written = script::write(&script);
    let again = script::parse(&written, "a.xds").unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert!(items(&again).eq(items(&script)), "{written}");
    assert_eq!(script::write(&again), written);
    round_trip(&script);
    let _ = script::check(&script, &Plain, store::Options::default(), lint::Options::default(), None);
}

fn items(script: &Script) -> impl Iterator<Item = &script::Statement> {
    script.lines.iter().map(|ScriptLine { statement: item, .. }| item)
}

/// Writes frames as a script and loads them again.
fn round_trip(script: &Script) {
    let Ok(loaded) = script::load(script, &Plain) else { return };
    let exported =
        script::from_frames(loaded.frames.iter(), &loaded.catalog, loaded.clock, loaded.end, &Plain);
    let written = script::write(&exported.script);
    let again = script::parse(&written, "b.xds").unwrap_or_else(|error| panic!("{error}\n{written}"));
    let again = script::load(&again, &Plain).unwrap_or_else(|error| panic!("{error}\n{written}"));
    if exported.notices.is_empty() {
        assert!(messages(&again).eq(messages(&loaded)), "{written}");
    }
}

fn messages(loaded: &xdscope_sources::record::Loaded) -> impl Iterator<Item = Option<Vec<u8>>> {
    loaded.frames.iter().filter_map(|frame| match &frame.what {
        xdscope_wire::FramePayload::Message(message) => Some(message.bytes(&loaded.catalog)),
        _ => None,
    })
}

/// A codec without descriptors: the JSON in its own field after the name.
pub(super) struct Plain;

impl Codec for Plain {
    fn encode(&self, _message: &str, json: &Value) -> Result<Vec<u8>, script::CodecError> {
        let name = json.get("name").or_else(|| json.get("cluster_name")).and_then(Value::as_str);
        let mut out = Vec::new();
        put_len_field(&mut out, 1, name.unwrap_or_default().as_bytes());
        put_len_field(&mut out, 99, json.to_string().as_bytes());
        Ok(out)
    }

    fn decode(&self, _message: &str, bytes: &[u8]) -> Option<Value> {
        let field = Fields::new(bytes).map_while(Result::ok).find(|field| field.number == 99)?;
        serde_json::from_slice(field.bytes()).ok()
    }
}
