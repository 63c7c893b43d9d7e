//! Reading JSON text without building values of it.

use std::fmt;
use std::ops::{ControlFlow, Range};

/// How deep a document may nest. A reader that recurses, in a store or in a handler, must survive it.
const MAX_DEPTH: usize = 100;

/// What no store can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    Nul,
    LoneSurrogate,
    TooDeep,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Nul => f.write_str(r"a NUL character (\u0000), which no store takes,"),
            Flaw::LoneSurrogate => f.write_str("half of a surrogate pair, which is no character,"),
            Flaw::TooDeep => write!(f, "more than {MAX_DEPTH} levels of nesting"),
        }
    }
}

/// Tells `on_flaw` what no store can hold, in order of appearance. The text must be JSON.
pub(super) fn scan<B>(text: &str, mut on_flaw: impl FnMut(Range<usize>, Flaw) -> ControlFlow<B>) -> ControlFlow<B> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut in_string) = (0, 0_usize, false);
    while at < bytes.len() {
        let mut length = 1;
        match bytes[at] {
            b'"' => in_string = !in_string,
            b'\\' => match unicode_escape(bytes, at) {
                None => length = 2,
                Some(unit) => {
                    length = 6;
                    let pair = matches!(unit, 0xd800..=0xdbff)
                        && unicode_escape(bytes, at + 6).is_some_and(|next| matches!(next, 0xdc00..=0xdfff));
                    match unit {
                        0 => on_flaw(at..at + 6, Flaw::Nul)?,
                        _ if pair => length = 12,
                        0xd800..=0xdfff => on_flaw(at..at + 6, Flaw::LoneSurrogate)?,
                        _ => {}
                    }
                }
            },
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth == MAX_DEPTH + 1 {
                    on_flaw(at..at + 1, Flaw::TooDeep)?;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += length;
    }
    ControlFlow::Continue(())
}

/// The code unit of the escape `\uXXXX` that starts here, if one does.
fn unicode_escape(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(br"\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The document with numbers that no `f64` holds brought into its range. The text must be JSON.
pub(super) fn clamp_numbers(text: &str) -> String {
    let mut clamped = String::with_capacity(text.len());
    let (mut rest, mut in_string) = (text, false);
    while let Some(first) = rest.chars().next() {
        let token = match first {
            '\\' => 2,
            '-' | '0'..='9' if !in_string => {
                let is_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
                rest.find(|c| !is_number(c)).unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        in_string ^= first == '"';
        let (token, tail) = rest.split_at(token);
        match token.parse::<f64>() {
            Ok(number) if number.is_infinite() => clamped.push_str(&format!("{:e}", f64::MAX.copysign(number))),
            _ => clamped.push_str(token),
        }
        rest = tail;
    }
    clamped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<(Range<usize>, Flaw)> {
        match scan(text, |at, flaw| ControlFlow::Break((at, flaw))) {
            ControlFlow::Break(found) => Some(found),
            ControlFlow::Continue(()) => None,
        }
    }

    #[test]
    fn a_flaw_is_told_with_the_bytes_that_it_takes() {
        let nested = "[".repeat(101) + &"]".repeat(101);
        assert_eq!(first(&nested), Some((100..101, Flaw::TooDeep)));
        assert_eq!(first(r#"["\u0000"]"#), Some((2..8, Flaw::Nul)));
        assert_eq!(first(r#"["\udc00"]"#), Some((2..8, Flaw::LoneSurrogate)));
    }

    #[test]
    fn brackets_in_a_string_nest_nothing() {
        let text = format!("[\"{}\", {}{}]", "]".repeat(50), "[".repeat(100), "]".repeat(100));
        assert_eq!(first(&text), Some((text.find("[[").unwrap() + 99..text.find("[[").unwrap() + 100, Flaw::TooDeep)));
        assert_eq!(first(&format!("\"{}\"", "[{".repeat(100))), None);
    }

    #[test]
    fn what_looks_like_a_number_in_a_string_is_left_as_it_is() {
        for text in [r#""\" 1e999""#, r#"["\\", "1e999"]"#] {
            assert_eq!(clamp_numbers(text), text);
        }
        assert!(!clamp_numbers(r#"["\\", 1e999]"#).contains("1e999"));
    }
}
