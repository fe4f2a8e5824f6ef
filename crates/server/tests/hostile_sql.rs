//! Texts that no honest client sends, made of statements of every kind: whatever comes, the server says an error with a
//! code on that connection alone, in time, and keeps no memory.

mod common;
#[path = "hostile_sql/seeds.rs"]
mod seeds;

use chiliad::Database;
use chiliad_server::Running;
use common::raw::{Raw, Said};
use common::{Dice, resident, serve};
use seeds::{NESTS, SCHEMA, STATEMENTS, WORDS};
use std::time::{Duration, Instant};

/// Statements sent by each of the clients; `CHILIAD_HOSTILE_STATEMENTS` has more sent.
const STATEMENTS_EACH: usize = 1500;
const CLIENTS: u64 = 4;
/// No statement takes longer: they are told to end after a second.
const LONGEST: Duration = Duration::from_secs(20);

/// The words, numbers, strings and signs of a text, blanks between them included.
fn pieces(text: &str) -> Vec<String> {
    let kind = |letter: char| match letter {
        ' ' => 0,
        it if it.is_alphanumeric() || it == '_' => 1,
        _ => 2,
    };
    let mut pieces: Vec<String> = Vec::new();
    let mut last = 3;
    for letter in text.chars() {
        let kind = kind(letter);
        match pieces.last_mut() {
            Some(piece) if kind == last && kind != 2 => piece.push(letter),
            _ => pieces.push(letter.into()),
        }
        last = kind;
    }
    pieces
}

/// A statement, changed in some places.
fn mutated(dice: &mut Dice) -> String {
    let mut text = pieces(dice.one_of(STATEMENTS));
    for _ in 0..dice.below(5) {
        let (at, other) = (dice.below(text.len()), dice.below(text.len()));
        match dice.below(8) {
            0 => _ = text.remove(at),
            1 => text.insert(at, text[other].clone()),
            2 => text.swap(at, other),
            3 => text[at] = dice.one_of(WORDS).into(),
            4 => text.insert(at, format!(" {} ", dice.one_of(WORDS))),
            5 => {
                let more = pieces(dice.one_of(STATEMENTS));
                let from = dice.below(more.len());
                text.truncate(at);
                text.extend_from_slice(&more[from..]);
            }
            6 => {
                let (before, after) = NESTS[dice.below(NESTS.len())];
                let times = 1 + dice.below(9);
                text[at] = format!("{}{}{}", before.repeat(times), text[at], after.repeat(times));
            }
            _ => text[at] = format!("({})", dice.one_of(STATEMENTS)),
        }
        if text.is_empty() {
            text.push(String::new());
        }
    }
    text.concat().replace('\0', "")
}

/// Sends a text in one of the protocols and hears the answer to it.
fn ask(raw: &mut Raw, dice: &mut Dice, text: &str) -> Vec<Said> {
    let is_simple = dice.below(2) == 0;
    if is_simple {
        raw.query(text);
    } else {
        raw.message(b'P', &[b"\0", text.as_bytes(), b"\0\0\0"].concat());
        let mut bind = b"\0\0\0\0".to_vec();
        let count = dice.below(4);
        bind.extend((count as u16).to_be_bytes());
        for _ in 0..count {
            let value = dice.one_of(WORDS).trim_matches('\'').replace('\0', "");
            bind.extend((value.len() as u32).to_be_bytes());
            bind.extend(value.as_bytes());
        }
        bind.extend([0, 1, 0, dice.below(2) as u8]);
        raw.message(b'B', &bind).message(b'D', b"P\0").execute("", dice.below(3) as i32).sync();
    }
    raw.send().expect("sent");
    let mut heard = Vec::new();
    loop {
        let said = raw.next().unwrap_or_else(|error| panic!("{error}, after {text}"));
        match said.kind {
            b'Z' => return heard,
            // It wants rows.
            b'G' => {
                for _ in 0..dice.below(4) {
                    let line = format!("{}\t{}\n", dice.one_of(WORDS), dice.one_of(WORDS));
                    raw.message(b'd', line.as_bytes());
                }
                let done = dice.below(2) == 0;
                raw.message(if done { b'c' } else { b'f' }, if done { b"" } else { b"no\0" });
                if !is_simple {
                    // The first counted for nothing: rows were expected.
                    raw.sync();
                }
                raw.send().expect("sent");
            }
            _ => heard.push(said),
        }
    }
}

/// Refuses answers that no client should get.
fn judge(text: &str, heard: &[Said]) {
    for said in heard {
        let Some(code) = said.sqlstate() else { continue };
        assert_eq!(code.len(), 5, "{text}");
        let whole = String::from_utf8_lossy(&said.body);
        assert!(!code.starts_with("XX"), "{text}: {whole}");
    }
}

fn limit(raw: &mut Raw) {
    judge("SET", &raw.query("SET statement_timeout = '1s'; SET lock_timeout = '1s'").hear());
}

fn statements_each() -> usize {
    let said = std::env::var("CHILIAD_HOSTILE_STATEMENTS").ok();
    said.and_then(|it| it.parse().ok()).unwrap_or(STATEMENTS_EACH)
}

fn client(running: &Running, number: u64) {
    let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut raw = Raw::connect(running);
    limit(&mut raw);
    for count in 0..statements_each() {
        let text = mutated(&mut dice);
        let begun = Instant::now();
        let heard = ask(&mut raw, &mut dice, &text);
        judge(&text, &heard);
        assert!(begun.elapsed() < LONGEST, "{:?}: {text}", begun.elapsed());
        if dice.below(4) == 0 {
            raw.query("ROLLBACK").hear();
        }
        if count % 100 == 0 {
            // What it has left behind, open or dropped.
            raw = Raw::connect(running);
            limit(&mut raw);
        }
    }
}

#[test]
fn mutated_statements_get_an_answer_with_a_code() {
    let db = Database::in_memory().expect("opens");
    let running = serve(&db);
    judge(SCHEMA, &Raw::connect(&running).query(SCHEMA).hear());
    let before = resident();
    std::thread::scope(|scope| {
        for number in 1..=CLIENTS {
            let running = &running;
            scope.spawn(move || client(running, number));
        }
    });
    let grown = resident().saturating_sub(before);
    assert!(grown < 1 << 30, "{grown} bytes more than before");
    assert_eq!(Raw::connect(&running).query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
    running.shutdown();
}

/// Texts that are nested deep or go on for long: neither the parser's stack nor the server's time is at their mercy.
#[test]
fn deep_and_long_statements_get_an_answer_with_a_code() {
    let db = Database::in_memory().expect("opens");
    let running = serve(&db);
    judge(SCHEMA, &Raw::connect(&running).query(SCHEMA).hear());
    let mut raw = Raw::connect(&running);
    limit(&mut raw);
    for (before, after) in NESTS {
        for times in [10, 38, 60, 200, 3_000] {
            let (before, after) = (before.repeat(times), after.repeat(times));
            for text in [
                format!("SELECT {before}1{after}"),
                format!("{before}SELECT 1{after}"),
                format!("SELECT n FROM a WHERE {before}n{after} = 1"),
                format!("INSERT INTO a (id) VALUES ({before}1{after})"),
                format!("CREATE TABLE deep (id int PRIMARY KEY, CHECK ({before}id{after} > 0))"),
            ] {
                let begun = Instant::now();
                let shown = &text[..text.len().min(200)];
                eprintln!("{} bytes: {shown}", text.len());
                let heard = raw.query(&text).hear();
                judge(shown, &heard);
                assert!(begun.elapsed() < LONGEST, "{:?}: {shown}", begun.elapsed());
            }
            judge("DROP", &raw.query("DROP TABLE IF EXISTS deep").hear());
        }
    }
    // Deep together, though no pair of parentheses has much in it.
    for (times, operators) in [(20, 10), (38, 390), (30, 100)] {
        let inner = format!("{})", " + n".repeat(operators)).repeat(times);
        let text = format!("SELECT {}n{inner} FROM a", "(".repeat(times));
        judge(&text[..50], &raw.query(&text).hear());
    }
    running.shutdown();
}
