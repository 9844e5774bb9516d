//! Choosing a broker.
