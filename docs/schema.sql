-- The store's schema after all migrations, on PostgreSQL and on SQLite.
--
-- Made by `cargo xtask schema`, which migrates an empty store of each kind and reads back what it has then. To change
-- the schema, add a migration. Left out are owners, rows, and the bodies of PostgreSQL's functions; migrations/
-- has them, and says why things are as they are.


-- PostgreSQL

create schema workhost;

create table workhost.schema_migrations (
    version bigint not null,
    name text not null,
    checksum text not null,
    oldest_binary bigint not null,
    applied_at timestamptz not null default now(),
    constraint schema_migrations_pkey primary key (version)
);

create table workhost.work_items (
    id bigint not null generated always as identity,
    kind text collate "C" not null,
    payload json not null,
    dedup_key text collate "C",
    scope text collate "C",
    priority integer not null default 0,
    run_at timestamptz not null,
    status text collate "C" not null default 'queued',
    attempt integer not null default 0,
    stalls integer not null default 0,
    failures integer not null default 0,
    interruptions integer not null default 0,
    progress json,
    result json,
    error text,
    log_tail text,
    reason text,
    host text,
    handler_digest text,
    parent_id bigint,
    ended_as text,
    lease_expires_at timestamptz,
    cancel_requested_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz,
    changed xid8 not null default pg_current_xact_id(),
    constraint work_items_pkey primary key (id),
    constraint work_items_attempt_check check (attempt >= 0),
    constraint work_items_cancel_check check (status <> 'queued' or cancel_requested_at is null),
    constraint work_items_dedup_key_check check (dedup_key <> ''),
    constraint work_items_ended_as_check
        check (ended_as = any (array['succeeded', 'failed', 'cancelled', 'released', 'retry', 'stalled'])),
    constraint work_items_failures_check check (failures >= 0),
    constraint work_items_finished_check
        check ((status = any (array['succeeded', 'failed', 'cancelled'])) = (finished_at is not null)),
    constraint work_items_interruptions_check check (interruptions >= 0),
    constraint work_items_kind_check check (kind <> ''),
    constraint work_items_reason_check check (reason = any (array['stalled', 'superseded'])),
    constraint work_items_running_check
        check ((status = 'running') = (lease_expires_at is not null) and (status <> 'running' or host is not null
        and started_at is not null and attempt > 0 and ended_as is null)),
    constraint work_items_scope_check check (scope <> ''),
    constraint work_items_stalls_check check (stalls >= 0),
    constraint work_items_status_check
        check (status = any (array['queued', 'running', 'succeeded', 'failed', 'cancelled'])),
    constraint work_items_times_check
        check (least(run_at, created_at, updated_at, started_at, finished_at, lease_expires_at,
        cancel_requested_at) >= '0001-01-01 00:00:00+00'::timestamptz and greatest(run_at, created_at, updated_at,
        started_at, finished_at, lease_expires_at, cancel_requested_at) < '10000-01-01 00:00:00+00'::timestamptz)
);
create index work_items_changed on workhost.work_items (changed, id);
create index work_items_due on workhost.work_items (kind, priority, run_at, id)
    where status = 'queued' and scope is null;
create index work_items_due_scope on workhost.work_items (scope, kind, priority, run_at, id)
    where status = 'queued' and scope is not null;
create index work_items_finished on workhost.work_items (finished_at, id) where finished_at is not null;
create index work_items_history on workhost.work_items (kind, dedup_key, finished_at)
    where finished_at is not null and dedup_key is not null;
create index work_items_lease on workhost.work_items (lease_expires_at, id) where lease_expires_at is not null;
create unique index work_items_one_queued on workhost.work_items (kind, dedup_key)
    where status = 'queued' and dedup_key is not null;
create unique index work_items_one_running on workhost.work_items (scope)
    where status = 'running' and scope is not null;
create index work_items_running_key on workhost.work_items (kind, dedup_key)
    where status = 'running' and dedup_key is not null;
create trigger work_items_keep_attempt after update on workhost.work_items for each row
    when (old.status = 'running' and new.ended_as is not null and new.status <> 'succeeded')
    execute function workhost.keep_attempt();
create trigger work_items_moved before update on workhost.work_items for each row
    when (new.status = 'queued' and new.changed = old.changed and (old.status is distinct from new.status
    or old.kind is distinct from new.kind or old.scope is distinct from new.scope
    or old.priority is distinct from new.priority or old.run_at is distinct from new.run_at))
    execute function workhost.note_move();
create trigger work_items_removed after delete on workhost.work_items referencing old table as gone for each statement
    execute function workhost.note_removal();

create table workhost.schedules (
    kind text collate "C" not null,
    dedup_key text collate "C" not null,
    created_at timestamptz not null default now(),
    constraint schedules_pkey primary key (kind, dedup_key)
);

create table workhost.attempts (
    item_id bigint not null,
    attempt integer not null,
    host text not null,
    handler_digest text,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    outcome text collate "C" not null,
    error text,
    log_tail text,
    constraint attempts_pkey primary key (item_id, attempt),
    constraint attempts_item_fkey foreign key (item_id) references workhost.work_items(id) on delete cascade
);

create table workhost.pauses (
    what text collate "C" not null,
    kind text collate "C" not null,
    scope text collate "C" not null,
    paused_at timestamptz not null,
    paused_by text,
    constraint pauses_pkey primary key (what, kind, scope),
    constraint pauses_what_check check (what = any (array['kind', 'scope', 'schedule']))
);

create table workhost.hosts (
    host text collate "C" not null,
    kinds text[] not null,
    slots integer not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null,
    constraint hosts_pkey primary key (host)
);

create table workhost.audit (
    id bigint not null generated always as identity,
    at timestamptz not null,
    actor text,
    action text not null,
    target text not null,
    item_id bigint,
    constraint audit_pkey primary key (id)
);
create index audit_at on workhost.audit (at, id);
create index audit_item on workhost.audit (item_id, id) where item_id is not null;

create table workhost.tokens (
    id bigint not null generated always as identity,
    name text collate "C" not null,
    role text collate "C" not null,
    sha256 bytea not null,
    created_at timestamptz not null,
    last_used_at timestamptz,
    revoked_at timestamptz,
    constraint tokens_pkey primary key (id),
    constraint tokens_sha256_key unique (sha256),
    constraint tokens_role_check check (role = any (array['admin', 'viewer', 'enqueuer'])),
    constraint tokens_sha256_check check (length(sha256) = 32)
);
create unique index tokens_one_living on workhost.tokens (name) where revoked_at is null;

create table workhost.forgotten (
    only_row boolean not null default true,
    through xid8 not null,
    constraint forgotten_pkey primary key (only_row),
    constraint forgotten_one_row check (only_row)
);

create table workhost.enqueue_limits (
    only_row boolean not null default true,
    payload_bytes integer not null default 1048576,
    kind_bytes integer not null default 128,
    scope_bytes integer not null default 512,
    dedup_key_bytes integer not null default 1024,
    batch_items integer not null default 10000,
    delay interval not null default '3660 days'::interval,
    constraint enqueue_limits_pkey primary key (only_row),
    constraint enqueue_limits_check
        check (least(payload_bytes, kind_bytes, scope_bytes, dedup_key_bytes, batch_items) > 0
        and (kind_bytes + greatest(scope_bytes, dedup_key_bytes)) <= 2500 and delay >= '00:00:00'::interval
        and delay <= '36600 days'::interval),
    constraint enqueue_limits_only_row_check check (only_row)
);

create function workhost.note_move()
returns trigger
language plpgsql;
grant execute on function workhost.note_move to public;

create function workhost.keep_attempt()
returns trigger
language plpgsql;
grant execute on function workhost.keep_attempt to public;

create function workhost.note_removal()
returns trigger
language plpgsql;
grant execute on function workhost.note_removal to public;

create function workhost.payload_flaw(
    payload text
)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on;
revoke execute on function workhost.payload_flaw from public;

create function workhost.enqueue_many(
    kinds text[], payloads json[], dedup_keys text[] default null::text[], scopes text[] default null::text[],
        run_ats timestamptz[] default null::timestamptz[], priorities integer[] default null::integer[],
        parent bigint default null::bigint
)
returns table(item integer, id bigint, created boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set enable_seqscan = off
set jit = off;
revoke execute on function workhost.enqueue_many from public;

create function workhost.enqueue(
    kind text, payload json, dedup_key text default null::text, scope text default null::text,
        run_at timestamptz default null::timestamptz, priority integer default 0, out id bigint, out created boolean
)
returns record
language sql security definer
set search_path = pg_catalog, pg_temp;
revoke execute on function workhost.enqueue from public;


-- SQLite

create table schema_migrations (
    version integer constraint schema_migrations_pkey primary key,
    name text not null,
    -- SHA-256 of the statements.
    checksum text not null,
    -- The oldest schema version whose binaries still work beside this migration.
    oldest_binary integer not null,
    applied_at integer not null
) strict;

create table work_items (
    -- autoincrement: the number of a deleted item is never given again.
    id integer constraint work_items_pkey primary key autoincrement,
    kind text not null constraint work_items_kind_check check (kind <> ''),
    -- The text as it was enqueued.
    payload text not null,
    -- While an item of this kind with this key is queued, enqueueing again returns that item.
    dedup_key text constraint work_items_dedup_key_check check (dedup_key <> ''),
    -- At most one item of a scope runs; see work_items_one_running.
    scope text constraint work_items_scope_check check (scope <> ''),
    -- Higher runs first.
    priority integer not null default 0,
    run_at integer not null,
    status text not null default 'queued' constraint work_items_status_check
        check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    -- The fencing token: grows with each claim, never falls.
    attempt integer not null default 0 constraint work_items_attempt_check check (attempt >= 0),
    -- How often an attempt ended by its lease, by a failure, by a shutdown. Counted apart.
    stalls integer not null default 0 constraint work_items_stalls_check check (stalls >= 0),
    failures integer not null default 0 constraint work_items_failures_check check (failures >= 0),
    interruptions integer not null default 0 constraint work_items_interruptions_check check (interruptions >= 0),
    progress text,
    result text,
    error text,
    -- The end of what the newest attempt logged, once it has ended.
    log_tail text,
    -- Why the queue itself ended the item.
    reason text constraint work_items_reason_check check (reason in ('stalled', 'superseded')),
    -- The host of the newest attempt, and the component that it ran.
    host text,
    handler_digest text,
    -- The item whose handler enqueued this one. No foreign key: that one may be deleted first.
    parent_id integer,
    -- How the newest attempt ended; null before the first and while one runs. It tells a finish that is repeated
    -- because its answer was lost from one that comes too late. `stalled`: by its lease.
    ended_as text constraint work_items_ended_as_check
        check (ended_as in ('succeeded', 'failed', 'cancelled', 'released', 'retry', 'stalled')),
    lease_expires_at integer,
    cancel_requested_at integer,
    created_at integer not null,
    -- Moves only when something that people see changes; extending a lease does not move it.
    updated_at integer not null,
    started_at integer,
    finished_at integer,
    -- Counts the changes of what people see, over all items.
    changed integer not null,
    constraint work_items_running_check check (
        (status = 'running') = (lease_expires_at is not null)
        and (status <> 'running' or (host is not null and started_at is not null and attempt > 0 and ended_as is null))
    ),
    -- Times with years of four digits, whoever writes them: hosts are written in languages that know no others.
    constraint work_items_times_check check (
        min(run_at, created_at, updated_at, coalesce(started_at, 0), coalesce(finished_at, 0),
            coalesce(lease_expires_at, 0), coalesce(cancel_requested_at, 0)) >= -62135596800000
        and max(run_at, created_at, updated_at, coalesce(started_at, 0), coalesce(finished_at, 0),
            coalesce(lease_expires_at, 0), coalesce(cancel_requested_at, 0)) < 253402300800000
    ),
    constraint work_items_finished_check check (
        (status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)
    ),
    -- An item whose cancel was requested is never queued again.
    constraint work_items_cancel_check check (status <> 'queued' or cancel_requested_at is null)
) strict;
create unique index work_items_changed on work_items (changed);
create index work_items_due on work_items (kind, priority, run_at, id)
    where status = 'queued' and scope is null;
create index work_items_due_scope on work_items (scope, kind, priority, run_at, id)
    where status = 'queued' and scope is not null;
create index work_items_finished on work_items (finished_at, id) where finished_at is not null;
create index work_items_history on work_items (kind, dedup_key, finished_at)
    where finished_at is not null and dedup_key is not null;
create index work_items_lease on work_items (lease_expires_at, id) where lease_expires_at is not null;
create unique index work_items_one_queued on work_items (kind, dedup_key)
    where status = 'queued' and dedup_key is not null;
create unique index work_items_one_running on work_items (scope) where status = 'running' and scope is not null;
create index work_items_running_key on work_items (kind, dedup_key)
    where status = 'running' and dedup_key is not null;

create trigger work_items_keep_attempt after update on work_items
    when old.status = 'running' and new.ended_as is not null and new.status <> 'succeeded'
begin
    insert into attempts (item_id, attempt, host, handler_digest, started_at, ended_at, outcome, error, log_tail)
    values (
        new.id, new.attempt, new.host, new.handler_digest, new.started_at, new.updated_at,
        -- Its handler had succeeded, but a cancel was requested.
        case
            when new.ended_as = 'succeeded' then 'cancelled'
            -- A cancel was requested, so it is not tried again.
            when new.ended_as = 'retry' and new.status = 'failed' then 'failed'
            else new.ended_as
        end,
        iif(new.ended_as in ('failed', 'retry'), new.error, null),
        new.log_tail
    );
    -- The newest 100 stay.
    delete from attempts where item_id = new.id and attempt <= new.attempt - 100;
end;

create trigger work_items_moved after update on work_items
    when new.status = 'queued' and new.changed = old.changed
        and (old.status, old.kind, coalesce(old.scope, ''), old.priority, old.run_at)
            <> (new.status, new.kind, coalesce(new.scope, ''), new.priority, new.run_at)
begin
    update work_items
    set changed = (select max((select max(c.changed) from work_items c), f.through) + 1 from forgotten f),
        -- What each SQLite of the last ten years knows: people's tools are older than ours.
        updated_at = cast(round((julianday('now') - 2440587.5) * 86400000) as integer)
    where id = new.id;
end;

create trigger work_items_removed after delete on work_items when old.changed > (select through from forgotten)
begin
    update forgotten set through = old.changed;
end;

create table schedules (
    kind text not null,
    dedup_key text not null,
    created_at integer not null,
    constraint schedules_pkey primary key (kind, dedup_key)
) strict, without rowid;

create table attempts (
    item_id integer not null constraint attempts_item_fkey references work_items (id) on delete cascade,
    attempt integer not null,
    host text not null,
    handler_digest text,
    started_at integer not null,
    ended_at integer not null,
    outcome text not null,
    error text,
    log_tail text,
    constraint attempts_pkey primary key (item_id, attempt)
) strict, without rowid;

create table pauses (
    what text not null constraint pauses_what_check check (what in ('kind', 'scope', 'schedule')),
    -- Empty where there is none.
    kind text not null,
    scope text not null,
    paused_at integer not null,
    -- The person or program, as it called itself.
    paused_by text,
    constraint pauses_pkey primary key (what, kind, scope)
) strict, without rowid;

create table hosts (
    host text not null constraint hosts_pkey primary key,
    -- A JSON list.
    kinds text not null,
    slots integer not null,
    first_seen_at integer not null,
    last_seen_at integer not null
) strict, without rowid;

create table audit (
    id integer constraint audit_pkey primary key autoincrement,
    at integer not null,
    -- The person or program, as it called itself.
    actor text,
    action text not null,
    target text not null,
    -- No foreign key: what was done to an item is remembered longer than the item.
    item_id integer
) strict;
create index audit_at on audit (at, id);
create index audit_item on audit (item_id, id) where item_id is not null;

create table tokens (
    id integer constraint tokens_pkey primary key autoincrement,
    name text not null,
    role text not null constraint tokens_role_check check (role in ('admin', 'viewer', 'enqueuer')),
    sha256 blob not null constraint tokens_sha256_key unique constraint tokens_sha256_check check (length(sha256) = 32),
    created_at integer not null,
    -- To within a minute.
    last_used_at integer,
    revoked_at integer
) strict;
create unique index tokens_one_living on tokens (name) where revoked_at is null;

create table forgotten (
    only_row integer default 1 constraint forgotten_pkey primary key constraint forgotten_one_row check (only_row = 1),
    through integer not null
) strict;
