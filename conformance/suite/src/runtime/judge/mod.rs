//! Judgements about a runtime.
