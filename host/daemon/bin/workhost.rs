//! The `workhost` program.

fn main() {}
