//! Every acquire and release names its partner.

use super::Complaints;
use super::sources::Source;

/// The orderings that mean nothing without another access.
const PAIRED: &[&str] = &["Ordering::Acquire", "Ordering::Release", "Ordering::AcqRel"];

/// What a comment says that names the other access.
const PARTNERS: &[&str] = &["pair with ", "pairs with "];

/// The lines above an access in which its comment may stand.
const LINES_ABOVE: usize = 6;

/// Each acquire and release of the product has a comment on its line, or on one of the six above, that says
/// `pair with` or `pairs with`, in whatever case; several accesses may share one. Relaxed accesses, sequentially
/// consistent ones and tests need none. Whether it is the right partner nobody checks but the reader.
pub fn partners(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| source.is_product()) {
        let lines: Vec<&str> = source.text.lines().collect();
        for (number, code) in source.code.lines().enumerate() {
            let near = &lines[number.saturating_sub(LINES_ABOVE)..=number];
            let comments = near.iter().filter_map(|line| line.split_once("//"));
            let names_one = comments
                .map(|it| it.1.to_lowercase())
                .any(|comment| PARTNERS.iter().any(|words| format!("{comment} ").contains(words)));
            if PAIRED.iter().any(|order| code.contains(order)) && !names_one {
                complaints.push(format!(
                    "{}:{}: an ordering that does not say what it pairs with",
                    source.path,
                    number + 1
                ));
            }
        }
    }
    complaints
}
