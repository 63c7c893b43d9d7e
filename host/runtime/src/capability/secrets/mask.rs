//! Taking secrets out of what people read.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use crate::text;

/// What stands in place of a secret.
const MASKED: &str = "[secret]";

/// Bytes that a text must share with a secret to be taken for it. Shorter ones stand in every text.
const LEAST: usize = 4;

/// Takes the secrets of one handler out of texts. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mask(Arc<Vec<SecretString>>);

impl Mask {
    /// For these secrets, each as it is, line by line, and in the spellings that the host gives to texts.
    pub(super) fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Mask {
        let mut spellings: Vec<String> = Vec::new();
        for secret in secrets {
            for piece in [secret].into_iter().chain(secret.lines()) {
                let quoted = format!("{piece:?}");
                spellings.extend([
                    piece.to_owned(),
                    quoted[1..quoted.len() - 1].to_owned(),
                    text::harmless_line(piece, usize::MAX),
                ]);
            }
        }
        spellings.retain(|spelling| spelling.len() >= LEAST);
        // The longest first, so that one secret within another leaves nothing of that.
        spellings.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        spellings.dedup();
        Mask(Arc::new(spellings.into_iter().map(SecretString::from).collect()))
    }

    /// The text without secrets, also those of which it holds only one end because it was cut there.
    pub(crate) fn apply(&self, text: String) -> String {
        let mut text = text;
        for secret in self.0.iter() {
            let secret = secret.expose_secret();
            if text.contains(secret) {
                text = text.replace(secret, MASKED);
            }
        }
        for secret in self.0.iter() {
            let secret = secret.expose_secret();
            let ends = secret.char_indices().map(|(at, _)| at);
            if let Some(at) = ends.clone().rev().find(|at| *at >= LEAST && text.ends_with(&secret[..*at])) {
                text.truncate(text.len() - at);
                text.push_str(MASKED);
            }
            if let Some(at) = ends.clone().find(|at| secret.len() - at >= LEAST && text.starts_with(&secret[*at..])) {
                text.replace_range(..secret.len() - at, MASKED);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(secrets: &[&str], text: &str) -> String {
        Mask::new(secrets.iter().copied()).apply(text.into())
    }

    #[test]
    fn a_secret_is_masked_wherever_it_stands() {
        assert_eq!(masked(&["geheim"], "a geheim, and geheimgeheim"), "a [secret], and [secret][secret]");
        assert_eq!(masked(&["geheim", "geheimer"], "geheimer geheim"), "[secret] [secret]");
        assert_eq!(masked(&[], "geheim"), "geheim");
    }

    #[test]
    fn the_hosts_own_spellings_of_a_secret_are_masked() {
        let secret = "pass\"word\u{1b}\nsecond line";
        for text in [
            format!("password={secret:?}"),
            text::harmless_line(secret, 1000),
            "pass\"word\u{1b}".into(),
            "second line".into(),
        ] {
            let text = masked(&[secret], &text);
            assert!(!text.contains("word\u{1b}") && !text.contains("\"word") && !text.contains("second"), "{text}");
        }
    }

    #[test]
    fn one_end_of_a_secret_is_masked_where_a_text_was_cut() {
        assert_eq!(masked(&["geheimnis"], "the key is geheim"), "the key is [secret]");
        assert_eq!(masked(&["geheimnis"], "eimnis was the key"), "[secret] was the key");
        // Too little to be told from any other word.
        assert_eq!(masked(&["geheimnis"], "nis or geh"), "nis or geh");
    }

    #[test]
    fn what_is_too_short_to_be_found_again_is_left_alone() {
        assert_eq!(masked(&["a1", ""], "a1 a1"), "a1 a1");
    }

    #[test]
    fn a_mask_shows_nothing_itself() {
        assert!(!format!("{:?}", Mask::new(["geheim"].into_iter())).contains("geheim"));
    }
}
