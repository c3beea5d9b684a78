use std::collections::HashMap;
use std::sync::Arc;

use super::discovery::{Message, MessageBody, NodeInfo};
use crate::content::BlobId;
use crate::event::TypeUrl;

/// Type URLs that are shared. A source has about a dozen; a hostile one may have any number.
const MAX_SHARED_URLS: usize = 32;

/// Values that the messages of a source repeat, stored once.
///
/// Envoy's node is about 60 KB, and some clients send the node in each request.
#[derive(Default)]
pub struct SharedValues {
    nodes: HashMap<BlobId, Arc<NodeInfo>>,
    /// Most recently used first.
    urls: Vec<TypeUrl>,
}

impl SharedValues {
    /// Replaces the node and the type URL of a message by shared copies.
    pub fn share(&mut self, message: &mut Message) {
        match &mut message.body {
            MessageBody::SotwRequest(m) => {
                self.node(&mut m.node);
                self.url(&mut m.type_url);
            }
            MessageBody::DeltaRequest(m) => {
                self.node(&mut m.node);
                self.url(&mut m.type_url);
            }
            MessageBody::SotwResponse(m) => self.url(&mut m.type_url),
            MessageBody::DeltaResponse(m) => self.url(&mut m.type_url),
            MessageBody::Undecodable { .. } => {}
        }
    }

    fn node(&mut self, node: &mut Option<Arc<NodeInfo>>) {
        if let Some(node) = node
            && let Some(blob) = node.blob
        {
            node.clone_from(self.nodes.entry(blob).or_insert_with(|| node.clone()));
        }
    }

    fn url(&mut self, url: &mut TypeUrl) {
        match self.urls.iter().position(|known| known == url) {
            Some(0) => {}
            Some(at) => self.urls[..=at].rotate_right(1),
            None => {
                self.urls.truncate(MAX_SHARED_URLS - 1);
                self.urls.insert(0, url.clone());
            }
        }
        if let Some(known) = self.urls.first() {
            url.clone_from(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MessageShape;
    use crate::content::Catalog;
    use crate::pb::put_len_field;

    fn request(node: &str, url: &str, catalog: &mut Catalog) -> Message {
        let (mut id, mut bytes) = (Vec::new(), Vec::new());
        put_len_field(&mut id, 1, node.as_bytes());
        put_len_field(&mut bytes, 2, &id);
        put_len_field(&mut bytes, 4, url.as_bytes());
        Message::parse(MessageShape::SotwRequest, &bytes, catalog)
    }

    #[test]
    fn shares_nodes_and_type_urls() {
        let (mut shared, mut catalog) = (SharedValues::default(), Catalog::in_memory());
        let mut take = |node: &str, url: &str| {
            let mut message = request(node, url, &mut catalog);
            shared.share(&mut message);
            message
        };
        let (a, b, other) = (take("n", "t/A"), take("n", "t/A"), take("m", "t/B"));
        let node = |message: &Message| message.node().expect("a node").clone();
        assert!(Arc::ptr_eq(&node(&a), &node(&b)));
        assert_eq!((node(&a).id.as_str(), node(&other).id.as_str()), ("n", "m"));
        assert_eq!(a.type_url().as_str().as_ptr(), b.type_url().as_str().as_ptr());
        assert_eq!(other.type_url().as_str(), "t/B");
        for i in 0..100 {
            assert_eq!(take("n", &format!("t/{i}")).type_url().as_str(), format!("t/{i}"));
        }
        assert_eq!(take("n", "t/A").type_url().as_str(), "t/A");
        assert_eq!(shared.urls.len(), MAX_SHARED_URLS);
    }
}
