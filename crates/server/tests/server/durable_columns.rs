//! Under `silo` a client is told at once of columns that have long been durable, whatever has just changed beside them in
//! their row; and of no others.

use super::durable_replies::{World, is_durable};
use crate::common::{Dice, rows, run_for};
use chiliad::{Pending, Scheme};

const TABLES: &str =
    "CREATE TABLE desk (id bigint PRIMARY KEY, name text, total bigint, other bigint);
    INSERT INTO desk SELECT i, 'desk', 10, 0 FROM generate_series(1, 40) AS g(i);
    CREATE INDEX desk_by_other ON desk (other);
    CREATE TABLE copy (id bigint PRIMARY KEY, total bigint)";

async fn world(name: &str) -> World {
    let world = World::new(name, Scheme::Silo).await;
    world.writer.batch_execute(TABLES).await.expect("made");
    world.db.sync().expect("durable");
    world
}

/// Whether the answers to statements of a block show something of a change before that is durable: `block` runs after
/// `change`, and its last statement is the one that counts.
async fn waits(world: &World, change: &str, block: &[&str]) -> bool {
    let mark = world.put(change).await;
    world.client.batch_execute("BEGIN").await.expect("begins");
    let (last, before) = block.split_last().expect("one");
    for sql in before {
        world.client.batch_execute(sql).await.expect(sql);
    }
    assert!(!is_durable(&mark), "too early: {block:?}");
    world.client.simple_query(last).await.expect(last);
    let waited = is_durable(&mark);
    world.client.batch_execute("ROLLBACK").await.expect("over");
    waited
}

#[test]
fn what_has_not_changed_is_told_at_once() {
    run_for(300, async {
        let world = world("durable-columns").await;
        let update = "UPDATE desk SET total = total + 1 WHERE id = 1";
        let all = "UPDATE desk SET total = total + 1";
        let both = format!("{update}; UPDATE desk SET other = 5 WHERE id = 1");
        let (name, own) =
            ("SELECT name FROM desk WHERE id = 1", "UPDATE desk SET total = 3 WHERE id = 1");
        for (change, block) in [
            (update, &[name][..]),
            (update, &["SELECT name, other, id FROM desk WHERE id = 1 FOR UPDATE"]),
            (update, &["SELECT d.name FROM desk AS d JOIN copy AS c ON c.id = d.id"]),
            (all, &["SELECT count(*), min(name) FROM desk"]),
            (all, &["SELECT name FROM desk ORDER BY id LIMIT 3"]),
            (update, &[update, name]),
            (update, &[own, "SELECT 1"]),
            (&both, &[update, name]),
            (update, &["INSERT INTO copy VALUES (77, 1)", name]),
        ] {
            assert!(!waits(&world, change, block).await, "{change}, {block:?}");
        }
        world.end();
    });
}

#[test]
fn what_has_changed_is_told_when_it_is_durable() {
    run_for(300, async {
        let world = world("changed-columns").await;
        let update = "UPDATE desk SET total = total + 1 WHERE id = 1";
        let both = format!("{update}; UPDATE desk SET other = 5 WHERE id = 1");
        let twice = format!("UPDATE desk SET other = 4 WHERE id = 1; {update}");
        let (name, total) =
            ("SELECT name FROM desk WHERE id = 1", "SELECT total FROM desk WHERE id = 1");
        let other = "SELECT other FROM desk WHERE id = 1";
        let new = "DELETE FROM desk WHERE id = 1; INSERT INTO desk VALUES (1, 'desk', 10, 0)";
        for (change, block) in [
            (update, &[total][..]),
            (update, &["SELECT * FROM desk WHERE id = 1"]),
            (update, &["SELECT name FROM desk WHERE id = 1 AND total > 0"]),
            (update, &["SELECT name FROM desk WHERE id < 3 ORDER BY total"]),
            (update, &["SELECT sum(total) FROM desk"]),
            (update, &["SELECT 1 WHERE EXISTS (SELECT 1 FROM desk WHERE total > 1000)"]),
            (update, &["SELECT (SELECT total FROM desk WHERE id = 1)"]),
            (update, &["SELECT q.t FROM (SELECT total AS t FROM desk WHERE id < 3) AS q"]),
            (update, &["SELECT id FROM desk UNION SELECT total FROM desk"]),
            (update, &["UPDATE desk SET total = 1 WHERE id = 1 RETURNING name"]),
            (update, &["DECLARE c CURSOR FOR SELECT name FROM desk WHERE id = 1"]),
            (&both, &[total]),
            (&both, &[other]),
            (&twice, &[other]),
            (&both, &["SELECT name FROM desk WHERE other = 5"]),
            ("UPDATE desk SET name = 'desk' WHERE id = 1", &[name]),
            ("UPDATE desk SET id = 101 WHERE id = 1", &["SELECT name FROM desk WHERE id = 101"]),
            ("UPDATE desk SET id = 1 WHERE id = 101", &[name]),
            (new, &[name]),
            ("INSERT INTO desk VALUES (201, 'new', 1, 1)", &["SELECT count(*) FROM desk"]),
            ("DELETE FROM desk WHERE id = 201", &["SELECT count(*) FROM desk"]),
            // What the transaction has made of it.
            (update, &["UPDATE desk SET other = total WHERE id = 1", other]),
            (
                update,
                &[
                    "INSERT INTO copy SELECT 5, total FROM desk WHERE id = 1",
                    "SELECT count(*) FROM copy",
                ],
            ),
            (
                update,
                &[
                    "UPDATE desk SET other = 9 WHERE id = 1",
                    "DELETE FROM copy",
                    "SELECT id FROM copy",
                ],
            ),
        ] {
            assert!(waits(&world, change, block).await, "{change}, {block:?}");
        }
        world.end();
    });
}

/// A row of `desk` but for its key.
type Desk = [i64; 2];

/// Random changes, and blocks that ask for a column: they are told what it was in a state that is durable.
#[test]
fn columns_are_told_as_a_crash_would_leave_them() {
    const ROWS: usize = 3;
    run_for(300, async {
        let world = world("random-columns").await;
        let mut dice = Dice(1);
        // Each state with what is durable when it is.
        let mut states: Vec<([Desk; ROWS], Pending<()>)> = vec![([[10, 0]; ROWS], world.mark())];
        world.db.sync().expect("durable");
        let mut at_once = 0;
        for step in 0..600_i64 {
            for _ in 0..dice.below(3) {
                let mut state = states.last().expect("one").0;
                let (id, value) = (dice.below(ROWS), step);
                let key = id + 1;
                let sql = match dice.below(8) {
                    0..4 => {
                        state[id][0] = value;
                        format!("UPDATE desk SET total = {value} WHERE id = {key}")
                    }
                    4 | 5 => {
                        state[id][1] = value;
                        format!("UPDATE desk SET other = {value} WHERE id = {key}")
                    }
                    6 => {
                        state[id] = [value, value];
                        format!("UPDATE desk SET other = {value}, total = {value} WHERE id = {key}")
                    }
                    _ => {
                        state[id] = [value, 0];
                        format!(
                            "DELETE FROM desk WHERE id = {key}; INSERT INTO desk VALUES ({key}, 'desk', {value}, 0)"
                        )
                    }
                };
                world.writer.batch_execute(&sql).await.expect("committed");
                states.push((state, world.mark()));
            }
            let (id, column) = (dice.below(ROWS), dice.below(2));
            let key = id + 1;
            let own = match dice.below(3) {
                0 => format!("UPDATE desk SET other = total + 7 WHERE id = {key}"),
                1 => format!("UPDATE desk SET total = total + 7 WHERE id = {key}"),
                _ => String::new(),
            };
            world.client.batch_execute(&format!("BEGIN; {own}")).await.expect("changed");
            let name = ["total", "other"][column];
            let sql = format!("SELECT {name} FROM desk WHERE id = {key}");
            let told = rows(&world.client, &sql).await;
            let durable = states.iter().rposition(|(_, mark)| is_durable(mark)).expect("the first");
            at_once += usize::from(durable + 1 < states.len());
            let mut desk = states[durable].0[id];
            match own.find("SET other") {
                _ if own.is_empty() => {}
                Some(_) => desk[1] = desk[0] + 7,
                None => desk[0] += 7,
            }
            assert_eq!(told, [desk[column].to_string()], "step {step}: {own}; {sql}");
            world.client.batch_execute("ROLLBACK").await.expect("over");
        }
        // Else it has tried nothing.
        assert!(
            at_once > 50,
            "{at_once} of 600 were told of a row before its last change was durable"
        );
        world.end();
    });
}
