//! Errors, with the five letters by which PostgreSQL's clients tell them apart.

use chiliad_api::{Error, Reason};
use core::fmt;
use core::ops::{Deref, DerefMut};

/// The result of this crate's functions.
pub type Result<T> = core::result::Result<T, SqlError>;

/// A failed statement. It is one word, since each result of a step that succeeds has room for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError(Box<ErrorFields>);

/// The fields of a [`SqlError`], which a server sends to its client.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ErrorFields {
    /// The class and the condition, as PostgreSQL numbers them.
    pub sqlstate: &'static str,
    /// What is wrong, in one line that begins with a small letter.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What may help.
    pub hint: Option<String>,
    /// Where in the statement's text it is, in characters from 1.
    pub position: Option<u32>,
    /// The error of the transaction that it was made of, for programs that run the transaction again by that.
    pub cause: Option<Box<Error>>,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident $state:literal;)*) => {
        impl SqlError {
            $($(#[$doc])*
            #[cold]
            #[must_use]
            pub fn $name(message: impl Into<String>) -> Self {
                Self::new($state, message)
            })*
        }
    };
}

constructors! {
    /// The message does not fit what the connection expects.
    protocol_violation "08P01";
    /// SQL that this crate does not know.
    feature_not_supported "0A000";
    /// A text is longer than its type allows.
    string_too_long "22001";
    /// A number that its type does not hold.
    numeric_out_of_range "22003";
    /// A date or time that its type does not hold.
    datetime_out_of_range "22008";
    /// A division by zero.
    division_by_zero "22012";
    /// A parameter that its function does not accept.
    invalid_parameter "22023";
    /// A logarithm of a number that has none.
    invalid_logarithm "2201E";
    /// A power that does not exist.
    invalid_power "2201F";
    /// A limit below zero.
    invalid_limit "2201W";
    /// An offset below zero.
    invalid_offset "2201X";
    /// A text of a type that stands for no value of it.
    invalid_text "22P02";
    /// Bytes of a type that stand for no value of it.
    invalid_binary "22P03";
    /// A line of COPY that is none.
    bad_copy "22P04";
    /// Bytes that are no UTF-8.
    not_utf8 "22021";
    /// A text that is no date or time.
    invalid_datetime "22007";
    /// No value in a column that must have one.
    not_null_violation "23502";
    /// Two rows of one key.
    unique_violation "23505";
    /// A condition of the table does not hold.
    check_violation "23514";
    /// A row to be changed twice by one statement.
    cardinality_violation "21000";
    /// The transaction only reads.
    read_only_transaction "25006";
    /// The statement cannot stand in a transaction.
    active_transaction "25001";
    /// No prepared statement has this name.
    undefined_statement "26000";
    /// The transaction was refused, and may be run again.
    serialization_failure "40001";
    /// The transaction waited in a circle.
    deadlock "40P01";
    /// The text is no statement.
    syntax_error "42601";
    /// A name is that of two columns.
    ambiguous_column "42702";
    /// A column that is not there.
    undefined_column "42703";
    /// A table that is not there.
    undefined_table "42P01";
    /// A function or operator that is not there.
    undefined_function "42883";
    /// A type or another object that is not there.
    undefined_object "42704";
    /// A parameter whose type is not clear.
    indeterminate_parameter "42P18";
    /// A parameter that is not there.
    undefined_parameter "42P02";
    /// Types that do not fit each other.
    datatype_mismatch "42804";
    /// A type that cannot become another one.
    cannot_coerce "42846";
    /// A column that is neither grouped nor in an aggregate.
    grouping_error "42803";
    /// A table that is there already.
    duplicate_table "42P07";
    /// A column that is there already.
    duplicate_column "42701";
    /// An index or another object that is there already.
    duplicate_object "42710";
    /// Two tables of one name in a statement.
    duplicate_alias "42712";
    /// A definition of a table that makes no sense.
    invalid_table_definition "42P16";
    /// A reference to a column that is not allowed here.
    invalid_column_reference "42P10";
    /// The name of something of another kind.
    wrong_object_type "42809";
    /// Others need the object.
    dependent_objects "2BP01";
    /// There is not enough memory.
    out_of_memory "53200";
    /// The statement is too complex.
    statement_too_complex "54001";
    /// Something is longer than it may be.
    program_limit "54000";
    /// There are more columns than there may be.
    too_many_columns "54011";
    /// Somebody holds a lock, and it was not waited for any longer.
    lock_not_available "55P03";
    /// The object is not in a state in which it can be used so.
    not_in_required_state "55000";
    /// It was told to give up.
    query_canceled "57014";
    /// The disk or the log has failed.
    io_error "58030";
    /// The stored bytes are not those of the table.
    data_corrupted "XX001";
    /// A mistake in this program.
    internal "XX000";
}

impl SqlError {
    /// An error without detail, hint and position.
    #[cold]
    #[must_use]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let (detail, hint, position, cause) = (None, None, None, None);
        Self(Box::new(ErrorFields { sqlstate, message, detail, hint, position, cause }))
    }

    /// This error with more about it.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// This error with something that may help.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// This error with its place in the text, where it has none yet.
    #[must_use]
    pub fn at(mut self, position: Option<u32>) -> Self {
        self.position = self.position.or(position);
        self
    }

    /// Whether the whole transaction may succeed when it is run again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.sqlstate, "40001" | "40P01")
    }
}

impl Deref for SqlError {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.0
    }
}

impl DerefMut for SqlError {
    fn deref_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.sqlstate, self.message)?;
        if let Some(detail) = &self.detail {
            write!(f, " ({detail})")?;
        }
        if let Some(position) = self.position {
            write!(f, " at character {position}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<Error> for SqlError {
    #[cold]
    fn from(error: Error) -> Self {
        let mut told = translated(&error);
        told.cause = Some(Box::new(error));
        told
    }
}

/// The error of a transaction in the words of SQL.
fn translated(error: &Error) -> SqlError {
    use SqlError as S;
    let text = error.to_string();
    match error {
        Error::Conflict(Reason::Deadlock) => S::deadlock("deadlock detected").with_detail(text),
        Error::Conflict(_) => {
            let message = "could not serialize access due to concurrent transactions";
            S::serialization_failure(message)
                .with_detail(text)
                .with_hint("The transaction might succeed if retried.")
        }
        Error::DuplicateKey(duplicate) => S::unique_violation(format!(
            "duplicate key value violates unique constraint \"{}_pkey\"",
            duplicate.table
        ))
        .with_detail(text),
        Error::UniqueViolation { index } => S::unique_violation(format!(
            "duplicate key value violates unique constraint \"{index}\""
        )),
        Error::NotUnique(_) => {
            S::unique_violation("could not create unique index").with_detail(text)
        }
        Error::UnknownTable(_) => S::undefined_table(text),
        Error::TableExists(name) => {
            S::duplicate_table(format!("relation \"{name}\" already exists"))
        }
        Error::UnknownIndex(_) => S::undefined_object(text),
        Error::KeyTooLong { .. } | Error::ValueSize { .. } => S::program_limit(text),
        Error::TransactionTooLarge { .. } => S::program_limit(text),
        Error::ReadOnly | Error::OpenedReadOnly => {
            S::read_only_transaction("cannot execute a write in a read-only transaction")
                .with_detail(text)
        }
        Error::ReadOnlyTable(_) | Error::Migrating(_) => S::not_in_required_state(text),
        Error::OutOfMemory { .. } => S::out_of_memory("out of memory").with_detail(text),
        Error::LocksExhausted { .. } => S::out_of_memory("out of shared memory").with_detail(text),
        Error::TooManyWorkers { .. } | Error::HostExhausted(_) => S::new("53300", text),
        Error::WaitLimitExceeded => {
            S::lock_not_available("canceling statement due to lock timeout")
        }
        Error::DeadlineExceeded => {
            S::query_canceled("canceling statement due to statement timeout")
        }
        Error::Canceled => S::query_canceled("canceling statement due to user request"),
        Error::TransactionOver | Error::RolledBack => S::new(
            "25P02",
            "current transaction is aborted, commands ignored until end of transaction block",
        ),
        Error::LogFailed(_) | Error::Data(_) | Error::LogRefused { .. } => {
            S::io_error("the log has failed").with_detail(text)
        }
        Error::NotYetDurable { .. } => S::new("40003", text),
        Error::BadRow(_) => S::data_corrupted(text),
        Error::SchemaChanged(_) | Error::LayoutDiffers(_) => {
            S::serialization_failure("the table's definition has changed").with_detail(text)
        }
        Error::Unsupported(_) | Error::NotOrdered | Error::PresentOnly => {
            S::feature_not_supported(text)
        }
        Error::Schema(_) | Error::InvalidOption(_) => S::invalid_table_definition(text),
        _ => S::internal(text),
    }
}
