//! Reading what `cargo test` prints, and counting it.

use std::time::Instant;

/// What one test program (or the examples in one crate's documentation) came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Count {
    /// The program's name, such as `workhost-queue`.
    pub(crate) name: String,
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed; a program that ended without a result counts as one.
    pub(crate) failed: u64,
    /// Tests that are marked `#[ignore]`, or that said that this machine does not allow them.
    pub(crate) ignored: u64,
    /// How long it ran.
    pub(crate) seconds: f64,
}

impl Count {
    /// Something that could not be run at all.
    pub(crate) fn broken(name: &str) -> Self {
        Self { failed: 1, ..Self::empty(name) }
    }

    /// So many of its tests passed because they were left out.
    pub(crate) fn leave_out(&mut self, tests: u64) {
        let left_out = tests.min(self.passed);
        self.passed -= left_out;
        self.ignored += left_out;
    }

    fn empty(name: &str) -> Self {
        Self { name: name.to_owned(), passed: 0, failed: 0, ignored: 0, seconds: 0.0 }
    }
}

/// Counts line by line.
#[derive(Default)]
pub(crate) struct Reader {
    counts: Vec<Count>,
    current: Option<Running>,
}

struct Running {
    count: Count,
    started: Instant,
    has_result: bool,
}

impl Reader {
    /// Takes one line of cargo's and the tests' joint output.
    pub(crate) fn line(&mut self, line: &str) {
        if let Some(name) = program(line) {
            self.end_current();
            self.current = Some(Running { count: Count::empty(&name), started: Instant::now(), has_result: false });
        } else if let (Some(current), Some(result)) = (&mut self.current, line.strip_prefix("test result: ")) {
            // The examples of one crate can come in several portions, each with a result.
            current.has_result = true;
            current.count.passed += number_before(result, " passed");
            current.count.failed += number_before(result, " failed");
            current.count.ignored += number_before(result, " ignored");
        }
    }

    /// All counts, after the last line.
    pub(crate) fn end(mut self) -> Vec<Count> {
        self.end_current();
        self.counts
    }

    fn end_current(&mut self) {
        let Some(Running { mut count, started, has_result }) = self.current.take() else { return };
        count.seconds = started.elapsed().as_secs_f64();
        if !has_result {
            count.failed += 1;
        }
        self.counts.push(count);
    }
}

/// The program's name, if the line is cargo's announcement of one.
fn program(line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix("   Doc-tests ") {
        return Some(format!("{} (examples in docs)", name.replace('_', "-")));
    }
    // `     Running unittests src/lib.rs (target/debug/deps/workhost_queue-65b9b3348148f00d)`
    let file = line.strip_prefix("     Running ")?.strip_suffix(')')?.rsplit('(').next()?;
    let (name, _hash) = file.rsplit('/').next()?.rsplit_once('-')?;
    Some(name.replace('_', "-"))
}

/// In `ok. 3 passed; 0 failed; …`, the number before the given words.
fn number_before(result: &str, words: &str) -> u64 {
    let number = result.split(words).next().and_then(|before| before.rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(output: &str) -> Vec<(String, u64, u64, u64)> {
        let mut reader = Reader::default();
        output.lines().for_each(|line| reader.line(line));
        reader.end().into_iter().map(|count| (count.name, count.passed, count.failed, count.ignored)).collect()
    }

    #[test]
    fn each_program_is_counted_under_its_name() {
        let output = "
     Running unittests src/lib.rs (target/debug/deps/workhost_queue-65b9b3348148f00d)

running 3 tests
test result: FAILED. 12 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.02s

     Running tests/contract/main.rs (/elsewhere/target/debug/deps/contract-0123456789abcdef)
test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 3.20s
";
        assert_eq!(count(output), [("workhost-queue".to_owned(), 12, 1, 2), ("contract".to_owned(), 40, 0, 0)]);
    }

    #[test]
    fn a_program_that_ends_without_a_result_counts_as_failed() {
        let output = "     Running unittests src/lib.rs (target/debug/deps/crashing-65b9b3348148f00d)
running 1 test
error: test failed, to rerun pass `-p crashing --lib`
   Doc-tests crashing
test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(
            count(output),
            [("crashing".to_owned(), 0, 1, 0), ("crashing (examples in docs)".to_owned(), 0, 0, 0)]
        );
    }

    #[test]
    fn portions_of_one_programs_results_are_added_up() {
        let output = "   Doc-tests workhost_sdk
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(count(output), [("workhost-sdk (examples in docs)".to_owned(), 3, 0, 1)]);
    }

    #[test]
    fn a_test_that_was_left_out_has_not_passed() {
        let mut count = Count { passed: 3, ..Count::empty("daemon") };
        count.leave_out(2);
        assert_eq!((count.passed, count.ignored), (1, 2));
        count.leave_out(2);
        assert_eq!((count.passed, count.ignored), (0, 3), "no more than there were");
    }

    #[test]
    fn a_result_that_no_program_was_announced_for_is_not_counted() {
        assert_eq!(count("test result: ok. 5 passed; 0 failed; 0 ignored"), []);
    }
}
