//! The `callmark` binary.
fn main() {}
