//! Conversations as clients have them, message by message, and how they are changed.

use crate::common::Dice;

/// A message: its type, but for the first one of a connection, and its body.
pub type Message = (Option<u8>, Vec<u8>);

fn of(kind: u8, parts: &[&[u8]]) -> Message {
    (Some(kind), parts.concat())
}

fn startup() -> Message {
    (None, b"\0\x03\0\0user\0ann\0database\0test\0options\0-c statement_timeout=1s\0\0".to_vec())
}

fn query(text: &str) -> Message {
    of(b'Q', &[text.as_bytes(), b"\0"])
}

fn parse(name: &str, text: &str) -> Message {
    of(b'P', &[name.as_bytes(), b"\0", text.as_bytes(), b"\0\0\x01\0\0\0\x17"])
}

fn bind(portal: &str, name: &str) -> Message {
    let counts = b"\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\x01\0\x01";
    of(b'B', &[portal.as_bytes(), b"\0", name.as_bytes(), counts])
}

fn execute(portal: &str, rows: u32) -> Message {
    of(b'E', &[portal.as_bytes(), b"\0", &rows.to_be_bytes()])
}

fn sync() -> Message {
    of(b'S', &[])
}

fn end() -> Message {
    of(b'X', &[])
}

/// What clients say, one conversation each.
pub fn talks() -> Vec<Vec<Message>> {
    let binary =
        b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x04\0\0\x01\0\0\0\0\x02ab\xff\xff";
    let insert = "INSERT INTO m VALUES ($1, 'x') ON CONFLICT (id) DO UPDATE SET v = 'y'";
    vec![
        vec![startup(), query("SELECT id, v FROM m WHERE id < 5; SELECT 1"), end()],
        vec![
            startup(),
            query("BEGIN; UPDATE m SET v = 'z'"),
            query("SAVEPOINT s"),
            query("COMMIT"),
        ],
        vec![
            startup(),
            parse("p", "SELECT id, v FROM m WHERE id >= $1"),
            bind("c", "p"),
            of(b'D', &[b"Pc\0"]),
            execute("c", 2),
            execute("c", 0),
            sync(),
            of(b'C', &[b"Sp\0"]),
            sync(),
        ],
        vec![
            startup(),
            parse("", insert),
            bind("", ""),
            execute("", 0),
            of(b'H', &[]),
            sync(),
            end(),
        ],
        vec![
            startup(),
            query("COPY m FROM STDIN"),
            of(b'd', &[b"101\tone\n102\t\\N\n"]),
            of(b'd', &[b"103\tth"]),
            of(b'd', &[b"ree\n"]),
            of(b'c', &[]),
            query("DELETE FROM m WHERE id > 100"),
        ],
        vec![
            startup(),
            query("COPY m FROM STDIN (FORMAT csv)"),
            of(b'd', &[b"201,\"a\nb\"\n202,c\n"]),
            of(b'f', &[b"no more\0"]),
            query("SELECT 1"),
        ],
        vec![
            startup(),
            query("COPY m FROM STDIN (FORMAT binary)"),
            of(b'd', &[binary]),
            of(b'c', &[]),
            query("COPY m TO STDOUT (FORMAT binary)"),
        ],
        vec![(None, b"\x04\xd2\x16\x2f".to_vec()), startup(), query("SELECT 2"), end()],
        vec![(None, b"\x04\xd2\x16\x2e\0\0\0\x01\x01\x02\x03\x04".to_vec())],
        vec![
            startup(),
            query("BEGIN; DECLARE c CURSOR FOR SELECT * FROM m; FETCH 2 FROM c"),
            of(b'D', &[b"Pc\0"]),
            execute("c", 1),
            sync(),
            query("ROLLBACK"),
        ],
    ]
}

/// Changes messages: leaves out, says twice, in another order, or takes from another conversation.
pub fn change_messages(talk: &mut Vec<Message>, other: &[Message], dice: &mut Dice) {
    if talk.is_empty() {
        return;
    }
    let (at, to) = (dice.below(talk.len()), dice.below(talk.len()));
    match dice.below(5) {
        0 => _ = talk.remove(at),
        1 => talk.insert(to, talk[at].clone()),
        2 => talk.swap(at, to),
        3 => talk.insert(at, other[dice.below(other.len())].clone()),
        // Another type of message than its body is of.
        _ => talk[at].0 = Some(b"QPBDECHSdcfpX\0\xff"[dice.below(15)]),
    }
}

/// The bytes of a conversation, some length words wrong if `lies`.
pub fn bytes_of(talk: &[Message], lies: bool, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, body) in talk {
        bytes.extend(kind);
        let length = body.len() as u32 + 4;
        let length = match lies && dice.below(3) == 0 {
            true => match dice.below(5) {
                0 => dice.below(9) as u32,
                1 => length.wrapping_sub(1 + dice.below(4) as u32),
                2 => length + 1 + dice.below(9) as u32,
                3 => dice.below(u32::MAX as usize) as u32,
                _ => u32::MAX,
            },
            false => length,
        };
        bytes.extend(length.to_be_bytes());
        bytes.extend(body);
    }
    bytes
}

/// Changes bytes: other ones, fewer, some twice, or cut.
pub fn change_bytes(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    let at = dice.below(bytes.len());
    let until = (at + 1 + dice.below(12)).min(bytes.len());
    match dice.below(6) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes[at] = [0, 0xff, 0x7f, 0x80, b'\'', b'$'][dice.below(6)],
        2 => bytes.truncate(at),
        3 => _ = bytes.drain(at..until),
        4 => {
            let piece = bytes[at..until].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => bytes.swap(at, until - 1),
    }
}
