//! Threads of a run, whose stacks are large enough for what is judged on them.

use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Stack of a thread that judges, in bytes: as large as that of a main thread.
pub(super) const STACK: usize = 8 * 1024 * 1024;

/// Does work on a thread with a stack that is large enough for it. Without a thread nothing comes of it, and the verdict
/// says so. It ends where it is when nobody waits for it any more: whoever breaks a run off ends the target next, and what
/// scenarios would say of that is no finding.
pub(super) fn on_a_thread<F>(
    runtime: Handle,
    work: impl FnOnce() -> F + Send + 'static,
) -> oneshot::Receiver<F::Output>
where
    F: Future<Output: Send + 'static>,
{
    let (mut done, doing) = oneshot::channel();
    let work = move || {
        let output = runtime.block_on(async {
            tokio::select! {
                biased;
                () = done.closed() => None,
                output = work() => Some(output),
            }
        });
        // Nobody waits any more where the run was broken off.
        let _ = output.map(|output| done.send(output));
    };
    let _ = std::thread::Builder::new().name("lane".to_owned()).stack_size(STACK).spawn(work);
    doing
}
