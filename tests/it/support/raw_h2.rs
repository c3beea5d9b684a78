//! HTTP/2 frames and gRPC messages, byte by byte.

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

/// Returns a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// Appends an HPACK integer with a prefix of `bits` bits.
fn put_integer(out: &mut Vec<u8>, first: u8, bits: u32, mut value: usize) {
    let most = (1 << bits) - 1;
    if value < most {
        return out.push(first | value as u8);
    }
    out.push(first | most as u8);
    value -= most;
    while value >= 128 {
        out.push(value as u8 | 128);
        value /= 128;
    }
    out.push(value as u8);
}

/// Appends a literal header field; `indexed` adds it to the table.
pub fn put_field(out: &mut Vec<u8>, indexed: bool, name: &str, value: &str) {
    out.push(if indexed { 0x40 } else { 0 });
    for text in [name, value] {
        put_integer(out, 0, 7, text.len());
        out.extend(text.as_bytes());
    }
}

/// Returns the header block of an ADS request.
pub fn ads_headers(encoding: Option<&str>) -> Vec<u8> {
    let mut block = Vec::new();
    let fixed = [(":method", "POST"), (":scheme", "http"), (":path", ADS), (":authority", "cp.test")];
    for (name, value) in fixed.into_iter().chain([("content-type", "application/grpc")]) {
        put_field(&mut block, false, name, value);
    }
    if let Some(encoding) = encoding {
        put_field(&mut block, false, "grpc-encoding", encoding);
    }
    block
}

/// Returns the frames of a gRPC message.
pub fn message(stream: u32, compressed: bool, bytes: &[u8]) -> Vec<u8> {
    let prefix = [&[u8::from(compressed)][..], &(bytes.len() as u32).to_be_bytes()].concat();
    let body = [&prefix, bytes].concat();
    body.chunks(16 << 10).flat_map(|part| frame(0, 0, stream, part)).collect()
}

/// Returns a short text field of a protobuf message.
pub fn field(number: u8, text: &str) -> Vec<u8> {
    [&[number << 3 | 2, text.len() as u8], text.as_bytes()].concat()
}
