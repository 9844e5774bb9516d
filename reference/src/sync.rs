//! The one way in which a mutex is locked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a panic elsewhere does not make the data wrong, since no update is left half done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
