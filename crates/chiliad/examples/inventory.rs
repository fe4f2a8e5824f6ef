//! An inventory: typed rows under a composite key, found by name and by stock through secondary
//! indexes, picked from many threads, with a report of what runs low.
//!
//! ```text
//! cargo run --release -p chiliad --example inventory
//! ```

use chiliad::{Database, Error, Key, Row, RunOptions, Table, Text};

const WAREHOUSES: u16 = 3;
const ITEMS: u32 = 200;
const PICKERS: u64 = 4;
const ORDERS_EACH: u64 = 5_000;
const OPENING_STOCK: u32 = 300;

/// Warehouse and item; rows of a warehouse lie together.
#[derive(Key, Clone, Debug, PartialEq)]
struct Place {
    warehouse: u16,
    item: u32,
}

#[derive(Row, Debug)]
#[index(by_name(warehouse, name), unique)]
#[index(by_stock(warehouse, stock))]
struct Stock {
    warehouse: u16,
    name: Text<24>,
    stock: u32,
    cents: u64,
    remark: String,
}

/// An order's lines lie under its number.
type LineKey = (u64, u8);

#[derive(Row, Debug)]
struct Line {
    warehouse: u16,
    item: u32,
    quantity: u32,
    cents: u64,
}

struct Inventory {
    db: Database,
    stock: Table<Place, Stock>,
    lines: Table<LineKey, Line>,
}

/// Why an order is not taken.
#[derive(Debug)]
enum Refusal {
    SoldOut,
    Database(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl Inventory {
    fn open() -> Result<Self, Error> {
        let db = Database::in_memory()?;
        let stock = db.create_table("stock")?;
        let lines = db.create_table("lines")?;
        let places = (0..WAREHOUSES)
            .flat_map(|warehouse| (0..ITEMS).map(move |item| Place { warehouse, item }));
        let rows = places.map(|place| {
            let row = Stock {
                warehouse: place.warehouse,
                name: Text::truncated(&format!("part {:03}", place.item)),
                stock: OPENING_STOCK,
                cents: 99 + u64::from(place.item),
                remark: if place.item % 50 == 0 { "fragile".into() } else { String::new() },
            };
            (place, row)
        });
        db.bulk_load(&stock, rows)?;
        Ok(Self { db, stock, lines })
    }

    /// Takes the items of one order out of stock, all or none, and says what they cost.
    fn order(&self, number: u64, places: &[(Place, u32)]) -> Result<u64, Refusal> {
        self.db.run_with(&RunOptions::default(), |tx| {
            let mut total = 0;
            for (line, (place, quantity)) in (0..).zip(places) {
                let mut stock = tx.fetch(&self.stock, place)?.ok_or(Error::RolledBack)?;
                stock.stock = stock.stock.checked_sub(*quantity).ok_or(Refusal::SoldOut)?;
                let cents = u64::from(*quantity) * stock.cents;
                tx.store(&stock)?;
                let Place { warehouse, item } = *place;
                let row = Line { warehouse, item, quantity: *quantity, cents };
                tx.insert(&self.lines, &(number, line), &row)?;
                total += cents;
            }
            Ok(total)
        })
    }

    /// Numbers are `picker * ORDERS_EACH ..`; says how many orders were taken and refused.
    fn pick(&self, picker: u64) -> Result<(u64, u64), Error> {
        let mut dice = 0x9e37_79b9_7f4a_7c15 ^ picker;
        let mut roll = |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        let (mut taken, mut refused) = (0, 0);
        for order in 0..ORDERS_EACH {
            let warehouse = (roll(u64::from(WAREHOUSES))) as u16;
            let lines = 1 + roll(4);
            let mut places: Vec<(Place, u32)> = Vec::new();
            for _ in 0..lines {
                // Low numbers sell best.
                let item = roll(u64::from(ITEMS)).min(roll(u64::from(ITEMS))) as u32;
                if places.iter().all(|(place, _)| place.item != item) {
                    places.push((Place { warehouse, item }, 1 + roll(3) as u32));
                }
            }
            match self.order(picker * ORDERS_EACH + order, &places) {
                Ok(_) => taken += 1,
                Err(Refusal::SoldOut) => refused += 1,
                Err(Refusal::Database(error)) => return Err(error),
            }
        }
        Ok((taken, refused))
    }

    /// The fullest of the shelves with less than `below` pieces, by a reverse scan of the index.
    fn low(&self, warehouse: u16, below: u32, limit: usize) -> Result<Vec<Stock>, Error> {
        self.db.run(|tx| {
            let low = (warehouse, 0)..(warehouse, below);
            tx.find_range(&self.stock, Stock::BY_STOCK, low).rev().limit(limit).values()
        })
    }

    /// The stock that has left the shelves equals that of the order lines.
    fn audit(&self) -> Result<(u64, u64), Error> {
        let options = RunOptions::default().read_only();
        self.db.run_with(&options, |tx| {
            let on_shelves: u64 =
                tx.scan(&self.stock, ..).values()?.iter().map(|row| u64::from(row.stock)).sum();
            let mut sold = 0;
            let mut cents = 0;
            tx.scan(&self.lines, ..).for_each(|_, line| {
                sold += u64::from(line.quantity);
                cents += line.cents;
                Ok(())
            })?;
            let opening = u64::from(OPENING_STOCK) * u64::from(WAREHOUSES) * u64::from(ITEMS);
            assert_eq!(on_shelves + sold, opening, "pieces were made or lost");
            Ok((sold, cents))
        })
    }
}

fn main() -> Result<(), Error> {
    let inventory = Inventory::open()?;
    println!("{WAREHOUSES} warehouses with {ITEMS} items each, {OPENING_STOCK} pieces of each");

    let (taken, refused) = std::thread::scope(|scope| {
        let inventory = &inventory;
        let pickers: Vec<_> =
            (0..PICKERS).map(|picker| scope.spawn(move || inventory.pick(picker))).collect();
        let mut sums = (0, 0);
        for picker in pickers {
            let (taken, refused) = picker.join().expect("no picker panics")?;
            sums = (sums.0 + taken, sums.1 + refused);
        }
        Ok::<_, Error>(sums)
    })?;
    println!("{PICKERS} pickers filled {taken} orders; {refused} met an empty shelf");

    println!("low in warehouse 1 (below 100 pieces, fullest first):");
    let low = inventory.low(1, 100, 5)?;
    for row in &low {
        println!(
            "  {:<10} {:>3} pieces at {:>3} cents  {}",
            row.name, row.stock, row.cents, row.remark
        );
    }
    assert!(low.windows(2).all(|pair| pair[0].stock >= pair[1].stock));
    assert!(low.iter().all(|row| row.warehouse == 1 && row.stock < 100));

    let name = "part 007";
    let (part, first_order) = inventory.db.run(|tx| {
        let part = tx.find(&inventory.stock, Stock::BY_NAME, &(2, name)).first()?;
        let first_order = tx.scan_prefix(&inventory.lines, &(0,)).values()?;
        Ok((part, first_order))
    })?;
    let (_, part) = part.expect("loaded above");
    println!("{name} in warehouse 2: {} pieces left", part.stock);
    for Line { warehouse, item, quantity, cents } in &first_order {
        println!("order 0: {quantity} of item {item} from warehouse {warehouse}, {cents} cents");
    }

    let (sold, cents) = inventory.audit()?;
    println!(
        "{sold} pieces sold for {}.{:02}: shelves and order lines agree",
        cents / 100,
        cents % 100
    );
    Ok(())
}
