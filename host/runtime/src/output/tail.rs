//! The end of what an attempt logged.

use std::collections::VecDeque;

/// The newest lines of a log, bounded by their bytes.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
    left_out: u64,
}

impl Tail {
    /// Adds a line; older ones go as far as all together would have more than `limit` bytes.
    pub(crate) fn push(&mut self, line: String, limit: usize) {
        self.bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.bytes > limit
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len() + 1;
            self.left_out += 1;
        }
    }

    /// The lines, and how many stood before them; `None` if nothing was logged.
    pub(crate) fn text(&self) -> Option<String> {
        let mut lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        let note = format!("({} lines before these)", self.left_out);
        if self.left_out > 0 {
            lines.insert(0, &note);
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_stay_and_the_rest_is_counted() {
        let mut tail = Tail::default();
        assert_eq!(tail.text(), None);
        for n in 1..=5 {
            tail.push(format!("line {n}"), 14);
        }
        assert_eq!(tail.text().unwrap(), "(3 lines before these)\nline 4\nline 5");
    }

    #[test]
    fn a_line_that_is_longer_than_all_is_only_counted() {
        let mut tail = Tail::default();
        tail.push("0123456789".to_owned(), 10);
        assert_eq!(tail.text().unwrap(), "(1 lines before these)");
    }
}
