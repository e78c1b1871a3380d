//! Writes records in the chosen form, up to the wanted count.

use std::io::Write;

use ballast_client::consumer::Record;

use super::ConsumeArgs;
use super::format::Format;
use crate::error::Failure;

pub(super) struct Printer<'a, W> {
    out: W,
    format: &'a Format,
    /// One document around all records.
    document: bool,
    printed: u64,
    count: Option<u64>,
}

impl<'a, W: Write> Printer<'a, W> {
    pub(super) fn new(args: &'a ConsumeArgs, out: W) -> Printer<'a, W> {
        let document = args.connect.json;
        let format = if document { &Format::Json } else { &args.format };
        Printer { out, format, document, printed: 0, count: args.count }
    }

    pub(super) fn is_done(&self) -> bool {
        self.count.is_some_and(|count| self.printed >= count)
    }

    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        if self.document {
            self.out.write_all(b"{\"records\":[")?;
        }
        Ok(())
    }

    pub(super) fn record(&mut self, topic: &str, partition: i32, record: &Record) -> Result<(), Failure> {
        if self.document && self.printed > 0 {
            self.out.write_all(b",")?;
        }
        self.printed += 1;
        Ok(self.format.write(&mut self.out, topic, partition, record)?)
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    pub(super) fn end(&mut self) -> Result<(), Failure> {
        if self.document {
            self.out.write_all(b"]}\n")?;
        }
        self.flush()
    }
}
