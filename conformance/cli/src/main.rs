//! The `callmark` binary.

/// A run makes and drops many small JSON values on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    callmark_cli::main()
}
