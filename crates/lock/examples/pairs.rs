use chiliad_lock::*;
use chiliad_machine::{Native, Shared};
use std::sync::Arc;
fn main() {
    let n: u64 = std::env::args().nth(1).map_or(1_000_000, |n| n.parse().unwrap());
    let manager = Arc::new(Shared::<Native, _>::new(Manager::new(&Options::default())));
    let mut s = Session::new(&manager).unwrap();
    let t = std::time::Instant::now();
    for i in 0..n {
        s.begin();
        s.acquire(Name::record(1, i & 1023), Mode::X, None).unwrap();
        s.release_all();
    }
    eprintln!("{:.1} ns", t.elapsed().as_nanos() as f64 / n as f64);
    eprintln!("{:?}", manager.usage());
}
