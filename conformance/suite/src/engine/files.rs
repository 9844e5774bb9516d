//! Files of others, read up to a limit.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The text of a file that is at most `limit` bytes long, whatever the file says about its length.
///
/// # Errors
/// It cannot be read, is longer, or is no text.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "is no text"))
}

/// The bytes of such a file.
///
/// # Errors
/// It cannot be read, or is longer.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let too_long = || io::Error::new(io::ErrorKind::FileTooLarge, format!("is longer than {limit} bytes"));
    let file = File::open(path)?;
    // Memory is taken only for what will be kept.
    if file.metadata()?.len() > limit {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut bytes)?;
    if u64::try_from(read).unwrap_or(u64::MAX) > limit { Err(too_long()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read_to_its_end() {
        let error = read_text(Path::new("/dev/zero"), 1000).expect_err("too long");
        assert_eq!(error.to_string(), "is longer than 1000 bytes");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "12345").expect("written");
        assert_eq!(read_text(file.path(), 5).ok().as_deref(), Some("12345"));
        assert!(read_text(file.path(), 4).is_err());
    }
}
