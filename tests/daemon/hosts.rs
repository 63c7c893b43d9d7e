//! Hosts that die, stand still, lose their way to the store, or have a wrong clock. What attempts did outside of the queue
//! is told by the guest `journal`.

mod clock;
mod cut;
mod database;
mod poison;
mod restarts;
mod row;
mod scopes;
mod shutdown;
mod stopped;
mod terminated;
