//! What settings mean where nobody sets them, and to whom they go.

use super::*;

fn config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

#[test]
fn each_limit_goes_to_the_queue_and_a_guest_gets_no_more() {
    let config = config(
        r#"
        [store]
        pooler = "transaction"
        [limits]
        payload = "11KiB"
        result = "12KiB"
        progress = "13KiB"
        error = "14KiB"
        log_tail = "15KiB"
        "#,
    );
    let options = config.store.options(&config.limits);
    assert_eq!(options.pooler, Pooler::Transaction);
    let queue = options.limits;
    assert_eq!(queue, config.limits.queue());
    assert_eq!((queue.payload_bytes, queue.result_bytes, queue.progress_bytes), (Some(11 << 10), 12 << 10, 13 << 10));
    assert_eq!((queue.error_bytes, queue.log_tail_bytes), (14 << 10, 15 << 10));
    let guest = config.limits.runtime();
    assert_eq!((guest.result_bytes, guest.progress_bytes), (12 << 10, 13 << 10));
    assert_eq!((guest.error_bytes, guest.log_tail_bytes), (13 << 10, 14 << 10), "a note of 1 KiB may follow");
}

#[test]
fn a_kind_that_only_asks_for_retries_waits_as_the_manual_says() {
    let kind = &config("[kinds.a]\nretries = 3").kinds["a"];
    assert_eq!(kind.retry_delay, Duration::from_secs(10));
    assert_eq!(kind.retry_delay_max, Duration::from_secs(3600));
    assert_eq!(kind.timeout, Duration::from_secs(3600));
}

#[test]
fn a_claim_belongs_to_one_start_of_a_host() {
    assert_eq!(owner("mill", 0x2a), "mill/0000002a");
}
