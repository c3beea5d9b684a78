//! Resolves the imports of the source tree to files, and finds the files that import each other in
//! a circle.
//!
//! The reading is textual: `use` trees, and paths that begin with `crate`, `super`, `self` or a
//! child module. A name that a module re-exports leads to the file that defines it. A module and
//! the modules below it are one unit: the import of an item of a parent module is not counted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    let item = r"(?m)^(?:pub(?:\([^)]*\))? )?(?:async |const |unsafe )*(?:struct|enum|trait|type|fn|const|static|union|macro_rules!) (\w+)";
    Regex::new(item).expect("a pattern")
});
static IMPORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);").expect("a pattern"));
static INLINE_PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\w+(?:::\w+)+").expect("a pattern"));

/// The files that each file imports. Names as they are: the order of paths costs ten times as much.
type Imports<'a> = BTreeMap<&'a OsStr, BTreeSet<&'a OsStr>>;

/// The path of a module below the crate root, such as `["engine", "store"]`.
type ModulePath = Vec<String>;

/// Definitions and imports of one source file.
struct Module {
    file: PathBuf,
    definitions: BTreeSet<String>,
    /// Imported names with the absolute paths that they stand for.
    imports: BTreeMap<String, ModulePath>,
    /// Absolute paths that the file names anywhere.
    uses: BTreeSet<ModulePath>,
}

/// The modules of the crate, by path.
pub struct Modules {
    modules: BTreeMap<ModulePath, Module>,
}

impl Modules {
    /// Reads the modules from pairs of file (below `root`) and code without comments and tests.
    pub fn read(root: &Path, code: &[(PathBuf, String)]) -> Modules {
        let paths: Vec<_> = code.iter().map(|(file, _)| module_path(root, file)).collect();
        let known: BTreeSet<_> = paths.iter().cloned().collect();
        let mut modules = BTreeMap::new();
        for ((file, text), path) in code.iter().zip(&paths) {
            modules.insert(path.clone(), module(file, text, path, &known));
        }
        Modules { modules }
    }

    /// Returns the file that defines the item at `path`.
    fn file_of(&self, path: &[String], depth: usize) -> Option<&Path> {
        let mut at: ModulePath = Vec::new();
        for (index, part) in path.iter().enumerate() {
            at.push(part.clone());
            if self.modules.contains_key(&at) {
                continue;
            }
            at.pop();
            let module = self.modules.get(&at)?;
            if module.definitions.contains(part) {
                return Some(&module.file);
            }
            let Some(target) = module.imports.get(part).filter(|_| depth < 8) else {
                return Some(&module.file);
            };
            let rest = &path[index + 1..];
            return self.file_of(&[target.as_slice(), rest].concat(), depth + 1);
        }
        self.modules.get(&at).map(|module| module.file.as_path())
    }

    /// Returns the files that each file imports.
    fn edges(&self) -> Imports<'_> {
        let mut edges = Imports::new();
        for (path, module) in &self.modules {
            let above: Vec<_> = (0..path.len()).filter_map(|len| self.modules.get(&path[..len])).collect();
            let is_above = |file: &OsStr| above.iter().any(|module| module.file.as_os_str() == file);
            let own = module.file.as_os_str();
            let files = module.uses.iter().filter_map(|path| self.file_of(path, 0)).map(Path::as_os_str);
            edges.entry(own).or_default().extend(files.filter(|file| *file != own && !is_above(file)));
        }
        edges
    }

    /// Returns the groups of files that import each other, largest first.
    pub fn circles(&self) -> Vec<Vec<&OsStr>> {
        let edges = self.edges();
        let reach: BTreeMap<_, _> = edges.keys().map(|file| (*file, reachable(file, &edges))).collect();
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for (file, targets) in &reach {
            if !targets.contains(file) || !seen.insert(*file) {
                continue;
            }
            let circle: Vec<_> =
                targets.iter().copied().filter(|other| reach[other].contains(file)).collect();
            seen.extend(circle.iter().copied());
            circles.push(circle);
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }
}

fn reachable<'a>(from: &OsStr, edges: &Imports<'a>) -> BTreeSet<&'a OsStr> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<_> = edges[from].iter().copied().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(edges.get(file).into_iter().flatten());
        }
    }
    reached
}

fn module_path(root: &Path, file: &Path) -> ModulePath {
    let inner = file.strip_prefix(root).expect("below the root").with_extension("");
    let mut path: ModulePath = inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod" || path.len() == 1 && last == "lib") {
        path.pop();
    }
    path
}

fn module(file: &Path, text: &str, path: &ModulePath, known: &BTreeSet<ModulePath>) -> Module {
    let definitions = ITEM.captures_iter(text).map(|found| found[1].to_owned()).collect();
    let mut imports = BTreeMap::new();
    let mut uses = BTreeSet::new();
    for found in IMPORT.captures_iter(text) {
        for (leaf, name) in leaves(&found[1]) {
            if let Some(target) = absolute(&leaf, path, known) {
                imports.insert(name, target.clone());
                uses.insert(target);
            }
        }
    }
    for found in INLINE_PATH.find_iter(text) {
        let leaf: ModulePath = found.as_str().split("::").map(str::to_owned).collect();
        uses.extend(absolute(&leaf, path, known));
    }
    Module { file: file.to_owned(), definitions, imports, uses }
}

/// Expands a `use` tree into its paths, each with the name that it binds.
fn leaves(tree: &str) -> Vec<(ModulePath, String)> {
    let tree = tree.trim();
    if let Some((head, rest)) = tree.split_once('{') {
        let inner = rest.strip_suffix('}').unwrap_or(rest);
        let head: ModulePath =
            head.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let mut all = Vec::new();
        for part in parts(inner) {
            for (leaf, name) in leaves(part) {
                let is_self = leaf.len() == 1 && leaf[0] == "self";
                let name = if is_self { head.last().cloned().unwrap_or(name) } else { name };
                let tail = if is_self { Vec::new() } else { leaf };
                all.push(([head.clone(), tail].concat(), name));
            }
        }
        return all;
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
    let path: ModulePath = path.split("::").map(|part| part.trim().to_owned()).collect();
    let name =
        alias.map_or_else(|| path.last().cloned().unwrap_or_default(), |alias| alias.trim().to_owned());
    vec![(path, name)]
}

/// Splits the inside of a `use` group at its top-level commas.
fn parts(inner: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let split = inner.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    split.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Returns a path from the crate root, or nothing for a path into another crate.
fn absolute(leaf: &[String], path: &ModulePath, known: &BTreeSet<ModulePath>) -> Option<ModulePath> {
    let mut base = match leaf.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => path.clone(),
        "super" => path[..path.len().checked_sub(1)?].to_vec(),
        child => {
            let below = [path.as_slice(), &[child.to_owned()]].concat();
            return known.contains(&below).then(|| [path.as_slice(), leaf].concat());
        }
    };
    for part in &leaf[1..] {
        if part == "super" {
            base.pop();
        } else {
            base.push(part.clone());
        }
    }
    Some(base)
}
