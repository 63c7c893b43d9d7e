-- The one way in: functions that any role may be let to call, from any language, in its own transaction.
-- The third part of migration 1; the queue's own verb calls them too.
--
-- Nobody but the owner may call them until somebody grants it. A role that may enqueue and do nothing else:
--
--     create role shop login;
--     grant usage on schema workhost to shop;
--     grant execute on function workhost.enqueue, workhost.enqueue_many to shop;
--
-- They run with the rights of the role that migrated, which needs to be no superuser.

-- What these functions accept. One row; `update workhost.enqueue_limits set …` changes a limit for every caller.
create table workhost.enqueue_limits (
    only_row boolean not null default true constraint enqueue_limits_pkey primary key
        constraint enqueue_limits_only_row_check check (only_row),
    payload_bytes integer not null default 1048576,
    kind_bytes integer not null default 128,
    scope_bytes integer not null default 512,
    dedup_key_bytes integer not null default 1024,
    batch_items integer not null default 10000,
    -- How far from now, on either side, a run_at may lie: ten years. Further is a mistake of units.
    delay interval not null default interval '3660 days',
    -- PostgreSQL takes about 2,700 bytes into one entry of an index.
    constraint enqueue_limits_check check (
        least(payload_bytes, kind_bytes, scope_bytes, dedup_key_bytes, batch_items) > 0
        and kind_bytes + greatest(scope_bytes, dedup_key_bytes) <= 2500
        -- A sum of now and this still is a time.
        and delay between interval '0' and interval '36600 days'
    )
);
insert into workhost.enqueue_limits default values;

-- Enqueues many items, all or none, and answers each in order: its place from 1, its id, and whether it is new or the
-- queued one with the same kind and dedup key. Arrays, since a payload in one stays the text that it is; those
-- that are left out mean null for every item. Waits for a transaction that enqueued the same key until it ends.
-- Whoever listens hears of it, once, when the transaction is committed.
create function workhost.enqueue_many(
    kinds text[],
    payloads json[],
    dedup_keys text[] default null,
    scopes text[] default null,
    run_ats timestamptz[] default null,
    priorities integer[] default null,
    -- The item on whose behalf they are enqueued; people are told, and nothing depends on it.
    parent bigint default null
) returns table (item integer, id bigint, created boolean)
language plpgsql security definer
-- Nothing that a caller set, or made in a schema of theirs, has a say.
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
-- Each statement has its index. A plan made while the table was small would keep reading all of it.
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    total constant integer := coalesce(cardinality(kinds), 0);
    limits workhost.enqueue_limits;
    refused record;
    -- The ids that the items have if they are new, in their order.
    ids bigint[];
    -- The places without an answer, the ids that were used, and the places and ids of what was queued already.
    open integer[];
    used bigint[] := '{}';
    fresh bigint[];
    found_items integer[] := '{}';
    found_ids bigint[] := '{}';
    more_items integer[];
    more_ids bigint[];
begin
    select * into limits from workhost.enqueue_limits;
    if not found then
        raise exception using errcode = 'object_not_in_prerequisite_state',
            message = 'workhost.enqueue_limits has lost its row',
            hint = 'insert into workhost.enqueue_limits default values';
    end if;
    select r.field, r.reason, r.place into refused
    from (
        select 'items' as field, format('%s at once; the limit is %s', total, limits.batch_items) as reason,
            null::bigint as place
        where total > limits.batch_items
        union all
        select a.field, format('%s elements for %s kinds', a.elements, total), null
        from (values
            ('payloads', coalesce(cardinality(payloads), 0)), ('dedup_keys', cardinality(dedup_keys)),
            ('scopes', cardinality(scopes)), ('run_ats', cardinality(run_ats)), ('priorities', cardinality(priorities))
        ) as a (field, elements)
        where a.elements <> total
    ) as r
    limit 1;
    if not found then
        select split_part(r.words, ': ', 1) as field, substr(r.words, strpos(r.words, ': ') + 2) as reason, r.place
        into refused
        from (
            select n.place, case
                when n.kind is null then 'kind: it is null'
                when n.kind = '' then 'kind: it is empty'
                when octet_length(n.kind) > limits.kind_bytes
                then format('kind: %s bytes; the limit is %s', octet_length(n.kind), limits.kind_bytes)
                when n.kind ~ '[\u0001-\u001f\u007f-\u009f]' then format(
                    'kind: it contains the control character ''\%s''',
                    (select case ascii(c.control)
                        when 9 then 't' when 10 then 'n' when 13 then 'r' else format('u{%s}', to_hex(ascii(c.control)))
                    end from (select substring(n.kind from '[\u0001-\u001f\u007f-\u009f]')) as c (control)))
                when n.scope = '' then 'scope: it is empty'
                when octet_length(n.scope) > limits.scope_bytes
                then format('scope: %s bytes; the limit is %s', octet_length(n.scope), limits.scope_bytes)
                when n.dedup_key = '' then 'dedup_key: it is empty'
                when octet_length(n.dedup_key) > limits.dedup_key_bytes
                then format('dedup_key: %s bytes; the limit is %s', octet_length(n.dedup_key), limits.dedup_key_bytes)
                when n.run_at > now() + limits.delay or n.run_at < now() - limits.delay
                then format('run_at: %s is further from now than the limit of %s', n.run_at, limits.delay)
                when n.payload is null then 'payload: it is null'
                when octet_length(n.payload) > limits.payload_bytes
                then format('payload: %s bytes; the limit is %s', octet_length(n.payload), limits.payload_bytes)
                -- Most documents need no closer look.
                when strpos(n.payload, '\u') > 0
                    or octet_length(n.payload) - octet_length(translate(n.payload, '[{', '')) > 100
                then 'payload: ' || workhost.payload_flaw(n.payload)
            end as words
            from unnest(kinds, payloads::text[], dedup_keys, scopes, run_ats) with ordinality
                as n (kind, payload, dedup_key, scope, run_at, place)
        ) as r
        where r.words is not null
        order by r.place
        limit 1;
    end if;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s: %s', refused.field, refused.reason),
            detail = case when refused.place is not null then format('It is item %s of %s.', refused.place, total)
                else 'It is the batch itself.' end,
            schema = 'workhost', column = refused.field;
    end if;

    -- Drawn beforehand, since the insert visits the items in another order.
    ids := array(select nextval('workhost.work_items_id_seq') as id from generate_series(1, total) order by 1);
    open := array(select generate_series(1, total));
    for round in 1..100 loop
        exit when cardinality(open) = 0;
        with new as (
            insert into workhost.work_items
                (id, kind, payload, dedup_key, scope, priority, run_at, created_at, updated_at, parent_id)
            overriding system value
            select n.id, n.kind, n.payload, n.dedup_key, n.scope, coalesce(n.priority, 0),
                coalesce(n.run_at, now()), now(), now(), parent
            from unnest(open) as o (place)
            join unnest(ids, kinds, payloads, dedup_keys, scopes, run_ats, priorities) with ordinality
                as n (id, kind, payload, dedup_key, scope, run_at, priority, place) on n.place = o.place
            -- One order for all, so that two batches with the same keys wait for each other in turn.
            order by n.kind collate "C", n.dedup_key collate "C", n.id
            on conflict (kind, dedup_key) where status = 'queued' and dedup_key is not null do nothing
            returning id
        )
        select coalesce(array_agg(new.id), '{}') into fresh from new;
        used := used || fresh;
        exit when cardinality(fresh) = cardinality(open);
        -- What was not inserted is queued already; a statement of its own sees what was committed meanwhile.
        select coalesce(array_agg(n.place), '{}'), coalesce(array_agg(q.id), '{}') into more_items, more_ids
        from unnest(open) as o (place)
        join unnest(ids, kinds, dedup_keys) with ordinality as n (id, kind, dedup_key, place) on n.place = o.place
        cross join lateral (
            select w.id from workhost.work_items w
            where w.kind = n.kind and w.dedup_key = n.dedup_key and w.status = 'queued'
            limit 1
        ) as q
        where n.id not in (select u.id from unnest(used) as u (id));
        found_items := found_items || more_items;
        found_ids := found_ids || more_ids;
        -- What is still open was claimed or cancelled between the two statements, so its key is free now.
        open := array(
            select n.place from unnest(ids) with ordinality as n (id, place)
            where n.id not in (select u.id from unnest(used) as u (id))
                and n.place not in (select f.place from unnest(found_items) as f (place))
        );
    end loop;
    if cardinality(used) + cardinality(found_items) <> total then
        raise exception using errcode = 'serialization_failure', message = 'a dedup key changed hands too often';
    end if;
    if cardinality(used) > 0 then
        -- Without a payload, so that a transaction sends it once however often it enqueues.
        perform pg_notify('workhost', '');
    end if;
    return query
        select n.place::integer, coalesce(f.id, n.id), f.id is null
        from unnest(ids) with ordinality as n (id, place)
        left join unnest(found_items, found_ids) as f (place, id) on f.place = n.place
        order by n.place;
end
$$;

-- Enqueues one item. `select * from workhost.enqueue('mail', '{"to": 7}', dedup_key => 'mail 7')`
create function workhost.enqueue(
    kind text,
    payload json,
    dedup_key text default null,
    scope text default null,
    run_at timestamptz default null,
    priority integer default 0,
    out id bigint,
    out created boolean
)
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    select m.id, m.created
    from workhost.enqueue_many(array[$1], array[$2], array[$3], array[$4], array[$5], array[$6]) as m
$$;

-- PostgreSQL lets everybody call a new function.
revoke execute on function workhost.enqueue, workhost.enqueue_many from public;
