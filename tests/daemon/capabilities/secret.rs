//! `config` and `secrets`: what a handler is told, and what nobody else is.

use serde_json::json;
use workhost_queue::Status;

use crate::harness::*;

const SECRET: &str = "geheim-0x7A\"quoted\"";

fn blabber(secret: &str) -> String {
    format!(
        "[kinds.blabber]\n[[handlers]]\ncomponent = {:?}\n[handlers.config]\nregion = \"eu\"\ndays = 7\n\
         [handlers.secrets]\ntoken = {secret}\n",
        component("guests/blabber")
    )
}

on_both_stores! {
    async fn a_secret_reaches_its_handler_and_nothing_that_people_read(w: Workshop) {
        w.write("token", format!("{SECRET}\n"));
        w.configure(&blabber("{ file = \"token\" }"));
        let daemon = w.serve();
        let mut all = String::new();
        for end in ["done", "failure", "panic"] {
            let id = w.enqueue("blabber", &["--payload", &json!({ "end": end }).to_string()]);
            let item = w.until_finished(id).await;
            match end {
                "done" => {
                    assert_eq!(result(&item), json!({ "region": "eu", "days": 7, "bytes": SECRET.len() }));
                }
                _ => {
                    let error = item.error.clone().unwrap();
                    assert!(item.status == Status::Failed && error.contains("[secret]"), "{error}");
                }
            }
            assert!(item.log_tail.clone().unwrap().contains("stdout says [secret]."), "{item:?}");
            all.push_str(&format!("{item:?}"));
            all.push_str(&w.run_ok(&["show", &id.to_string()]));
            all.push_str(&w.run_ok(&["show", "--json", &id.to_string()]));
        }
        all.push_str(&w.run_ok(&["validate"]));
        all.push_str(&w.run_ok(&["inspect", &component("guests/blabber")]));
        all.push_str(&w.run_ok(&["list", "--json"]));
        daemon.stop();
        let log = w.log();
        assert!(log.contains("stderr says [secret]") && log.contains("the log says [secret]"), "{log}");
        all.push_str(&log);
        for spelling in [SECRET, &SECRET[..SECRET.len() - 1], "0x7A"] {
            assert!(!all.contains(spelling), "{spelling} was told: {all}");
        }
    }
}

#[tokio::test]
async fn a_secret_may_come_from_the_environment() {
    let w = Workshop::new(Store::Sqlite).await;
    // One that the program always has here.
    w.configure(&blabber("{ env = \"XDG_CACHE_HOME\" }"));
    let daemon = w.serve();
    let id = w.enqueue("blabber", &["--payload", r#"{"end": "done"}"#]);
    assert_eq!(result(&w.until_finished(id).await)["bytes"], env!("CARGO_TARGET_TMPDIR").len());
    daemon.stop();
    assert!(!w.log().contains(&format!("says {}", env!("CARGO_TARGET_TMPDIR"))), "{}", w.log());
}

#[tokio::test]
async fn a_secret_that_is_not_there_keeps_the_daemon_from_starting_and_is_named() {
    let w = Workshop::new(Store::Sqlite).await;
    for (secret, words) in [
        ("{ env = \"WORKHOST_TEST_UNSET\" }", "environment variable `WORKHOST_TEST_UNSET` is not set"),
        ("{ file = \"none\" }", "cannot be read"),
        ("{ file = \".\" }", "is not a file"),
    ] {
        w.configure(&blabber(secret));
        let said = w.run_to(2, &["validate"]);
        assert!(said.contains("handlers[0].secrets.token") && said.contains(words), "{said}");
        assert!(w.run_refused(&["serve"]).contains(words));
        assert!(w.run_ok(&["validate", "--offline"]).contains("no secret read"));
    }
    for wrong in ["{ env = \"A\", file = \"b\" }", "\"geheim-itself\"", "{ value = \"geheim-itself\" }", "7"] {
        w.configure(&blabber(wrong));
        // The harness looks for what must not be told.
        let said = w.run_refused(&["validate"]);
        assert!(said.contains("config-malformed") && said.contains("{ env = \"VARIABLE\" }"), "{said}");
    }
}
