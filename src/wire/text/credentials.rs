//! Addresses of servers without credentials.

/// Returns the address of a server without user, password and query, which may be secrets.
///
/// User, password and query have no meaning in xDS. Paths of files stay as they are.
pub fn without_credentials(address: &str) -> String {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (&address[..scheme.len() + 3], rest),
        None => ("", address),
    };
    let is_server = !matches!(scheme, "file://") && !address.starts_with("unix:");
    let query = if is_server { rest.find(['?', '#']) } else { None };
    let end = query.unwrap_or(rest.len());
    let (authority, path) = rest[..end].split_at(rest[..end].find('/').unwrap_or(end));
    match authority.rsplit_once('@') {
        Some((_, host)) if is_server => format!("{scheme}{host}{path}"),
        _ => format!("{scheme}{authority}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_credentials() {
        for (text, wanted) in [
            ("https://me:pw@cp:1/a?token=x#y", "https://cp:1/a"),
            ("https://me@cp:1", "https://cp:1"),
            ("cp:1", "cp:1"),
            ("[::1]:1", "[::1]:1"),
            ("unix:/run/a@b?c", "unix:/run/a@b?c"),
            ("file:///a@b?c", "file:///a@b?c"),
            ("dir/a@b.xds", "dir/a@b.xds"),
            ("me:pw@cp:1", "cp:1"),
        ] {
            assert_eq!(without_credentials(text), wanted);
        }
    }
}
