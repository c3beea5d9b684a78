//! A viewer: asks a run for its session.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::{Code, Status};

use super::messages::{Event, FollowRequest, FollowResponse};
use super::{HEARTBEAT_INTERVAL, MAX_CONTENT_BYTES, PATH};
use crate::net::client::DialError;
use crate::net::dial::{self, Dial, HeaderError};
use crate::net::own_secrets::OwnSecrets;
use crate::net::rpc;
use crate::net::tls::ClientTls;
use crate::net::token::{Token, TokenError};
use crate::net::transport::Address;

/// The longest silence of a run.
const MAX_SILENCE: Duration = HEARTBEAT_INTERVAL.saturating_mul(4);

/// A run, and how to reach it.
#[derive(Clone)]
pub struct AttachOptions {
    pub address: Address,
    /// `None`: plaintext.
    pub tls: Option<Arc<ClientTls>>,
    /// The HTTP/2 `:authority` to use instead of the address.
    pub authority: Option<String>,
    pub headers: Vec<(String, String)>,
    pub token: Option<Token>,
    /// The timeout of each step of connecting.
    pub timeout: Duration,
}

/// The reason why a viewer gets nothing more.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("{}", .0.what)]
    Dial(DialError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{address} refuses viewers: {what}")]
    Refused { address: Address, code: Code, what: String },
    #[error("the connection to {address} is lost: {what}")]
    Lost { address: Address, what: String },
}

fn words(status: &Status) -> String {
    let text = dial::causes(status);
    if text.is_empty() { status.code().to_string() } else { text }
}

impl AttachError {
    /// Whether another attempt can succeed without another request.
    pub fn may_pass(&self) -> bool {
        match self {
            AttachError::Dial(_) | AttachError::Token(_) | AttachError::Lost { .. } => true,
            AttachError::Header(_) => false,
            AttachError::Refused { code, .. } => {
                matches!(code, Code::Unavailable | Code::ResourceExhausted)
            }
        }
    }

    /// Whether the run wants another token or certificate.
    pub fn is_denied(&self) -> bool {
        match self {
            AttachError::Refused { code, .. } => {
                matches!(code, Code::Unauthenticated | Code::PermissionDenied)
            }
            _ => false,
        }
    }
}

/// Passes the session of a run to `on` as it is written, until the run ends or `on` breaks.
///
/// # Errors
/// The run cannot be reached, refuses the viewer, or is lost.
pub async fn follow(
    options: &AttachOptions,
    request: &FollowRequest,
    mut on: impl FnMut(Event) -> ControlFlow<()>,
) -> Result<(), AttachError> {
    let AttachOptions { address, tls, authority, headers, token, timeout: step } = options;
    let mut headers = headers.clone();
    if let Some(token) = token {
        headers.push(token.header()?);
    }
    let metadata = dial::metadata(&headers)?;
    let dial = Dial { address, tls: tls.as_deref(), authority: authority.as_deref(), timeout: *step };
    let (channel, _) = dial.connect(|endpoint| endpoint).await.map_err(AttachError::Dial)?;
    let lost = |what: &str| AttachError::Lost { address: address.clone(), what: what.to_owned() };
    // A run may repeat what it was sent.
    let words = |status: &Status| OwnSecrets::new(&headers).clean(words(status));
    let refused = |status: Status| AttachError::Refused {
        address: address.clone(),
        code: status.code(),
        what: words(&status),
    };
    let (send, requests) = mpsc::channel(1);
    // The receiver is in scope.
    let _ = send.send(request.encode_to_vec().into()).await;
    let opened = timeout(MAX_SILENCE, rpc::open_with(channel, PATH, metadata, requests)).await;
    let mut responses = opened.map_err(|_| lost("no answer"))?.map_err(refused)?;
    let mut has_answered = false;
    loop {
        let next = timeout(MAX_SILENCE, responses.message()).await;
        let next = next.map_err(|_| lost("silence"))?;
        let bytes = match next {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(lost("the run ended without its last messages")),
            Err(status) if has_answered => return Err(lost(&words(&status))),
            Err(status) => return Err(refused(status)),
        };
        has_answered = true;
        let Ok(FollowResponse { event: Some(event) }) = FollowResponse::decode(bytes) else {
            // An event of a later version.
            continue;
        };
        if let Event::Content(content) = &event
            && content.bytes.len() > 8 * MAX_CONTENT_BYTES
        {
            return Err(lost("a response is larger than the protocol allows"));
        }
        let has_ended = matches!(event, Event::Ended(_));
        if on(event).is_break() || has_ended {
            return Ok(());
        }
    }
}
