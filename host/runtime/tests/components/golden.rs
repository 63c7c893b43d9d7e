//! A handler that was built once stays loadable: one component for each version of the contract that was ever out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use workhost_runtime::{Backends, Control, Database, Ended, Grants, ImportClass, Job, RetentionGrant, SqlGrant};

use crate::guest::{backends, load_bytes_with, runtime};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/guests/golden");
const CONTRACT: &str = include_str!("../../../../wit/types.wit");

/// The capabilities that the golden components use.
async fn everything(folder: &Path) -> (Grants, Backends) {
    let file = folder.join("app.db");
    std::fs::write(&file, "").unwrap();
    let database = Database::connect("app", &format!("sqlite://{}", file.display())).await.unwrap();
    let grant = SqlGrant { database: "app".into(), statement: "select 1".into(), rows: None, time: None };
    let grants = Grants {
        sql: BTreeMap::from([("one".to_owned(), grant)]),
        retention: Some(RetentionGrant { min_days: 1 }),
        ..Grants::default()
    };
    (grants, backends([database]))
}

#[tokio::test]
async fn a_component_of_each_version_of_the_contract_loads_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut versions = BTreeSet::new();
    for entry in std::fs::read_dir(GOLDEN).unwrap() {
        let path = entry.unwrap().path();
        let version = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let bytes = wat::parse_file(&path).unwrap();
        let (grants, backends) = everything(folder.path()).await;
        let handler = load_bytes_with(&runtime(), &bytes, grants, &backends).await.unwrap();
        let imports = &handler.examined().imports;
        assert!(imports.iter().all(|import| import.name.ends_with(&format!("@{version}"))), "{imports:?}");
        let granted = imports.iter().filter(|import| import.class == ImportClass::Granted).count();
        assert_eq!((granted, handler.examined().unused_grants.len()), (2, 0), "{version}");
        let control = Arc::new(Control::new());
        let job = Job {
            id: 1,
            kind: "golden".into(),
            scope: Some("s".into()),
            attempt: 3,
            payload: r#"{"a":1}"#.into(),
            resume_from: Some("2".into()),
        };
        let ended = handler.run(job, control.clone()).await;
        assert_eq!(ended, Ended::Done(Some(r#"{"a":1}"#.into())), "{version}");
        assert_eq!(control.progress().map(|(_, progress)| progress.to_string()).as_deref(), Some(r#"{"a":1}"#));
        versions.insert(version);
    }
    let current = CONTRACT.lines().find_map(|line| line.strip_prefix("package workhost:handler@")?.strip_suffix(';'));
    assert!(versions.contains(current.unwrap()), "{current:?} has no golden component in {GOLDEN}");
}
