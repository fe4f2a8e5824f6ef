//! The crates that an application gets with the library: each says about itself what a registry shows, carries the
//! licenses, and depends on published crates alone, by their version.

use super::Complaints;
use crate::publish::{Published, published};
use std::path::Path;

/// What the manifest of each has, of its own or from the workspace.
const KEYS: [&str; 9] = [
    "name",
    "description",
    "version",
    "edition",
    "rust-version",
    "license",
    "documentation",
    "keywords",
    "categories",
];

/// Files beside the manifest.
const FILES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// The rule on the repository at `root`.
pub fn check(root: &Path) -> Complaints {
    let Ok(workspace) = std::fs::read_to_string(root.join("Cargo.toml")) else {
        return vec!["Cargo.toml cannot be read".into()];
    };
    let all = published(root);
    let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
    let mut complaints = Complaints::new();
    for it in &all {
        complaints.extend(keys(it));
        complaints.extend(dependencies(it, &workspace, &names));
        let missing = FILES.iter().filter(|file| !it.directory.join(file).exists());
        complaints.extend(missing.map(|file| format!("{} has no {file}", it.name)));
    }
    complaints
}

/// Keys that are missing.
fn keys(it: &Published) -> Complaints {
    let section = it.manifest.split("\n[").next().unwrap_or_default();
    let has = |key: &str| section.lines().any(|line| of_key(line, key));
    let missing = KEYS.iter().filter(|key| !has(key));
    missing.map(|key| format!("{} is published without `{key}`", it.name)).collect()
}

/// Whether a line gives a value to `key`, or takes it from the workspace.
fn of_key(line: &str, key: &str) -> bool {
    let rest = line.strip_prefix(key).unwrap_or_default();
    rest.starts_with(" =") || rest.starts_with(".workspace =")
}

/// Dependencies on our crates that no registry can resolve.
fn dependencies(it: &Published, workspace: &str, names: &[&str]) -> Complaints {
    let sections = it.manifest.split("\n[");
    let normal = sections.filter_map(|section| section.strip_prefix("dependencies]"));
    let ours = normal.flat_map(str::lines).filter(|line| line.starts_with("chiliad"));
    let mut complaints = Complaints::new();
    for line in ours {
        let name = line.split([' ', '.', '=']).next().unwrap_or_default();
        if !names.contains(&name) {
            complaints.push(format!("{} depends on {name}, which is not published", it.name));
        }
        let inherits = line.contains("workspace = true");
        let declared = workspace.lines().find(|line| of_key(line, name)).unwrap_or_default();
        let place = if inherits { declared } else { line };
        if !place.contains("version = ") {
            complaints.push(format!("{} depends on {name} without a version", it.name));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(manifest: &str) -> Published {
        Published { name: "chiliad-a".into(), directory: "a".into(), manifest: manifest.into() }
    }

    #[test]
    fn a_missing_key_is_told() {
        let complete: String = KEYS.map(|key| format!("{key}.workspace = true\n")).concat();
        assert!(keys(&crate_of(&complete)).is_empty());
        let without = complete.replace("license.workspace = true\n", "");
        assert_eq!(keys(&crate_of(&without)), ["chiliad-a is published without `license`"]);
        let elsewhere = without + "\n[lints]\nlicense.workspace = true\n";
        assert_eq!(keys(&crate_of(&elsewhere)).len(), 1);
    }

    #[test]
    fn a_dependency_that_no_registry_has_is_told() {
        let workspace =
            "chiliad-b = { version = \"1\", path = \"b\" }\nchiliad-c = { path = \"c\" }\n";
        let told = |line: &str| {
            let manifest =
                format!("[package]\n\n[dependencies]\n{line}\n\n[dev-dependencies]\nchiliad-d = 1");
            dependencies(&crate_of(&manifest), workspace, &["chiliad-b", "chiliad-c"]).len()
        };
        assert_eq!(told("chiliad-b.workspace = true"), 0);
        assert_eq!(told("chiliad-b = { workspace = true, optional = true }"), 0);
        assert_eq!(told("chiliad-c.workspace = true"), 1);
        assert_eq!(told("chiliad-e = { version = \"1\", path = \"e\" }"), 1);
        assert_eq!(told("chiliad-b = { path = \"b\" }"), 1);
    }
}
