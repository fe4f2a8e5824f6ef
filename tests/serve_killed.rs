//! `chiliad serve`, killed as `kill -9` does while clients write: what they were answered is there afterwards.

mod common;
#[path = "common/ledger.rs"]
mod ledger;
#[path = "common/served.rs"]
mod served;

use common::Folder;
use ledger::{Ledger, TABLE, pairs};
use served::{Raw, Served};
use std::collections::HashSet;
use std::time::Duration;

const CLIENTS: usize = 64;
/// Rounds on one directory; `CHILIAD_HOSTILE_ROUNDS` has more.
const ROUNDS: usize = 3;
/// Answers in a round before the server is killed.
const ANSWERS: usize = 1000;

fn rounds() -> usize {
    let said = std::env::var("CHILIAD_HOSTILE_ROUNDS").ok();
    said.and_then(|it| it.parse().ok()).unwrap_or(ROUNDS)
}

fn answers(ledgers: &[Ledger]) -> usize {
    ledgers.iter().map(|ledger| ledger.answered().len()).sum()
}

/// Waits for so many more answers.
fn await_answers(ledgers: &[Ledger], enough: usize) {
    while answers(ledgers) < enough {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Kills a server of this durability in several rounds. `before_kill` is called half-way of each, and what it returns must
/// be there afterwards. Returns how many pairs were answered and are not there.
fn killed(durability: &str, before_kill: impl Fn(&Served, &[Ledger]) -> Vec<u64>) -> usize {
    let folder = Folder::new(&format!("serve-killed-{durability}"));
    let flags = format!("--data {} --durability {durability}", folder.file("data"));
    let ledgers: Vec<Ledger> = (0..CLIENTS).map(Ledger::of).collect();
    let mut lost = 0;
    for round in 0..rounds() {
        let served = Served::start(&flags);
        if round == 0 {
            assert_eq!(served.client().query(TABLE).told(), ["C CREATE TABLE"]);
        }
        let clients: Vec<Raw> = (0..CLIENTS).map(|_| served.client()).collect();
        let (ledgers, begun) = (&ledgers[..], answers(&ledgers));
        let must = std::thread::scope(|scope| {
            for (raw, ledger) in clients.into_iter().zip(ledgers) {
                scope.spawn(move || ledger.write(raw, ""));
            }
            await_answers(ledgers, begun + ANSWERS / 2);
            let must = before_kill(&served, ledgers);
            await_answers(ledgers, begun + ANSWERS);
            // At any moment of an epoch.
            std::thread::sleep(Duration::from_millis(7 * round as u64 % 40));
            served.kill();
            must
        });
        let served = Served::start(&flags);
        let there: HashSet<u64> = pairs(&served);
        let gone = must.iter().filter(|pair| !there.contains(pair)).count();
        assert_eq!(gone, 0, "round {round}: of {} that must be there", must.len());
        let known = |pair: &u64| ledgers.iter().any(|ledger| ledger.knows(*pair));
        assert!(there.iter().all(known), "round {round}: rows that nobody has written");
        lost += ledgers.iter().map(|ledger| ledger.forget_lost(&there)).sum::<usize>();
        served.kill();
    }
    lost
}

#[test]
fn what_was_answered_under_sync_is_there() {
    assert_eq!(killed("sync", |_, _| Vec::new()), 0, "were answered and are not there");
}

/// Under `epoch` the last answers may be lost, whole transactions, and none before one that is there. What was answered
/// before a commit that waited for the disk is there.
#[test]
fn what_is_lost_under_epoch_is_whole_and_last() {
    killed("epoch", |served, ledgers| {
        let answered: Vec<u64> = ledgers.iter().flat_map(Ledger::answered).collect();
        let mut raw = served.client();
        raw.query("SET synchronous_commit = on; CREATE TABLE IF NOT EXISTS u (id int PRIMARY KEY)");
        raw.hear();
        let told =
            raw.query("INSERT INTO u VALUES (1) ON CONFLICT (id) DO UPDATE SET id = 1").told();
        assert_eq!(told, ["C INSERT 0 1"]);
        answered
    });
}
