//! A planted bug that no table lists is caught by nobody.

use super::Complaints;
use super::sources::Source;

/// Every fault declared stands in a table called `FAULTS`.
pub fn declared(sources: &[Source]) -> Complaints {
    let product = || sources.iter().filter(|source| source.is_product());
    let listed: Vec<&str> = product()
        .flat_map(|source| source.code.split("FAULTS: &[&Fault] =").skip(1))
        .filter_map(|rest| rest.split("];").next())
        .flat_map(|table| table.split(','))
        .map(|entry| entry.trim_matches(|it: char| it.is_whitespace() || "&[".contains(it)))
        .map(|entry| entry.rsplit("::").next().unwrap_or(entry))
        .collect();
    let mut complaints = Vec::new();
    for source in product() {
        for (number, line) in source.code.lines().enumerate() {
            let name = line.split_once("static ").and_then(|it| it.1.split_once(": Fault = "));
            if let Some((name, _)) = name.filter(|it| !listed.contains(&it.0)) {
                let path = &source.path;
                complaints.push(format!("{path}:{}: {name} is in no FAULTS", number + 1));
            }
        }
    }
    complaints
}
