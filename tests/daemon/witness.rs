//! How attempts end, told by what their guests left behind outside of the host.
//!
//! A guest leaves numbered traces in a file, at a server and in a table. None may be later than the end that is recorded
//! of it, whatever ended it and whatever it was doing.

mod cancel;
mod in_flight;
mod lost;
mod retries;
mod self_stop;
mod shutdown;
mod slots;
mod stage;
mod timeout;
mod traces;
