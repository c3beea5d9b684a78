//! Texts about the owners of a resource.

use crate::text::shell_word;
use xdscope_schema::owners::{Owner, OwnerSource};

/// Returns the first owner and the number of others: `VirtualService shop/reviews +2`. Empty
/// without owners.
pub fn owners(owners: &[Owner]) -> String {
    match owners {
        [] => String::new(),
        [owner] => owner.to_string(),
        [owner, others @ ..] => format!("{owner} +{}", others.len()),
    }
}

/// Returns `; owner VirtualService shop/reviews +2`, to append to a sentence. Empty without owners.
pub fn owner_clause(list: &[Owner]) -> String {
    match list {
        [] => String::new(),
        list => format!("; owner {}", owners(list)),
    }
}

/// Returns an owner, and the command that shows the object:
/// `VirtualService shop/reviews   kubectl get virtualservice -n shop reviews -o yaml`. An owner
/// that is a guess has no command: the object may have another name, or not exist.
pub fn owner_line(owner: &Owner) -> String {
    match kubectl_command(owner) {
        Some(command) => format!("{owner}   {command}"),
        None => owner.to_string(),
    }
}

/// Returns the command that shows an object; `None` if the object is a guess.
pub fn kubectl_command(owner: &Owner) -> Option<String> {
    if owner.source == OwnerSource::Name {
        return None;
    }
    let kind = owner.kind.to_lowercase();
    let place = match owner.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" -n {}", shell_word(namespace)),
    };
    Some(format!("kubectl get {}{place} {} -o yaml", shell_word(&kind), shell_word(&owner.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(namespace: &str, name: &str) -> Owner {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Owner { kind: "VirtualService".to_owned(), namespace, name, source: OwnerSource::Metadata }
    }

    #[test]
    fn first_owner_stands_for_the_others() {
        let list = [owner("shop", "reviews"), owner("shop", "ratings"), owner("", "all")];
        assert_eq!(owners(&[]), "");
        assert_eq!(owners(&list[..1]), "VirtualService shop/reviews");
        assert_eq!(owners(&list), "VirtualService shop/reviews +2");
    }

    #[test]
    fn command_is_safe_to_paste() {
        let line = owner_line(&owner("shop", "reviews"));
        let command = "kubectl get virtualservice -n shop reviews -o yaml";
        assert_eq!(line, format!("VirtualService shop/reviews   {command}"));
        let line = owner_line(&owner("", "a;rm"));
        assert_eq!(line, "VirtualService a;rm   kubectl get virtualservice 'a;rm' -o yaml");
        let guess = Owner { source: OwnerSource::Name, ..owner("shop", "reviews") };
        assert_eq!(owner_line(&guess), "VirtualService shop/reviews?");
    }
}
