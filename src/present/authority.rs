//! Texts on the lookup of authorities.

use xdscope_schema::links::AuthorityLookup;

/// Describes the lookup of the server for an `xdstp://` name.
pub fn authority_text(lookup: &AuthorityLookup) -> String {
    match lookup {
        AuthorityLookup::ConfigSource { authority } => {
            format!("through the config source, which lists authority `{authority}`")
        }
        AuthorityLookup::Bootstrap { authority } if authority.is_empty() => {
            "through the empty authority of the bootstrap".to_owned()
        }
        AuthorityLookup::Bootstrap { authority } => {
            format!("through authority `{authority}` of the bootstrap")
        }
    }
}
