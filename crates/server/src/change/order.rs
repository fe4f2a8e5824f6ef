//! The orders for tables that a commit gives, and the note of them that the transaction commits with its rows.

use super::names::{is_orphan, is_reserved};
use chiliad::migration::TableChanges;
use chiliad::raw::{Range, TableId, TableSpec, Transaction as _};
use chiliad::{Database, Error};
use chiliad_sql::{escape, unescape};

/// The table of the notes of commits that have not come into force, by numbers. No statement sees it.
pub(crate) const NOTES: &str = "chiliad sql changes";

/// An order for a table, carried out once its transaction is committed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Drop(TableId),
    /// A hidden table gets its name.
    Show(TableId, String),
    DropIndex(TableId, String),
    /// This is what SQL says of the table of a name from then on; `None`: nothing.
    Say(String, Option<String>),
}

impl Order {
    /// One line.
    pub fn to_text(&self) -> String {
        match self {
            Self::Drop(id) => format!("drop {}", id.0),
            Self::Show(id, name) => format!("show {} {}", id.0, escape(name)),
            Self::DropIndex(id, name) => format!("index {} {}", id.0, escape(name)),
            Self::Say(name, None) => format!("unsay {}", escape(name)),
            Self::Say(name, Some(text)) => format!("say {}\t{}", escape(name), escape(text)),
        }
    }

    /// The reverse of [`Order::to_text`]; `None` for another text.
    pub fn parse(line: &str) -> Option<Self> {
        if let Some(name) = line.strip_prefix("unsay ") {
            return Some(Self::Say(unescape(name), None));
        }
        if let Some((name, text)) = line.strip_prefix("say ").and_then(|it| it.split_once('\t')) {
            return Some(Self::Say(unescape(name), Some(unescape(text))));
        }
        let mut words = line.splitn(3, ' ');
        let (word, id) = (words.next()?, TableId(words.next()?.parse().ok()?));
        match (word, words.next()) {
            ("drop", None) => Some(Self::Drop(id)),
            ("show", Some(name)) => Some(Self::Show(id, unescape(name))),
            ("index", Some(name)) => Some(Self::DropIndex(id, unescape(name))),
            _ => None,
        }
    }

    /// Has it done with others. What was done before is not done again: numbers of tables are given out once, and a
    /// table that has its name is not hidden.
    ///
    /// # Errors
    /// Those of the database.
    pub fn stage(&self, database: &Database, tables: &mut TableChanges<'_>) -> Result<(), Error> {
        let (Self::Drop(id) | Self::Show(id, _) | Self::DropIndex(id, _)) = self else {
            return Ok(());
        };
        let Some(spec) = of_number(database, *id) else { return Ok(()) };
        match self {
            Self::Drop(_) => tables.drop_table(&spec.name),
            Self::Show(_, name) if is_reserved(&spec.name) => tables.rename_table(&spec.name, name),
            Self::Show(..) => Ok(()),
            Self::DropIndex(_, index) if spec.secondary.iter().any(|it| it.name == *index) => {
                tables.drop_index(&spec.name, index)
            }
            Self::DropIndex(..) | Self::Say(..) => Ok(()),
        }
    }
}

/// Writes what SQL says of tables, into the table of that.
///
/// # Errors
/// Those of a transaction.
pub(super) fn say(database: &Database, details: TableId, orders: &[Order]) -> Result<(), Error> {
    database.run(|tx| {
        let tx = tx.raw();
        for order in orders {
            match order {
                Order::Say(name, Some(text)) => {
                    tx.put(details, name.as_bytes(), text.as_bytes())?
                }
                Order::Say(name, None) => _ = tx.remove(details, name.as_bytes())?,
                _ => {}
            }
        }
        Ok(())
    })
}

/// The declaration of the table of a number.
pub(super) fn of_number(database: &Database, id: TableId) -> Option<TableSpec> {
    let specs = database.tables().into_iter();
    let mut known = specs.filter(|spec| database.table_raw(&spec.name).is_ok_and(|it| it.0 == id));
    known.next()
}

/// Brings into force what a process has committed and not ended, and drops the tables that nobody will ever see.
///
/// # Errors
/// Those of the database.
pub(crate) fn finish(database: &Database, details: TableId, notes: TableId) -> Result<(), Error> {
    let left = database.run(|tx| {
        let tx = tx.raw();
        let scanned = tx.scan(notes, Range::all())?;
        let mut left = Vec::new();
        for &entry in tx.entries(scanned)? {
            let text = String::from_utf8_lossy(tx.bytes(entry.row)?).into_owned();
            left.push((tx.key(entry)?.to_vec(), text));
        }
        Ok::<_, Error>(left)
    })?;
    for (key, text) in left {
        let orders: Vec<Order> = text.lines().filter_map(Order::parse).collect();
        database.change_tables(|tables| {
            orders.iter().try_for_each(|order| order.stage(database, tables))
        })?;
        say(database, details, &orders)?;
        database.run(|tx| tx.raw().remove(notes, &key).map(|_| ()))?;
    }
    for spec in database.tables() {
        if is_orphan(&spec.name) {
            database.drop_table(&spec.name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back() {
        let all = [
            Order::Drop(TableId(7)),
            Order::Show(TableId(8), "a b\\n\nc".into()),
            Order::DropIndex(TableId(9), String::new()),
            Order::Say("a\tb".into(), None),
            Order::Say("a\t b\n".into(), Some("1\t0\n\\n x".into())),
        ];
        for order in all {
            let text = order.to_text();
            assert!(!text.contains('\n'), "{text}");
            assert_eq!(Order::parse(&text), Some(order));
        }
        for text in ["", "drop", "drop x", "drop 1 2", "show 1", "else 1 a", "say 1"] {
            assert_eq!(Order::parse(text), None, "{text}");
        }
    }
}
