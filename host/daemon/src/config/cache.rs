//! Where compiled components are kept.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de::Error};
use workhost_runtime::CompileCache;

use super::{Config, Source};

/// `cache` of `[runtime]`: a folder, or `false` for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// In the place that the system has for it: `$CACHE_DIRECTORY` (systemd), `$XDG_CACHE_HOME/workhost`,
    /// `~/.cache/workhost`; there in the folder `compiled`.
    #[default]
    Standard,
    /// In this folder. A relative one is relative to the configuration file.
    Folder(PathBuf),
    /// Nowhere: each start compiles.
    Off,
}

impl<'de> Deserialize<'de> for Cache {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a folder such as \"/var/cache/workhost\", or false for no cache")]
        enum Written {
            Switch(bool),
            Folder(PathBuf),
        }
        match Written::deserialize(deserializer)? {
            Written::Switch(true) => Ok(Cache::Standard),
            Written::Switch(false) => Ok(Cache::Off),
            // It would mean the configuration's own folder.
            Written::Folder(folder) if folder.as_os_str().is_empty() => {
                Err(D::Error::custom("the folder's name is empty: name one, or write false for no cache"))
            }
            Written::Folder(folder) => Ok(Cache::Folder(folder)),
        }
    }
}

impl Config {
    /// The cache of compiled components, if there is to be one.
    pub fn compile_cache(&self) -> Option<CompileCache> {
        self.runtime.cache.of(&self.source)
    }
}

impl Cache {
    /// The cache that this names in a configuration from there.
    pub fn of(&self, source: &Source) -> Option<CompileCache> {
        let folder = match self {
            Cache::Off => return None,
            Cache::Folder(folder) => source.resolve(folder),
            Cache::Standard => {
                let Some(folder) = standard_folder(|name| env::var_os(name), env::home_dir()) else {
                    tracing::warn!(
                        "compiled code is not cached: this account has no home folder (hint: set runtime.cache)"
                    );
                    return None;
                };
                folder
            }
        };
        Some(CompileCache::new(folder))
    }
}

/// By the first of the variables that is set to an absolute path; others are to be ignored, says the XDG specification.
fn standard_folder(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    // systemd lists several with colons between them.
    let of_the_service = || absolute(env::split_paths(&variable("CACHE_DIRECTORY")?).next()?);
    let of_the_account = || {
        let caches = variable("XDG_CACHE_HOME").and_then(|path| absolute(path.into()));
        Some(caches.or_else(|| Some(absolute(home?)?.join(".cache")))?.join("workhost"))
    };
    of_the_service().or_else(of_the_account).map(|folder| folder.join(Path::new("compiled")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(variables: &[(&str, &str)], home: Option<&str>) -> Option<String> {
        let variable = |name: &str| Some(variables.iter().find(|(other, _)| *other == name)?.1.into());
        standard_folder(variable, home.map(PathBuf::from)).map(|folder| folder.display().to_string())
    }

    #[test]
    fn the_service_comes_before_the_account_and_variables_before_the_home() {
        let service = ("CACHE_DIRECTORY", "/var/cache/workhost:/var/cache/other");
        let xdg = ("XDG_CACHE_HOME", "/caches");
        assert_eq!(folder(&[service, xdg], Some("/home/me")).as_deref(), Some("/var/cache/workhost/compiled"));
        assert_eq!(folder(&[xdg], Some("/home/me")).as_deref(), Some("/caches/workhost/compiled"));
        assert_eq!(folder(&[], Some("/home/me")).as_deref(), Some("/home/me/.cache/workhost/compiled"));
        assert_eq!(folder(&[], None), None);
    }

    #[test]
    fn what_is_not_absolute_is_ignored() {
        let home = Some("/home/me");
        for variables in [[("XDG_CACHE_HOME", "")], [("XDG_CACHE_HOME", "caches")], [("CACHE_DIRECTORY", "")]] {
            assert_eq!(folder(&variables, home).as_deref(), Some("/home/me/.cache/workhost/compiled"));
        }
        assert_eq!(folder(&[], Some("")), None);
    }

    #[test]
    fn the_setting_is_a_folder_or_a_switch() {
        let read = |toml: &str| toml::from_str::<Config>(toml).map(|config| config.runtime.cache);
        assert_eq!(read(""), Ok(Cache::Standard));
        assert_eq!(read("[runtime]\ncache = true"), Ok(Cache::Standard));
        assert_eq!(read("[runtime]\ncache = false"), Ok(Cache::Off));
        assert_eq!(read("[runtime]\ncache = \"compiled\""), Ok(Cache::Folder("compiled".into())));
        for (wrong, words) in [("7", "or false for no cache"), ("\"\"", "is empty"), ("[\"a\"]", "expected a folder")] {
            let error = read(&format!("[runtime]\ncache = {wrong}")).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(read("[runtime]\ncaches = false").is_err());
    }
}
