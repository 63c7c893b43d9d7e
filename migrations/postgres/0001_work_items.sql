-- The durable queue. PostgreSQL 15 or newer.
--
-- Names and keys are compared byte by byte (collate "C"), as SQLite does.

create table workhost.work_items (
    id bigint generated always as identity constraint work_items_pkey primary key,
    kind text collate "C" not null constraint work_items_kind_check check (kind <> ''),
    -- json and not jsonb: it keeps the text as it was enqueued.
    payload json not null,
    -- While an item of this kind with this key is queued, enqueueing again returns that item.
    dedup_key text collate "C" constraint work_items_dedup_key_check check (dedup_key <> ''),
    -- At most one item of a scope runs; see work_items_one_running.
    scope text collate "C" constraint work_items_scope_check check (scope <> ''),
    -- Higher runs first.
    priority integer not null default 0,
    run_at timestamptz not null,
    status text collate "C" not null default 'queued' constraint work_items_status_check
        check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    -- The fencing token: grows with each claim, never falls.
    attempt integer not null default 0 constraint work_items_attempt_check check (attempt >= 0),
    -- How often an attempt ended by its lease, by a failure, by a shutdown. Counted apart.
    stalls integer not null default 0 constraint work_items_stalls_check check (stalls >= 0),
    failures integer not null default 0 constraint work_items_failures_check check (failures >= 0),
    interruptions integer not null default 0 constraint work_items_interruptions_check check (interruptions >= 0),
    progress json,
    result json,
    error text,
    -- The end of what the newest attempt logged, once it has ended.
    log_tail text,
    -- Why the queue itself ended the item.
    reason text constraint work_items_reason_check check (reason in ('stalled', 'superseded')),
    -- The host of the newest attempt, and the component that it ran.
    host text,
    handler_digest text,
    -- The item whose handler enqueued this one. No foreign key: that one may be deleted first.
    parent_id bigint,
    -- How the newest attempt ended; null before the first and while one runs. It tells a finish that is repeated
    -- because its answer was lost from one that comes too late. `stalled`: by its lease.
    ended_as text constraint work_items_ended_as_check
        check (ended_as in ('succeeded', 'failed', 'cancelled', 'released', 'retry', 'stalled')),
    lease_expires_at timestamptz,
    cancel_requested_at timestamptz,
    created_at timestamptz not null,
    -- Moves only when something that people see changes; extending a lease does not move it.
    updated_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz,
    -- The transaction that last changed something that people see.
    changed xid8 not null default pg_current_xact_id(),
    constraint work_items_running_check check (
        (status = 'running') = (lease_expires_at is not null)
        and (status <> 'running' or (host is not null and started_at is not null and attempt > 0 and ended_as is null))
    ),
    -- Times with years of four digits, whoever writes them: hosts are written in languages that know no others.
    constraint work_items_times_check check (
        least(run_at, created_at, updated_at, started_at, finished_at, lease_expires_at, cancel_requested_at) >= '0001-01-01Z'
        and greatest(run_at, created_at, updated_at, started_at, finished_at, lease_expires_at, cancel_requested_at)
            < '10000-01-01Z'
    ),
    constraint work_items_finished_check check (
        (status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)
    ),
    -- An item whose cancel was requested is never queued again.
    constraint work_items_cancel_check check (status <> 'queued' or cancel_requested_at is null)
);

-- The guarantee that a scope runs one item at a time, whatever the claims see of each other.
create unique index work_items_one_running on workhost.work_items (scope) where status = 'running' and scope is not null;

-- The guarantee that a key is queued once. It absorbs racing inserts.
create unique index work_items_one_queued on workhost.work_items (kind, dedup_key)
    where status = 'queued' and dedup_key is not null;

-- Claims of items without a scope: hops from priority to priority, and visits each in the order of claims.
create index work_items_due on workhost.work_items (kind, priority, run_at, id)
    where status = 'queued' and scope is null;

-- Claims of items with a scope: hops from lane to lane (a scope, a kind, a priority), and finds the head of each.
create index work_items_due_scope on workhost.work_items (scope, kind, priority, run_at, id)
    where status = 'queued' and scope is not null;

-- Lease recovery. Its condition says the same as `status = 'running'` in other words, so that no plan takes it for
-- another question about running items: it holds all of them, also those that are long dead while a transaction stays open.
create index work_items_lease on workhost.work_items (lease_expires_at, id) where lease_expires_at is not null;

-- Those who follow the changes.
create index work_items_changed on workhost.work_items (changed, id);

-- Retention.
create index work_items_finished on workhost.work_items (finished_at, id) where finished_at is not null;

-- Schedules: what runs under a key, and what finished under it last.
create index work_items_running_key on workhost.work_items (kind, dedup_key)
    where status = 'running' and dedup_key is not null;
create index work_items_history on workhost.work_items (kind, dedup_key, finished_at)
    where finished_at is not null and dedup_key is not null;

-- Claims start where the queue began at the last look, and see what came earlier since by its change. So whatever moves
-- an item within the queue counts as a change, also a statement of a person.
create function workhost.note_move() returns trigger language plpgsql as $$
begin
    new.changed := pg_current_xact_id();
    new.updated_at := now();
    return new;
end
$$;
create trigger work_items_moved before update on workhost.work_items for each row
    when (new.status = 'queued' and new.changed = old.changed and (old.status, old.kind, old.scope, old.priority, old.run_at)
        is distinct from (new.status, new.kind, new.scope, new.priority, new.run_at))
    execute function workhost.note_move();

-- The schedules that any host ever had. Retention keeps of each the item that finished last and the one that was created
-- last, whoever enqueued them, since they tell when the schedule is due again. A schedule that is gone costs one row here
-- and two items at most.
create table workhost.schedules (
    kind text collate "C" not null,
    dedup_key text collate "C" not null,
    created_at timestamptz not null default now(),
    constraint schedules_pkey primary key (kind, dedup_key)
);

-- The attempts that ended otherwise than succeeded. An item's own row tells of its newest one only.
create table workhost.attempts (
    item_id bigint not null constraint attempts_item_fkey references workhost.work_items (id) on delete cascade,
    attempt integer not null,
    host text not null,
    handler_digest text,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    outcome text collate "C" not null,
    error text,
    log_tail text,
    constraint attempts_pkey primary key (item_id, attempt)
);

-- A trigger, so that the record is part of whichever statement ends the attempt, also one of an older host.
create function workhost.keep_attempt() returns trigger language plpgsql as $$
begin
    insert into workhost.attempts (item_id, attempt, host, handler_digest, started_at, ended_at, outcome, error, log_tail)
    values (
        new.id, new.attempt, new.host, new.handler_digest, new.started_at, new.updated_at,
        -- Its handler had succeeded, but a cancel was requested.
        case
            when new.ended_as = 'succeeded' then 'cancelled'
            -- A cancel was requested, so it is not tried again.
            when new.ended_as = 'retry' and new.status = 'failed' then 'failed'
            else new.ended_as
        end,
        case when new.ended_as in ('failed', 'retry') then new.error end,
        new.log_tail
    );
    -- The newest 100 stay.
    if new.attempt > 100 then
        delete from workhost.attempts a where a.item_id = new.id and a.attempt <= new.attempt - 100;
    end if;
    return null;
end
$$;
create trigger work_items_keep_attempt after update on workhost.work_items for each row
    when (old.status = 'running' and new.ended_as is not null and new.status <> 'succeeded')
    execute function workhost.keep_attempt();

-- What people hold back. Claims and schedules look here first; running attempts go on.
create table workhost.pauses (
    what text collate "C" not null constraint pauses_what_check check (what in ('kind', 'scope', 'schedule')),
    -- Empty where there is none.
    kind text collate "C" not null,
    scope text collate "C" not null,
    paused_at timestamptz not null,
    -- The person or program, as it called itself.
    paused_by text,
    constraint pauses_pkey primary key (what, kind, scope)
);

-- The hosts, for people to see. Nothing depends on it.
create table workhost.hosts (
    host text collate "C" constraint hosts_pkey primary key,
    kinds text[] not null,
    slots integer not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null
);

-- What people did.
create table workhost.audit (
    id bigint generated always as identity constraint audit_pkey primary key,
    at timestamptz not null,
    -- The person or program, as it called itself.
    actor text,
    action text not null,
    target text not null,
    -- No foreign key: what was done to an item is remembered longer than the item.
    item_id bigint
);
create index audit_at on workhost.audit (at, id);
create index audit_item on workhost.audit (item_id, id) where item_id is not null;

-- The tokens of people and programs; of each token only the hash.
create table workhost.tokens (
    id bigint generated always as identity constraint tokens_pkey primary key,
    name text collate "C" not null,
    role text collate "C" not null constraint tokens_role_check check (role in ('admin', 'viewer', 'enqueuer')),
    sha256 bytea not null constraint tokens_sha256_key unique constraint tokens_sha256_check check (length(sha256) = 32),
    created_at timestamptz not null,
    -- To within a minute.
    last_used_at timestamptz,
    revoked_at timestamptz
);
create unique index tokens_one_living on workhost.tokens (name) where revoked_at is null;

-- The newest change of any item that was removed: a reader who has not come so far has missed something. One row.
create table workhost.forgotten (
    only_row boolean default true constraint forgotten_pkey primary key constraint forgotten_one_row check (only_row),
    through xid8 not null
);
insert into workhost.forgotten (through) values ('0');

-- A trigger, so that it is noted whoever removed the item.
create function workhost.note_removal() returns trigger language plpgsql as $$
begin
    update workhost.forgotten f set through = newest.changed
    from (select g.changed from gone g order by g.changed desc limit 1) as newest
    where newest.changed > f.through;
    return null;
end
$$;
create trigger work_items_removed after delete on workhost.work_items referencing old table as gone
    for each statement execute function workhost.note_removal();
