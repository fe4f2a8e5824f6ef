//! What clap says in several lines, in one: the flag, what was wrong, what is accepted.

use chiliad_host::Stop;
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Turns a parser's error into a reason to stop. `command` is the root of the command line, `words` are what was typed,
/// and `noun` says what the subcommands of a command are called.
pub fn stop(
    error: &Error,
    command: &Command,
    words: &[String],
    noun: fn(&Command) -> &'static str,
) -> Stop {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) && !error.use_stderr()
    {
        return Stop::Done(error.to_string());
    }
    let place = innermost(command, words);
    let flag = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue);
    let line = match error.kind() {
        ErrorKind::InvalidValue => invalid_value(error, flag, value),
        ErrorKind::ValueValidation => {
            let problem = std::error::Error::source(error).map_or(String::new(), |e| e.to_string());
            format!("{}: `{}` is {problem}", bare(flag), value.unwrap_or_default())
        }
        ErrorKind::UnknownArgument => {
            let flag = flag.unwrap_or_default();
            if flag.starts_with('-') {
                format!("{flag}: unknown flag; accepted: {}", flags(place))
            } else {
                format!("`{flag}`: one word too many; accepted: {}", flags(place))
            }
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("`{name}`: unknown {}; accepted: {}", noun(place), subcommands(place))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("a {} is missing; accepted: {}", noun(place), subcommands(place))
        }
        ErrorKind::MissingRequiredArgument => {
            format!("{}: missing; see `{} --help`", bare(flag), place.get_name())
        }
        ErrorKind::ArgumentConflict => {
            let other = context(error, ContextKind::PriorArg).unwrap_or_default();
            if other.is_empty() || flag.as_deref() == Some(&other) {
                format!("{}: given twice; accepted: once", bare(flag))
            } else {
                format!("{}: cannot be used with {other}; accepted: one of them", bare(flag))
            }
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    };
    Stop::BadInput(line)
}

fn invalid_value(error: &Error, flag: Option<String>, value: Option<String>) -> String {
    let accepted = context(error, ContextKind::ValidValue).unwrap_or_default();
    match value.as_deref() {
        None | Some("") if accepted.is_empty() => format!("{}: a value is missing", bare(flag)),
        None | Some("") => format!("{}: a value is missing; accepted: {accepted}", bare(flag)),
        Some(value) => format!("{}: `{value}` is unknown; accepted: {accepted}", bare(flag)),
    }
}

/// A piece of an error's context as text.
fn context(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        ContextValue::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// `--theta <THETA>` without its placeholder.
fn bare(flag: Option<String>) -> String {
    let flag = flag.unwrap_or_default();
    flag.split(" <").next().unwrap_or_default().trim_end_matches("...").to_owned()
}

/// The subcommand that the words lead to.
fn innermost<'a>(mut command: &'a Command, words: &[String]) -> &'a Command {
    for word in words.iter().take_while(|word| !word.starts_with('-')) {
        match command.find_subcommand(word) {
            Some(inner) => command = inner,
            None => break,
        }
    }
    command
}

fn subcommands(command: &Command) -> String {
    let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let names = shown.map(Command::get_name).filter(|&name| name != "help");
    names.collect::<Vec<_>>().join(", ")
}

fn flags(command: &Command) -> String {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let long = shown.filter_map(|argument| argument.get_long());
    long.map(|name| format!("--{name}")).collect::<Vec<_>>().join(" ")
}
