use super::error::Http1Error;

/// The first line and the header fields of a request or a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    first: String,
    /// Header fields in order, names in lower case.
    pub fields: Vec<(String, String)>,
}

/// Maximum number of header fields.
const MAX_HEADER_FIELDS: usize = 1000;

/// Returns the end of the head at the start of `buffer`.
pub(super) fn end(buffer: &[u8]) -> Option<usize> {
    memchr::memmem::find(buffer, b"\r\n\r\n").map(|at| at + 4)
}

impl Head {
    /// Parses a head, up to and including the empty line.
    pub(super) fn read(bytes: &[u8]) -> Result<Head, Http1Error> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default().to_owned();
        if !first.contains("HTTP/1.") {
            return Err(Http1Error::Protocol);
        }
        let mut fields = Vec::new();
        for line in lines.filter(|line| !line.is_empty()).take(MAX_HEADER_FIELDS) {
            let (name, value) = line.split_once(':').ok_or(Http1Error::HeaderLine)?;
            fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Head { first, fields })
    }

    /// Returns the first header field with this name, which is in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the method of a request, such as `POST`.
    pub fn method(&self) -> &str {
        self.first.split(' ').next().unwrap_or_default()
    }

    /// Returns the path of a request without its query, such as `/v3/discovery:clusters`.
    pub fn path(&self) -> &str {
        let target = self.first.split(' ').nth(1).unwrap_or_default();
        target.split('?').next().unwrap_or_default()
    }

    /// Returns the status of a response.
    pub fn status(&self) -> Option<u16> {
        self.first.split(' ').nth(1)?.parse().ok()
    }
}
