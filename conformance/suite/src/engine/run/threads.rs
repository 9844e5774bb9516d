//! Threads of a run, whose stacks are large enough for what is judged on them.

use tokio::sync::oneshot;

/// Stack of a thread that judges, in bytes: as large as that of a main thread.
pub(super) const STACK: usize = 8 * 1024 * 1024;

/// Does work on a thread with a stack that is large enough for it. Without a thread nothing comes of it, and the verdict
/// says so.
pub(super) fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> oneshot::Receiver<T> {
    let (done, doing) = oneshot::channel();
    let work = move || {
        // Nobody waits any more where the run was broken off.
        let _ = done.send(work());
    };
    let _ = std::thread::Builder::new().name("lane".to_owned()).stack_size(STACK).spawn(work);
    doing
}
