//! Tells the command which commit and compiler it was built from.

use std::process::Command;

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let compiler = output(&compiler, &["--version"]).unwrap_or_default();
    println!("cargo::rustc-env=CHILIAD_COMMIT={commit}");
    println!("cargo::rustc-env=CHILIAD_COMPILER={compiler}");
    println!("cargo::rerun-if-changed=src/build.rs");
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = output("git", &["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
