//! The `cardproof` command.
fn main() {}
