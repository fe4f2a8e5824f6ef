//! Three releases of one program on one directory: `cargo run --example releases -- DIR RELEASE`.
//!
//! Run release 1, then 2, then 3 on the same directory; then 1 again, which is refused.

mod program;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(release)) = (arguments.next(), arguments.next()) else {
        return Err("usage: releases DIR RELEASE".into());
    };
    let db = chiliad::Database::open(path)?;
    program::run(&db, release.parse()?, 1_000)?;
    for table in db.tables() {
        println!("{}: {}", table.name, table.layout.columns());
    }
    Ok(db.close()?)
}
