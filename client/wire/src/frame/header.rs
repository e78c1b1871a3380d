//! Headers of requests and responses.
//!
//! The client id stays in the plain form in every version: a broker must be able to read it before it knows the version
//! (KIP-511). Null and any other negative length mean no client id.

use std::borrow::Cow;

use super::{ApiKey, Form, Reader, WireError, Writer};

/// What every request begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// Which API.
    pub key: ApiKey,
    /// In which version. Not checked: an unsupported one of ApiVersions still gets an answer.
    pub version: i16,
    /// Comes back in the response.
    pub correlation_id: i32,
    /// What the client calls itself.
    pub client_id: Option<Cow<'a, str>>,
}

impl<'a> RequestHeader<'a> {
    /// Reads the header at the start of a frame (after its size). The reader stands at the body and has its form.
    ///
    /// # Errors
    /// `UnknownKey`, or bytes that end too early. Kafka closes the connection on either.
    pub fn parse(frame: &'a [u8]) -> Result<(RequestHeader<'a>, Reader<'a>), WireError> {
        let mut reader = Reader::new(frame, Form::Plain);
        let key = ApiKey(reader.i16()?);
        let version = reader.i16()?;
        let correlation_id = reader.i32()?;
        if !key.is_known() {
            return Err(WireError::UnknownKey(key.0));
        }
        let client_id = reader.nullable_string()?;
        reader.set_form(Form::of(key.is_flexible(version)));
        reader.skip_tags()?;
        Ok((RequestHeader { key, version, correlation_id, client_id }, reader))
    }

    /// Writes the header; the writer then has the form of the body.
    pub fn encode(&self, writer: &mut Writer) {
        writer.set_form(Form::Plain);
        writer.i16(self.key.0);
        writer.i16(self.version);
        writer.i32(self.correlation_id);
        writer.nullable_string(self.client_id.as_deref());
        writer.set_form(Form::of(self.key.is_flexible(self.version)));
        writer.no_tags();
    }
}

/// Writes the header of the response to a request of `key` and `version`; the writer then has the form of the body.
pub fn encode_response_header(writer: &mut Writer, key: ApiKey, version: i16, correlation_id: i32) {
    writer.set_form(Form::of(key.response_header_version(version) == 1));
    writer.i32(correlation_id);
    writer.no_tags();
    writer.set_form(Form::of(key.is_flexible(version)));
}

/// Reads the header at the start of a response frame (after its size), which answers a request of `key` and `version`.
/// Gives the correlation id and a reader that stands at the body and has its form.
///
/// # Errors
/// Bytes that end too early.
pub fn parse_response_header(frame: &[u8], key: ApiKey, version: i16) -> Result<(i32, Reader<'_>), WireError> {
    let mut reader = Reader::new(frame, Form::of(key.response_header_version(version) == 1));
    let correlation_id = reader.i32()?;
    reader.skip_tags()?;
    reader.set_form(Form::of(key.is_flexible(version)));
    Ok((correlation_id, reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_id_keeps_its_two_byte_length_in_a_flexible_header() {
        let frame = [0, 3, 0, 12, 0, 0, 0, 9, 0, 2, b'm', b'e', 0, 0xee];
        let (header, mut body) = RequestHeader::parse(&frame).unwrap();
        assert_eq!(header.key, ApiKey::METADATA);
        assert_eq!((header.version, header.correlation_id), (12, 9));
        assert_eq!(header.client_id.as_deref(), Some("me"));
        assert_eq!(body.u8(), Ok(0xee));
    }

    #[test]
    fn a_client_id_of_length_minus_two_is_none() {
        let frame = [0, 3, 0, 1, 0, 0, 0, 9, 0xff, 0xfe];
        assert_eq!(RequestHeader::parse(&frame).unwrap().0.client_id, None);
    }

    #[test]
    fn unknown_tags_of_a_header_are_passed_over() {
        let frame = [0, 18, 0, 3, 0, 0, 0, 1, 0xff, 0xff, 2, 7, 2, 1, 2, 1, 0, 0xab];
        let (header, mut body) = RequestHeader::parse(&frame).unwrap();
        assert_eq!(header.key, ApiKey::API_VERSIONS);
        assert_eq!(body.u8(), Ok(0xab));
    }

    #[test]
    fn a_flexible_header_without_its_tag_byte_is_cut_off() {
        let frame = [0, 3, 0, 12, 0, 0, 0, 9, 0xff, 0xff];
        assert!(matches!(RequestHeader::parse(&frame), Err(WireError::Truncated { .. })));
    }

    #[test]
    fn an_unknown_key_is_named() {
        let frame = [0, 4, 0, 0, 0, 0, 0, 9, 0xff, 0xff];
        assert_eq!(RequestHeader::parse(&frame).unwrap_err(), WireError::UnknownKey(4));
    }

    #[test]
    fn headers_read_back_for_every_key_and_version() {
        for &key in ApiKey::ALL {
            for version in 0..14 {
                let header = RequestHeader { key, version, correlation_id: -5, client_id: Some("c".into()) };
                let mut writer = Writer::new(Form::Plain);
                header.encode(&mut writer);
                writer.string("body");
                let bytes = writer.finish();
                let (read, mut body) = RequestHeader::parse(&bytes).unwrap();
                assert_eq!(read, header);
                assert_eq!(body.string().unwrap(), "body");

                let mut writer = Writer::new(Form::Plain);
                encode_response_header(&mut writer, key, version, 77);
                writer.string("body");
                let bytes = writer.finish();
                let (correlation_id, mut body) = parse_response_header(&bytes, key, version).unwrap();
                assert_eq!(correlation_id, 77);
                assert_eq!(body.string().unwrap(), "body");
            }
        }
    }
}
