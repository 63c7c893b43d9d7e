//! Configuration, registry, dispatch, schedules and CLI: joins queue, runtime and admin.
