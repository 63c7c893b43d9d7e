-- The tables that the handler `crawl` writes, for SQLite. Yours to create, in the application's database.

create table if not exists crawl_folders (
    scope text not null,
    folder_key text not null,       -- SHA-256 of `folder`: a path may be too long for an index
    parent_key text,                -- the folder that holds it; null for the granted folder
    folder text not null,           -- from the granted folder, which is ''; names joined by '/'
    unreadable integer not null,    -- entries that could not be read, at least; such a folder loses no rows
    crawl integer not null,         -- the newest crawl that met it: its start in microseconds since 1970
    primary key (scope, folder_key)
);

create index if not exists crawl_folders_by_parent on crawl_folders (scope, parent_key);

create table if not exists crawl_files (
    scope text not null,
    folder_key text not null,
    name text not null,
    size integer not null,          -- bytes
    modified_at text,               -- like 2026-01-31T12:00:00.000000Z; null if before 1970
    sha256 text not null,           -- lower-case hexadecimal
    width integer,                  -- pixels; of JPEG and PNG
    height integer,
    crawl integer not null,         -- the newest crawl that read it
    primary key (scope, folder_key, name)
);

-- One row per file, by its path.
create view if not exists crawled_files as
select file.scope, case when folder.folder = '' then file.name else folder.folder || '/' || file.name end as path,
    file.size, file.modified_at, file.sha256, file.width, file.height, file.crawl
from crawl_files as file join crawl_folders as folder using (scope, folder_key);
