//! `--sweep FLAG=A:B:STEP` or `FLAG=a,b,c`: one run per value of one flag.
//!
//! A point is the command line without the sweep and with the flag set, parsed anew: so any flag
//! can be swept, and each value is checked as if it had been typed, before anything runs.

use chiliad_host::Stop;

/// The most points that one sweep may have.
const POINTS_MAX: u64 = 10_000;

/// The command lines of all points of a `--sweep`: one, unchanged, without it. The flag that is swept comes last.
///
/// # Errors
/// Bad input: what is wrong with the sweep.
pub fn expand_sweep(words: &[String]) -> Result<Vec<Vec<String>>, Stop> {
    let Some((rest, spec)) = take_flag(words, "--sweep")? else { return Ok(vec![words.to_vec()]) };
    let (flag, values) = parse(&spec).map_err(|problem| Stop::bad("--sweep", problem))?;
    let base = match take_flag(&rest, &flag)? {
        None => rest,
        Some((without, _)) => without,
    };
    let point = |value: &String| base.iter().cloned().chain([format!("{flag}={value}")]).collect();
    Ok(values.iter().map(point).collect())
}

/// Takes `flag VALUE` or `flag=VALUE` out of the words.
fn take_flag(words: &[String], flag: &str) -> Result<Option<(Vec<String>, String)>, Stop> {
    let is_flag = |word: &String| word.split('=').next() == Some(flag);
    let Some(at) = words.iter().position(is_flag) else { return Ok(None) };
    if words[at + 1..].iter().any(is_flag) {
        return Err(Stop::bad(flag, "given twice; accepted: once"));
    }
    let mut rest = words.to_vec();
    let word = rest.remove(at);
    let value = match word.split_once('=') {
        Some((_, value)) => value.to_owned(),
        None if at < rest.len() => rest.remove(at),
        None => return Err(Stop::bad(flag, "a value is missing")),
    };
    Ok(Some((rest, value)))
}

/// The flag, with its dashes, and its values.
fn parse(spec: &str) -> Result<(String, Vec<String>), String> {
    const ACCEPTED: &str = "accepted: FLAG=A:B:STEP or FLAG=a,b,c, such as theta=0:0.9:0.1 or \
                            threads=1,2,4";
    let Some((flag, values)) = spec.split_once('=') else {
        return Err(format!("`{spec}` names no values; {ACCEPTED}"));
    };
    let flag = flag.trim_start_matches("--");
    if flag.is_empty() || values.is_empty() {
        return Err(format!("`{spec}` is incomplete; {ACCEPTED}"));
    }
    if matches!(flag, "sweep" | "json" | "repeat" | "history" | "series" | "quiet") {
        return Err(format!("`{flag}` cannot be swept; accepted: a flag that changes a run"));
    }
    let parts: Vec<&str> = values.split(':').collect();
    let values = match parts[..] {
        [list] => list.split(',').map(str::to_owned).collect(),
        [low, high, step] => steps(low, high, step).ok_or_else(|| {
            format!("`{values}` is no range of at most {POINTS_MAX} points; {ACCEPTED}")
        })?,
        _ => return Err(format!("`{values}` has {} parts; {ACCEPTED}", parts.len())),
    };
    Ok((format!("--{flag}"), values))
}

/// The values from `low` to `high`, in exact decimals so that 0.1 stays 0.1.
fn steps(low: &str, high: &str, step: &str) -> Option<Vec<String>> {
    let digits = [low, high, step].map(decimals).into_iter().max()?;
    let scaled = |text: &str| {
        let number: f64 = text.parse().ok()?;
        let scaled = (number * 10_f64.powi(digits as i32)).round();
        (scaled.abs() < 1e15).then_some(scaled as i64)
    };
    let (low, high, step) = (scaled(low)?, scaled(high)?, scaled(step)?);
    if step <= 0 || high < low || (high - low) as u64 / step as u64 >= POINTS_MAX {
        return None;
    }
    let values = (0..).map(|i| low + i * step).take_while(|&value| value <= high);
    Some(values.map(|value| show(value, digits)).collect())
}

fn decimals(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, digits)| digits.len().min(9))
}

fn show(scaled: i64, digits: usize) -> String {
    format!("{:.digits$}", scaled as f64 / 10_f64.powi(digits as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_range_is_stepped_exactly() {
        let points = expand_sweep(&words("bench ycsb --theta 1 --sweep theta=0:0.3:0.1 --quiet"));
        let lines: Vec<String> =
            points.expect("a sweep").iter().map(|point| point.join(" ")).collect();
        let expected = ["0.0", "0.1", "0.2", "0.3"];
        let expected = expected.map(|value| format!("bench ycsb --quiet --theta={value}"));
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_list_is_taken_as_it_is() {
        let points =
            expand_sweep(&words("bench tpcc --sweep=scheme=silo,partitioned")).expect("a sweep");
        assert_eq!(points.len(), 2);
        assert_eq!(points[1], words("bench tpcc --scheme=partitioned"));
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for spec in ["theta", "theta=", "=1,2", "theta=0:1", "theta=1:0:1", "theta=0:1:0", "json=a"]
        {
            assert!(expand_sweep(&words(&format!("bench ycsb --sweep {spec}"))).is_err(), "{spec}");
        }
        assert!(expand_sweep(&words("bench ycsb --sweep")).is_err());
    }
}
