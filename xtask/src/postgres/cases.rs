//! What is asked of the servers.

use super::servers::Kind;

/// A load that several servers run in turn; ratios are to the first side.
pub struct Case {
    pub name: &'static str,
    pub clients: u32,
    /// Flags of pgbench.
    pub flags: &'static [&'static str],
    pub sides: Vec<Side>,
}

/// A server under a load.
pub struct Side {
    pub label: String,
    pub kind: Kind,
    /// The client's `PGOPTIONS`.
    pub options: &'static str,
}

const SYNC_OFF: &str = "-c synchronous_commit=off";
const SERIALIZABLE: &str = "-c default_transaction_isolation=serializable";
const TPCB: &[&str] = &["-M", "prepared", "--max-tries=1000"];
const SILO: &str = "silo";

/// All cases; those of tpcb under these schemes, too.
pub fn all(schemes: &[String]) -> Vec<Case> {
    let ours =
        |durability| side(&format!("chiliad, {durability}"), Kind::ours(SILO, durability), "");
    let postgres = |label: &str, options| side(label, Kind::Postgres, options);
    let select = |clients| Case {
        name: "select",
        clients,
        flags: &["-S", "-M", "prepared"],
        sides: vec![postgres("PostgreSQL", ""), ours("sync"), side("floor", Kind::Floor, "")],
    };
    let update = |clients| Case {
        name: "update",
        clients,
        flags: &["-N", "-M", "prepared"],
        sides: vec![postgres("PostgreSQL, off", SYNC_OFF), ours("epoch")],
    };
    let sync = |clients| Case {
        name: "update, sync",
        clients,
        flags: &["-N", "-M", "prepared"],
        sides: vec![postgres("PostgreSQL, on", ""), ours("sync")],
    };
    let tpcb = |clients| {
        let mut sides = vec![
            postgres("PostgreSQL, read committed", ""),
            postgres("PostgreSQL, serializable", SERIALIZABLE),
            ours("sync"),
        ];
        for scheme in schemes.iter().filter(|it| *it != SILO) {
            sides.push(side(&format!("chiliad, {scheme}"), Kind::ours(scheme, "sync"), ""));
        }
        Case { name: "tpcb", clients, flags: TPCB, sides }
    };
    let simple = Case { name: "select, simple", flags: &["-S", "-M", "simple"], ..select(8) };
    let mut cases = Vec::from([1, 8, 64].map(select));
    cases.push(simple);
    cases.extend([8, 64].map(update));
    cases.extend([1, 8, 64].map(sync));
    cases.extend([8, 64].map(tpcb));
    cases
}

fn side(label: &str, kind: Kind, options: &'static str) -> Side {
    Side { label: label.into(), kind, options }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_runs_tpcb_once() {
        let cases = all(&["silo", "no-wait"].map(String::from));
        let tpcb: Vec<_> = cases.iter().filter(|case| case.name == "tpcb").collect();
        assert!(tpcb.iter().all(|case| case.sides.len() == 4), "{}", tpcb.len());
        let with = |clients| cases.iter().filter(|case| case.clients == clients).count();
        assert_eq!([with(1), with(8), with(64)], [2, 5, 4]);
    }
}
