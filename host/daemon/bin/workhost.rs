//! The `workhost` program.

fn main() -> std::process::ExitCode {
    workhost_daemon::cli::main()
}
