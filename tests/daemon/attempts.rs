//! What an attempt becomes.

use serde_json::json;
use workhost_queue::{Json, NewItem, Status};

use crate::harness::*;

on_both_stores! {
    async fn a_handler_that_is_done_succeeds_with_its_result(w: Workshop) {
        w.configure(&guest("echo", ""));
        let daemon = w.serve();
        let id = w.enqueue("echo", &["--payload", r#"{"message": "Grüße 🦀"}"#]);
        let item = w.until_finished(id).await;
        assert_eq!(result(&item), json!({ "message": "Grüße 🦀" }));
        assert_eq!((item.attempt, item.failures, item.stalls), (1, 0, 0));
        assert!(item.handler_digest.unwrap().starts_with("sha256:"));
        assert!(item.host.unwrap().starts_with("test-host/"));
        daemon.stop();
    }

    async fn an_error_of_the_handler_fails_the_item_with_its_message(w: Workshop) {
        w.configure(&guest("fail", ""));
        let daemon = w.serve();
        let id = w.enqueue("fail", &["--payload", r#"{"message": "no such mailbox"}"#]);
        let item = w.until_finished(id).await;
        assert_eq!(item.status, Status::Failed);
        assert_eq!(item.error.as_deref(), Some("no such mailbox"));
        assert_eq!((item.attempt, item.failures), (1, 1));
        let shown = w.run_ok(&["show", &id.to_string()]);
        assert!(shown.contains("no such mailbox"), "{shown}");
        daemon.stop();
    }

    async fn a_kind_that_opts_in_is_retried_until_its_retries_are_used_up(w: Workshop) {
        w.configure(&guest("fail", "retries = 2\nretry_delay = \"100ms\""));
        let daemon = w.serve();
        let passing = w.enqueue("fail", &["--payload", r#"{"message": "mail server is away"}"#]);
        let item = w.until_finished(passing).await;
        assert_eq!((item.status, item.attempt, item.failures, item.stalls), (Status::Failed, 3, 3, 0));
        let shown: serde_json::Value = serde_json::from_str(&w.run_ok(&["show", &passing.to_string(), "--json"])).unwrap();
        let outcomes: Vec<_> = shown["attempts"].as_array().unwrap().iter().map(|a| &a["outcome"]).collect();
        assert_eq!(outcomes, ["failed", "retry", "retry"]);
        let permanent = w.enqueue("fail", &["--payload", r#"{"message": "no such mailbox", "permanent": true}"#]);
        let item = w.until_finished(permanent).await;
        assert_eq!((item.status, item.attempt, item.failures), (Status::Failed, 1, 1));
        daemon.stop();
    }

    async fn a_trap_fails_the_item_with_the_panics_own_text_and_harms_nobody_else(w: Workshop) {
        w.configure(&(guest("panic", "") + &guest("echo", "")));
        let daemon = w.serve();
        let id = w.enqueue("panic", &["--payload", r#"{"message": "the invoice has no lines"}"#]);
        let item = w.until_finished(id).await;
        assert_eq!(item.status, Status::Failed);
        let error = item.error.unwrap();
        assert!(error.contains("the invoice has no lines"), "{error}");
        assert!(error.contains("panic.rs"), "the place is missing: {error}");
        let log = item.log_tail.unwrap();
        assert!(log.contains("stderr: the invoice has no lines"), "{log}");
        let shown = w.run_ok(&["show", &id.to_string()]);
        assert!(shown.contains("stderr: the invoice has no lines"), "{shown}");
        let next = w.enqueue("panic", &["--payload", r#"{"message": "again"}"#]);
        assert!(w.until_finished(next).await.error.unwrap().contains("again"));
        let other = w.enqueue("echo", &["--payload", r#"{"message": "hello"}"#]);
        assert_eq!(result(&w.until_finished(other).await), json!({ "message": "hello" }));
        daemon.stop();
    }

    async fn more_guests_than_cores_that_spin_past_their_timeout_are_ended_while_others_run(w: Workshop) {
        // Without heartbeats the lease would run out before the timeout; a machine that stands still for some seconds is
        // no reason for that.
        let worker = "[worker]\nslots = 12\nheartbeat_interval = \"150ms\"\nlease = \"6s\"\n";
        w.configure_with(worker, &(guest("spin", "timeout = \"7s\"") + &guest("echo", "")));
        let daemon = w.serve();
        let spinning: Vec<_> = (0..8).map(|_| w.enqueue("spin", &[])).collect();
        for id in &spinning {
            w.until(*id, "running", |item| item.status == Status::Running).await;
        }
        let other = w.enqueue("echo", &["--payload", r#"{"message": "hello"}"#]);
        assert_eq!(w.until_finished(other).await.status, Status::Succeeded);
        for id in spinning {
            let item = w.until_finished(id).await;
            assert_eq!((item.status, item.error.as_deref()), (Status::Failed, Some("timeout of 7s")));
            assert_eq!(item.stalls, 0, "its heartbeats went on");
        }
        daemon.stop();
    }

    async fn a_guest_that_eats_memory_meets_its_limit_by_name(w: Workshop) {
        w.configure(&(guest("greedy", "") + "memory = \"32MiB\"\n"));
        let daemon = w.serve();
        let id = w.enqueue("greedy", &[]);
        let error = w.until_finished(id).await.error.unwrap();
        assert!(error.contains("memory limit of 32 MiB"), "{error}");
        daemon.stop();
    }

    async fn exit_zero_is_no_success(w: Workshop) {
        w.configure(&guest("exit", ""));
        let daemon = w.serve();
        let id = w.enqueue("exit", &[]);
        let item = w.until_finished(id).await;
        assert_eq!(item.status, Status::Failed);
        assert!(item.error.unwrap().contains("exit"));
        daemon.stop();
    }

    async fn a_cancel_stops_a_running_item_and_keeps_its_partial_result(w: Workshop) {
        w.configure(&guest("slow", ""));
        let daemon = w.serve();
        let id = w.enqueue("slow", &["--payload", r#"{"steps": 1000, "step_ms": 20}"#]);
        w.until(id, "past step 5", |item| progress(item)["step"].as_u64() > Some(5)).await;
        let said = w.run_ok(&["cancel", &id.to_string()]);
        assert!(said.contains("asked to stop"), "{said}");
        let item = w.until_finished(id).await;
        assert_eq!(item.status, Status::Cancelled);
        assert!(item.cancel_requested_at.is_some() && item.error.is_none());
        assert!(item.result.unwrap().to_value()["steps"].as_u64() >= Some(5));
        daemon.stop();
    }

    async fn a_payload_that_does_not_fit_fails_before_the_guest_starts(w: Workshop) {
        w.configure(&guest("panic", ""));
        let queue = w.queue().await;
        queue.migrate().await.unwrap();
        let item = NewItem::new("panic", Json::parse(r#"{"message": 5}"#).unwrap());
        let id = queue.enqueue(&[item]).await.unwrap()[0].id();
        let daemon = w.serve();
        let error = w.until_finished(id).await.error.unwrap();
        assert!(error.contains("payload.message") && error.contains("string"), "{error}");
        assert!(!error.contains("panicked"), "the guest ran: {error}");
        daemon.stop();
    }

    async fn an_unknown_kind_is_left_alone_and_shown(w: Workshop) {
        w.configure(&guest("echo", ""));
        let queue = w.queue().await;
        queue.migrate().await.unwrap();
        let item = NewItem::new("from-the-future", Json::parse("{}").unwrap());
        let id = queue.enqueue(&[item]).await.unwrap()[0].id();
        let daemon = w.serve();
        let known = w.enqueue("echo", &["--payload", r#"{"message": "hello"}"#]);
        w.until_finished(known).await;
        let item = w.item(id).await;
        assert_eq!((item.status, item.attempt), (Status::Queued, 0));
        let listed = w.run_ok(&["list"]);
        assert!(listed.contains("from-the-future") && listed.contains("not in this configuration"), "{listed}");
        assert!(w.log().contains("from-the-future"), "the daemon says nothing of it");
        daemon.stop();
    }
}
