//! Reads or writes the path that its payload names, and says what came of it.

use schemars::JsonSchema;
use serde::Deserialize;
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Paths {
    /// A file to read.
    Read(String),
    /// A file to write.
    Write(String),
    /// A folder to list.
    List(String),
    /// A link to make, and where it leads.
    Link(String, String),
}

impl Handler for Paths {
    const KIND: &'static str = "paths";
    const SUMMARY: &'static str = "Tries a path.";
    type Summary = String;

    fn run(self, _: &Work) -> Result<Ending<String>, Failure> {
        let done = match &self {
            Paths::Read(path) => std::fs::read_to_string(path),
            Paths::Write(path) => std::fs::write(path, "written").map(|()| "written".to_owned()),
            Paths::List(path) => std::fs::read_dir(path).and_then(|entries| {
                let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
                let mut names = names.collect::<std::io::Result<Vec<_>>>()?;
                names.sort();
                Ok(names.join(" "))
            }),
            Paths::Link(link, to) => link_at(link, to).map(|()| "linked".to_owned()),
        };
        Ok(Ending::Done(done.unwrap_or_else(|error| format!("error: {error}"))))
    }
}

/// Makes a symbolic link with the interfaces of WASI: std has no stable function for it here.
fn link_at(link: &str, to: &str) -> std::io::Result<()> {
    use wasip2::filesystem::preopens::get_directories;
    let (folder, name) = link.rsplit_once('/').unwrap_or(("", link));
    let directories = get_directories();
    let root = directories.iter().find(|(_, path)| path == folder).ok_or(std::io::ErrorKind::NotFound)?;
    root.0.symlink_at(to, name).map_err(|error| std::io::Error::other(format!("{error:?}")))
}

export_handlers!(Paths);
