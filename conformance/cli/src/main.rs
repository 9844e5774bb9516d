//! The `callmark` binary.

fn main() -> std::process::ExitCode {
    callmark_cli::main()
}
