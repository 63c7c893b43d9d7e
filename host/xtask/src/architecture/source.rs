//! Source text as the rules see it: string literals and names, without comments and tests.

use std::collections::BTreeSet;
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A piece of source text that a rule may object to.
#[derive(Debug)]
pub(super) struct Piece {
    /// The line it begins in.
    pub(super) line: usize,
    pub(super) text: Text,
}

#[derive(Debug)]
pub(super) enum Text {
    /// What a string literal says, or a whole file of SQL.
    Literal(String),
    /// A name in the code.
    Name(String),
}

/// A file and its pieces.
#[derive(Debug)]
pub(super) struct Source {
    /// Relative to the root.
    pub(super) file: PathBuf,
    pub(super) pieces: Vec<Piece>,
}

/// Reads the Rust and SQL files below a folder of the root, tests left out: `tests` folders and
/// files, modules and functions for tests alone. A folder that is missing holds nothing.
///
/// # Errors
/// When a file cannot be read or is no Rust.
pub(super) fn read(root: &Path, folder: &str) -> Result<Vec<Source>> {
    let (mut sources, mut test_modules) = (Vec::new(), BTreeSet::new());
    for path in files(&root.join(folder))? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = path.strip_prefix(root).expect("the walk began at the root").to_owned();
        let pieces = if path.extension().is_some_and(|kind| kind == "sql") {
            vec![Piece { line: 1, text: Text::Literal(without_sql_comments(&text)) }]
        } else {
            let tokens = text.parse().map_err(|error| anyhow!("{}: {error}", path.display()))?;
            let mut reader = Reader::default();
            reader.read(tokens);
            let modules = home_of_modules(&file);
            test_modules.extend(reader.test_modules.iter().map(|module| modules.join(module)));
            reader.pieces
        };
        sources.push(Source { file, pieces });
    }
    sources.retain(|source| !source.file.ancestors().any(|part| test_modules.contains(&part.with_extension(""))));
    Ok(sources)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == "tests" || name == "tests.rs" || name == "target" || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "sql") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Where the modules lie that a file declares.
fn home_of_modules(file: &Path) -> PathBuf {
    let own = file.file_stem().unwrap_or_default();
    let parent = file.parent().unwrap_or(Path::new(""));
    if ["lib", "main", "mod"].iter().any(|root| own == *root) { parent.to_owned() } else { parent.join(own) }
}

/// Comments blanked out, lines kept.
fn without_sql_comments(text: &str) -> String {
    text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Attributes' texts that people read, such as the examples of a command.
const FOR_PEOPLE: [&str; 6] = ["about", "after_help", "after_long_help", "help", "long_about", "long_help"];

#[derive(Default)]
struct Reader {
    pieces: Vec<Piece>,
    test_modules: Vec<String>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let inner = tokens.next_if(|token| is_punct(token, '!')).is_some();
                    let Some(TokenTree::Group(attribute)) = tokens.next_if(is_bracket) else { continue };
                    match (is_for_tests(&attribute), inner) {
                        (true, true) => return self.pieces.clear(),
                        (true, false) => self.skip_item(&mut tokens),
                        (false, _) => self.read_attribute(attribute),
                    }
                }
                TokenTree::Group(group) => self.read(group.stream()),
                TokenTree::Ident(name) => {
                    self.pieces.push(Piece { line: name.span().start().line, text: Text::Name(name.to_string()) });
                }
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    let value = match syn::Lit::new(literal) {
                        syn::Lit::Str(text) => text.value(),
                        syn::Lit::ByteStr(bytes) => String::from_utf8_lossy(&bytes.value()).into_owned(),
                        syn::Lit::CStr(text) => text.value().to_string_lossy().into_owned(),
                        _ => continue,
                    };
                    self.pieces.push(Piece { line, text: Text::Literal(value) });
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    /// Documentation is a comment, and a command's help is for people; the rest of an attribute is code.
    fn read_attribute(&mut self, attribute: Group) {
        let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
        match tokens.first() {
            Some(TokenTree::Ident(name)) if name == "doc" => return,
            Some(TokenTree::Ident(name)) if name == "command" || name == "arg" => {}
            _ => return self.read(attribute.stream()),
        }
        let Some(TokenTree::Group(settings)) = tokens.get(1) else { return };
        let mut kept = TokenStream::new();
        let mut tokens = settings.stream().into_iter().peekable();
        while let Some(token) = tokens.next() {
            let for_people =
                matches!(&token, TokenTree::Ident(name) if FOR_PEOPLE.iter().any(|setting| name == setting));
            if for_people && tokens.next_if(|token| is_punct(token, '=')).is_some() {
                tokens.next();
            } else {
                kept.extend([token]);
            }
        }
        self.read(kept);
    }

    /// Passes over the item that an attribute for tests belongs to.
    fn skip_item(&mut self, tokens: &mut Peekable<impl Iterator<Item = TokenTree>>) {
        let mut previous: Option<TokenTree> = None;
        for token in tokens {
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => return,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
                // A file of its own is left out as a whole, if this is one; an inline module is passed over here.
                TokenTree::Ident(name) if matches!(&previous, Some(TokenTree::Ident(word)) if word == "mod") => {
                    self.test_modules.push(name.to_string());
                }
                _ => {}
            }
            previous = Some(token);
        }
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_bracket(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
}

/// `#[test]` and `#[cfg(test)]`, also with more conditions; not `#[cfg(not(test))]`, nor `any`.
fn is_for_tests(attribute: &Group) -> bool {
    let text = attribute.stream().to_string();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    match words.first() {
        Some(&"cfg") => words.contains(&"test") && !words.contains(&"not") && !words.contains(&"any"),
        // `#[tokio::test]` and its like too.
        Some(_) => words.last() == Some(&"test") || words.starts_with(&["tokio", "test"]),
        None => false,
    }
}

#[cfg(test)]
mod tests;
