//! Files of a crate that import each other in a circle: their number can only fall.
//!
//! An edge leads from a file to the file that defines what it names: through re-exports, and also where it writes a
//! path without importing it. A module and its direct children that form a small circle are one idea in several files,
//! and are not counted.

use super::Complaints;
use super::sources::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Files in circles, by crate, in the order of the crates' names. A crate that is not listed has none.
const KNOWN: &[(&str, usize)] = &[("crates/server/src", 5), ("crates/sql/src", 22)];

/// A module and its children that form a circle are one idea up to so many files.
const ONE_IDEA: usize = 5;

/// A path of modules, from the root of the crate.
type Module = Vec<String>;

/// What each file of a crate names.
#[derive(Default)]
struct Crate {
    /// Paths as they are written.
    names: BTreeMap<Module, Vec<String>>,
    /// What a file has under a name of its own: path by name.
    imports: BTreeMap<Module, BTreeMap<String, String>>,
}

/// Complains about crates with more files in circles than are known, and with fewer, so that the list is kept.
pub fn grown(sources: &[Source]) -> Complaints {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_product()) {
        let Some((room, module)) = place(&source.path) else { continue };
        crates.entry(room).or_default().add(module, &source.code);
    }
    let mut complaints = Vec::new();
    for (room, files) in crates {
        let circles = files.circles();
        let count: usize = circles.iter().map(Vec::len).sum();
        let known = KNOWN.iter().find(|it| it.0 == room).map_or(0, |it| it.1);
        if count != known {
            let shown: Vec<String> = circles.iter().map(|it| it.join(", ")).collect();
            let shown = shown.join("; ");
            complaints.push(format!(
                "{room}: {count} files import each other in circles, {known} are known \
                 (xtask/src/tidy/circles.rs): {shown}"
            ));
        }
    }
    complaints
}

/// The crate of a file, by its folder of sources, and its module.
fn place(path: &str) -> Option<(String, Module)> {
    let (room, inner) = match path.strip_prefix("src/") {
        Some(inner) => ("src".to_owned(), inner),
        None => {
            let (room, inner) = path.strip_prefix("crates/")?.split_once("/src/")?;
            (format!("crates/{room}/src"), inner)
        }
    };
    let mut module: Module = inner.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    (module.last().map(String::as_str) != Some("models")).then_some((room, module))
}

impl Crate {
    fn add(&mut self, module: Module, code: &str) {
        let (mut names, mut imports) = (Vec::new(), BTreeMap::new());
        let mut body = String::new();
        let mut rest = code;
        while let Some(found) = next_use(rest) {
            body.push_str(found.before);
            for (path, name) in expand(&found.tree) {
                // A list of re-exports is no use of what it lists.
                if !found.exports {
                    names.push(path.clone());
                }
                imports.insert(name, path);
            }
            rest = found.after;
        }
        body.push_str(rest);
        names.extend(paths(&body));
        self.names.insert(module.clone(), names);
        self.imports.insert(module, imports);
    }

    /// Circles that are more than one idea, as names of files.
    fn circles(&self) -> Vec<Vec<String>> {
        let edges: BTreeMap<&Module, BTreeSet<&Module>> = self
            .names
            .iter()
            .map(|(module, names)| {
                let targets = names.iter().filter_map(|name| {
                    self.resolve(self.absolute(module, name)?, 0).filter(|it| *it != module)
                });
                (module, targets.collect())
            })
            .collect();
        let reach: BTreeMap<&Module, BTreeSet<&Module>> =
            edges.keys().map(|module| (*module, reached(&edges, module))).collect();
        let mut left: BTreeSet<&Module> = edges.keys().copied().collect();
        let mut circles = Vec::new();
        while let Some(module) = left.pop_first() {
            let circle: Vec<&Module> = reach[module]
                .iter()
                .copied()
                .filter(|it| *it != module && reach[it].contains(module))
                .chain([module])
                .collect();
            for member in &circle {
                left.remove(member);
            }
            if circle.len() > 1 && !is_one_idea(&circle) {
                circles.push(circle.iter().map(|it| it.join("/")).collect());
            }
        }
        circles
    }

    /// A path from the root of the crate; `None` for one that leads out of it.
    fn absolute(&self, module: &Module, path: &str) -> Option<Module> {
        let mut parts = path.split("::").map(str::trim).peekable();
        let mut base = match *parts.peek()? {
            "crate" => {
                parts.next();
                Vec::new()
            }
            "self" => {
                parts.next();
                module.clone()
            }
            "super" => module.clone(),
            first => {
                let mut child = module.clone();
                child.push(first.to_owned());
                self.names.contains_key(&child).then(|| module.clone())?
            }
        };
        while parts.next_if_eq(&"super").is_some() {
            base.pop();
        }
        base.extend(parts.map(str::to_owned));
        Some(base)
    }

    /// The file that defines what a path leads to.
    fn resolve(&self, path: Module, depth: usize) -> Option<&Module> {
        let (module, rest) = (0..=path.len()).rev().find_map(|length| {
            let (module, _) = self.names.get_key_value(&path[..length])?;
            Some((module, &path[length..]))
        })?;
        let import = rest.first().and_then(|name| self.imports[module].get(name));
        match import {
            Some(import) if depth < 8 => {
                let mut further = self.absolute(module, import)?;
                further.extend(rest[1..].iter().cloned());
                self.resolve(further, depth + 1)
            }
            _ => Some(module),
        }
    }
}

/// All that a module leads to.
fn reached<'a>(
    edges: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
    from: &'a Module,
) -> BTreeSet<&'a Module> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        open.extend(edges[module].iter().copied().filter(|it| reached.insert(*it)));
    }
    reached
}

/// Whether a circle is of a module and its direct children, and small.
fn is_one_idea(circle: &[&Module]) -> bool {
    let Some(parent) = circle.iter().min_by_key(|it| it.len()) else { return false };
    let is_near = |it: &&&Module| {
        it == &parent || it.len() == parent.len() + 1 && it.starts_with(parent.as_slice())
    };
    !parent.is_empty() && circle.len() <= ONE_IDEA && circle.iter().all(|it| is_near(&it))
}

/// A `use`, and what stands around it.
struct Use<'a> {
    before: &'a str,
    tree: String,
    /// Others see what it imports.
    exports: bool,
    after: &'a str,
}

/// The next `use` of some code.
fn next_use(code: &str) -> Option<Use<'_>> {
    let mut offset = 0;
    for line in code.split_inclusive('\n') {
        let bare = line.trim_start();
        let (exports, bare) = match bare.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => {
                (true, rest.split_once(')').map_or("", |it| it.1))
            }
            Some(rest) => (true, rest),
            None => (false, bare),
        };
        if let Some(first) = bare.trim_start().strip_prefix("use ") {
            let begin = offset + line.len() - first.len();
            let end = begin + code[begin..].find(';')?;
            let tree = code[begin..end].split_whitespace().collect::<Vec<_>>().join(" ");
            return Some(Use { before: &code[..offset], tree, exports, after: &code[end + 1..] });
        }
        offset += line.len();
    }
    None
}

/// The paths of a `use`, each with the name that it gets.
fn expand(tree: &str) -> Vec<(String, String)> {
    let tree = tree.trim();
    let Some((prefix, list)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let last = path.rsplit("::").next().unwrap_or(path);
        let name = if name.is_empty() { last } else { name };
        return vec![(path.to_owned(), name.to_owned())];
    };
    let list = list.strip_suffix('}').unwrap_or(list);
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, sign) in list.char_indices().chain([(list.len(), ',')]) {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                for (path, name) in expand(&list[start..at]) {
                    if path == "self" {
                        let module = prefix.trim_end_matches("::");
                        let last = module.rsplit("::").next().unwrap_or(module);
                        found.push((module.to_owned(), last.to_owned()));
                    } else if !path.is_empty() {
                        found.push((format!("{prefix}{path}"), name));
                    }
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// Paths in a file's code.
fn paths(code: &str) -> impl Iterator<Item = String> {
    let words = code.split(|sign: char| !(sign.is_alphanumeric() || "_:".contains(sign)));
    words.filter(|word| word.contains("::")).map(|word| word.trim_matches(':').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let mut room = Crate::default();
        for (path, code) in files {
            room.add(place(path).expect("a file of a crate").1, code);
        }
        room.circles()
    }

    #[test]
    fn a_circle_through_a_re_export_is_found() {
        let files = [
            ("crates/x/src/lib.rs", "mod a; mod b;\npub use b::B;\n"),
            ("crates/x/src/a.rs", "use crate::{B, c};\n"),
            ("crates/x/src/b.rs", "fn f() { crate::a::g() }\n"),
            ("crates/x/src/c.rs", "use crate::a;\n"),
        ];
        assert_eq!(circles(&files), [["b", "c", "a"]]);
        assert_eq!(circles(&files[..2]), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_module_and_its_children_are_one_idea() {
        let files = [
            ("crates/x/src/a/mod.rs", "use self::b::B;\n"),
            ("crates/x/src/a/b.rs", "use super::A;\n"),
        ];
        assert_eq!(circles(&files), Vec::<Vec<String>>::new());
    }
}
