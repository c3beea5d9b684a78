//! Random well-formed messages of any type.

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};

/// A pseudorandom number generator (splitmix64) with a fixed sequence for each seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn text(&mut self) -> String {
        let parts =
            ["", "a", "outbound|9080||reviews", "é\u{9b}", "line\nbreak", "\"q\\\"", "日本", "\u{1b}[0m"];
        let at = self.below(parts.len() as u64) as usize;
        format!("{}{}", parts[at], self.below(30))
    }

    pub fn message(&mut self, desc: &MessageDescriptor, depth: u32) -> DynamicMessage {
        let mut message = DynamicMessage::new(desc.clone());
        match desc.full_name() {
            "google.protobuf.Any" => {
                let names =
                    ["envoy.config.core.v3.Node", "google.protobuf.Duration", "google.protobuf.Empty"];
                // The v2 pool does not have this Node.
                let known = |name: &&str| desc.parent_pool().get_message_by_name(name).is_some();
                let names: Vec<_> = names.into_iter().filter(known).collect();
                let name = names[self.below(names.len() as u64) as usize];
                if let Some(inner) = desc.parent_pool().get_message_by_name(name) {
                    use prost::Message;
                    let value = self.message(&inner, depth.saturating_sub(1)).encode_to_vec();
                    message
                        .set_field_by_name("type_url", Value::String(format!("type.googleapis.com/{name}")));
                    message.set_field_by_name("value", Value::Bytes(value.into()));
                }
            }
            "google.protobuf.Duration" => {
                let sign = if self.below(2) == 0 { 1 } else { -1 };
                let nanos = [0, 1, 1_000, 5_000_000, 999_999_999][self.below(5) as usize];
                message.set_field_by_name("seconds", Value::I64(sign * self.below(1 << 30) as i64));
                message.set_field_by_name("nanos", Value::I32(sign as i32 * nanos));
            }
            "google.protobuf.Timestamp" => {
                let nanos = [0, 1, 1_000, 5_000_000, 999_999_999][self.below(5) as usize];
                message.set_field_by_name("seconds", Value::I64(self.below(1 << 37) as i64 - (1 << 35)));
                message.set_field_by_name("nanos", Value::I32(nanos));
            }
            "google.protobuf.Value" => {
                let number = if depth == 0 { 1 + self.below(4) } else { 1 + self.below(6) } as u32;
                if let Some(field) = desc.get_field(number) {
                    let value = self.single(&field, depth);
                    message.set_field(&field, value);
                }
            }
            "google.protobuf.FieldMask" => {
                let paths = vec![Value::String("user.display_name".into()), Value::String("photo".into())];
                message.set_field_by_name("paths", Value::List(paths));
            }
            _ => {
                for field in desc.fields() {
                    if self.below(3) == 0 {
                        self.field(&mut message, &field, depth);
                    }
                }
            }
        }
        message
    }

    fn field(&mut self, message: &mut DynamicMessage, field: &FieldDescriptor, depth: u32) {
        let is_message = |kind: Kind| matches!(kind, Kind::Message(_));
        if field.is_map() {
            let Kind::Message(entry) = field.kind() else { return };
            let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
            if depth == 0 && is_message(value.kind()) {
                return;
            }
            let map = (0..self.below(3)).filter_map(|_| Some((self.key(&key)?, self.single(&value, depth))));
            message.set_field(field, Value::Map(map.collect()));
        } else if depth == 0 && is_message(field.kind()) {
        } else if field.is_list() {
            let list = (0..self.below(4)).map(|_| self.single(field, depth)).collect();
            message.set_field(field, Value::List(list));
        } else {
            let value = self.single(field, depth);
            message.set_field(field, value);
        }
    }

    fn key(&mut self, field: &FieldDescriptor) -> Option<MapKey> {
        let value = self.single(field, 0);
        value.into_map_key()
    }

    fn single(&mut self, field: &FieldDescriptor, depth: u32) -> Value {
        let small = self.below(4);
        let int = if small == 0 { 0 } else { self.next() >> self.below(64) };
        let float = [0.0, -0.0, 0.1, 1.5, -2.5e10, 8080.0][self.below(6) as usize];
        match field.kind() {
            Kind::Double => Value::F64(float),
            // Only floats with an exact double: prost-reflect writes 0.1 as 0.10000000149011612.
            Kind::Float => Value::F32(if float == 0.1 { 0.25 } else { float as f32 }),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(int as i32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(int as i64),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(int as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(int),
            Kind::Bool => Value::Bool(int & 1 == 0),
            Kind::String => Value::String(self.text()),
            Kind::Bytes => Value::Bytes(self.text().into_bytes().into()),
            Kind::Message(inner) => Value::Message(self.message(&inner, depth.saturating_sub(1))),
            Kind::Enum(values) => {
                let known = values.values().len() as u64;
                let at = self.below(known + 1);
                let number = values.values().nth(at as usize).map_or(4242, |value| value.number());
                Value::EnumNumber(if field.name() == "null_value" { 0 } else { number })
            }
        }
    }
}
