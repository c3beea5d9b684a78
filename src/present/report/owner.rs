//! Texts about the owners of a resource.

use crate::text::shell_word;
use xdscope_schema::owners::Owner;

/// Returns the first owner and the number of others: `VirtualService shop/reviews +2`. Empty
/// without owners.
pub fn owners(owners: &[Owner]) -> String {
    match owners {
        [] => String::new(),
        [owner] => owner.to_string(),
        [owner, others @ ..] => format!("{owner} +{}", others.len()),
    }
}

/// Returns the command that shows an owner: `kubectl get virtualservice -n shop reviews -o yaml`.
pub fn owner_command(owner: &Owner) -> String {
    let kind = owner.kind.to_lowercase();
    let place = match owner.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" -n {}", shell_word(namespace)),
    };
    format!("kubectl get {}{place} {} -o yaml", shell_word(&kind), shell_word(&owner.name))
}

#[cfg(test)]
mod tests {
    use xdscope_schema::owners::OwnerSource;

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
        let command = owner_command(&owner("shop", "reviews"));
        assert_eq!(command, "kubectl get virtualservice -n shop reviews -o yaml");
        assert_eq!(owner_command(&owner("", "a;rm")), "kubectl get virtualservice 'a;rm' -o yaml");
    }
}
