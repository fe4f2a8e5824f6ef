//! The command `chiliad`; what it does is the library's of this package, so that tests can use it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    chiliad_cli::main()
}
