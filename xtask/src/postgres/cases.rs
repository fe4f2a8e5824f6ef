//! What is asked of the servers.

use super::servers::Kind;

/// A load that several servers run in turn; ratios are to the first side.
pub struct Case {
    pub name: &'static str,
    pub clients: u32,
    /// Flags of pgbench.
    pub flags: &'static [&'static str],
    /// A script in place of those that pgbench has.
    pub script: Option<&'static str>,
    /// By TCP, and not by the Unix socket.
    pub tcp: bool,
    pub sides: Vec<Side>,
}

/// A server under a load.
pub struct Side {
    pub label: String,
    pub kind: Kind,
    /// The client's `PGOPTIONS`.
    pub options: &'static str,
    /// It is left out where its server does not begin.
    pub is_optional: bool,
}

const SYNC_OFF: &str = "-c synchronous_commit=off";
const SERIALIZABLE: &str = "-c default_transaction_isolation=serializable";
const TPCB: &[&str] = &["-M", "prepared", "--max-tries=1000"];
const SILO: &str = "silo";

/// What pgbench does with `-S`, which would first ask the floor for its tables.
pub const SELECT: &str = "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";

/// What pgbench does with `-N`, which would first ask the floor for its tables.
const UPDATE: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

/// The transaction of TPC-B as one message.
const CALL: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
CALL tpcb(:aid, :tid, :bid, :delta);
";

/// All cases; those of tpcb under these schemes, too.
pub fn all(schemes: &[String]) -> Vec<Case> {
    let ours =
        |durability| side(&format!("chiliad, {durability}"), Kind::ours(SILO, durability), "");
    let postgres = |label: &str, options| side(label, Kind::Postgres, options);
    let select = |clients| Case {
        name: "select",
        clients,
        flags: &["-M", "prepared"],
        script: Some(SELECT),
        tcp: false,
        sides: vec![postgres("PostgreSQL", ""), ours("sync"), side("floor", Kind::Floor, "")],
    };
    let update = |clients| Case {
        name: "update",
        clients,
        flags: &["-M", "prepared"],
        script: Some(UPDATE),
        tcp: false,
        sides: vec![
            postgres("PostgreSQL, off", SYNC_OFF),
            ours("epoch"),
            side("floor", Kind::Floor, ""),
        ],
    };
    let sync = |clients| Case {
        name: "update, sync",
        sides: vec![postgres("PostgreSQL, on", ""), ours("sync")],
        ..update(clients)
    };
    let tpcb = |clients| {
        let mut sides = vec![
            postgres("PostgreSQL, read committed", ""),
            postgres("PostgreSQL, serializable", SERIALIZABLE),
            ours("sync"),
        ];
        for scheme in schemes.iter().filter(|it| *it != SILO) {
            let side = side(&format!("chiliad, {scheme}"), Kind::ours(scheme, "sync"), "");
            sides.push(Side { is_optional: true, ..side });
        }
        Case { name: "tpcb", clients, flags: TPCB, script: None, tcp: false, sides }
    };
    let call = |clients| Case {
        name: "call",
        clients,
        flags: &["-M", "prepared"],
        script: Some(CALL),
        tcp: false,
        sides: vec![side("chiliad, one call", Kind::Call, "")],
    };
    const SIMPLE: &[&str] = &["-M", "simple"];
    let mut cases = Vec::from([1, 8, 64].map(select));
    for clients in [8, 64] {
        let case = |name, flags, tcp| Case { name, flags, tcp, ..select(clients) };
        cases.push(case("select, simple", SIMPLE, false));
        cases.push(case("select, TCP", &["-M", "prepared"], true));
        cases.push(case("select, simple, TCP", SIMPLE, true));
    }
    cases.extend([1, 8, 64].map(update));
    cases.extend([1, 8, 64].map(sync));
    for clients in [8, 64] {
        cases.extend([tpcb(clients), call(clients)]);
    }
    cases
}

fn side(label: &str, kind: Kind, options: &'static str) -> Side {
    Side { label: label.into(), kind, options, is_optional: false }
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
        assert_eq!([with(1), with(8), with(64)], [3, 8, 8]);
    }
}
