//! A newer host, as far as the older ones can tell: its migration, and what it does with what that added.

use workhost_queue::ItemId;

use crate::store::{Engine, TestStore};

/// Applies migration 2, which only adds: columns, an index, a table, and a trigger that fills one of the columns.
pub(super) async fn migrate(store: &TestStore) {
    store
        .sql(match store.engine {
            Engine::Postgres => {
                "begin;
                select pg_advisory_xact_lock(x'776f726b686f7374'::bigint);
                -- In the order in which enqueueing reaches the tables, or each would wait for the other.
                alter table workhost.enqueue_limits add column label_bytes integer not null default 100;
                alter table workhost.work_items add column label text;
                create index work_items_label on workhost.work_items (label) where label is not null;
                create table workhost.notes (
                    item_id bigint constraint notes_pkey primary key
                        constraint notes_item_fkey references workhost.work_items (id) on delete cascade,
                    note text not null
                );
                create function workhost.fill_label() returns trigger language plpgsql as $$
                begin
                    new.label := coalesce(new.label, 'filled');
                    return new;
                end
                $$;
                create trigger work_items_fill_label before insert or update on workhost.work_items
                    for each row execute function workhost.fill_label();
                insert into workhost.schema_migrations values (2, '0002_labels', 'x', 1, now());
                commit"
            }
            Engine::Sqlite => {
                "begin immediate;
                alter table work_items add column label text;
                create index work_items_label on work_items (label) where label is not null;
                create table notes (
                    item_id integer constraint notes_pkey primary key
                        constraint notes_item_fkey references work_items (id) on delete cascade,
                    note text not null
                ) strict;
                create trigger work_items_fill_label after insert on work_items
                begin
                    update work_items set label = 'filled' where id = new.id and label is null;
                end;
                insert into schema_migrations values (2, '0002_labels', 'x', 1, 0);
                commit"
            }
        })
        .await;
}

/// Writes what only it knows of: a note on the newest items, and a label of its own.
pub(super) async fn work(store: &TestStore) {
    store
        .sql(
            "insert into notes (item_id, note)
            select id, 'by the newer host' from work_items
            where id not in (select item_id from notes)
            order by id desc limit 3",
        )
        .await;
    store.sql("update work_items set label = 'newer' where id in (select item_id from notes)").await;
}

/// Asks for the end of a running item, and writes what only it knows of with that.
pub(super) async fn request_cancel(store: &TestStore, id: ItemId) {
    let (now, changed) = match store.engine {
        Engine::Postgres => ("now()", "pg_current_xact_id()"),
        Engine::Sqlite => ("unixepoch() * 1000", "(select max(changed) + 1 from work_items)"),
    };
    store
        .sql(format!(
            "update work_items set cancel_requested_at = {now}, updated_at = {now}, changed = {changed}, label = 'newer'
            where id = {id} and status = 'running' and cancel_requested_at is null"
        ))
        .await;
    store.sql(format!("insert into notes (item_id, note) values ({id}, 'called off')")).await;
}

/// Whatever the older hosts did to those items, they left what they do not know.
pub(super) async fn assert_its_work_is_there(store: &TestStore) {
    let noted = store.number("select count(*) from notes").await;
    assert!(noted > 0, "the newer host did nothing");
    assert_eq!(store.number("select count(*) from work_items where label = 'newer'").await, noted);
    assert!(
        store.number("select count(*) from work_items where label = 'filled'").await > 0,
        "the trigger filled nothing"
    );
}
