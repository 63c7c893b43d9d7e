//! What cron schedules promise: on real dates, and against a clock that is read minute by minute.

mod changes_of_the_clock;
mod refused;
mod slots;
