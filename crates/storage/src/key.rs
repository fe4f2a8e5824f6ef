//! Order-preserving encoding of composite keys.
