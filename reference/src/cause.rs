//! The cause of an error, where its own type does not matter.

use std::error::Error;

/// A boxed cause from a library whose types are not part of this interface.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;
