//! One row of a query.

use std::rc::Rc;

use super::{Error, FromValue, Value};
use crate::bindings::workhost::handler::sql::Rows;

/// One row of a query.
#[derive(Clone, Debug)]
pub struct Row {
    columns: Rc<[String]>,
    values: Vec<Value>,
}

impl Row {
    pub(super) fn all(rows: Rows) -> Vec<Row> {
        let columns: Rc<[String]> = rows.columns.into();
        rows.rows.into_iter().map(|values| Row { columns: Rc::clone(&columns), values }).collect()
    }

    /// The value in a column, as a Rust type; `Option` takes null.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the column if there is none of this name or its value is no such type.
    pub fn get<T: FromValue>(&self, column: &str) -> Result<T, Error> {
        self.value(column)
            .and_then(T::from_value)
            .ok_or_else(|| Error::Invalid(format!("the query answers no column `{column}` of the wanted type")))
    }

    /// The value in a column as the database gave it.
    pub fn value(&self, column: &str) -> Option<&Value> {
        let index = self.columns.iter().position(|name| name == column)?;
        self.values.get(index)
    }
}
