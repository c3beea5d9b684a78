//! The headers that a tap can be told to change.

use crate::net::dial;
use xdscope_wire::h2::Changes;

/// The reason why a header cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub struct NoChange {
    /// The message, without values: they may be secrets.
    pub what: String,
    /// The flags to use instead.
    pub next: &'static str,
}

/// Returns why a header (in lower case) cannot be changed, and what to do instead.
fn fixed(name: &str) -> Option<(&'static str, &'static str)> {
    const OWN: &str = "omit it: the client's own header is passed on";
    match name {
        "host" => Some(("in HTTP/2 it is :authority", "--authority HOST:PORT")),
        "te" => Some(("in HTTP/2 it can only say `trailers`, which gRPC clients do", OWN)),
        "content-length" => Some(("it is the length of what the client sends", OWN)),
        "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => {
            Some(("HTTP/2 forbids it", "omit it: it would break every request"))
        }
        _ => None,
    }
}

/// Returns the changes to each request; `None` where there are none.
///
/// # Errors
/// The first header that is not valid or cannot be changed.
pub fn changes(authority: Option<&str>, headers: &[(String, String)]) -> Result<Option<Changes>, NoChange> {
    if let Some(authority) = authority
        && authority.parse::<http::uri::Authority>().is_err()
    {
        return Err(NoChange {
            what: format!("not an authority: `{authority}`"),
            next: "--authority HOST:PORT",
        });
    }
    dial::metadata(headers)
        .map_err(|error| NoChange { what: error.to_string(), next: "-H 'name: value'" })?;
    let mut lower = Vec::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        if let Some((why, next)) = fixed(&name) {
            return Err(NoChange { what: format!("-H cannot change `{name}`: {why}"), next });
        }
        lower.push((name, value.clone()));
    }
    let authority = authority.map(str::to_owned);
    let nothing = authority.is_none() && lower.is_empty();
    Ok((!nothing).then_some(Changes { authority, headers: lower }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Result<Option<Changes>, NoChange> {
        changes(None, &[(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn lowercases_header_names() {
        let headers = vec![("x-tenant".to_owned(), "A b".to_owned())];
        assert_eq!(of("X-Tenant", "A b"), Ok(Some(Changes { authority: None, headers })));
        let authority = Some("cp.mesh:15010".to_owned());
        let wanted = Changes { authority: authority.clone(), headers: Vec::new() };
        assert_eq!(changes(authority.as_deref(), &[]), Ok(Some(wanted)));
        assert_eq!(changes(None, &[]), Ok(None));
    }

    #[test]
    fn rejects_invalid_headers_without_showing_values() {
        let secret = "hunter2-hunter2";
        for name in ["TE", "connection", "Content-Length", "host", "x y", "", ":path", "trace-bin"] {
            let error = of(name, secret).expect_err(name);
            assert!(!format!("{error:?}").contains(secret), "{error:?}");
        }
        let error = of("x-token", &format!("{secret}\n")).expect_err("a line end");
        assert_eq!(error.what, "the value of `x-token` has characters other than visible ASCII");
        assert!(changes(Some("a b"), &[]).is_err_and(|error| error.what == "not an authority: `a b`"));
    }
}
