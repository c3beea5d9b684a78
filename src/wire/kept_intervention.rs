use bytes::Bytes;

use super::content::Catalog;
use super::event::Dir;
use super::{Intervention, MessageBuilder, MessageShape};

impl Intervention {
    /// Returns the intervention with messages as a catalog keeps them, without secrets.
    ///
    /// Messages that are too long are left out.
    pub fn kept(self, catalog: &mut Catalog) -> Intervention {
        let is_delta = self.facts.is_delta;
        let mut kept = |dir: Dir, bytes: Option<Bytes>| {
            let bytes = bytes.filter(|bytes| bytes.len() <= Intervention::MAX_BYTES)?;
            let mut builder = MessageBuilder::new(MessageShape::new(is_delta, dir));
            builder.push(&bytes, catalog);
            builder.finish(catalog).ok()?.bytes(catalog).map(Bytes::from)
        };
        let (original, sent) = (kept(self.facts.dir, self.original), kept(self.sent_dir, self.sent));
        Intervention { original, sent, ..self }
    }
}
