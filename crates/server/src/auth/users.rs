//! The users of a server.

use super::Verifier;
use core::fmt;
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::HashMap;

/// Users and what is kept of their passwords. Without any, clients on a Unix socket and on the same computer are trusted,
/// and all others are refused.
///
/// ```
/// use chiliad_server::Users;
///
/// let users = Users::parse("# comment\nann:pencil\n")?;
/// assert_eq!(users.len(), 1);
/// let refused = Users::parse("ann\n").unwrap_err();
/// assert_eq!(refused.to_string(), "line 1 of the users: no password; accepted: user:password");
/// # Ok::<(), chiliad_server::BadUsers>(())
/// ```
#[derive(Clone, Default)]
pub struct Users {
    verifiers: HashMap<String, Verifier>,
}

/// A line that names no user with a password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadUsers {
    /// Its number, from 1.
    pub line: usize,
    what: &'static str,
}

impl fmt::Display for BadUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the users: {}", self.line, self.what)
    }
}

impl std::error::Error for BadUsers {}

impl fmt::Debug for Users {
    /// Without what is kept of passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.verifiers.keys()).finish()
    }
}

impl Users {
    /// No users.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a text of lines `user:password`. In place of a password may stand PostgreSQL's verifier of one
    /// (`SCRAM-SHA-256$4096:..`, as in `pg_authid`). Empty lines and those that begin with `#` count for nothing.
    ///
    /// # Errors
    /// [`BadUsers`] for a line of another form, and for a verifier that is none.
    pub fn parse(text: &str) -> Result<Self, BadUsers> {
        let mut users = Self::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end_matches('\r');
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = |what| BadUsers { line: at + 1, what };
            let no_password = "no password; accepted: user:password";
            let (user, password) = line.split_once(':').ok_or(bad(no_password))?;
            if user.is_empty() || password.is_empty() {
                return Err(bad(no_password));
            }
            if !Verifier::is_meant(password) {
                users = users.with(user, password);
                continue;
            }
            let verifier = Verifier::parse(password).ok_or(bad("a verifier of another form"))?;
            users.verifiers.insert(user.into(), verifier);
        }
        Ok(users)
    }

    /// With one user more.
    ///
    /// # Panics
    /// When the system gives no random numbers.
    #[must_use]
    pub fn with(mut self, user: &str, password: &str) -> Self {
        let salt = random::<16>();
        self.verifiers.insert(user.into(), Verifier::of_password(password, &salt));
        self
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.verifiers.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.verifiers.is_empty()
    }

    pub(crate) fn verifier(&self, user: &str) -> Option<&Verifier> {
        self.verifiers.get(user)
    }
}

/// Random bytes that nobody guesses.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the system gives random numbers");
    bytes
}
