//! A handler's linker, made interface by interface: what was not let in is not there.

use wasmtime::Engine;
use wasmtime::component::{HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::bindings::{cli, clocks, random, sockets};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView};
use wasmtime_wasi_io::bindings::wasi::io;

use crate::bindings::workhost::handler as contract;
use crate::capability::{self, log, work};
use crate::imports::{Import, InterfaceName};
use crate::sandbox::State;

/// Links exactly these imports.
pub(crate) fn link(engine: &Engine, imports: &[Import]) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    for import in imports {
        add(&mut linker, InterfaceName::parse(&import.name).path)?;
    }
    Ok(linker)
}

/// The contract's types have no functions.
impl contract::types::Host for State {}

/// Streams and pollables need nothing but the table of host resources.
struct Io;

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

fn table(state: &mut State) -> &mut ResourceTable {
    state.ctx().table
}

/// Each of these is inert where it was not granted: the sandbox's context has no variables, no folders,
/// and no network.
fn add(linker: &mut Linker<State>, interface: &str) -> wasmtime::Result<()> {
    let l = linker;
    match interface {
        "workhost:handler/types" => contract::types::add_to_linker::<State, HasSelf<State>>(l, |state| state),
        "workhost:handler/work" => work::add_to_linker(l),
        "workhost:handler/log" => log::add_to_linker(l),
        "wasi:io/error" => io::error::add_to_linker::<State, Io>(l, table),
        "wasi:io/poll" => io::poll::add_to_linker::<State, Io>(l, table),
        "wasi:io/streams" => io::streams::add_to_linker::<State, Io>(l, table),
        "wasi:clocks/wall-clock" => clocks::wall_clock::add_to_linker::<State, WasiClocks>(l, State::clocks),
        "wasi:clocks/monotonic-clock" => clocks::monotonic_clock::add_to_linker::<State, WasiClocks>(l, State::clocks),
        "wasi:random/random" => random::random::add_to_linker::<State, WasiRandom>(l, State::random),
        "wasi:random/insecure" => random::insecure::add_to_linker::<State, WasiRandom>(l, State::random),
        "wasi:random/insecure-seed" => random::insecure_seed::add_to_linker::<State, WasiRandom>(l, State::random),
        "wasi:cli/stdin" => cli::stdin::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/stdout" => cli::stdout::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/stderr" => cli::stderr::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/exit" => cli::exit::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/environment" => cli::environment::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/terminal-input" => cli::terminal_input::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/terminal-output" => cli::terminal_output::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/terminal-stdin" => cli::terminal_stdin::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/terminal-stdout" => cli::terminal_stdout::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:cli/terminal-stderr" => cli::terminal_stderr::add_to_linker::<State, WasiCli>(l, State::cli),
        "wasi:sockets/network" => {
            let options = sockets::network::LinkOptions::default();
            sockets::network::add_to_linker::<State, WasiSockets>(l, &options, State::sockets)
        }
        "wasi:sockets/instance-network" => {
            sockets::instance_network::add_to_linker::<State, WasiSockets>(l, State::sockets)
        }
        "wasi:sockets/ip-name-lookup" => {
            sockets::ip_name_lookup::add_to_linker::<State, WasiSockets>(l, State::sockets)
        }
        "wasi:sockets/tcp" => sockets::tcp::add_to_linker::<State, WasiSockets>(l, State::sockets),
        "wasi:sockets/tcp-create-socket" => {
            sockets::tcp_create_socket::add_to_linker::<State, WasiSockets>(l, State::sockets)
        }
        "wasi:sockets/udp" => sockets::udp::add_to_linker::<State, WasiSockets>(l, State::sockets),
        "wasi:sockets/udp-create-socket" => {
            sockets::udp_create_socket::add_to_linker::<State, WasiSockets>(l, State::sockets)
        }
        other => match capability::of(other) {
            Some(capability) => (capability.link)(l, other),
            None => Err(wasmtime::format_err!("`{other}` was let in and cannot be linked")),
        },
    }
}
