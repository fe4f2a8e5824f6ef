//! Blocks that mean to change the same come one after the other, under a scheme that would refuse all but one.

use crate::common::{connect, rows, run_for, serve, state};
use chiliad::{Database, Options, Scheme};
use std::cell::Cell;
use tokio_postgres::Client;

const CLIENTS: usize = 4;
/// Blocks of each.
const BLOCKS: usize = 20;

/// Takes the oldest row of the queue; its number, or the SQLSTATE of a refusal.
async fn take(client: &Client, oldest: &str) -> Result<i32, String> {
    let block = async {
        client.batch_execute("BEGIN").await?;
        let id: i32 = client.query_one(oldest, &[]).await?.get(0);
        client.execute("DELETE FROM queue WHERE of = 1 AND id = $1", &[&id]).await?;
        client.batch_execute("COMMIT").await?;
        Ok(id)
    };
    let taken: Result<i32, tokio_postgres::Error> = block.await;
    if taken.is_err() {
        client.batch_execute("ROLLBACK").await.expect("rolled back");
    }
    taken.map_err(|error| state(&error))
}

/// Has clients take all rows of a queue; how often they were refused.
async fn refusals(oldest: &'static str) -> usize {
    let options = Options::default().scheme(Scheme::Silo);
    let running = serve(&Database::in_memory_with(options).expect("opens"));
    let setup = connect(&running).await;
    let text = format!(
        "CREATE TABLE queue (of int, id int, PRIMARY KEY (of, id)); \
         INSERT INTO queue SELECT 1, g FROM generate_series(1, {}) g",
        CLIENTS * BLOCKS
    );
    setup.batch_execute(&text).await.expect("made");
    let refused = Cell::new(0);
    let worker = async || {
        let client = connect(&running).await;
        let mut taken = Vec::new();
        while taken.len() < BLOCKS {
            match take(&client, oldest).await {
                Ok(id) => taken.push(id),
                Err(state) => {
                    assert_eq!(state, "40001");
                    refused.set(refused.get() + 1);
                }
            }
        }
        taken
    };
    let (one, two, three, four) = tokio::join!(worker(), worker(), worker(), worker());
    let mut taken = [one, two, three, four].concat();
    taken.sort_unstable();
    assert!(taken.into_iter().eq(1..=(CLIENTS * BLOCKS) as i32), "each row once");
    assert!(rows(&setup, "SELECT id FROM queue").await.is_empty());
    refused.into_inner()
}

#[test]
fn blocks_that_take_the_oldest_row_do_not_refuse_each_other() {
    run_for(120, async {
        let plain = refusals("SELECT id FROM queue WHERE of = 1 ORDER BY id LIMIT 1").await;
        let claimed =
            refusals("SELECT id FROM queue WHERE of = 1 ORDER BY id LIMIT 1 FOR UPDATE").await;
        println!("{plain} refusals, {claimed} with FOR UPDATE");
        // A claim is waited for 100 ms at most, which a busy machine may exceed now and then.
        assert!(claimed * 4 <= plain, "{claimed} of {plain}");
    });
}
