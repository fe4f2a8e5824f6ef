//! `cargo xtask compare`: our release command and a peer's program, in turn.
//!
//! A shared machine drifts by more than the differences of interest, so the two run alternately and
//! the ratio is taken pair by pair. Nothing here knows any peer: its program is given by path, and
//! its number is what follows a word on a line of its output.

use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Args)]
pub struct Arguments {
    /// Arguments of `chiliad bench`, in one string: 'tpcc --warehouses 2 --threads 2'
    #[arg(long, value_name = "ARGS")]
    ours: String,
    /// The peer's program or script
    #[arg(long, value_name = "PATH")]
    peer: PathBuf,
    /// The word before the peer's number, on the last line of its output that has it
    #[arg(long, value_name = "WORD", default_value = "throughput_tps")]
    pattern: String,
    /// How often each side runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Our program, already built; by default the release build of this tree
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Arguments of the peer's program; the last option, takes all that follows
    #[arg(long, num_args = 1.., allow_hyphen_values = true, value_name = "ARG")]
    peer_args: Vec<String>,
}

/// Runs the pairs and prints them.
///
/// # Errors
/// When a side failed in any round: ratios of what remains are printed nevertheless.
pub fn run(arguments: &Arguments, root: &Path) -> Result<(), String> {
    let binary = binary(arguments.binary.as_deref(), root)?;
    let mut pairs = Vec::new();
    let mut failures = 0;
    println!("{:>5} {:>14} {:>14} {:>7}", "round", "ours", "peer", "ratio");
    for round in 1..=arguments.rounds {
        let ours = run_ours(&binary, &arguments.ours);
        let peer = run_peer(&arguments.peer, &arguments.peer_args, &arguments.pattern);
        match (ours, peer) {
            (Ok(ours), Ok(peer)) => {
                println!("{round:>5} {ours:>14.0} {peer:>14.0} {:>7.3}", ours / peer);
                pairs.push((ours, peer));
            }
            (ours, peer) => {
                failures += 1;
                for (side, result) in [("ours", ours), ("peer", peer)] {
                    let result = result.map_or_else(|why| why, |tps| format!("{tps:.0}"));
                    println!("{round:>5} {side}: {result}");
                }
            }
        }
    }
    if !pairs.is_empty() {
        println!("{}", summary(&pairs));
    }
    match failures {
        0 => Ok(()),
        _ => Err(format!("{failures} of {} rounds failed", arguments.rounds)),
    }
}

/// Medians of both sides, and the ratio: median of the pairs, least and greatest.
fn summary(pairs: &[(f64, f64)]) -> String {
    let ours = median(pairs.iter().map(|pair| pair.0));
    let peer = median(pairs.iter().map(|pair| pair.1));
    let ratios = || pairs.iter().map(|pair| pair.0 / pair.1);
    let (least, greatest) =
        (ratios().fold(f64::INFINITY, f64::min), ratios().fold(f64::NEG_INFINITY, f64::max));
    let ratio = median(ratios());
    format!("median ours {ours:.0}, peer {peer:.0}; ratio {ratio:.3} [{least:.3}-{greatest:.3}]")
}

/// The middle value, or the mean of the two in the middle; there is at least one.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
    f64::midpoint(values[low], values[high])
}

/// The command to run: the one given, else the release build of this tree.
pub(crate) fn binary(given: Option<&Path>, root: &Path) -> Result<PathBuf, String> {
    given.map_or_else(|| build(root), |binary| Ok(binary.to_owned()))
}

/// Builds the command and says where it lies.
fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments).current_dir(root);
        command
    };
    let built = cargo(&["build", "--release", "--package", "chiliad-cli"]).status();
    if !built.map_err(|error| format!("cargo build: {error}"))?.success() {
        return Err("the release build failed".into());
    }
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output();
    let metadata = metadata.map_err(|error| format!("cargo metadata: {error}"))?.stdout;
    let metadata: Value = serde_json::from_slice(&metadata).map_err(|error| error.to_string())?;
    let target = metadata["target_directory"].as_str().ok_or("no target directory")?;
    Ok(Path::new(target).join("release/chiliad"))
}

/// The throughput of one run of our command.
pub(crate) fn run_ours(binary: &Path, arguments: &str) -> Result<f64, String> {
    let mut command = Command::new(binary);
    command.arg("bench").args(arguments.split_whitespace()).args(["--json", "-", "--quiet"]);
    let output = output(&mut command)?;
    let results = serde_json::Deserializer::from_str(&output.0).into_iter::<Value>();
    let last = results.filter_map(Result::ok).last();
    let throughput = last.and_then(|result| result["throughput_tps"].as_f64());
    throughput.filter(|tps| *tps > 0.0).ok_or_else(|| "prints no throughput_tps".into())
}

/// The names of all schemes, as our command lists them.
pub(crate) fn schemes(binary: &Path) -> Result<Vec<String>, String> {
    let (out, _) = output(Command::new(binary).args(["schemes", "--json", "-"]))?;
    let list: Vec<Value> = serde_json::from_str(&out).map_err(|error| error.to_string())?;
    let names = list.iter().filter_map(|scheme| scheme["name"].as_str());
    Ok(names.map(String::from).collect())
}

fn run_peer(program: &Path, arguments: &[String], word: &str) -> Result<f64, String> {
    let (out, err) = output(Command::new(program).args(arguments))?;
    let found = number_after(word, &out).or_else(|| number_after(word, &err));
    found.filter(|number| *number > 0.0).ok_or_else(|| format!("prints no number after `{word}`"))
}

/// Both outputs of a program that ended well; else its status and its last words.
pub(crate) fn output(command: &mut Command) -> Result<(String, String), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        return Ok((out, err));
    }
    let said = if err.trim().is_empty() { &out } else { &err };
    let mut last: Vec<&str> = said.lines().rev().take(3).collect();
    last.reverse();
    Err(format!("{program}: {}: {}", output.status, last.join("; ")))
}

/// The first number behind `word` on the last line of `text` that has it.
pub(crate) fn number_after(word: &str, text: &str) -> Option<f64> {
    let line = text.lines().rfind(|line| line.contains(word))?;
    let rest = &line[line.find(word)? + word.len()..];
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    let number: String = rest[start..]
        .chars()
        .take_while(|c| matches!(c, '0'..='9' | '.' | 'e' | '+' | ','))
        .collect();
    number.replace(',', "").trim_end_matches(['.', 'e', '+']).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_behind_its_word() {
        let text = "throughput_tps 1\nagg_throughput: 80123.5 ops/sec\n\"throughput_tps\": 2e3}\n";
        assert_eq!(number_after("agg_throughput", text), Some(80123.5));
        assert_eq!(number_after("throughput_tps", text), Some(2000.0));
        assert_eq!(number_after("tps", "1,234 tps: 5,678."), Some(5678.0));
        assert_eq!(number_after("absent", text), None);
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let line = summary(&[(200.0, 100.0), (100.0, 100.0), (300.0, 100.0)]);
        assert_eq!(line, "median ours 200, peer 100; ratio 2.000 [1.000-3.000]");
        assert_eq!(median([4.0, 1.0].into_iter()), 2.5);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_fails_is_an_error_with_its_last_words() {
        let shell = Path::new("/bin/sh");
        let run = |script: &str| run_peer(shell, &["-c".into(), script.into()], "tps");
        assert_eq!(run("echo tps 5"), Ok(5.0));
        assert!(
            run("echo tps 5; echo no room >&2; exit 3").is_err_and(|it| it.contains("no room"))
        );
        assert!(run("echo nothing").is_err());
    }
}
