//! TPC-C's New-Order and Payment, half and half: its two transactions that make most of the load.
//!
//! Data and inputs follow the specification (sizes, NURand, one remote item in a hundred, 15% remote
//! payments, 60% by last name, 1% of new orders rolled back); there is no think time, and a client
//! has a home warehouse. All clients of a warehouse meet at its rows: with fewer warehouses than
//! clients this measures how a store takes contention.

mod layout;
mod load;
mod new_order;
mod payment;

#[cfg(test)]
mod tests;

use super::{Loader, Session, Workload};
use crate::random::Random;
use crate::store::{Kind, Needs, Result, Tx, Verdict};
use layout::NAME_BYTES;

/// How much there is of everything; the specification fixes all but the warehouses.
#[derive(Clone, Copy)]
pub struct Scale {
    pub warehouses: u32,
    pub items: u32,
    /// Customers, and orders at the beginning, of each district.
    pub customers: u32,
}

impl Scale {
    /// As specified.
    pub fn standard(warehouses: u32) -> Self {
        Self { warehouses, items: 100_000, customers: 3_000 }
    }
}

/// Districts of a warehouse.
const DISTRICTS: u32 = 10;

/// The workload.
pub struct Tpcc {
    scale: Scale,
}

impl Tpcc {
    pub fn new(scale: Scale) -> Self {
        Self { scale }
    }
}

impl Workload for Tpcc {
    fn tables(&self) -> usize {
        layout::TABLES
    }

    fn needs(&self) -> Needs {
        Needs { ranges_in_updates: true, ..Needs::default() }
    }

    fn load(&self, rows: &mut Loader<'_>) -> Result<()> {
        load::load(self.scale, rows)
    }

    fn session(&self, client: u64, seed: u64) -> Box<dyn Session + '_> {
        let home = 1 + (client % u64::from(self.scale.warehouses)) as u32;
        Box::new(Client {
            scale: self.scale,
            random: Random::new(seed, client + 1),
            home,
            number: client,
            payments: 0,
            drawn: None,
            scratch: Vec::new(),
        })
    }
}

enum Drawn {
    NewOrder(new_order::Input),
    Payment(payment::Input),
}

struct Client {
    scale: Scale,
    random: Random,
    home: u32,
    number: u64,
    /// So far: with the client's number, the key of a row in the history.
    payments: u64,
    drawn: Option<Drawn>,
    scratch: Vec<u8>,
}

impl Session for Client {
    fn draw(&mut self) -> Kind {
        let (scale, random) = (self.scale, &mut self.random);
        self.drawn = Some(if random.percent(50) {
            Drawn::NewOrder(new_order::Input::draw(scale, random, self.home))
        } else {
            self.payments += 1;
            let history = (self.number + 1, self.payments);
            Drawn::Payment(payment::Input::draw(scale, random, self.home, history))
        });
        Kind::Update
    }

    fn body(&mut self, tx: &mut dyn Tx) -> Result<Verdict> {
        match self.drawn.as_ref().expect("drawn before it is run") {
            Drawn::NewOrder(input) => input.run(tx, &mut self.scratch),
            Drawn::Payment(input) => input.run(tx, &mut self.scratch),
        }
    }
}

/// The specification's non-uniform numbers from 1 to `most`; the constant is one of those allowed.
fn nurand(random: &mut Random, a: u32, most: u32) -> u32 {
    const C: u32 = 123;
    let both = random.between(0, a) | random.between(1, most);
    (both + C) % most + 1
}

fn draw_customer(random: &mut Random, scale: Scale) -> u32 {
    nurand(random, 1023, scale.customers)
}

/// A last name by its number, 0 to 999: three syllables.
fn last_name(number: u32) -> [u8; NAME_BYTES] {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let mut name = [0; NAME_BYTES];
    let mut at = 0;
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize].as_bytes();
        name[at..at + syllable.len()].copy_from_slice(syllable);
        at += syllable.len();
    }
    name
}

/// Names that some customer has: the first customers have one each.
fn names(scale: Scale) -> u32 {
    scale.customers.min(1000)
}
