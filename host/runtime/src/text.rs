//! Text from guests, made harmless and short for people.

/// The text with everything written out that a terminal would obey: control codes, and marks that turn
/// the direction of writing. Line ends and tabs stay.
pub(crate) fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        let obeyed = c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if obeyed && c != '\n' && c != '\t' {
            clean.extend(c.escape_unicode());
        } else {
            clean.push(c);
        }
    }
    clean
}

/// The same for text that must stay on one line.
pub(crate) fn harmless_line(text: &str) -> String {
    harmless(text).replace('\n', "\\n")
}

/// The text's beginning, at most `bytes` of it, and how much was cut off.
pub(crate) fn shortened(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        let end = text.floor_char_boundary(bytes);
        let lost = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("… ({lost} bytes more)"));
    }
    text
}

/// A number of bytes in words: `64 MiB`.
pub(crate) fn size(bytes: usize) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_codes_are_written_out_and_words_stay() {
        assert_eq!(harmless("\u{1b}[31mred\u{7}\r\nnext\tcolumn é"), "\\u{1b}[31mred\\u{7}\\u{d}\nnext\tcolumn é");
        assert_eq!(harmless("a\u{202e}b\u{9b}c"), "a\\u{202e}b\\u{9b}c");
        assert_eq!(harmless_line("a\nb"), "a\\nb");
    }

    #[test]
    fn long_text_is_cut_between_characters_and_says_so() {
        assert_eq!(shortened("aéb".into(), 2), "a… (3 bytes more)");
        assert_eq!(shortened("aéb".into(), 4), "aéb");
    }

    #[test]
    fn sizes_are_told_in_the_largest_whole_unit() {
        assert_eq!(size(64 << 20), "64 MiB");
        assert_eq!(size(1 << 30), "1 GiB");
        assert_eq!(size((1 << 20) + 1), "1048577 bytes");
    }
}
