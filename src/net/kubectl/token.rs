//! A token of a service account, which kubectl asks for and renews before its end.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::command::Kubectl;
use super::failure::Failure;
use crate::net::lock;

/// The life of a token that is asked for.
const DURATION: &str = "1h";

/// The age at which a token is renewed. The API server may grant a shorter life, of 10 minutes at
/// least.
const RENEW_AFTER: Duration = Duration::from_secs(8 * 60);

/// The pause after a token could not be renewed.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Interval at which the thread that renews looks whether the token is still wanted.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A token of a service account. It is never shown.
#[derive(Clone)]
pub struct ServiceAccountToken(Arc<TokenState>);

struct TokenState {
    kubectl: Kubectl,
    namespace: String,
    account: String,
    audience: String,
    text: Mutex<String>,
}

impl ServiceAccountToken {
    /// Asks for a token, and renews it on a thread until it is dropped.
    ///
    /// # Errors
    /// kubectl gives none.
    pub fn new(
        kubectl: Kubectl,
        namespace: &str,
        account: &str,
        audience: &str,
    ) -> Result<ServiceAccountToken, Failure> {
        let shared = TokenState {
            kubectl,
            namespace: namespace.to_owned(),
            account: account.to_owned(),
            audience: audience.to_owned(),
            text: Mutex::default(),
        };
        *lock(&shared.text) = shared.asked(&|| false)?;
        let shared = Arc::new(shared);
        let renewed = Arc::downgrade(&shared);
        std::thread::spawn(move || renew(&renewed));
        Ok(ServiceAccountToken(shared))
    }

    /// Returns the current token.
    pub(in crate::net) fn text(&self) -> String {
        lock(&self.0.text).clone()
    }

    /// Returns the command that shows whether the user may have the token.
    pub fn command(&self) -> String {
        let TokenState { namespace, account, audience, .. } = &*self.0;
        format!("kubectl create token {account} -n {namespace} --audience {audience}")
    }
}

impl TokenState {
    fn asked(&self, is_over: &dyn Fn() -> bool) -> Result<String, Failure> {
        let args = [
            "create",
            "token",
            &self.account,
            &format!("--audience={}", self.audience),
            &format!("--duration={DURATION}"),
        ]
        .map(str::to_owned);
        let answer = self.kubectl.answer(Some(&self.namespace), &args, is_over)?;
        // The answer is not shown: it may be a token with something around it.
        let text = String::from_utf8(answer).unwrap_or_default().trim().to_owned();
        match text.is_empty() || text.bytes().any(|byte| !byte.is_ascii_graphic()) {
            true => Err(Failure::new("create token", "the answer is not a token".to_owned())),
            false => Ok(text),
        }
    }
}

/// Renews a token until nobody has it any more.
fn renew(shared: &Weak<TokenState>) {
    let mut at = Instant::now() + RENEW_AFTER;
    loop {
        std::thread::sleep(LOOK_INTERVAL);
        let Some(token) = shared.upgrade() else { return };
        if Instant::now() < at {
            continue;
        }
        at = Instant::now() + RENEW_AFTER;
        match token.asked(&|| Weak::strong_count(shared) <= 1) {
            Ok(text) => *lock(&token.text) = text,
            Err(failure) => {
                tracing::warn!("cannot renew the token: {failure}");
                at = Instant::now() + RETRY_AFTER;
            }
        }
    }
}

/// Never prints the token.
impl fmt::Debug for ServiceAccountToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceAccountToken({}/{})", self.0.namespace, self.0.account)
    }
}
