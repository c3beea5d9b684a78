//! ztunnel's admin port: `/config_dump`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::Timestamp;

use super::{PageAnswer, PageRequest, PortFault, PortReader, PortStep};

const CONFIG_DUMP: &str = "/config_dump";

/// Reads the config dump of a ztunnel.
#[derive(Default)]
pub struct ZtunnelReader {
    /// The answer of this round.
    answer: Option<Vec<u8>>,
    /// Hash of the last answer.
    last: Option<u64>,
}

impl PortReader for ZtunnelReader {
    fn next(&mut self, now: i128) -> PortStep {
        let Some(answer) = self.answer.take() else {
            return PortStep::Get(PageRequest { port: 0, path: CONFIG_DUMP.to_owned() });
        };
        let mut hasher = DefaultHasher::new();
        answer.hash(&mut hasher);
        let hash = hasher.finish();
        if self.last.replace(hash) == Some(hash) {
            return PortStep::Dump(None);
        }
        let now = Timestamp::from_nanosecond(now).unwrap_or_default();
        PortStep::Dump(Some(
            [format!("{{\"at\": \"{now}\", \"ztunnel\": ").as_bytes(), &answer, b"}"].concat(),
        ))
    }

    fn take(&mut self, answer: PageAnswer) -> Result<(), PortFault> {
        let has = |name: &[u8]| memchr::memmem::find(&answer.body, name).is_some();
        if answer.status != 200 || !has(b"\"workloads\"") || !has(b"\"policies\"") {
            return Err(PortFault::other_service(CONFIG_DUMP, &answer, "the dump of a ztunnel"));
        }
        self.answer = Some(answer.body);
        Ok(())
    }

    fn restart(&mut self) {
        *self = ZtunnelReader::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_dumps_when_they_change() {
        let mut reader = ZtunnelReader::default();
        let mut round = |body: &str| {
            assert!(matches!(reader.next(0), PortStep::Get(_)));
            reader.take(PageAnswer { status: 200, body: body.into() })?;
            Ok::<_, PortFault>(reader.next(0))
        };
        let body = r#"{"workloads": {}, "services": {}, "policies": {}}"#;
        let wanted = format!("{{\"at\": \"1970-01-01T00:00:00Z\", \"ztunnel\": {body}}}");
        assert_eq!(round(body), Ok(PortStep::Dump(Some(wanted.into_bytes()))));
        assert_eq!(round(body), Ok(PortStep::Dump(None)));
        let fault = round(r#"{"configs": []}"#).expect_err("an Envoy");
        assert!(fault.is_other_service, "{fault}");
    }
}
