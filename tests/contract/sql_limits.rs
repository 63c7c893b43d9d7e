//! What is refused when enqueueing by SQL, and who may.

use sqlx::postgres::{PgConnectOptions, PgDatabaseError};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use workhost_queue::{ConnectOptions, Json, Limits, NewItem, QueueError};

use crate::store::{TestStore, contract_on, keyed, new};

/// What the function says to an item, past the checks of the verb.
async fn told(connection: &mut PgConnection, item: &NewItem) -> sqlx::Result<i64> {
    sqlx::query_scalar("select id from workhost.enqueue($1, $2::text::json, $3, $4)")
        .bind(&item.kind)
        .bind(item.payload.as_str())
        .bind(&item.dedup_key)
        .bind(&item.scope)
        .fetch_one(connection)
        .await
}

/// A connection of a role of its own, and the role's name.
async fn stranger(store: &TestStore) -> (PgConnection, String) {
    let options: PgConnectOptions = store.url.parse().unwrap();
    let role = format!("{}_app", options.get_database().unwrap());
    store.sql(format!("create role {role} login password 'app'")).await;
    let connection = PgConnection::connect_with(&options.username(&role).password("app")).await.unwrap();
    (connection, role)
}

async fn run(connection: &mut PgConnection, statement: &str) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.map(drop)
}

contract_on! { Postgres:
    async fn the_function_refuses_what_the_verb_refuses_in_the_same_words(store) {
        let mut application = PgConnection::connect(&store.url).await.unwrap();
        let scoped = |scope: String| NewItem { scope: Some(scope), ..new("a") };
        let text = |text: &str| NewItem::new("a", serde_json::from_str::<serde_json::Value>(text).unwrap().into());
        let deep = (0..101).fold(serde_json::json!("[]]]"), |inner, _| serde_json::json!([inner]));
        let items = [
            new(""), new(&"k".repeat(129)), new("a\nb"), new("a\u{7f}"), new("a\u{1}"), new("a\u{9f}"),
            scoped(String::new()), scoped("é".repeat(257)), keyed("a", ""), keyed("a", &"k".repeat(1025)),
            NewItem { payload: Json::from_value(&serde_json::json!("x".repeat(1 << 20))), ..new("a") },
            text(r#""\u0000""#), text(r#"{"é": "x", "b": ["\\\\", "\u0000"]}"#), text(r#"{"\u0000": 1}"#),
            NewItem::new("a", Json::from_value(&deep)),
        ];
        for item in &items {
            let verb = store.queue.enqueue(std::slice::from_ref(item)).await.unwrap_err();
            let QueueError::Invalid { field, .. } = &verb else { panic!("{verb}") };
            let function = told(&mut application, item).await.unwrap_err();
            let function = function.as_database_error().unwrap().downcast_ref::<PgDatabaseError>();
            assert_eq!((function.message(), function.column()), (&*verb.to_string(), Some(*field)));
            assert_eq!(function.code(), "22023");
        }
        assert_eq!(store.number("select count(*) from work_items").await, 0);
    }

    async fn documents_are_taken_or_refused_alike_by_the_function_and_by_the_verb(store) {
        let mut application = PgConnection::connect(&store.url).await.unwrap();
        let nested = |levels: usize, inner: &str| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));
        let documents = [
            r#""\ud83d\ude00""#.to_owned(), r#""\ud83d""#.to_owned(), "[1,\n \"\\uDC00x\"]".to_owned(),
            r#""\ud83d\u0041""#.to_owned(), r#""\\u0000""#.to_owned(), r#""\\\u0000""#.to_owned(),
            r#"["é\\\\\ud800"]"#.to_owned(), r#""\"\\\"""#.to_owned(), r#"{"a":1e400, "a":-0.0E+1}"#.to_owned(),
            nested(100, ""), nested(101, ""), nested(101, r#""\u0000""#), nested(1, &format!("\"\\u0000\",{}", nested(101, ""))),
            "[\"]\",".repeat(101) + "1" + &",\"[\"]".repeat(101),
            "[\"\\\"]\",".repeat(100) + "true" + &",\"\\\\\"]".repeat(100),
            format!("[{}]", ["{\"a\": [false, null]}"; 300].join(", \n\t")),
            format!(r#"["\"", {}, "]"]"#, nested(101, "")), format!(r#"["\\", {}, "]"]"#, nested(101, "")),
            format!(r#"["\\\"", {}]"#, nested(99, "")),
        ];
        for document in documents {
            // Past the checks of the type, which would refuse it earlier.
            let function = sqlx::query_scalar::<_, i64>("select id from workhost.enqueue('a', $1::text::json)")
                .bind(&document)
                .fetch_one(&mut application)
                .await;
            match (Json::parse(&document), function) {
                (Ok(_), Ok(_)) => {}
                (Err(verb), Err(function)) => {
                    let function = function.as_database_error().unwrap().message().to_owned();
                    assert_eq!(function, format!("payload: {verb}"), "{document}");
                }
                (verb, function) => panic!("{document}: {verb:?}, {function:?}"),
            }
        }
    }

    async fn what_only_sql_can_ask_is_refused_by_name(store) {
        let mut application = PgConnection::connect(&store.url).await.unwrap();
        for (call, words) in [
            ("enqueue(null, '1')", "kind: it is null"),
            ("enqueue('a', null)", "payload: it is null"),
            ("enqueue('a', '1', run_at => 'infinity')", "run_at: infinity is further from now"),
            ("enqueue('a', '1', run_at => '-infinity')", "run_at: -infinity is further from now"),
            ("enqueue('a', '1', run_at => now() + interval '11 years')", "is further from now than the limit of 3660 days"),
            ("enqueue_many('{a,b}', '{1}')", "payloads: 1 elements for 2 kinds"),
            ("enqueue_many('{a,b}', '{1,2}', scopes => '{s}')", "scopes: 1 elements for 2 kinds"),
            ("enqueue_many('{a,a}', '{1,2}', dedup_keys => array['k', ''])", "dedup_key: it is empty"),
            ("enqueue_many(array_fill('a'::text, array[10001]), null)", "items: 10001 at once; the limit is 10000"),
        ] {
            let error = run(&mut application, &format!("select workhost.{call}")).await.unwrap_err();
            assert!(error.to_string().contains(words), "{call}: {error}");
        }
        let nothing: Vec<(i32,)> = sqlx::query_as("select item from workhost.enqueue_many('{}', null)")
            .fetch_all(&mut application)
            .await
            .unwrap();
        assert_eq!(nothing, []);
        assert_eq!(store.number("select count(*) from work_items").await, 0, "all or none");
    }

    async fn limits_in_the_database_hold_for_every_caller(store) {
        store.sql("update enqueue_limits set payload_bytes = 5, kind_bytes = 3").await;
        let limits = Limits { payload_bytes: Some(100), ..Limits::default() };
        let host = store.host_with(ConnectOptions { limits, ..ConnectOptions::default() }).await;
        let payload = NewItem::new("a", Json::parse("[1, 2]").unwrap());
        let refused = host.enqueue(&[new("b"), payload]).await.unwrap_err();
        assert!(matches!(refused, QueueError::Invalid { field: "payload", .. }), "{refused:?}");
        assert_eq!(refused.to_string(), "payload: 6 bytes; the limit is 5");
        assert_eq!(host.enqueue(&[new("long")]).await.unwrap_err().to_string(), "kind: 4 bytes; the limit is 3");
        let large = NewItem::new("a", Json::from_value(&serde_json::json!("x".repeat(2 << 20))));
        assert!(store.queue.enqueue(std::slice::from_ref(&large)).await.is_err());
        store.sql("update enqueue_limits set payload_bytes = 4194304").await;
        assert!(store.queue.enqueue(&[large]).await.is_ok(), "a host without a limit of its own takes what all take");
        store.sql("delete from work_items; delete from enqueue_limits").await;
        let lost = store.queue.enqueue(&[new("a")]).await.unwrap_err();
        assert!(lost.to_string().contains("has lost its row"), "{lost}");
        assert_eq!(store.number("select count(*) from work_items").await, 0);
    }

    async fn a_role_may_be_let_to_enqueue_and_to_do_nothing_else(store) {
        let (mut application, role) = stranger(&store).await;
        for grant in ["usage on schema workhost", "execute on function workhost.enqueue, workhost.enqueue_many"] {
            let refused = told(&mut application, &new("a")).await.unwrap_err();
            assert_eq!(refused.as_database_error().unwrap().code().as_deref(), Some("42501"), "before {grant}: {refused}");
            store.sql(format!("grant {grant} to {role}")).await;
        }
        told(&mut application, &keyed("a", "k")).await.unwrap();
        run(&mut application, "select workhost.enqueue_many('{a}', '{1}')").await.unwrap();
        for statement in [
            "insert into workhost.work_items (kind, payload, run_at, created_at, updated_at) values ('a', '1', now(), now(), now())",
            "select kind from workhost.work_items",
            "update workhost.work_items set priority = 1",
            "delete from workhost.work_items",
            "truncate workhost.work_items",
            "select nextval('workhost.work_items_id_seq')",
            "update workhost.enqueue_limits set payload_bytes = 1",
            "select workhost.payload_flaw('1')",
            "select version from workhost.schema_migrations",
            "create table workhost.mine ()",
        ] {
            let refused = run(&mut application, statement).await.unwrap_err();
            assert_eq!(refused.as_database_error().unwrap().code().as_deref(), Some("42501"), "{statement}: {refused}");
        }
        assert_eq!(store.number("select count(*) from work_items").await, 2);
        application.close().await.unwrap();
        store.sql(format!("drop owned by {role}; drop role {role}")).await;
    }

    async fn what_a_caller_made_or_set_has_no_say_in_the_function(store) {
        let (mut application, role) = stranger(&store).await;
        store.sql(format!(
            "grant usage on schema workhost to {role};
            grant execute on function workhost.enqueue, workhost.enqueue_many to {role};
            create schema evil authorization {role}"
        ))
        .await;
        run(
            &mut application,
            "create temp table work_items (like pg_class);
            create temp table enqueue_limits (payload_bytes integer);
            create function evil.betray(text, text) returns boolean language plpgsql as $$ begin raise exception 'hijacked as %', current_user; end $$;
            create operator evil.= (function = evil.betray, leftarg = text, rightarg = text);
            create function evil.now() returns timestamptz language plpgsql as $$ begin raise exception 'hijacked'; end $$;
            create function evil.pg_notify(text, text) returns void language plpgsql as $$ begin raise exception 'hijacked'; end $$;
            create function evil.octet_length(text) returns integer language plpgsql as $$ begin raise exception 'hijacked'; end $$;
            set search_path = evil, pg_temp, pg_catalog;
            set standard_conforming_strings = off; set escape_string_warning = off;
            set enable_seqscan = on; set datestyle = 'SQL, DMY'",
        )
        .await
        .unwrap();
        let hijacked = run(&mut application, "select now()").await.unwrap_err();
        assert!(hijacked.to_string().contains("hijacked"), "outside it works: {hijacked}");
        told(&mut application, &NewItem::new("a", Json::parse(r#"["\\u0000"]"#).unwrap())).await.unwrap();
        let refused = told(&mut application, &NewItem::new("a", serde_json::json!("\0").into())).await.unwrap_err();
        assert!(refused.to_string().contains("payload: a NUL character"), "{refused}");
        assert_eq!(store.number("select count(*) from work_items where kind = 'a'").await, 1);
        let kept: String = sqlx::query_scalar("select current_setting('search_path')").fetch_one(&mut application).await.unwrap();
        assert_eq!(kept, "evil, pg_temp, pg_catalog", "the caller's settings are its own again");
        application.close().await.unwrap();
        store.sql(format!("drop owned by {role}; drop role {role}")).await;
    }
}
