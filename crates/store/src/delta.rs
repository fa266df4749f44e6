//! Contents packed small: zstd, with a similar content as the text it may quote from.

use std::cell::RefCell;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, get_error_name};

use crate::{Error, Result};

const LEVEL: i32 = 3;
/// What level 3 looks back over by itself. Contents beyond it need a longer window to see their base.
const USUAL_WINDOW: usize = 2 << 20;
/// zstd's decoders refuse longer ones.
const LONGEST_WINDOW_LOG: u32 = 27;
/// How a trained dictionary begins, which a base is not.
const DICTIONARY: [u8; 4] = [0x37, 0xA4, 0x30, 0xEC];

thread_local! {
    // kept, since making one took longer than unpacking a page of 7 kB
    static PACKER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static UNPACKER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// `content`, packed; with a base it can only be unpacked beside the same base.
pub(crate) fn pack(content: &[u8], base: Option<&[u8]>) -> Result<Vec<u8>> {
    let base = quotable(base);
    let mut packed = Vec::with_capacity(zstd::compress_bound(content.len()));
    if !base.is_empty() && base.len() + content.len() > USUAL_WINDOW {
        pack_long(content, base, &mut packed)
    } else {
        PACKER.with_borrow_mut(|packer| {
            packer.compress_using_dict(&mut packed, content, base, LEVEL).map(|_| ())
        })
    }
    .map_err(|code| Error::Compression(get_error_name(code)))?;
    packed.shrink_to_fit();
    Ok(packed)
}

fn pack_long(content: &[u8], base: &[u8], packed: &mut Vec<u8>) -> Result<(), usize> {
    let reach = base.len() + content.len();
    let window = reach.next_power_of_two().ilog2().min(LONGEST_WINDOW_LOG);
    let mut packer = CCtx::create();
    packer.set_parameter(CParameter::CompressionLevel(LEVEL))?;
    packer.set_parameter(CParameter::WindowLog(window))?;
    packer.set_parameter(CParameter::EnableLongDistanceMatching(true))?;
    packer.ref_prefix(base)?;
    packer.compress2(packed, content)?;
    Ok(())
}

/// The content of `size` bytes that was packed.
pub(crate) fn unpack(packed: &[u8], base: Option<&[u8]>, size: i64) -> Result<Vec<u8>> {
    let damaged = |why: &str| Error::Damaged(format!("a content of {size} bytes: {why}"));
    let length = usize::try_from(size).map_err(|_| damaged("no such length"))?;
    let mut content = Vec::new();
    content.try_reserve_exact(length).map_err(|_| damaged("too large"))?;
    UNPACKER
        .with_borrow_mut(|unpacker| {
            unpacker.decompress_using_dict(&mut content, packed, quotable(base))
        })
        .map_err(|code| damaged(get_error_name(code)))?;
    if content.len() == length { Ok(content) } else { Err(damaged("it is shorter")) }
}

/// What is quoted from: a base that looks like a dictionary would be read as one, so its first byte
/// is left out.
fn quotable(base: Option<&[u8]>) -> &[u8] {
    let base = base.unwrap_or_default();
    if base.starts_with(&DICTIONARY) { &base[1..] } else { base }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blobs::signed;
    use crate::testing::page;

    proptest! {
        #[test]
        fn unpacked_is_what_was_packed(
            content in prop::collection::vec(any::<u8>(), 0..2000),
            base in prop::option::of(prop::collection::vec(any::<u8>(), 0..2000)),
        ) {
            let packed = pack(&content, base.as_deref()).unwrap();
            prop_assert_eq!(unpack(&packed, base.as_deref(), signed(content.len())).unwrap(), content);
        }
    }

    /// Random bytes cannot be packed by themselves, so what is saved is quoted from the base, although
    /// it lies further back than a usual window.
    #[test]
    fn a_long_content_quotes_its_base() {
        let base = page(1, 5 << 20);
        let mut content = base.clone();
        content.splice(1000..1000, *b"inserted");
        let packed = pack(&content, Some(&base)).unwrap();
        assert!(packed.len() < 10_000, "{}", packed.len());
        assert_eq!(unpack(&packed, Some(&base), signed(content.len())).unwrap(), content);
    }

    #[test]
    fn a_base_that_looks_like_a_dictionary_is_none() {
        let base = [&DICTIONARY[..], &page(1, 3000)].concat();
        // a copy, since zstd does not quote from memory that overlaps what it packs
        let content = base[500..].to_vec();
        let packed = pack(&content, Some(&base)).unwrap();
        assert!(packed.len() < 100, "{}", packed.len());
        assert_eq!(unpack(&packed, Some(&base), signed(content.len())).unwrap(), content);
    }

    #[test]
    fn damage_is_an_error() {
        let packed = pack(b"content", None).unwrap();
        assert!(matches!(unpack(&packed[1..], None, 7), Err(Error::Damaged(_))));
        assert!(matches!(unpack(&packed, None, 6), Err(Error::Damaged(_))));
        assert!(matches!(unpack(&packed, None, 8), Err(Error::Damaged(_))));
        assert!(matches!(unpack(&packed, None, i64::MAX), Err(Error::Damaged(_))));
    }
}
