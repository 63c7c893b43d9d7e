//! Small guests in text format, so that these tests need no compiler for wasm.

use std::path::PathBuf;
use std::sync::Arc;

use workhost_runtime::{Backends, Control, Database, Ended, Grants, Handler, Job, Limits, LoadError, Runtime};

/// A guest of one kind, `echo`; each test says what its `run` does.
pub struct Guest {
    /// The body of `run`; its parameters are named, `$answer` is where the answer is built.
    pub run: &'static str,
    /// More fields of the module that holds `run`.
    pub module: &'static str,
    /// Imports of the component, and the core instances that pass them on.
    pub imports: &'static str,
    /// How the module that holds `run` is given those.
    pub with: &'static str,
    /// The payload schema in `describe`.
    pub schema: &'static str,
    /// The version of the contract that it exports.
    pub version: &'static str,
    /// The last field of a work item.
    pub last_field: &'static str,
}

impl Default for Guest {
    fn default() -> Self {
        Guest {
            run: "(call $done (local.get $payload) (local.get $payload_len))",
            module: "",
            imports: "",
            with: "",
            schema: "{}",
            version: "0.1.0",
            last_field: "resume-from",
        }
    }
}

/// Imports `report-progress` as `$report` (pointer, length).
pub const WORK: Guest = Guest {
    run: "",
    module: r#"(import "work" "report-progress" (func $report (param i32 i32)))"#,
    imports: r#"
        (import "workhost:handler/work@0.1.0" (instance $work
            (export "report-progress" (func (param "snapshot" string)))))
        (core func $report (canon lower (func $work "report-progress") (memory (core memory $memory "memory"))))
        (core instance $lowered (export "report-progress" (func $report)))"#,
    with: r#"(with "work" (instance $lowered))"#,
    schema: "{}",
    version: "0.1.0",
    last_field: "resume-from",
};

impl Guest {
    /// The component, assembled.
    pub fn component(&self) -> Vec<u8> {
        let Guest { run, module, imports, with, schema, version, last_field } = self;
        let schema_len = schema.len();
        let schema = schema.replace('"', "\\22");
        let types = format!(
            r#"
            (type $kind' (record (field "kind" string) (field "summary" string) (field "payload-schema" string)))
            (type $item' (record (field "id" u64) (field "kind" string) (field "scope" (option string))
                (field "attempt" u32) (field "payload" string) (field "{last_field}" (option string))))
            (type $ending' (variant (case "done" (option string)) (case "stopped" (option string))))
            (type $failure' (record (field "message" string) (field "permanent" bool)))"#
        );
        let text = format!(
            r#"(component
            (core module $memory'
                (memory (export "memory") 64)
                (global $next (mut i32) (i32.const 65536))
                (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                    (global.get $next)
                    (global.set $next (i32.and (i32.add (i32.add (global.get $next) (local.get 3)) (i32.const 7)) (i32.const -8)))))
            (core instance $memory (instantiate $memory'))
            {imports}
            (core module $main'
                (import "memory" "memory" (memory 0))
                {module}
                (data (i32.const 16) "echoechoes{schema}")
                (data (i32.const 512) "\10\00\00\00\04\00\00\00\14\00\00\00\06\00\00\00\1a\00\00\00\{schema_len:02x}\00\00\00")
                (func (export "describe") (result i32)
                    (i32.store (i32.const 500) (i32.const 512)) (i32.store (i32.const 504) (i32.const 1)) (i32.const 500))
                (func $done (param $at i32) (param $len i32) (result i32)
                    (i64.store (i32.const 600) (i64.const 0))
                    (i32.store (i32.const 608) (i32.const 1))
                    (i32.store (i32.const 612) (local.get $at))
                    (i32.store (i32.const 616) (local.get $len))
                    (i32.const 600))
                (func $failed (param $at i32) (param $len i32) (param $permanent i32) (result i32)
                    (i32.store (i32.const 600) (i32.const 1))
                    (i32.store (i32.const 604) (local.get $at))
                    (i32.store (i32.const 608) (local.get $len))
                    (i32.store (i32.const 612) (local.get $permanent))
                    (i32.const 600))
                (func (export "run") (param $id i64) (param $kind i32) (param $kind_len i32)
                    (param $scoped i32) (param $scope i32) (param $scope_len i32) (param $attempt i32)
                    (param $payload i32) (param $payload_len i32) (param i32 i32 i32) (result i32)
                    {run}))
            (core instance $main (instantiate $main' (with "memory" (instance $memory)) {with}))
            {types}
            (func $describe (result (list $kind'))
                (canon lift (core func $main "describe") (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
            (func $run (param "item" $item') (result (result $ending' (error $failure')))
                (canon lift (core func $main "run") (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
            (component $named
                {types}
                (import "k" (type $kind (eq $kind')))
                (import "i" (type $item (eq $item')))
                (import "e" (type $ending (eq $ending')))
                (import "f" (type $failure (eq $failure')))
                (import "describe" (func $describe (result (list $kind))))
                (import "run" (func $run (param "item" $item) (result (result $ending (error $failure)))))
                (export $kind-x "kind-description" (type $kind))
                (export $item-x "work-item" (type $item))
                (export $ending-x "ending" (type $ending))
                (export $failure-x "failure" (type $failure))
                (export "describe" (func $describe) (func (result (list $kind-x))))
                (export "run" (func $run) (func (param "item" $item-x) (result (result $ending-x (error $failure-x))))))
            (instance $handler (instantiate $named
                (with "k" (type $kind')) (with "i" (type $item')) (with "e" (type $ending')) (with "f" (type $failure'))
                (with "describe" (func $describe)) (with "run" (func $run))))
            (export "workhost:handler/handler@{version}" (instance $handler)))"#,
        );
        wat::parse_str(text).unwrap()
    }

    /// Loads it with these grants.
    pub async fn load_with(&self, runtime: &Runtime, grants: Grants) -> Result<Handler, LoadError> {
        load_bytes(runtime, &self.component(), grants).await
    }

    /// Loads it without grants; it must be a handler.
    pub async fn load(&self, runtime: &Runtime) -> Handler {
        self.load_with(runtime, Grants::default()).await.unwrap()
    }
}

/// Writes bytes to a file and loads that.
pub async fn load_bytes(runtime: &Runtime, bytes: &[u8], grants: Grants) -> Result<Handler, LoadError> {
    load_bytes_with(runtime, bytes, grants, &backends([])).await
}

/// The same, with what grants reach.
pub async fn load_bytes_with(
    runtime: &Runtime,
    bytes: &[u8],
    grants: Grants,
    backends: &Backends,
) -> Result<Handler, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("handler.wasm");
    std::fs::write(&path, bytes).unwrap();
    runtime.load(&path, grants, backends).await
}

/// These databases by their names.
pub fn backends(databases: impl IntoIterator<Item = Database>) -> Backends {
    let databases = databases.into_iter().map(|database| (database.name().to_owned(), database)).collect();
    Backends { databases, ..Backends::default() }
}
/// A runtime for tests: small, and impatient with `describe`.
pub fn runtime() -> Runtime {
    let describe_time = std::time::Duration::from_millis(500);
    Runtime::new(Limits { attempts: 4, describe_time, ..Limits::default() }).unwrap()
}

/// Runs one job of kind `echo`.
pub async fn run(handler: &Handler, payload: &str) -> Ended {
    run_with(handler, payload, &Arc::new(Control::new())).await
}

/// The same, under this control.
pub async fn run_with(handler: &Handler, payload: &str, control: &Arc<Control>) -> Ended {
    handler.run(job(payload), control.clone()).await
}

/// A job of kind `echo`.
pub fn job(payload: &str) -> Job {
    Job { id: 7, kind: "echo".into(), scope: None, attempt: 1, payload: payload.into(), resume_from: None }
}

/// Why these bytes are refused without grants.
pub async fn refusal(bytes: &[u8]) -> LoadError {
    load_bytes(&runtime(), bytes, Grants::default()).await.err().expect("it was loaded")
}

/// The one-line text of a refusal, which has a hint.
pub async fn words(bytes: &[u8]) -> String {
    let error = refusal(bytes).await;
    assert!(error.hint().is_some(), "{error}");
    error.to_string()
}
