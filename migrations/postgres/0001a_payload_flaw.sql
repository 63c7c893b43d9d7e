-- The second part of migration 1: what a payload may not hold.

-- What no store can hold in a document, and where; null if there is nothing. The text must be JSON. Most documents
-- are cleared by searches for fixed texts; only a suspect is taken apart.
create function workhost.payload_flaw(payload text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
    -- Two escapes that make one character, one escape, or a backslash and what it stands before.
    escapes constant text := '\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.';
    brackets constant text := '"(?:[^"\\]|\\.)*"|[][{}]';
    -- Without escaped backslashes, so that a backslash that is left escapes what follows it.
    plain constant text := replace(payload, '\\', '');
    nesting text;
    place bigint;
    deep_at integer;
    flaw_at integer;
    flaw text;
    before text;
begin
    if strpos(plain, '\u0000') > 0 or plain ~* '\\ud[89a-f]' then
        select m.place,
            case
                when m.token[1] = '\u0000' then 'a NUL character (\u0000), which no store takes,'
                else 'half of a surrogate pair, which is no character,'
            end
        into place, flaw
        from regexp_matches(payload, escapes, 'g') with ordinality as m (token, place)
        where m.token[1] = '\u0000' or m.token[1] ~ '^\\u[dD][89a-fA-F]..$'
        order by m.place
        limit 1;
        flaw_at := regexp_instr(payload, escapes, 1, place::integer);
    end if;

    -- The brackets outside strings, all of one shape. Each round takes away the innermost pairs: one level.
    select translate(string_agg(p.part, '' order by p.place), E'{}:, 0123456789+-.eEtrufalsn\t\n\r', '[]') into nesting
    from unnest(string_to_array(replace(plain, '\"', ''), '"')) with ordinality as p (part, place)
    where p.place % 2 = 1;
    for level in 1..100 loop
        exit when nesting = '';
        nesting := replace(nesting, '[]', '');
    end loop;
    if nesting <> '' then
        select d.place into place
        from (
            select m.place,
                sum(case when m.token[1] in ('[', '{') then 1 when m.token[1] in (']', '}') then -1 else 0 end)
                    over (order by m.place) as depth
            from regexp_matches(payload, brackets, 'g') with ordinality as m (token, place)
        ) as d
        where d.depth > 100
        order by d.place
        limit 1;
        deep_at := regexp_instr(payload, brackets, 1, place::integer);
        if flaw_at is null or deep_at < flaw_at then
            flaw_at := deep_at;
            flaw := 'more than 100 levels of nesting';
        end if;
    end if;

    if flaw_at is null then
        return null;
    end if;
    before := left(payload, flaw_at - 1);
    return format('%s at line %s column %s', flaw,
        length(before) - length(replace(before, chr(10), '')) + 1,
        length(regexp_replace(before, '^.*\n', '')) + 1);
end
$$;

-- PostgreSQL lets everybody call a new function.
revoke execute on function workhost.payload_flaw from public;
