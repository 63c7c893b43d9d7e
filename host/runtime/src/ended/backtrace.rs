//! Where a guest broke: the frames of its stack, with names as people wrote them.

use std::fmt::{self, Write};

use wasmtime::WasmBacktrace;

/// Bytes of a name as it stands in the component. Longer ones are not demangled.
const MANGLED: usize = 4 << 10;
/// Bytes of a name that are shown. A short one can be gigabytes when it is written out, since C++ refers back to what
/// it has said before.
const SHOWN: usize = 200;

/// The handler's own frames, innermost first, one per line.
pub(super) fn frames(backtrace: &WasmBacktrace) -> String {
    let frames = backtrace.frames().iter().enumerate().map(|(n, frame)| {
        let offset = frame.module_offset().map(|offset| format!("{offset:#8x} - ")).unwrap_or_default();
        let module = beginning(|module| module.write_str(frame.module().name().unwrap_or("<unknown>")));
        let function = match frame.func_name() {
            Some(name) => demangled(name),
            None => format!("<wasm function {}>", frame.func_index()),
        };
        format!("  {n:>3}: {offset}{module}!{function}")
    });
    let own: Vec<String> = frames.skip_while(|frame| is_machinery(frame)).collect();
    own.join("\n")
}

/// Whether a frame is Rust's own way from a panic to its end, the same for each panic.
fn is_machinery(frame: &str) -> bool {
    let parts =
        ["!abort", "::process::abort", "abort_internal", "::panicking::", "__rust_", "rust_panic", "rust_begin_unwind"];
    parts.iter().any(|part| frame.contains(part))
}

/// A function's name in Rust or C++, without the hashes of Rust's; any other as it is.
fn demangled(name: &str) -> String {
    if name.len() > MANGLED {
        return beginning(|shown| shown.write_str(name));
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return beginning(|shown| write!(shown, "{rust:#}"));
    }
    match cpp_demangle::Symbol::new(name) {
        Ok(cpp) => beginning(|shown| cpp.structured_demangle(shown, &cpp_demangle::DemangleOptions::new())),
        Err(_) => beginning(|shown| shown.write_str(name)),
    }
}

/// What is written, until it is too much.
fn beginning(write: impl FnOnce(&mut Beginning) -> fmt::Result) -> String {
    let mut beginning = Beginning(String::new());
    if write(&mut beginning).is_err() {
        beginning.0.push('…');
    }
    beginning.0
}

/// Takes text until it is full, and then tells the writer to stop.
struct Beginning(String);

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let kept = text.floor_char_boundary(SHOWN - self.0.len());
        self.0.push_str(&text[..kept]);
        if kept < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backtrace_begins_at_the_handlers_own_frames() {
        assert!(is_machinery("    4:  0x13d62 - panic.wasm!__rustc::__rust_start_panic"));
        assert!(is_machinery("   10:   0xae30 - panic.wasm!core::panicking::panic_fmt"));
        assert!(!is_machinery("   11:  0x11383 - panic.wasm!panic::Panic::run"));
    }

    #[test]
    fn names_are_told_as_people_wrote_them() {
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangled("_ZN4core3fmt5write17h8b754321411da86eE"), "core::fmt::write");
        assert_eq!(demangled("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(demangled("main"), "main");
    }

    #[test]
    fn a_name_longer_than_any_that_people_wrote_is_not_demangled() {
        let mangled = |name: usize| format!("_ZN3foo{name}{}E", "a".repeat(name));
        let longest = MANGLED - mangled(1000).len() + 1000;
        assert_eq!(mangled(longest).len(), MANGLED);
        assert!(demangled(&mangled(longest)).starts_with("foo::aaa"));
        for longer in [longest + 1, longest + 1000] {
            assert!(demangled(&mangled(longer)).starts_with("_ZN3foo"));
        }
    }

    #[test]
    fn a_name_that_grows_without_bounds_is_cut_at_once() {
        // Each type is made of the one before it, twice.
        let digit = |n| char::from_digit(n, 36).unwrap().to_ascii_uppercase();
        let types: String = (1..=20).map(digit).map(|n| format!("S0_IS{n}_S{n}_E")).collect();
        let shown = demangled(&format!("_Z1f1a1bIS_S_E{types}"));
        assert!(shown.starts_with("f(a, b<a, a>, b<b<a, a>, b<a, a> >"), "{shown}");
        assert!(shown.len() < 2 * SHOWN && shown.ends_with('…'), "{shown}");
        assert_eq!(demangled(&"é".repeat(1 << 20)).len(), SHOWN + '…'.len_utf8());
    }
}
