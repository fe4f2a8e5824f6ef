//! What a shared log promises, over three servers that nothing happens to.

mod common;

use chiliad_machine::shared_log::SharedLog;
use common::{Servers, read_all};
use std::time::Duration;

#[test]
fn records_are_read_in_the_order_of_their_positions() {
    let Some(servers) = Servers::start("order", 3) else { return };
    let log = servers.open("order");
    assert_eq!(log.bounds().unwrap(), 1..1);
    log.append(&[]).unwrap();
    for n in 0..20_u32 {
        log.append(&[&n.to_le_bytes(), b"", b"same"]).unwrap();
    }
    assert_eq!(log.bounds().unwrap(), 1..61);
    let all = read_all(&log, 1, 1 << 20);
    assert_eq!(all.len(), 60);
    assert_eq!(read_all(&log, 1, 1), all);
    assert_eq!(read_all(&log, 31, 10), all[30..]);
    let mut seen: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    seen.retain(|record| record.len() == 4 && *record != b"same");
    let expected: Vec<[u8; 4]> = (0..20_u32).map(u32::to_le_bytes).collect();
    assert_eq!(seen, expected);
    // Where there is nothing, a read waits and says so.
    let after = log.read(61, 1, Duration::from_millis(20), &mut |_, _| panic!("nothing"));
    assert_eq!(after.unwrap(), 61);
}
