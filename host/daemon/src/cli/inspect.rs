//! `workhost inspect`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use workhost_runtime::{GrantForm, ImportClass, Inspection, KindDescription, Limits, Runtime, harmless_line};

use super::{block_on, output};
use crate::config::{Cache, Source, key};

/// Bytes of a schema or an error that are shown; `--json` has the whole.
const SCHEMA_BYTES: usize = 4 << 10;

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  workhost inspect handlers/token_cleanup.wasm

Exit status: 0 it is a handler, 1 it is none, or one that no grant could make run.")]
pub(super) struct Args {
    /// The component
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let file = &args.file;
    let inspected = block_on(async {
        let runtime = Runtime::with_cache(Limits::default(), Cache::Standard.of(&Source::default()))?;
        Ok(runtime.inspect(file).await)
    })?;
    let inspection = match inspected {
        Ok(inspection) => inspection,
        Err(error) if args.json => {
            output::line(
                json!({ "file": file, "code": error.code(), "problem": error.to_string(), "mend": error.hint() }),
            )?;
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => {
            let hint = error.hint().map(|hint| harmless_line(&hint, SCHEMA_BYTES));
            let hint = hint.map(|hint| format!("\n    hint: {hint}")).unwrap_or_default();
            anyhow::bail!("{} [{}]{hint}", harmless_line(&error.to_string(), SCHEMA_BYTES), error.code());
        }
    };
    if args.json {
        output::line(document(file, &inspection))?;
    } else {
        output::line(text(file, &inspection))?;
    }
    Ok(if inspection.kinds.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn document(file: &Path, inspection: &Inspection) -> Value {
    let kind = |kind: &KindDescription| json!({ "kind": kind.kind, "summary": kind.summary, "payload_schema": kind.payload_schema });
    let imports = imports(inspection).into_iter().map(|(class, name)| json!({ "name": name, "class": class }));
    json!({
        "file": file,
        "digest": inspection.digest,
        "bytes": inspection.bytes,
        "contract": inspection.contract,
        "kinds": inspection.kinds.as_ref().map(|kinds| kinds.iter().map(kind).collect()).unwrap_or_else(|_| Vec::new()),
        "imports": imports.collect::<Vec<_>>(),
        "toml": toml(file, inspection),
        "problem": inspection.kinds.as_ref().err().map(ToString::to_string),
    })
}

fn text(file: &Path, inspection: &Inspection) -> String {
    let Inspection { digest, bytes, contract, kinds, .. } = inspection;
    let mut text = format!("{}\n  {digest}\n  {bytes} bytes, for workhost:handler {contract}\n", file.display());
    text.push_str("\nkinds\n");
    match kinds {
        Ok(kinds) => {
            for KindDescription { kind, summary, payload_schema } in kinds {
                let schema = harmless_line(&payload_schema.to_string(), SCHEMA_BYTES);
                text.push_str(&format!("  {kind}: {summary}\n    payload: {schema}\n"));
            }
        }
        Err(error) => {
            let error = harmless_line(&error.to_string(), SCHEMA_BYTES);
            text.push_str(&format!("  it could not be asked: {error}\n"));
        }
    }
    text.push_str("\nimports\n");
    for (class, name) in imports(inspection) {
        text.push_str(&format!("  {class:<8} {}\n", harmless_line(name, SCHEMA_BYTES)));
    }
    text + "\nto paste into workhost.toml\n\n" + &toml(file, inspection)
}

/// Each import with its class.
fn imports(inspection: &Inspection) -> Vec<(&'static str, &str)> {
    let class = |class| match class {
        ImportClass::Base => "base",
        ImportClass::Inert => "inert",
        ImportClass::Granted => "granted",
    };
    let free = inspection.imports.iter().map(|import| (class(import.class), import.name.as_str()));
    let grantable = inspection.grantable.iter().map(|import| ("grant", import.name.as_str()));
    let refused = inspection.refused.iter().map(|import| ("refused", import.name.as_str()));
    free.chain(grantable).chain(refused).collect()
}

/// The catalogue's entries and the grants that it needs, with what only its author or operator knows left to fill in.
fn toml(file: &Path, inspection: &Inspection) -> String {
    let mut text = String::new();
    for kind in inspection.kinds.iter().flatten() {
        text.push_str(&format!("[kinds.{}]\n\n", key(&kind.kind)));
    }
    let string = |text: &str| toml::Value::from(text).to_string();
    text.push_str(&format!("[[handlers]]\ncomponent = {}\n", string(&file.display().to_string())));
    let mut forms: Vec<GrantForm> = Vec::new();
    for form in inspection.grantable.iter().filter_map(|import| import.grant) {
        // One grant may allow several imports.
        if !forms.contains(&form) {
            text.push_str(form.toml);
            forms.push(form);
        }
    }
    text
}
