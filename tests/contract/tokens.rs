//! Tokens.

use workhost_queue::{AuditPage, NewToken, QueueError, Role, TokenId};

use crate::store::{Engine, contract};

fn token(name: &str, role: Role, byte: u8) -> NewToken {
    NewToken { name: name.to_owned(), role, sha256: [byte; 32] }
}

contract! {
    async fn a_token_is_found_by_its_hash_and_tells_its_role(store) {
        for (byte, role) in Role::ALL.into_iter().enumerate() {
            let id = store.queue.add_token(&token(role.as_str(), role, byte as u8), None).await.unwrap();
            let found = store.host().await.token_by_hash(&[byte as u8; 32]).await.unwrap().unwrap();
            assert_eq!((found.id, found.name.as_str(), found.role), (id, role.as_str(), role));
        }
        assert_eq!(store.queue.token_by_hash(&[9; 32]).await.unwrap(), None);
        assert_eq!(store.queue.tokens().await.unwrap().len(), 3);
    }

    async fn a_revoked_token_lets_nobody_in_and_frees_its_name(store) {
        let id = store.queue.add_token(&token("ci", Role::Admin, 1), None).await.unwrap();
        assert!(store.queue.revoke_token(id, None).await.unwrap());
        assert_eq!(store.queue.token_by_hash(&[1; 32]).await.unwrap(), None);
        let revoked_at = store.queue.tokens().await.unwrap()[0].revoked_at;
        assert!(revoked_at.is_some());
        assert!(!store.queue.revoke_token(id, None).await.unwrap());
        assert!(!store.queue.revoke_token(TokenId(99), None).await.unwrap());
        assert_eq!(store.queue.tokens().await.unwrap()[0].revoked_at, revoked_at);
        store.queue.add_token(&token("ci", Role::Viewer, 2), None).await.unwrap();
        assert_eq!(store.queue.token_by_hash(&[2; 32]).await.unwrap().unwrap().role, Role::Viewer);
    }

    async fn a_name_or_a_token_that_is_taken_is_refused(store) {
        store.queue.add_token(&token("ci", Role::Admin, 1), None).await.unwrap();
        for bad in [token("ci", Role::Viewer, 2), token("other", Role::Viewer, 1), token("", Role::Viewer, 3)] {
            let answer = store.queue.add_token(&bad, None).await;
            assert!(matches!(answer, Err(QueueError::Invalid { field: "name", .. })), "{answer:?}");
        }
        assert_eq!(store.queue.tokens().await.unwrap().len(), 1);
    }

    async fn its_use_is_noted_once_a_minute(store) {
        store.queue.add_token(&token("ci", Role::Admin, 1), None).await.unwrap();
        assert_eq!(store.queue.tokens().await.unwrap()[0].last_used_at, None);
        store.queue.token_by_hash(&[1; 32]).await.unwrap();
        let used = store.queue.tokens().await.unwrap()[0].last_used_at.expect("noted");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        store.queue.token_by_hash(&[1; 32]).await.unwrap();
        assert_eq!(store.queue.tokens().await.unwrap()[0].last_used_at, Some(used), "not written at each use");
        store.sql(match store.engine {
            Engine::Postgres => "update tokens set last_used_at = last_used_at - interval '61 seconds'",
            Engine::Sqlite => "update tokens set last_used_at = last_used_at - 61000",
        }).await;
        store.queue.token_by_hash(&[1; 32]).await.unwrap();
        assert!(store.queue.tokens().await.unwrap()[0].last_used_at > Some(used));
    }

    async fn who_added_and_who_revoked_is_recorded(store) {
        let id = store.queue.add_token(&token("ci", Role::Admin, 1), Some("ann")).await.unwrap();
        store.queue.revoke_token(id, Some("bob")).await.unwrap();
        store.queue.revoke_token(id, Some("eve")).await.unwrap();
        let log = store.queue.audit_log(&AuditPage::default()).await.unwrap();
        let words: Vec<_> = log.iter().map(|e| format!("{} {} {}", e.actor.as_deref().unwrap(), e.action, e.target)).collect();
        assert_eq!(words, ["bob revoke token ci", "ann add token ci"]);
    }
}
