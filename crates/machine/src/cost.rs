//! The sites of an engine's computation between two shared accesses.
//!
//! A simulated machine prices them; natively they cost nothing. A site is a step that every scheme or
//! index takes in much the same instructions; its price is measured, not guessed (`chiliad machines
//! calibrate`), and stands in the machine's description. The shared accesses of a step are no part of it:
//! they have prices of their own.

macro_rules! sites {
    ($($(#[$doc:meta])+ $site:ident $name:literal,)+) => {
        /// Computation between two shared accesses, for machines that price it.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Cost {
            $($(#[$doc])+ $site,)+
        }

        impl Cost {
            /// All sites, each at its [`Cost::index`].
            pub const ALL: [Self; Self::COUNT] = [$(Self::$site,)+];
            /// How many sites there are.
            pub const COUNT: usize = [$($name,)+].len();

            /// The name of the site in machine files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$site => $name,)+
                }
            }
        }
    };
}

sites! {
    /// Making a request up, and counting how it went.
    Request "request",
    /// A random choice of a request: one key.
    Draw "draw",
    /// Beginning a transaction.
    Begin "begin",
    /// One call of the transaction's interface, with the application's own logic around it.
    Operation "operation",
    /// Reading a record that was found, or taking note that there is none: its place among the accesses
    /// and in the read set.
    Read "read",
    /// Deferring a write: its place in the write set.
    Write "write",
    /// Looking for a record in the write set.
    OwnWrite "own_write",
    /// Copying between a record and private memory, per word of 8 bytes.
    Copy "copy",
    /// Taking a latch, a lock or a claim, and taking note of it.
    Lock "lock",
    /// Giving it back.
    Unlock "unlock",
    /// Handling one request in the list of a lock or partition: one's own, or another in its way.
    Queue "queue",
    /// Taking a timestamp.
    Timestamp "timestamp",
    /// Validating one entry of the read set or the node set.
    Validate "validate",
    /// Making a write ready and installing it.
    Install "install",
    /// Committing, whatever the size of the transaction.
    Commit "commit",
    /// Rolling back, whatever the size of the transaction.
    Abort "abort",
    /// Looking at one item of garbage.
    Collect "collect",
    /// Beginning a look-up, an insertion, a removal or a scan's next leaf in an ordered index.
    Descend "descend",
    /// Searching one inner index node.
    InnerSearch "inner_search",
    /// Searching one index leaf.
    LeafSearch "leaf_search",
    /// Hashing one key, to begin a look-up or a change in a hash index.
    Hash "hash",
    /// Searching one bucket, or a further part of it.
    BucketSearch "bucket_search",
    /// One step of a look-up that takes turns with others, for a group of them.
    GroupStep "group_step",
    /// Comparing keys, per word of 8 bytes.
    Compare "compare",
    /// One entry of a leaf that is scanned, divided or joined.
    Entry "entry",
    /// Putting an entry into a leaf or bucket, or taking it out.
    IndexChange "index_change",
    /// Taking a slot from a pool.
    Allocate "allocate",
    /// Giving a slot back to a pool, or leaving it until its readers have gone.
    Free "free",
}

impl Cost {
    /// The site's number.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_site_is_at_its_index_and_has_a_name_of_its_own() {
        for (index, site) in Cost::ALL.into_iter().enumerate() {
            assert_eq!(site.index(), index);
            let same = Cost::ALL.iter().filter(|other| other.name() == site.name());
            assert_eq!(same.count(), 1, "{}", site.name());
        }
    }
}
