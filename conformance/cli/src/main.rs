//! The `callmark` binary.

/// A run makes and forgets millions of small values on a dozen threads. How much of what is free it keeps,
/// `.cargo/config.toml` says.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    callmark_cli::main()
}
