/// Formats bytes like `xxd`, sixteen per line, up to `limit` lines.
pub fn hex(bytes: &[u8], limit: usize) -> Vec<String> {
    let line = |(i, chunk): (usize, &[u8])| {
        let codes: Vec<String> =
            chunk.chunks(2).map(|two| two.iter().map(|b| format!("{b:02x}")).collect()).collect();
        let text: String =
            chunk.iter().map(|b| if b.is_ascii_graphic() { *b as char } else { '.' }).collect();
        format!("{:08x}: {:<39}  {text}", i * 16, codes.join(" "))
    };
    bytes.chunks(16).enumerate().take(limit).map(line).collect()
}

/// Reads two hexadecimal digits.
pub(crate) fn hex_byte(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
