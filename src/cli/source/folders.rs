//! Folders of `xdstp` names, by the segments of their paths (docs/protocol.md#k-05).

use std::collections::HashMap;

use xdscope_engine::store::ResourceFact;

/// A line of a tree.
pub(crate) enum Item<'a> {
    /// A common beginning of several names, up to a `/`.
    Folder(String, Vec<Item<'a>>),
    /// A resource, and its name below the folder.
    Resource(String, &'a ResourceFact),
}

/// Folders within folders; names below are not split any more.
const MAX_DEPTH: usize = 32;

/// A name, or its rest below a folder, and the resource.
type Named<'a> = (&'a str, &'a ResourceFact);

/// Sorts resources into folders. Names that are no `xdstp` names stay as they are, and a folder has
/// at least two names.
pub(crate) fn folders(facts: &[ResourceFact]) -> Vec<Item<'_>> {
    let (structured, plain): (Vec<Named<'_>>, Vec<_>) =
        facts.iter().map(|fact| (&*fact.name, fact)).partition(|(name, _)| name.starts_with("xdstp://"));
    let mut items = below(&structured, 0);
    items.extend(plain.into_iter().map(|(name, fact)| Item::Resource(name.to_owned(), fact)));
    items
}

/// The end of the next folder of a name, 0 if there is none. The first one is `xdstp://`, the
/// authority and the type.
fn end_of_folder(name: &str, depth: usize) -> usize {
    let path = name.split('?').next().unwrap_or(name);
    let nth = if depth == 0 { 3 } else { 0 };
    path.match_indices('/').nth(nth).map_or(0, |(at, _)| at + 1)
}

/// Sorts names into folders, in the order of their first names.
fn below<'a>(names: &[Named<'a>], depth: usize) -> Vec<Item<'a>> {
    let mut groups: Vec<(&str, Vec<Named<'a>>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, fact) in names {
        let (folder, rest) = name.split_at(if depth < MAX_DEPTH { end_of_folder(name, depth) } else { 0 });
        let known = places.get(folder).and_then(|at| groups.get_mut(*at));
        match known {
            Some((_, group)) => group.push((rest, fact)),
            None => {
                if !folder.is_empty() {
                    places.insert(folder, groups.len());
                }
                groups.push((folder, vec![(rest, fact)]));
            }
        }
    }
    groups.into_iter().map(|(folder, group)| item(folder, &group, depth)).collect()
}

/// The item of the names below a folder.
fn item<'a>(folder: &str, group: &[Named<'a>], depth: usize) -> Item<'a> {
    if let [(rest, fact)] = group {
        return Item::Resource(format!("{folder}{rest}"), fact);
    }
    let mut items = below(group, depth + 1);
    match (items.len(), items.pop()) {
        // A folder with nothing but a folder is one with it.
        (1, Some(Item::Folder(name, items))) => Item::Folder(format!("{folder}{name}"), items),
        (_, last) => {
            items.extend(last);
            Item::Folder(folder.to_owned(), items)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::tests::run;

    fn tree(names: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("names.xds");
        let quoted: Vec<String> = names.split(' ').map(|name| format!("\"{name}\"")).collect();
        let sent: Vec<String> = quoted.iter().map(|name| format!("{name}@1")).collect();
        let script = format!(
            "node n\nstream 1 delta eds\n> sub=[{}]\n< n=1 [{}]\n> n=1\n",
            quoted.join(" "),
            sent.join(" ")
        );
        std::fs::write(&file, script).expect("written");
        run(&["get", file.to_str().expect("a path"), "-o", "tree"]).out
    }

    #[test]
    fn sorts_structured_names_by_their_paths() {
        let root = "xdstp://a/envoy.config.endpoint.v3.ClusterLoadAssignment/";
        let names = ["x/y/z", "x/y/w", "x/q", "o//p/", "k?a=b/c"].map(|id| format!("{root}{id}"));
        let shown = tree(&format!("{} plain/name", names.join(" ")));
        let wanted = format!(
            "EDS  6\n├─ {root}\n│  ├─ x/\n│  │  ├─ y/\n│  │  │  ├─ z  1  present\n│  │  │  └─ w  1  present\n\
             │  │  └─ q  1  present\n│  ├─ o//p/  1  present\n│  └─ k?a=b/c  1  present\n\
             └─ plain/name  1  present\n"
        );
        assert_eq!(shown, wanted);
    }

    #[test]
    fn common_beginnings_are_one_folder() {
        let root = "xdstp://a/envoy.config.endpoint.v3.ClusterLoadAssignment/";
        let shown = tree(&format!("{root}a/b/1 {root}a/b/2"));
        let wanted = format!("EDS  2\n└─ {root}a/b/\n   ├─ 1  1  present\n   └─ 2  1  present\n");
        assert_eq!(shown, wanted);
    }
}
