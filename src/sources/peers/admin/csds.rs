//! CSDS: a `ClientStatusResponse` for each request.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use xdscope_schema::Schema;

use super::{PageAnswer, PageRequest, PortFault, PortReader, PortStep};

const RESPONSE: &str = "envoy.service.status.v3.ClientStatusResponse";

/// Path of the method, which stands for a request in this reader.
pub const FETCH_CLIENT_STATUS: &str =
    "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus";

/// Reads the answers of a `ClientStatusDiscoveryService`.
pub struct CsdsReader {
    schema: Arc<Schema>,
    /// The answer of this round.
    answer: Option<Vec<u8>>,
    /// Hash of the last answer.
    last: Option<u64>,
}

impl CsdsReader {
    /// Creates a reader that decodes with these descriptors.
    pub fn new(schema: Arc<Schema>) -> CsdsReader {
        CsdsReader { schema, answer: None, last: None }
    }
}

impl PortReader for CsdsReader {
    fn next(&mut self, _now: i128) -> PortStep {
        let Some(answer) = self.answer.take() else {
            return PortStep::Get(PageRequest { port: 0, path: FETCH_CLIENT_STATUS.to_owned() });
        };
        let mut hasher = DefaultHasher::new();
        answer.hash(&mut hasher);
        let hash = hasher.finish();
        if self.last.replace(hash) == Some(hash) {
            return PortStep::Dump(None);
        }
        PortStep::Dump(Some(self.schema.message_to_json(RESPONSE, &answer).to_string().into_bytes()))
    }

    fn take(&mut self, answer: PageAnswer) -> Result<(), PortFault> {
        if let Err(error) = self.schema.read_as(RESPONSE, xdscope_schema::MessageFormat::Binary, &answer.body)
        {
            let what = format!("{FETCH_CLIENT_STATUS}: the answer is not a ClientStatusResponse: {error}");
            return Err(PortFault { what, is_other_service: true });
        }
        self.answer = Some(answer.body);
        Ok(())
    }

    fn restart(&mut self) {
        (self.answer, self.last) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_become_dumps_when_they_change() {
        let schema = Schema::builtin();
        let mut reader = CsdsReader::new(schema.clone());
        let value = json!({ "config": [{ "node": { "id": "cart" } }] });
        let body = schema.encode(RESPONSE, &value).expect("a response");
        let mut round = |body: &[u8]| {
            assert!(matches!(reader.next(0), PortStep::Get(_)));
            reader.take(PageAnswer { status: 200, body: body.to_vec() })?;
            Ok::<_, PortFault>(reader.next(0))
        };
        let Ok(PortStep::Dump(Some(dump))) = round(&body) else { panic!("a dump") };
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&dump).expect("JSON"), value);
        assert_eq!(round(&body), Ok(PortStep::Dump(None)));
        assert!(round(b"\xff\xff").is_err());
    }
}
