//! Tables that an application has derived, looked up and changed by their keys and indexes in SQL.

use crate::common::{connect, rows, with_server};
use chiliad::{Database, Key, Row, Table};
use tokio_postgres::Client;

#[derive(Row, Clone, Debug, PartialEq)]
#[index(by_owner(owner))]
struct Account {
    owner: String,
    balance: i64,
}

/// The names of a table's columns, keys first.
async fn columns(client: &Client, table: &str) -> Vec<String> {
    let statement = client.prepare(&format!("SELECT * FROM {table}")).await.expect("prepared");
    statement.columns().iter().map(|column| column.name().to_owned()).collect()
}

/// A table with keys of this type has each of its rows under its key, in SQL as in Rust.
async fn keys_lead_to_rows<K>(client: &Client, db: &Database, name: &str, keys: &[(K, &str)])
where
    K: Key + Clone + Send + Sync + 'static,
{
    let table: Table<K, Account> = db.create_table(name).expect("made");
    for (at, (key, _)) in (1..).zip(keys) {
        let row = Account { owner: format!("o{at}"), balance: 100 * at };
        db.run(|tx| tx.insert(&table, key, &row)).expect("inserted");
    }
    let columns = columns(client, name).await;
    let quoted = |name: &String| format!("\"{name}\"");
    let key = columns[..columns.len() - 2].iter().map(quoted).collect::<Vec<_>>().join(", ");
    assert_eq!(
        rows(client, &format!("SELECT count(*) FROM {name}")).await,
        [keys.len().to_string()]
    );
    for (at, (of, literal)) in (1..).zip(keys) {
        let found = |what: &str| format!("{what} {name} WHERE ({key}) = ({literal})");
        let select = found("SELECT owner, balance FROM");
        assert_eq!(rows(client, &select).await, [format!("o{at}|{}", 100 * at)], "{select}");
        let update = format!("UPDATE {name} SET balance = balance + 7 WHERE ({key}) = ({literal})");
        client.batch_execute(&update).await.expect("updated");
        let row = db.run(|tx| tx.get(&table, of)).expect("read").expect("is there");
        assert_eq!(row.balance, 100 * at + 7, "{update}");
        let by_owner = format!("SELECT balance FROM {name} WHERE owner = 'o{at}'");
        assert_eq!(rows(client, &by_owner).await, [row.balance.to_string()], "{by_owner}");
        client.batch_execute(&found("DELETE FROM")).await.expect("deleted");
        assert_eq!(db.run(|tx| tx.get(&table, of)).expect("read"), None, "{literal}");
        let insert = format!("INSERT INTO {name} VALUES ({literal}, 'sql', {at})");
        client.batch_execute(&insert).await.expect("inserted");
        let row = db.run(|tx| tx.get(&table, of)).expect("read");
        assert_eq!(row, Some(Account { owner: "sql".into(), balance: at }), "{insert}");
    }
}

#[test]
fn derived_tables_are_looked_up_by_their_keys() {
    with_server(60, async |db, running| {
        let client = connect(running).await;
        let c = &client;
        keys_lead_to_rows(
            c,
            db,
            "i64s",
            &[(-5_i64, "-5"), (0, "0"), (7, "7"), (i64::MAX, "9223372036854775807")],
        )
        .await;
        keys_lead_to_rows(c, db, "i32s", &[(-5_i32, "-5"), (0, "0"), (7, "7")]).await;
        keys_lead_to_rows(c, db, "i16s", &[(-5_i16, "-5"), (7, "7")]).await;
        keys_lead_to_rows(c, db, "u32s", &[(0_u32, "0"), (7, "7"), (u32::MAX, "4294967295")]).await;
        keys_lead_to_rows(
            c,
            db,
            "u64s",
            &[(0_u64, "0"), (7, "7"), (u64::MAX, "18446744073709551615")],
        )
        .await;
        keys_lead_to_rows(c, db, "strings", &[(String::from("a"), "'a'"), (String::new(), "''")])
            .await;
        keys_lead_to_rows(
            c,
            db,
            "pairs",
            &[((3_i32, String::from("x")), "3, 'x'"), ((-3, String::from("y")), "-3, 'y'")],
        )
        .await;
        // By the extended protocol, with a parameter.
        let statement =
            client.prepare("SELECT owner FROM i64s WHERE \"0\" = $1").await.expect("prepared");
        let found = client.query(&statement, &[&7_i64]).await.expect("found");
        assert_eq!(found.len(), 1);
    });
}
