//! Types that are no columns and no parts of keys: of each the compiler says one thing, at the field, with what is accepted.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// What the compiler says of a program that was refused: its first line, where it points, and all of it.
#[derive(Debug)]
struct Complaint {
    message: String,
    line: usize,
    column: usize,
    text: String,
}

/// A complaint that the program announces after `//~`.
#[derive(Debug, PartialEq)]
struct Announced<'a> {
    line: usize,
    message: &'a str,
}

/// Compiles a program with this library, and returns what is said to standard error.
fn compile(source: &Path, library: &Path) -> String {
    let directory = library.parent().expect("it lies in a directory");
    let output = env::temp_dir().join(format!("chiliad-refused-{}.rmeta", std::process::id()));
    let compiler = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut command = Command::new(compiler);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata"]);
    command.arg("-L").arg(format!("dependency={}", directory.display()));
    command.arg("--extern").arg(format!("chiliad={}", library.display()));
    let result = command.arg("-o").arg(&output).arg(source).output().expect("a compiler");
    let _ = fs::remove_file(output);
    String::from_utf8(result.stderr).expect("text")
}

fn changed(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|it| it.modified()).expect("a file")
}

/// The library that this program was linked with. There may be others beside it, of other features or earlier: it is the
/// newest one that is no newer than the program and has all features.
fn library(accepted: &Path) -> PathBuf {
    let program = env::current_exe().expect("this program");
    let directory = program.parent().expect("it lies in a directory");
    let files = fs::read_dir(directory).expect("a directory").flatten().map(|file| file.path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libchiliad-") && name.ends_with(".rlib")
    };
    let mut libraries: Vec<PathBuf> = files.filter(is_library).collect();
    libraries.retain(|path| changed(path) <= changed(&program));
    libraries.sort_by_key(|path| std::cmp::Reverse(changed(path)));
    let mut said = String::new();
    for path in libraries {
        said = compile(accepted, &path);
        if said.is_empty() {
            return path;
        }
    }
    panic!("no library in {} has all features: {said}", directory.display());
}

/// The errors, apart from the last, which counts them.
fn complaints(said: &str) -> Vec<Complaint> {
    let blocks = said.split("\n\n").filter(|block| !block.starts_with("error: aborting"));
    let complaint = |block: &str| {
        let mut lines = block.lines();
        let first = lines.next()?;
        let (_, message) = first.split_once("]: ").unwrap_or(("", first));
        let mut place = lines.next()?.rsplit(':');
        let column = place.next()?.parse().ok()?;
        let line = place.next()?.parse().ok()?;
        Some(Complaint { message: message.into(), line, column, text: block.into() })
    };
    let mut all: Vec<_> = blocks.filter_map(complaint).collect();
    all.sort_by_key(|it| (it.line, it.column));
    all
}

#[test]
fn a_type_that_is_refused_is_told_once_and_where_it_stands() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/facade/refused");
    let library = library(&directory.join("accepted.rs"));
    let path = directory.join("types.rs");
    let source = fs::read_to_string(&path).expect("the program");
    let announced = |(line, text): (usize, &'static str)| {
        text.split_once("//~ ").map(|(_, message)| Announced { line, message })
    };
    let source: &'static str = source.leak();
    let expected: Vec<_> = (1..).zip(source.lines()).filter_map(announced).collect();
    let said = compile(&path, &library);
    let complaints = complaints(&said);
    let found: Vec<_> =
        complaints.iter().map(|it| Announced { line: it.line, message: &it.message }).collect();
    assert_eq!(found, expected, "{said}");
    assert!(expected.len() > 20, "{expected:?}");
    for complaint in &complaints {
        let before =
            &source.lines().nth(complaint.line - 1).expect("a line")[..complaint.column - 1];
        let at_the_type = [": ", "(", "<"].iter().any(|end| before.ends_with(end));
        assert!(at_the_type, "{complaint:?}");
        let accepted = ["columns are numbers,", "key parts are numbers,", "keys are numbers,"];
        assert!(accepted.iter().any(|it| complaint.text.contains(it)), "{complaint:?}");
    }
}
