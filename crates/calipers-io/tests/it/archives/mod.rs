//! ZIP archives made by hand, so that they may be as wrong as a test needs them.

/// How a member is stored.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    Stored = 0,
    Deflate = 8,
    Zstd = 93,
}

/// A member, and what the archive claims of it.
#[derive(Clone)]
pub(crate) struct Entry {
    name: String,
    method: Method,
    stored: Vec<u8>,
    pub(crate) size: u32,
    pub(crate) crc: u32,
    pub(crate) zip64: bool,
}

impl Entry {
    /// A member with this content, stored as it is.
    pub(crate) fn new(name: &str, content: &[u8]) -> Self {
        Self {
            name: name.into(),
            method: Method::Stored,
            stored: content.to_vec(),
            size: content.len() as u32,
            crc: crc32fast::hash(content),
            zip64: false,
        }
    }

    /// The same content in another form.
    pub(crate) fn stored_as(mut self, method: Method, stored: Vec<u8>) -> Self {
        (self.method, self.stored) = (method, stored);
        self
    }

    /// What stands alike in the local header and in the directory, from the version on.
    fn fields(&self) -> (Vec<u8>, Vec<u8>) {
        let mut extra = Vec::new();
        let sizes = [self.stored.len() as u32, self.size];
        if self.zip64 {
            extra.extend([1, 0, 16, 0]);
            extra.extend(u64::from(self.size).to_le_bytes());
            extra.extend((self.stored.len() as u64).to_le_bytes());
        }
        let mut fields = Vec::new();
        for short in [45, 0x800, self.method as u16, 0, 0x21] {
            fields.extend(short.to_le_bytes());
        }
        fields.extend(self.crc.to_le_bytes());
        for size in sizes {
            fields.extend(if self.zip64 { u32::MAX } else { size }.to_le_bytes());
        }
        fields.extend((self.name.len() as u16).to_le_bytes());
        fields.extend((extra.len() as u16).to_le_bytes());
        (fields, extra)
    }
}

/// An archive of these members.
pub(crate) fn archive(entries: &[Entry]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut directory: Vec<u8> = Vec::new();
    for entry in entries {
        let (fields, extra) = entry.fields();
        directory.extend(b"PK\x01\x02\x2d\x03");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(entry.name.as_bytes());
        directory.extend(&extra);
        out.extend(b"PK\x03\x04");
        out.extend(&fields);
        out.extend(entry.name.as_bytes());
        out.extend(&extra);
        out.extend(&entry.stored);
    }
    let start = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    for _ in 0..2 {
        out.extend((entries.len() as u16).to_le_bytes());
    }
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

/// Content, deflated.
pub(crate) fn deflate(content: &[u8]) -> Vec<u8> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::best());
    let mut out = vec![0; compressor.deflate_compress_bound(content.len())];
    let length = compressor.deflate_compress(content, &mut out).expect("there is room");
    out.truncate(length);
    out
}
