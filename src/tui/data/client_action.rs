//! Requests that the user makes a client send.

use std::sync::Arc;

use xdscope_present::json::type_word;
use xdscope_wire::event::TypeUrl;
use xdscope_wire::text::type_label;

/// A request that the user makes the client send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientAction {
    Subscribe {
        type_url: TypeUrl,
        name: String,
    },
    Unsubscribe {
        type_url: TypeUrl,
        name: String,
    },
    Wildcard {
        type_url: TypeUrl,
        wanted: bool,
    },
    Ack {
        type_url: TypeUrl,
        nonce: Arc<str>,
    },
    /// `text` is the message of `error_detail`.
    Nack {
        type_url: TypeUrl,
        nonce: Arc<str>,
        text: String,
    },
    Reconnect,
}

impl ClientAction {
    /// The action in words, for the question and the notice.
    pub fn words(&self) -> String {
        match self {
            ClientAction::Subscribe { type_url, name } => format!("subscribe {}/{name}", type_word(type_url)),
            ClientAction::Unsubscribe { type_url, name } => {
                format!("unsubscribe {}/{name}", type_word(type_url))
            }
            ClientAction::Wildcard { type_url, wanted: true } => {
                format!("subscribe {}/*", type_word(type_url))
            }
            ClientAction::Wildcard { type_url, wanted: false } => {
                format!("unsubscribe {}/*", type_word(type_url))
            }
            ClientAction::Ack { type_url, nonce } => {
                format!("ACK {} nonce {nonce}", type_label(type_url.as_str()))
            }
            ClientAction::Nack { type_url, nonce, text } => {
                format!("NACK {} nonce {nonce}: {text}", type_label(type_url.as_str()))
            }
            ClientAction::Reconnect => "end the stream and open another".to_owned(),
        }
    }
}
