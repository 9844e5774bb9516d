//! The tool bus over its raw wire: JSON-RPC by hand, over a pipe and over HTTP.

mod artifacts;
mod calls;
mod http;
mod lines;
mod support;
