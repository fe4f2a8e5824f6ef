//! TPC-B's tables and statements, as SQL.

/// The tables of TPC-B. A row of HISTORY has the numbers of its client and of the transaction among those of the client.
pub(super) const TABLES: &str = "
CREATE TABLE branches (
    bid integer PRIMARY KEY, bbalance integer NOT NULL, filler char(88)
);
CREATE TABLE tellers (
    tid integer PRIMARY KEY, bid integer NOT NULL, tbalance integer NOT NULL, filler char(84)
);
CREATE TABLE accounts (
    aid integer PRIMARY KEY, bid integer NOT NULL, abalance integer NOT NULL, filler char(84)
);
CREATE TABLE history (
    hclient integer, hnumber integer, tid integer NOT NULL, bid integer NOT NULL, aid integer NOT NULL,
    delta integer NOT NULL, mtime timestamp NOT NULL, filler char(22), PRIMARY KEY (hclient, hnumber)
)";

/// Where accounts move, and branches are audited.
pub(super) const INDEX: &str = "; CREATE INDEX accounts_of_branch ON accounts (bid)";

crate::sql::plans::statements! {
    /// The account's balance: amount, account.
    Pay = "UPDATE accounts SET abalance = abalance + $1 WHERE aid = $2";
    /// The account's new balance.
    Balance = "SELECT abalance FROM accounts WHERE aid = $1";
    /// The teller's: amount, teller.
    Teller = "UPDATE tellers SET tbalance = tbalance + $1 WHERE tid = $2";
    /// The branch's: amount, branch.
    Branch = "UPDATE branches SET bbalance = bbalance + $1 WHERE bid = $2";
    /// The row of HISTORY: client, number, teller, branch, account, amount.
    Note = "INSERT INTO history (hclient, hnumber, tid, bid, aid, delta, mtime) \
            VALUES ($1, $2, $3, $4, $5, $6, current_timestamp) ON CONFLICT DO NOTHING";
    /// The last number of a client.
    Last = "SELECT hnumber FROM history WHERE hclient = $1 ORDER BY hnumber DESC LIMIT 1";
    /// A branch beside its tellers.
    Audit = "SELECT b.bbalance, sum(t.tbalance) FROM branches b JOIN tellers t ON t.bid = b.bid \
             WHERE b.bid = $1 GROUP BY b.bid, b.bbalance";
    /// The accounts of a branch, by the index.
    AuditAccounts = "SELECT count(*), sum(abalance) FROM accounts WHERE bid = $1";
    /// An account gets another number, if that is free, and goes to another branch: number, branch, account.
    Move = "UPDATE accounts SET aid = $1, bid = $2 WHERE aid = $3 \
            AND NOT EXISTS (SELECT 1 FROM accounts taken WHERE taken.aid = $1)";
    /// The accounts of a range get interest: the first and the last number.
    Interest = "UPDATE accounts SET abalance = abalance + 1 WHERE aid BETWEEN $1 AND $2";
    /// How many accounts that range has.
    Within = "SELECT count(*) FROM accounts WHERE aid > $1 - 1 AND aid < $2 + 1";
    /// Branches whose balance is not that of their tellers.
    Unlike = "SELECT b.bid, b.bbalance, t.total FROM branches b \
              LEFT JOIN (SELECT bid, sum(tbalance) AS total FROM tellers GROUP BY bid) t ON t.bid = b.bid \
              WHERE b.bbalance IS DISTINCT FROM t.total";
    /// The balances of branches.
    Branches = "SELECT bid, bbalance FROM branches ORDER BY bid";
    /// Accounts with numbers in a range.
    Accounts = "SELECT count(*), sum(abalance) FROM accounts WHERE aid BETWEEN $1 AND $2";
    /// The next client in HISTORY.
    NextClient = "SELECT hclient FROM history WHERE hclient > $1 ORDER BY hclient LIMIT 1";
    /// What a client's rows of HISTORY with numbers in a range brought each branch.
    Brought = "SELECT bid, sum(delta) FROM history \
               WHERE hclient = $1 AND hnumber BETWEEN $2 AND $3 GROUP BY bid";
}
