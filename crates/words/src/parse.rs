//! From words to arguments.

use crate::refusal;
use chiliad_host::Stop;
use clap::{Command, CommandFactory, FromArgMatches};
use std::any::TypeId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

thread_local! {
    /// The commands that this thread has described, by the type of their arguments: figures parse thousands of lines, and to
    /// describe all flags of all commands takes longer than to parse one line.
    static DESCRIBED: RefCell<HashMap<TypeId, Command>> = RefCell::default();
}

/// Parses the words after the program's name. `noun` says what the subcommands of a command are called.
///
/// # Errors
/// [`Stop::BadInput`] in one line: the flag, what was wrong, what is accepted; [`Stop::Done`] with the help.
pub fn parse<A: CommandFactory + FromArgMatches + 'static>(
    words: &[String],
    noun: fn(&Command) -> &'static str,
) -> Result<A, Stop> {
    let arguments = TypeId::of::<A>();
    let described = DESCRIBED.with_borrow_mut(|all| all.remove(&arguments));
    let mut command = described.unwrap_or_else(|| take_hyphens(A::command()));
    let line = std::iter::once(command.get_name().to_owned()).chain(words.iter().cloned());
    let line: Vec<String> = line.collect();
    let parsed =
        command.try_get_matches_from_mut(line).and_then(|matches| A::from_arg_matches(&matches));
    let parsed = parsed.map_err(|error| refusal::stop(&error, &command, words, noun));
    DESCRIBED.with_borrow_mut(|all| all.insert(arguments, command));
    parsed
}

/// Lets flags take values such as `-1`, so that their own parsers refuse them and say what is
/// accepted. Not those that take files: `--json --quiet` lacks a value. Nor words without a flag, which
/// would swallow the flags behind them.
fn take_hyphens(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let takes_file = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            let takes_value = argument.get_action().takes_values();
            let flag = !argument.is_positional();
            argument.allow_hyphen_values(flag && takes_value && !takes_file)
        })
        .mut_subcommands(take_hyphens)
}
