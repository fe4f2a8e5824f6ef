//! A statement whose names and types are resolved.

use crate::codec::to_text;
use crate::datum::Datum;
use crate::plan::{Plan, columns_of};
use crate::routine::Procedure;
use crate::types::Type;
use chiliad_api::{Columns, TableId};

/// A column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: Type,
    /// Length or precision, as PostgreSQL encodes it; -1: none.
    pub modifier: i32,
    /// The number of the table of which it is a column; 0: of none.
    pub table_oid: u32,
    /// The number of the column in that table, from 1; 0: of none.
    pub column_number: i16,
}

impl OutputColumn {
    /// A column of no table.
    pub(crate) fn computed(name: String, sql_type: Type) -> Self {
        Self { name, sql_type, modifier: -1, table_oid: 0, column_number: 0 }
    }
}

/// What a statement does, as far as whoever runs it has to know.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// It returns rows and writes none (`FOR UPDATE` may lock): [`crate::execute`].
    Query {
        /// It locks rows.
        for_update: bool,
    },
    /// It inserts, updates or deletes, and may return rows: [`crate::execute`].
    Write,
    /// It begins or ends a transaction or a part of one.
    Transaction(TransactionControl),
    /// It changes the catalog: [`crate::schema_changes`].
    Schema,
    /// `SET`.
    Set(Set),
    /// `RESET name`, or `RESET ALL` (`None`).
    Reset(Option<String>),
    /// `SHOW name`, or `SHOW ALL` (`all`); the name in small letters, with underscores for blanks.
    Show(String),
    /// `COPY`.
    Copy(Box<Copy>),
    /// `CALL name(..)`: the values of its arguments are given by [`crate::call_arguments`].
    Call(String),
    /// `CREATE PROCEDURE`.
    CreateProcedure {
        /// The procedure.
        procedure: Procedure,
        /// `OR REPLACE`: one of this name may be there.
        replaces: bool,
    },
    /// `DROP PROCEDURE`.
    DropProcedure {
        /// Its name.
        name: String,
        /// `IF EXISTS`: there may be none.
        if_exists: bool,
    },
    /// `VACUUM`, `ANALYZE` and others of which there is nothing to do.
    Nothing,
    /// `DISCARD ALL`.
    Discard,
    /// `DEALLOCATE name`, or all of them (`None`).
    Deallocate(Option<String>),
    /// `EXPLAIN`: it returns rows of text, and is executed as a query.
    Explain,
    /// `DECLARE .. CURSOR`: it is executed as the query of the cursor, whose rows have [`Prepared::columns`].
    Declare(Cursor),
    /// `FETCH` and `MOVE`.
    Fetch(Fetch),
    /// `CLOSE name`, or all of them (`None`).
    Close(Option<String>),
}

/// The rows and columns that a statement may write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowChanges {
    /// It writes none.
    Nothing,
    /// It changes these columns of rows of one table. [`Columns::ALL`]: it may also insert or delete them.
    Columns(TableId, Columns),
    /// It may write any.
    Anything,
}

/// `DECLARE .. CURSOR`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cursor {
    /// Its name.
    pub name: String,
    /// `WITH HOLD`: it outlives its transaction.
    pub holds: bool,
    /// `BINARY`.
    pub binary: bool,
}

/// `FETCH` and `MOVE`, forward.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetch {
    /// The cursor's name.
    pub cursor: String,
    /// How many rows; `None`: all that are left.
    pub rows: Option<u64>,
    /// `MOVE`: they are not returned.
    pub moves: bool,
}

/// The begin or the end of a transaction or of a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionControl {
    /// `BEGIN`, `START TRANSACTION`.
    Begin(Modes),
    /// `SET TRANSACTION`.
    SetModes(Modes),
    /// `COMMIT`, `END`.
    Commit {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `ROLLBACK`, `ABORT`.
    Rollback {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `SAVEPOINT`.
    Savepoint(String),
    /// `RELEASE SAVEPOINT`.
    Release(String),
    /// `ROLLBACK TO SAVEPOINT`.
    RollbackTo(String),
}

/// The modes of a transaction; `None` where the statement says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Modes {
    /// `READ ONLY` or `READ WRITE`.
    pub read_only: Option<bool>,
    /// `ISOLATION LEVEL ..`, in small letters.
    pub isolation: Option<&'static str>,
    /// `DEFERRABLE` or `NOT DEFERRABLE`.
    pub deferrable: Option<bool>,
}

/// `SET`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// The run-time parameter, in small letters; `session_characteristics` for `SET SESSION CHARACTERISTICS`, whose
    /// modes are in `modes`.
    pub name: String,
    /// Its value, items of a list with `, ` between; `None`: the default.
    pub value: Option<String>,
    /// `SET LOCAL`: until the transaction ends.
    pub local: bool,
    /// Of `SET SESSION CHARACTERISTICS AS TRANSACTION`.
    pub modes: Modes,
}

/// `COPY`.
#[derive(Clone, PartialEq, Debug)]
pub struct Copy {
    /// From the client into the table; else from the table or query to the client.
    pub from_client: bool,
    /// The table's name; empty for a query.
    pub table: String,
    /// How the data is written.
    pub format: CopyFormat,
    /// `FREEZE`.
    pub freeze: bool,
}

/// How the data of COPY is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyFormat {
    /// Lines of fields with backslash sequences.
    Text {
        /// Between fields.
        delimiter: u8,
        /// Stands for no value.
        null: String,
        /// The first line has names.
        header: bool,
    },
    /// Comma-separated values.
    Csv {
        /// Between fields.
        delimiter: u8,
        /// Stands for no value.
        null: String,
        /// The first line has names.
        header: bool,
        /// Around fields.
        quote: u8,
        /// Before a quote within a quoted field.
        escape: u8,
    },
    /// PostgreSQL's binary format.
    Binary,
}

/// A statement whose names and types are resolved, to be executed any number of times.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) kind: Kind,
    pub(crate) tag: &'static str,
    pub(crate) parameters: Vec<Type>,
    pub(crate) columns: Vec<OutputColumn>,
    pub(crate) tables: Vec<TableId>,
    /// Of a query, by table.
    pub(crate) read: Vec<(TableId, Columns)>,
    /// The columns that it changes, if it can be put off.
    pub(crate) late: Option<Columns>,
    pub(crate) catalog_version: u64,
    pub(crate) plan: Plan,
    /// It needs room on the stack.
    pub(crate) is_deep: bool,
}

impl Prepared {
    /// The types of its parameters, `$1` first.
    #[must_use]
    pub fn parameters(&self) -> &[Type] {
        &self.parameters
    }

    /// The columns of its result; none, where it returns no rows. Those of `COPY FROM` are the columns that it fills.
    #[must_use]
    pub fn columns(&self) -> &[OutputColumn] {
        &self.columns
    }

    /// Whether it returns rows: `SELECT` without columns does, too.
    #[must_use]
    pub fn returns_rows(&self) -> bool {
        matches!(self.kind, Kind::Query { .. } | Kind::Explain | Kind::Show(_))
            || matches!(self.kind, Kind::Write) && !self.columns.is_empty()
    }

    /// What it does.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The tables that it reads or writes, in no order.
    #[must_use]
    pub fn tables(&self) -> &[TableId] {
        &self.tables
    }

    /// The columns of rows that its result depends on, by table. `None`: any, since it is no query.
    #[must_use]
    pub fn told(&self) -> Option<&[(TableId, Columns)]> {
        matches!(self.kind, Kind::Query { .. }).then_some(&self.read)
    }

    /// Whether it may be one to be put off until its transaction commits ([`crate::put_off`]).
    #[must_use]
    pub fn may_be_late(&self) -> bool {
        self.late.is_some()
    }

    /// The columns that it looks at of the rows that it reads.
    pub(crate) fn looks_at(&self) -> Columns {
        match self.plan {
            Plan::Query(_) => self.read.iter().map(|(_, columns)| *columns).collect(),
            _ => Columns::ALL,
        }
    }

    /// The rows and columns that it may write.
    #[must_use]
    pub fn row_changes(&self) -> RowChanges {
        match (&self.kind, &self.plan) {
            (Kind::Query { .. }, _) => RowChanges::Nothing,
            (_, Plan::Insert(insert)) => RowChanges::Columns(insert.table.id, Columns::ALL),
            (_, Plan::Change(change)) => {
                let id = change.table.id;
                let assigned = change.assignments.as_ref().map(|it| columns_of(&change.table, it));
                RowChanges::Columns(id, assigned.unwrap_or(Columns::ALL))
            }
            _ => RowChanges::Anything,
        }
    }

    /// The version of the catalog that it was made for.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version
    }

    /// The words with which its tag begins: all of the tag of a statement that neither reads nor writes rows.
    #[must_use]
    pub fn command(&self) -> &'static str {
        self.tag
    }

    /// The tag that tells the client of its success: `SELECT 5`, `INSERT 0 1`, `BEGIN`.
    #[must_use]
    pub fn tag(&self, rows: u64) -> String {
        let mut tag = Vec::with_capacity(16);
        self.write_tag(rows, &mut tag);
        String::from_utf8_lossy(&tag).into_owned()
    }

    /// Appends [`Prepared::tag`].
    pub fn write_tag(&self, rows: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.tag.as_bytes());
        match self.tag {
            "INSERT" => out.extend_from_slice(b" 0 "),
            "SELECT" | "UPDATE" | "DELETE" | "COPY" | "FETCH" | "MOVE" => out.push(b' '),
            _ => return,
        }
        let rows = Datum::Int(i64::try_from(rows).unwrap_or(i64::MAX));
        to_text(Type::Int8, &rows, out);
    }
}
