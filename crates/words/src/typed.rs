//! Whether a flag of a group was typed, whichever it is.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};
use std::ops::Deref;

/// The flags `G`, and the first of them that was typed, so that no list of the flags has to say it. A group of flags
/// itself, without groups within.
#[derive(Debug)]
pub struct Typed<G> {
    flags: G,
    first: Option<String>,
}

impl<G> Typed<G> {
    /// The first flag that was typed, with its dashes; `None` if all are as they are by default.
    #[must_use]
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }
}

impl<G> Deref for Typed<G> {
    type Target = G;

    fn deref(&self) -> &G {
        &self.flags
    }
}

impl<G: Args> FromArgMatches for Typed<G> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let group = G::group_id();
        let typed = group.and_then(|group| matches.get_many::<Id>(group.as_str())?.next());
        let first = typed.map(|flag| format!("--{}", flag.as_str().replace('_', "-")));
        Ok(Self { flags: G::from_arg_matches(matches)?, first })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<G: Args> Args for Typed<G> {
    fn augment_args(command: Command) -> Command {
        G::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        G::augment_args_for_update(command)
    }
}

#[cfg(test)]
mod tests {
    use super::Typed;
    use clap::Parser;

    crate::flags! {
        /// A group.
        Group {
            /// A flag with a default.
            log_writers: count(1, 64) = "1",
            /// One without.
            seed: whole(0, 9),
        }
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        group: Typed<Group>,
        #[arg(long)]
        other: bool,
    }

    #[test]
    fn only_typed_flags_of_the_group_count() {
        let first = |words: &[&str]| {
            let Line { group, other } = Line::parse_from([&["line"], words].concat());
            let given = other || group.log_writers != 1 || group.seed.is_some();
            assert!(given || group.first().is_none() || words == ["--log-writers=1"]);
            group.first().map(str::to_owned)
        };
        assert_eq!(first(&[]), None);
        assert_eq!(first(&["--other"]), None);
        assert_eq!(
            first(&["--other", "--seed", "3", "--log-writers", "2"]).as_deref(),
            Some("--seed")
        );
        assert_eq!(first(&["--log-writers=1"]).as_deref(), Some("--log-writers"));
    }
}
