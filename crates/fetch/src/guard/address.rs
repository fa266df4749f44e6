//! Which addresses are public, by IANA's special-purpose registries.
//!
//! IPv4 is public unless listed. IPv6 is public inside 2000::/3 unless listed; forms that carry an IPv4
//! address inside (translation, tunnels) are as public as what they carry.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(a: u16, b: u16, c: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits)
}

const NOT_PUBLIC_V4: [(Ipv4Net, &str); 17] = [
    (v4(0, 0, 0, 0, 8), "this network"),
    (v4(10, 0, 0, 0, 8), "private"),
    (v4(100, 64, 0, 0, 10), "carrier-grade NAT"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    (v4(168, 63, 129, 16, 32), "cloud metadata"),
    (v4(169, 254, 169, 254, 32), "cloud metadata"),
    (v4(169, 254, 0, 0, 16), "link-local"),
    (v4(172, 16, 0, 0, 12), "private"),
    (v4(192, 0, 0, 0, 24), "protocol assignments"),
    (v4(192, 0, 2, 0, 24), "documentation"),
    (v4(192, 88, 99, 0, 24), "6to4 relays"),
    (v4(192, 168, 0, 0, 16), "private"),
    (v4(198, 18, 0, 0, 15), "benchmarks"),
    (v4(198, 51, 100, 0, 24), "documentation"),
    (v4(203, 0, 113, 0, 24), "documentation"),
    (v4(224, 0, 0, 0, 4), "multicast"),
    (v4(240, 0, 0, 0, 4), "reserved"),
];

/// Named for the message's sake where they lie outside 2000::/3.
const NOT_PUBLIC_V6: [(Ipv6Net, &str); 12] = [
    (v6(0, 0, 0, 8), "loopback or unspecified"),
    (v6(0x64, 0xff9b, 1, 48), "local translation"),
    (v6(0x100, 0, 0, 64), "discard"),
    (v6(0x2001, 0, 0, 23), "protocol assignments"),
    (v6(0x2001, 0xdb8, 0, 32), "documentation"),
    (v6(0x3fff, 0, 0, 20), "documentation"),
    (v6(0x5f00, 0, 0, 16), "segment routing"),
    (v6(0xfd00, 0xec2, 0, 48), "cloud metadata"),
    (v6(0xfc00, 0, 0, 7), "unique local"),
    (v6(0xfe80, 0, 0, 10), "link-local"),
    (v6(0xfec0, 0, 0, 10), "site-local"),
    (v6(0xff00, 0, 0, 8), "multicast"),
];

const GLOBAL_UNICAST: Ipv6Net = v6(0x2000, 0, 0, 3);

/// What an address is for, if not for the public.
pub(super) fn realm(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => realm_v4(ip),
        IpAddr::V6(ip) => realm_v6(ip),
    }
}

fn realm_v4(ip: Ipv4Addr) -> Option<&'static str> {
    NOT_PUBLIC_V4.iter().find(|(net, _)| net.contains(&ip)).map(|&(_, realm)| realm)
}

fn realm_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let carried = carried(ip);
    if let Some(realm) = carried.into_iter().flatten().find_map(realm_v4) {
        return Some(realm);
    }
    let listed = NOT_PUBLIC_V6.iter().find(|(net, _)| net.contains(&ip));
    let is_translated = carried[0].is_some();
    match listed {
        _ if is_translated => None,
        Some(&(_, realm)) => Some(realm),
        None => (!GLOBAL_UNICAST.contains(&ip)).then_some("reserved"),
    }
}

/// The IPv4 addresses inside an IPv6 one. The first is where packets end up; a Teredo address names
/// its relay as well, and an interface may name its tunnel's end (ISATAP).
fn carried(ip: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let s = ip.segments();
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match s {
        // mapped, NAT64, 6to4
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => [v4(high, low), None],
        // compatible; what is left of ::/96 with a zero here is :: and ::1, which are their own
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => [v4(high, low), None],
        // Teredo: relay, and client with all bits flipped
        [0x2001, 0, high, low, _, _, a, b] => [v4(!a, !b), v4(high, low)],
        // ISATAP
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => [None, v4(high, low)],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every way to write an IPv4 address into an IPv6 one.
    fn embeddings(ip: Ipv4Addr) -> Vec<Ipv6Addr> {
        let bits = u32::from(ip);
        let [a, b, c, d] = ip.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let flipped = !bits;
        let (fh, fl) = ((flipped >> 16) as u16, (flipped & 0xffff) as u16);
        vec![
            ip.to_ipv6_mapped(),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 1, 2, 3, 4, 5),
            Ipv6Addr::new(0x2001, 0, high, low, 0x8000, 1, !0x0101, !0x0101),
            Ipv6Addr::new(0x2001, 0, 0x0101, 0x0101, 0x8000, 1, fh, fl),
            Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0x5efe, high, low),
            Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0x200, 0x5efe, high, low),
        ]
    }

    fn any_hidden() -> impl Strategy<Value = Ipv4Addr> {
        (0..NOT_PUBLIC_V4.len(), any::<u32>()).prop_map(|(which, bits)| {
            let net = NOT_PUBLIC_V4[which].0;
            Ipv4Addr::from(u32::from(net.network()) | bits & u32::from(net.hostmask()))
        })
    }

    proptest! {
        #[test]
        fn a_hidden_address_stays_hidden_in_every_embedding(ip in any_hidden()) {
            prop_assert!(realm(ip.into()).is_some());
            for ip in embeddings(ip) {
                prop_assert!(realm(ip.into()).is_some(), "{}", ip);
            }
        }

        #[test]
        fn a_public_address_stays_public_in_every_embedding(bits in any::<u32>()) {
            let ip = Ipv4Addr::from(bits);
            prop_assume!(realm_v4(ip).is_none());
            for ip in embeddings(ip) {
                prop_assert!(realm(ip.into()).is_none(), "{}", ip);
            }
        }

        #[test]
        fn ipv6_outside_global_unicast_is_public_only_if_it_carries_ipv4(bits in any::<u128>()) {
            let ip = Ipv6Addr::from(bits);
            prop_assume!(!GLOBAL_UNICAST.contains(&ip) && carried(ip)[0].is_none());
            prop_assert!(realm(ip.into()).is_some());
        }
    }

    #[test]
    fn edges_of_ranges() {
        for (inside, outside) in [
            ("10.255.255.255", "11.0.0.0"),
            ("100.127.255.255", "100.128.0.0"),
            ("100.64.0.0", "100.63.255.255"),
            ("172.31.255.255", "172.32.0.0"),
            ("198.19.255.255", "198.20.0.0"),
            ("224.0.0.0", "223.255.255.255"),
        ] {
            assert!(realm(inside.parse().unwrap()).is_some(), "{inside}");
            assert!(realm(outside.parse().unwrap()).is_none(), "{outside}");
        }
    }

    #[test]
    fn the_unspecified_and_loopback_are_hidden() {
        for ip in ["::", "::1", "::2", "2001:db8::1", "3fff::1", "2001:2::1", "100::1", "4000::1"] {
            assert!(realm(ip.parse().unwrap()).is_some(), "{ip}");
        }
    }
}
