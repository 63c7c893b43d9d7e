//! The `config` capability: settings of this handler, from workhost's configuration.

use serde::de::DeserializeOwned;

use crate::{Failure, host};

/// The setting under this key, if there is one.
///
/// # Errors
/// It has another type. Trying again cannot help.
pub fn find<T: DeserializeOwned>(key: &str) -> Result<Option<T>, Failure> {
    let Some(json) = host::config(key) else { return Ok(None) };
    let wrong =
        |error| Failure::permanent(format!("setting `{key}` in [handlers.config] is not as it should be: {error}"));
    serde_json::from_str(&json).map(Some).map_err(wrong)
}

/// The setting under this key.
///
/// # Errors
/// There is none, or it has another type. Trying again cannot help.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<T, Failure> {
    find(key)?.ok_or_else(|| Failure::permanent(format!("setting `{key}` is missing: add it to [handlers.config]")))
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use crate::testing::Host;
    use crate::{Ending, Failure, Handler, Work};

    #[derive(Deserialize, JsonSchema)]
    struct Settings {}

    impl Handler for Settings {
        const KIND: &'static str = "settings";
        const SUMMARY: &'static str = "Reads settings.";
        type Summary = (u32, Option<String>, String);

        fn run(self, _: &Work) -> Result<Ending<Self::Summary>, Failure> {
            let password = crate::secrets::get("password")?;
            Ok(Ending::Done((super::get("days")?, super::find("region")?, password)))
        }
    }

    #[test]
    fn settings_and_secrets_are_read_by_name() {
        let host = Host::new().config("days", 7).config("region", "eu").secret("password", "geheim");
        assert_eq!(host.run::<Settings>("{}").ending, Ok(Ending::Done(serde_json::json!([7, "eu", "geheim"]))));
    }

    #[test]
    fn what_is_missing_or_has_another_type_fails_for_good_with_its_name() {
        for (host, name) in [
            (Host::new().secret("password", "x"), "`days`"),
            (Host::new().secret("password", "x").config("days", "seven"), "`days`"),
            (Host::new().config("days", 7), "`password`"),
        ] {
            let failure = host.run::<Settings>("{}").ending.unwrap_err();
            assert!(failure.permanent && failure.message.contains(name), "{failure:?}");
        }
    }
}
