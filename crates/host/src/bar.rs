//! Progress bars: on a terminal, on standard error.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `length` steps in the form of `template`; hidden if `quiet` or where there is no terminal.
#[must_use]
pub fn bar(length: u64, template: &str, quiet: bool) -> ProgressBar {
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(length) };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
