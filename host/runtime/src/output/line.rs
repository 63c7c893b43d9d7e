//! A line of output, of which no more than its beginning is kept.

use crate::capability::secrets::Mask;
use crate::text;

/// A line that may not have ended yet. What is too much of it costs the host nothing but counting.
#[derive(Default)]
pub(super) struct Line {
    bytes: Vec<u8>,
    cut: usize,
}

impl Line {
    /// A line of the log: the message, and ` name="value"` for each field.
    pub(super) fn of_log(message: &str, fields: &[(String, String)], most: usize) -> Line {
        let mut line = Line::default();
        line.push(message.as_bytes(), most);
        for (name, value) in fields {
            // Only what there is room for, since written out it can be many times as long.
            let kept = value.floor_char_boundary(most - line.bytes.len());
            line.push(b" ", most);
            line.push(name.as_bytes(), most);
            line.push(format!("={:?}", &value[..kept]).as_bytes(), most);
            line.cut += value.len() - kept;
        }
        line
    }

    /// Adds to it, as long as it has less than `most` bytes.
    pub(super) fn push(&mut self, content: &[u8], most: usize) {
        let kept = content.len().min(most - self.bytes.len());
        self.bytes.extend_from_slice(&content[..kept]);
        self.cut += content.len() - kept;
    }

    /// The line for people; `None` if there is nothing to read in it.
    pub(super) fn text(&self, most: usize, mask: &Mask) -> Option<String> {
        let text = mask.apply(String::from_utf8_lossy(&self.bytes).into_owned());
        (self.cut > 0 || !text.trim().is_empty()).then(|| text::harmless_rest(&text, most, self.cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_behind_the_message_and_end_with_the_line() {
        let fields = [("user".to_owned(), "a \"b\"".to_owned()), ("text".to_owned(), "\u{1}".repeat(1 << 20))];
        assert_eq!(
            Line::of_log("sent", &fields[..1], 100).text(100, &Mask::default()).unwrap(),
            r#"sent user="a \"b\"""#
        );
        let long = Line::of_log("sent", &fields, 40).text(40, &Mask::default()).unwrap();
        assert!(long.starts_with(r#"sent user="a \"b\"" text="\u{1}"#) && long.ends_with("bytes more)"), "{long}");
        assert!(long.len() < 70, "{long}");
        let control = [("text".to_owned(), "\u{1}".repeat(100))];
        let long = Line::of_log("sent", &control, 40).text(40, &Mask::default()).unwrap();
        assert!(long.ends_with("(216 bytes more)"), "64 were never written out: {long}");
    }

    #[test]
    fn a_line_without_end_takes_no_more_room_than_its_limit() {
        let mut line = Line::default();
        for _ in 0..100 {
            line.push(b"       ", 10);
        }
        assert_eq!((line.bytes.len(), line.cut), (10, 690));
        assert!(
            line.text(10, &Mask::default()).is_some_and(|text| text.ends_with("(690 bytes more)")),
            "blank, but not all of it is known"
        );
    }
}
