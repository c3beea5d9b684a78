use xdscope_schema::{MessageFormat, Schema};

use super::Input;

/// Checks that a descriptor set is refused or can be used: its messages decode, encode and explain
/// any bytes, and its files form a set again.
///
/// Input: a byte with the length of a value, the value, then the set.
pub fn descriptor_set(data: &[u8]) {
    let mut input = Input(data);
    let len = input.byte();
    let value = input.bytes(len.into());
    let load = |set: &[u8]| Schema::with(&[("set".to_owned(), set.to_vec())], &[], &[]);
    let schema = match load(input.0) {
        Ok(schema) => schema,
        Err(error) => {
            assert!(error.to_string().len() < 1000, "{error}");
            return;
        }
    };
    for (_, name) in schema.messages().iter().take_while(|(origin, _)| *origin == "user").take(20) {
        let json = schema.message_to_json(name, value);
        if let Ok(bytes) = schema.encode(name, &json) {
            schema.message_to_json(name, &bytes);
        }
        schema.faults(name, value).truncate(100);
        let _ = schema.violations(name, value);
        for format in MessageFormat::ALL {
            let _ = schema.read_file(name, Some(format), value);
        }
        let _ = schema.explain(name);
    }
}
