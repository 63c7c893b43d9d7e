//! How many rows go into one statement.

/// Rows in one statement. More cost no less.
const ROWS: usize = 500;

/// Bytes in one statement: its rows travel as one JSON text, of which SQLite takes a gigabyte.
const BYTES: usize = 16 << 20;

/// Splits rows into runs, each for one statement. `bytes` is what the texts of a row amount to.
pub(super) fn batches<T>(rows: &[T], bytes: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut sum = 0;
        let fits = |row: &&T| {
            sum += bytes(row);
            sum <= BYTES
        };
        // At least one: a row may be larger than all that one statement should have.
        let first = rest.iter().take(ROWS).take_while(fits).count().max(1).min(rest.len());
        let (batch, others) = rest.split_at(first);
        rest = others;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_no_more_than_its_share() {
        let lengths = |rows: &[usize]| batches(rows, |bytes| *bytes).map(<[usize]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(&[1; 2 * ROWS + 1]), [ROWS, ROWS, 1]);
        assert_eq!(lengths(&[BYTES / 3; 7]), [3, 3, 1]);
        assert_eq!(lengths(&[1, BYTES + 1, BYTES, 1]), [1, 1, 1, 1]);
        assert_eq!(lengths(&[]), [0; 0]);
    }
}
