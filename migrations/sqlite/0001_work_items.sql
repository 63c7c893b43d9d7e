-- The durable queue, as in PostgreSQL's migration of the same number.
--
-- Times are milliseconds since 1970-01-01 UTC: select datetime(run_at / 1000, 'unixepoch') from work_items.

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

-- The guarantee that a scope runs one item at a time.
create unique index work_items_one_running on work_items (scope) where status = 'running' and scope is not null;

-- The guarantee that a key is queued once.
create unique index work_items_one_queued on work_items (kind, dedup_key)
    where status = 'queued' and dedup_key is not null;

-- Claims of items without a scope: hops from priority to priority, and visits each in the order of claims.
create index work_items_due on work_items (kind, priority, run_at, id)
    where status = 'queued' and scope is null;

-- Claims of items with a scope: hops from lane to lane (a scope, a kind, a priority), and finds the head of each.
create index work_items_due_scope on work_items (scope, kind, priority, run_at, id)
    where status = 'queued' and scope is not null;

-- Lease recovery. Its condition says the same as `status = 'running'` in other words, so that no plan takes it for
-- another question about running items: it holds all of them, also those that are long dead while a transaction stays open.
create index work_items_lease on work_items (lease_expires_at, id) where lease_expires_at is not null;

-- Those who follow the changes.
create unique index work_items_changed on work_items (changed);

-- Retention.
create index work_items_finished on work_items (finished_at, id) where finished_at is not null;

-- Schedules: what runs under a key, and what finished under it last.
create index work_items_running_key on work_items (kind, dedup_key)
    where status = 'running' and dedup_key is not null;
create index work_items_history on work_items (kind, dedup_key, finished_at)
    where finished_at is not null and dedup_key is not null;

-- The schedules that this store ever had. Retention keeps of each the item that finished last and the one that was created
-- last, whoever enqueued them, since they tell when the schedule is due again. A schedule that is gone costs one row here
-- and two items at most.
create table schedules (
    kind text not null,
    dedup_key text not null,
    created_at integer not null,
    constraint schedules_pkey primary key (kind, dedup_key)
) strict, without rowid;

-- The attempts that ended otherwise than succeeded. An item's own row tells of its newest one only.
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

-- Claims start where the queue began at the last look, and see what came earlier since by its change. So whatever moves
-- an item within the queue counts as a change, also a statement of a person.
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

-- A trigger, so that the record is part of whichever statement ends the attempt, also one of an older host.
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

-- What people hold back. Claims and schedules look here first; running attempts go on.
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

-- The hosts, for people to see. Nothing depends on it.
create table hosts (
    host text not null constraint hosts_pkey primary key,
    -- A JSON list.
    kinds text not null,
    slots integer not null,
    first_seen_at integer not null,
    last_seen_at integer not null
) strict, without rowid;

-- What people did.
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

-- The tokens of people and programs; of each token only the hash.
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

-- The newest change of any item that was removed: a reader who has not come so far has missed something. One row.
create table forgotten (
    only_row integer default 1 constraint forgotten_pkey primary key constraint forgotten_one_row check (only_row = 1),
    through integer not null
) strict;
insert into forgotten (through) values (0);

-- A trigger, so that changes go on being counted from there whoever removed the item.
create trigger work_items_removed after delete on work_items when old.changed > (select through from forgotten)
begin
    update forgotten set through = old.changed;
end;
