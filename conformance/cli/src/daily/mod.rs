//! A day with `certify`: what failed last time (`failures`), what would run (`list`), and again on each change (`watch`,
//! which sees changes by `files`).

mod failures;
mod files;
mod list;
mod watch;

pub(crate) use self::failures::failures;
pub(crate) use self::list::list;
pub(crate) use self::watch::watch;
