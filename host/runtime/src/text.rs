//! Text from guests, made harmless and short for people.

/// The text's beginning for people, at most `bytes` of it: everything is written out that a terminal would obey, control
/// codes and marks that turn the direction of writing. Line ends and tabs stay. Costs no more than what is kept, however
/// long the text is.
pub(crate) fn harmless(text: &str, bytes: usize) -> String {
    beginning(text, bytes, 0)
}

/// The beginning of a text of at most `bytes`, on one line, with everything written out that a terminal would obey: control
/// codes, line ends, and marks that turn the direction of writing. Says how much was cut off.
pub fn harmless_line(text: &str, bytes: usize) -> String {
    harmless_rest(text, bytes, 0)
}

/// The same for a text of which `cut` bytes have been cut off before.
pub(crate) fn harmless_rest(text: &str, bytes: usize, cut: usize) -> String {
    beginning(text, bytes, cut).replace('\n', "\\n")
}

fn beginning(text: &str, bytes: usize, mut cut: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(bytes));
    for (at, c) in text.char_indices() {
        let end = clean.len();
        let obeyed = c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if obeyed && c != '\n' && c != '\t' {
            clean.extend(c.escape_unicode());
        } else {
            clean.push(c);
        }
        if clean.len() > bytes {
            clean.truncate(end);
            cut += text.len() - at;
            break;
        }
    }
    if cut > 0 {
        clean.push_str(&format!("… ({cut} bytes more)"));
    }
    clean
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
        let red = harmless("\u{1b}[31mred\u{7}\r\nnext\tcolumn é", 100);
        assert_eq!(red, "\\u{1b}[31mred\\u{7}\\u{d}\nnext\tcolumn é");
        assert_eq!(harmless("a\u{202e}b\u{9b}c", 100), "a\\u{202e}b\\u{9b}c");
        assert_eq!(harmless_line("a\nb", 100), "a\\nb");
    }

    #[test]
    fn what_is_written_out_counts_and_what_is_cut_off_is_counted_as_it_came() {
        assert_eq!(harmless("a\u{7}b\u{7}é", 7), "a\\u{7}b… (3 bytes more)");
        assert_eq!(harmless("aéb", 2), "a… (3 bytes more)");
        assert_eq!(harmless("aéb", 4), "aéb");
        assert_eq!(harmless_rest("aéb", 2, 7), "a… (10 bytes more)");
    }

    #[test]
    fn sizes_are_told_in_the_largest_whole_unit() {
        assert_eq!(size(64 << 20), "64 MiB");
        assert_eq!(size(1 << 30), "1 GiB");
        assert_eq!(size((1 << 20) + 1), "1048577 bytes");
        assert_eq!(size(0), "0 bytes");
    }
}
