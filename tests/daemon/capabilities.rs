//! What granted capabilities do, and what they refuse, through the real host.

mod children;
mod folder;
mod secret;
mod statement;
mod zombies;
