//! A bearer token: read for each stream, sent as `authorization`, never shown.

use std::fmt;
use std::io::Read as _;
use std::path::PathBuf;

use super::kubectl::ServiceAccountToken;

/// The longest token, in bytes.
const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// The source of a token.
#[derive(Clone)]
pub enum Token {
    /// A file, which another process may rotate.
    File(PathBuf),
    /// The value of an environment variable.
    Text(String),
    /// A token of a service account, which kubectl renews.
    ServiceAccount(ServiceAccountToken),
}

/// Never prints the token.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::File(path) => write!(f, "Token({})", path.display()),
            Token::Text(_) => f.write_str("Token"),
            Token::ServiceAccount(token) => token.fmt(f),
        }
    }
}

impl Token {
    /// Returns the `authorization` header with the current token.
    ///
    /// # Errors
    /// The file cannot be read, or its content is not a token. The error does not contain it.
    pub fn header(&self) -> Result<(String, String), TokenError> {
        let (text, place) = match self {
            Token::Text(text) => (text.clone(), "the token".to_owned()),
            Token::ServiceAccount(token) => (token.text(), "the token of kubectl".to_owned()),
            Token::File(path) => {
                let place = format!("the token file {}", path.display());
                let mut text = String::new();
                let file = std::fs::File::open(path);
                let read = file.and_then(|file| file.take(MAX_TOKEN_BYTES + 1).read_to_string(&mut text));
                if let Err(error) = read {
                    return Err(TokenError::Read { place, error });
                }
                (text, place)
            }
        };
        match text.trim() {
            "" => Err(TokenError::Empty { place }),
            token if token.len() as u64 > MAX_TOKEN_BYTES => Err(TokenError::TooLong { place }),
            token if token.bytes().any(|byte| !byte.is_ascii_graphic()) => {
                Err(TokenError::NotAToken { place })
            }
            token => Ok(("authorization".into(), format!("Bearer {token}"))),
        }
    }
}

/// The reason why there is no token. Never contains the token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot read {place}: {error}")]
    Read { place: String, error: std::io::Error },
    #[error("{place} is empty")]
    Empty { place: String },
    #[error("{place} is too long for a token")]
    TooLong { place: String },
    #[error("{place} does not contain a token: it has spaces, line ends or characters other than ASCII")]
    NotAToken { place: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rereads_the_token_and_never_shows_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let token = Token::File(path.clone());
        assert!(token.header().unwrap_err().to_string().starts_with("cannot read the token file "));
        std::fs::write(&path, "one\n").unwrap();
        assert_eq!(token.header().unwrap().1, "Bearer one");
        std::fs::write(&path, "two").unwrap();
        assert_eq!(token.header().unwrap().1, "Bearer two");
        std::fs::write(&path, " \n").unwrap();
        assert!(token.header().unwrap_err().to_string().ends_with("is empty"));
        std::fs::write(&path, "se cret").unwrap();
        let error = token.header().unwrap_err().to_string();
        assert!(error.contains("does not contain a token") && !error.contains("cret"), "{error}");
        assert!(!format!("{:?}", Token::Text("secret".into())).contains("secret"));
    }
}
