//! Where standard streams cannot be polled: a thread for each.

use std::io;

use crate::bridge::{ThreadReader, ThreadWriter};

pub(crate) type Input = ThreadReader;
pub(crate) type Output = ThreadWriter;

pub(crate) fn open() -> io::Result<(Input, Output)> {
    Ok((ThreadReader::new(io::stdin())?, ThreadWriter::new(io::stdout())?))
}
