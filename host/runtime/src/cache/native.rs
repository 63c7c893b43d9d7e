//! Loading compiled code: the one place of the host with `unsafe`.

use wasmtime::Engine;
use wasmtime::component::Component;

use super::entry::Authentic;

/// A component from the code that this or an earlier process made of it. Fails if it was made for another engine.
#[expect(unsafe_code, reason = "wasmtime cannot prove that bytes are code that it made; the tag does")]
pub(super) fn load(engine: &Engine, code: &Authentic<'_>) -> wasmtime::Result<Component> {
    // SAFETY: `deserialize` asks for the unchanged bytes that `Component::serialize` made. Code is written only by
    // `CompileCache::keep`, from there, and the tag of `Authentic` proves that these are bytes which a holder of the
    // folder's secret wrote. They were checked in memory of our own and are read from there, so nothing can change
    // them after the check, as it could with a mapped file. Whether they are for this engine and version of wasmtime,
    // `deserialize` checks itself.
    unsafe { Component::deserialize(engine, code.code()) }
}
