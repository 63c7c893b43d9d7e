//! What a run of the tests came to: a table, and the one line that counts it all.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};

use crate::libtest::Count;

/// The counts of each suite, in the order in which they ran.
#[derive(Default)]
pub(crate) struct Tally {
    suites: Vec<(&'static str, Vec<Count>)>,
}

impl Tally {
    /// Adds a suite's counts.
    pub(crate) fn add(&mut self, suite: &'static str, counts: Vec<Count>) {
        self.suites.push((suite, counts));
    }

    /// Why the run is no success, if it is none: something failed, or a suite that should have run
    /// tests ran none. With a filter, only the run as a whole has to run one.
    pub(crate) fn complaint(&self, filtered: bool) -> Option<String> {
        let ran = |counts: &[Count]| counts.iter().map(|count| count.passed + count.failed).sum::<u64>();
        let total: u64 = self.suites.iter().map(|(_, counts)| ran(counts)).sum();
        if self.sum(|count| count.failed) > 0 {
            return Some("there are failures".to_owned());
        }
        if total == 0 {
            let skipped = self.sum(|count| count.ignored) > 0;
            let hint = match filtered {
                true if skipped => ": those whose name contains the filter were skipped",
                true => ": no test's name contains the filter",
                false => "",
            };
            return Some(format!("no test ran{hint}"));
        }
        let empty = self.suites.iter().find(|(_, counts)| ran(counts) == 0);
        empty.filter(|_| !filtered).map(|(suite, _)| format!("no test of the suite `{suite}` ran"))
    }

    fn sum(&self, number: impl Fn(&Count) -> u64) -> u64 {
        self.suites.iter().flat_map(|(_, counts)| counts).map(number).sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["suite", "tests of", "passed", "failed", "ignored", "seconds"]);
        for (suite, counts) in &self.suites {
            // Crates without a test would be most of the table.
            for count in counts.iter().filter(|count| count.passed + count.failed + count.ignored > 0) {
                table.add_row([
                    (*suite).to_owned(),
                    count.name.clone(),
                    count.passed.to_string(),
                    count.failed.to_string(),
                    count.ignored.to_string(),
                    format!("{:.1}", count.seconds),
                ]);
            }
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(f, "{}\n", table.trim_fmt())?;
        let (passed, failed) = (self.sum(|count| count.passed), self.sum(|count| count.failed));
        write!(f, "{passed} passed, {failed} failed")?;
        match self.sum(|count| count.ignored) {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(name: &str, passed: u64, failed: u64, ignored: u64) -> Count {
        Count { name: name.to_owned(), passed, failed, ignored, seconds: 1.25 }
    }

    fn tally(suites: &[(&'static str, &[Count])]) -> Tally {
        Tally { suites: suites.iter().map(|(suite, counts)| (*suite, counts.to_vec())).collect() }
    }

    #[test]
    fn the_last_line_counts_everything_and_names_skipped_tests_only_where_there_are_any() {
        let all = tally(&[("unit", &[count("queue", 3, 0, 0)]), ("contract", &[count("contract", 4, 1, 0)])]);
        assert_eq!(all.to_string().lines().last(), Some("7 passed, 1 failed"));
        let skipping = tally(&[("unit", &[count("queue", 3, 0, 2)])]);
        assert_eq!(skipping.to_string().lines().last(), Some("3 passed, 0 failed, 2 skipped"));
    }

    #[test]
    fn a_suite_that_ran_nothing_is_a_complaint_unless_a_filter_says_so() {
        let half = tally(&[("unit", &[count("queue", 3, 0, 0)]), ("contract", &[count("contract", 0, 0, 1)])]);
        assert_eq!(half.complaint(false).as_deref(), Some("no test of the suite `contract` ran"));
        assert_eq!(half.complaint(true), None);
        assert!(tally(&[("unit", &[])]).complaint(true).unwrap().contains("no test's name"));
        assert!(tally(&[("unit", &[count("queue", 0, 0, 1)])]).complaint(true).unwrap().contains("were skipped"));
        assert!(Tally::default().complaint(false).is_some());
    }

    #[test]
    fn a_failure_is_a_complaint_with_and_without_a_filter() {
        let failing = tally(&[("unit", &[count("queue", 3, 1, 0)])]);
        assert!(failing.complaint(true).is_some() && failing.complaint(false).is_some());
    }
}
