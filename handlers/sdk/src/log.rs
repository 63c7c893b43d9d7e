//! Log lines with fields. The host adds item, kind and attempt; floods are thinned there.

use std::fmt::Display;

use crate::bindings::workhost::handler::log::Level;
use crate::host;

/// A named field of a line.
pub type Field<'a> = (&'a str, &'a dyn Display);

/// Tells what only a person who looks for a fault wants to read.
pub fn debug(message: &str, fields: &[Field<'_>]) {
    line(Level::Debug, message, fields);
}

/// Tells what an operator may want to read.
pub fn info(message: &str, fields: &[Field<'_>]) {
    line(Level::Info, message, fields);
}

/// Tells what an operator should look at one day.
pub fn warn(message: &str, fields: &[Field<'_>]) {
    line(Level::Warn, message, fields);
}

/// Tells what an operator should look at now.
pub fn error(message: &str, fields: &[Field<'_>]) {
    line(Level::Error, message, fields);
}

fn line(level: Level, message: &str, fields: &[Field<'_>]) {
    let fields: Vec<_> = fields.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    host::log(level, message, &fields);
}
