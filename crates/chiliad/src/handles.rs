//! That handles end with their transaction: each case once as it compiles, and once with the one
//! change that lets a handle out, as it does not.

/// A handle of an earlier transaction, in a later one.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let mut kept = None;
/// db.run(|tx| {
///     kept = tx.fetch(&accounts, &1)?.map(|row| row.value);
///     Ok(())
/// })?;
/// drop(kept);
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let mut kept = None;
/// db.run(|tx| {
///     kept = tx.fetch(&accounts, &1)?;
///     Ok(())
/// })?;
/// drop(kept);
/// # Ok::<(), chiliad::Error>(())
/// ```
struct Earlier;

/// A handle as the result of its transaction.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let row = db.run(|tx| Ok(tx.fetch(&accounts, &1)?.unwrap().value))?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let row = db.run(|tx| Ok(tx.fetch(&accounts, &1)?.unwrap()))?;
/// # Ok::<(), chiliad::Error>(())
/// ```
struct AsResult;

/// A handle of a transaction to be deleted by one inside it.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.run(|outer| {
///     let row = outer.fetch_for_update(&accounts, &1)?.unwrap();
///     db.run(|inner| inner.remove(&accounts, &7))?;
///     outer.delete(row.clone())
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.run(|outer| {
///     let row = outer.fetch_for_update(&accounts, &1)?.unwrap();
///     db.run(|inner| inner.remove(&accounts, &7))?;
///     db.run(|inner| inner.delete(row.clone()))
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
struct Delete;

/// Handles that a scan has fetched.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.run(|outer| {
///     let rows = outer.scan(&accounts, ..).fetch()?;
///     outer.store(&rows[0].1)
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.run(|outer| {
///     let rows = outer.scan(&accounts, ..).fetch()?;
///     db.run(|inner| inner.store(&rows[0].1))
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
struct Scanned;

/// A handle of a snapshot.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.snapshot(|snapshot| {
///     let row = snapshot.fetch(&accounts, &1)?;
///     db.run(|tx| tx.put(&accounts, &1, &row.as_ref().map_or(0, |row| row.value)))
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.snapshot(|snapshot| {
///     let row = snapshot.fetch(&accounts, &1)?;
///     db.run(|tx| row.as_ref().map_or(Ok(()), |row| tx.store(row)))
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
struct OfSnapshot;

/// A handle that one of several transactions in flight leaves for its peers.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let kept = std::cell::RefCell::new(Vec::new());
/// db.run_each([1, 7], |tx, key| {
///     kept.borrow_mut().extend(tx.fetch(&accounts, &*key)?.map(|row| row.value));
///     Ok(())
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let kept = std::cell::RefCell::new(Vec::new());
/// db.run_each([1, 7], |tx, key| {
///     kept.borrow_mut().extend(tx.fetch(&accounts, &*key)?);
///     Ok(())
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
struct InFlight;

/// A handle that a worker's own closures hand on.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let (mut one, mut other) = (db.worker()?, db.worker()?);
/// one.run(|outer| {
///     let row = outer.fetch(&accounts, &1)?.unwrap();
///     other.run(|inner| inner.put(&accounts, &7, &row.value))
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let (mut one, mut other) = (db.worker()?, db.worker()?);
/// one.run(|outer| {
///     let row = outer.fetch(&accounts, &1)?.unwrap();
///     other.run(|inner| inner.store(&row))
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
struct OfWorker;

/// A transaction itself, or what reads in it.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let mut kept = None;
/// db.run(|tx| {
///     kept = tx.get(&accounts, &1)?;
///     Ok(())
/// })?;
/// drop(kept);
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let mut kept = None;
/// db.run(|tx| {
///     kept = Some(tx);
///     Ok(())
/// })?;
/// drop(kept);
/// # Ok::<(), chiliad::Error>(())
/// ```
struct Itself;

/// Two transactions changing places.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.run(|outer| {
///     db.run(|inner| {
///         inner.put(&accounts, &1, &outer.get(&accounts, &7)?.unwrap())?;
///         Ok(())
///     })
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// db.run(|outer| {
///     db.run(|inner| {
///         std::mem::swap(outer, inner);
///         Ok(())
///     })
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
struct Swapped;

/// A scan that is described in one transaction and run in another.
///
/// ```
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let mut kept = None;
/// db.run(|tx| {
///     kept = Some(tx.scan(&accounts, ..).keys()?);
///     Ok(())
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// ```compile_fail
/// # use chiliad::{Database, Table};
/// # let db = Database::in_memory()?;
/// # let accounts: Table<u64, i64> = db.create_table("accounts")?;
/// # db.bulk_load(&accounts, [(1, 10), (7, 70)])?;
/// let mut kept = None;
/// db.run(|tx| {
///     kept = Some(tx.scan(&accounts, ..));
///     Ok(())
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
struct Described;
