//! How PostgreSQL's words are laid out: as the migrations are, in lower case and in lines that fit.

/// The longest line, as in the migrations.
const WIDTH: usize = 120;

/// What PostgreSQL says, as people write it.
///
/// It quotes every name that is not in lower case, so that whatever stands between no quotes may be. It casts each
/// literal, also to the type that the literal has.
pub(crate) fn plain(sql: &str) -> String {
    let mut quote = None;
    let lower: String = sql
        .chars()
        .map(|letter| match quote {
            Some(open) => {
                quote = (letter != open).then_some(open);
                letter
            }
            None => {
                quote = matches!(letter, '\'' | '"').then_some(letter);
                letter.to_ascii_lowercase()
            }
        })
        .collect();
    lower.replace("'::text", "'").replace("timestamp with time zone", "timestamptz")
}

/// The line, broken where it is too long; what follows is indented once more.
pub(crate) fn wrapped(line: &str) -> String {
    let indent = line.len() - line.trim_start().len() + 4;
    let (mut text, mut rest) = (String::new(), line.to_owned());
    while rest.len() > WIDTH
        && let Some(space) = best_break(&rest)
    {
        text.push_str(rest[..space].trim_end());
        text.push('\n');
        rest = format!("{}{}", " ".repeat(indent), &rest[space + 1..]);
    }
    text + &rest
}

/// The space at which a line is broken: where a part of the statement begins, or else a part of an expression or
/// a list.
fn best_break(line: &str) -> Option<usize> {
    let begins =
        |space: usize, words: &[&str]| words.contains(&line[space + 1..].split(' ').next().unwrap_or_default());
    let fitting: Vec<usize> = spaces(line).into_iter().filter(|space| *space <= WIDTH).collect();
    let last = |good: &dyn Fn(usize) -> bool| fitting.iter().copied().rfind(|space| good(*space));
    last(&|space| begins(space, &["check", "execute", "references", "when", "where"]))
        .or_else(|| last(&|space| begins(space, &["and", "or"]) || line[..space].ends_with(',')))
        .or_else(|| last(&|_| true))
}

/// The spaces behind a line's indent; one between quotes is part of a text.
fn spaces(line: &str) -> Vec<usize> {
    let (mut spaces, mut quote) = (Vec::new(), None);
    let start = line.len() - line.trim_start().len();
    for (offset, letter) in line.char_indices().skip(start) {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ') => spaces.push(offset),
            _ => {}
        }
    }
    spaces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_quotes_keeps_its_case() {
        assert_eq!(
            plain("CHECK (x = 'A ''B'' C'::text AND y IS NULL) COLLATE \"C\""),
            "check (x = 'A ''B'' C' and y is null) collate \"C\""
        );
    }

    #[test]
    fn a_long_line_is_broken_where_a_part_of_it_begins() {
        let list = "'some word', ".repeat(6);
        let line = format!("    constraint a_name check (x in ({list}'last') and y = 1)");
        let first = line.find(" check").unwrap();
        assert_eq!(wrapped(&line), format!("{}\n        {}", &line[..first], &line[first + 1..]));
    }

    #[test]
    fn a_text_is_never_broken_and_a_short_line_stays_as_it_is() {
        let text = format!("'{}'", "a ".repeat(70));
        assert_eq!(wrapped(&format!("x = {text}")), format!("x =\n    {text}"));
        assert_eq!(wrapped("    short  one"), "    short  one");
    }
}
