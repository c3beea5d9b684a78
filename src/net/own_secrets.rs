use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_wire::content::Redact;

/// The secrets that xdscope sends to a server, which may repeat them in its messages.
pub struct OwnSecrets(Redactor);

impl OwnSecrets {
    /// Finds the secrets in headers.
    pub fn new(headers: &[(String, String)]) -> OwnSecrets {
        let redactor = Redactor::new(Schema::builtin(), 0);
        for (name, value) in headers {
            redactor.metadata(name, value);
        }
        OwnSecrets(redactor)
    }

    /// Returns a text of the server without them.
    pub fn clean(&self, text: String) -> String {
        self.0.text(&text).unwrap_or(text)
    }
}
