//! Records of shared logs, as bytes.

/// Raises the version of a record's format: it comes after the magic and the checksum, which covers it.
pub fn make_newer(record: &mut [u8]) {
    record[8] += 1;
    let checksum = crc32(&record[8..]);
    record[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// CRC-32 as in Ethernet, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}
