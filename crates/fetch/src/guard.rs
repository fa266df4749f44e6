//! The guard against being sent where strangers must not go (server-side request forgery).
//!
//! A watched address, a redirect or a DNS answer may name a machine only we can reach: a router, a
//! database, a cloud's metadata. So every address is checked at four doors, none of which is enough
//! alone: the parsed URL (a client asks no resolver about a literal), the resolver's answers (the
//! connection is made to the very addresses that passed), every redirect, and the peer that answered.

mod address;

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;
use url::Url;

/// Which addresses may be asked: public ones, and those listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Exceptions for one's own network.
    pub allow: Vec<Allowed>,
}

/// An exception: `10.0.0.0/8`, `10.1.2.3`, or with a port `127.0.0.1:8080`, `[::1]:8080`.
///
/// One with a port holds for addresses written as numbers only: a resolver is not told the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    net: IpNet,
    port: Option<u16>,
}

/// The text is no address range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address range; write it as `10.0.0.0/8` or `127.0.0.1:8080`")]
pub struct BadRange(String);

/// An address the guard held back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is not public ({realm}); if it is yours, add it to `fetch.allow`")]
pub struct Guarded {
    /// Where the request would have gone.
    pub address: IpAddr,
    /// What lies there.
    pub realm: &'static str,
}

impl Guard {
    /// Reads a list of exceptions.
    pub fn allowing<'a>(ranges: impl IntoIterator<Item = &'a str>) -> Result<Self, BadRange> {
        Ok(Self { allow: ranges.into_iter().map(str::parse).collect::<Result<_, _>>()? })
    }

    /// Checks an address written as a number; a name passes, the resolver checks what it means.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), Guarded> {
        let ip = match url.host() {
            Some(url::Host::Ipv4(ip)) => IpAddr::V4(ip),
            Some(url::Host::Ipv6(ip)) => IpAddr::V6(ip),
            Some(url::Host::Domain(_)) | None => return Ok(()),
        };
        self.check_peer(SocketAddr::new(ip, url.port_or_known_default().unwrap_or_default()))
    }

    /// Checks where a connection goes.
    pub(crate) fn check_peer(&self, peer: SocketAddr) -> Result<(), Guarded> {
        self.check(peer.ip(), |allowed| allowed.port.is_none_or(|port| port == peer.port()))
    }

    /// Those of a name's addresses that may be asked; `Err` if it has addresses and none may.
    pub(crate) fn sift(&self, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Guarded> {
        let mut held_back = None;
        let passed: Vec<IpAddr> = addresses
            .into_iter()
            .filter(|&ip| {
                let checked = self.check(ip, |allowed| allowed.port.is_none());
                checked.map_err(|guarded| held_back = Some(guarded)).is_ok()
            })
            .collect();
        match held_back {
            Some(guarded) if passed.is_empty() => Err(guarded),
            _ => Ok(passed),
        }
    }

    fn check(&self, ip: IpAddr, holds: impl Fn(&Allowed) -> bool) -> Result<(), Guarded> {
        // ::ffff:10.0.0.1 and 10.0.0.1 are one machine
        let ip = ip.to_canonical();
        let Some(realm) = address::realm(ip) else { return Ok(()) };
        let allowed = self.allow.iter().any(|allowed| allowed.net.contains(&ip) && holds(allowed));
        if allowed { Ok(()) } else { Err(Guarded { address: ip, realm }) }
    }
}

impl FromStr for Allowed {
    type Err = BadRange;

    fn from_str(text: &str) -> Result<Self, BadRange> {
        if let Ok(net) = text.parse() {
            return Ok(Self { net, port: None });
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self { net: ip.into(), port: None });
        }
        let peer: SocketAddr = text.parse().map_err(|_| BadRange(text.to_owned()))?;
        Ok(Self { net: peer.ip().into(), port: Some(peer.port()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(guard: &Guard, url: &str) -> bool {
        guard.check_url(&url.parse().unwrap()).is_ok()
    }

    #[test]
    fn no_spelling_of_a_private_address_gets_through() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "017700000001",
            "0177.0.0.1",
            "127.0.0.1.",
            "①②⑦.⓪.⓪.①",
            "0",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:ffff:7f00:1]",
            "[::ffff:127.0.0.1]",
            "[::127.0.0.1]",
            "[64:ff9b::10.0.0.1]",
            "[2002:7f00:1::]",
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "169.254.169.254",
            "0xa9fea9fe",
            "100.64.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "224.0.0.1",
            "198.18.0.1",
            "168.63.129.16",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
            "[fc00::1]",
        ] {
            assert!(!permits(&Guard::default(), &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn public_addresses_and_names_pass() {
        for host in ["example.org", "1.1.1.1", "172.32.0.1", "100.128.0.1", "[2606:4700::1111]"] {
            assert!(permits(&Guard::default(), &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn an_exception_lets_through_what_it_names_and_no_more() {
        let guard =
            Guard::allowing(["10.1.0.0/16", "127.0.0.1:8080", "[::1]:8080", "fd00::1"]).unwrap();
        for host in ["10.1.2.3", "10.1.2.3:99", "127.0.0.1:8080", "[::1]:8080", "[fd00::1]"] {
            assert!(permits(&guard, &format!("http://{host}/")), "{host}");
        }
        assert!(permits(&guard, "http://[::ffff:10.1.2.3]/"));
        for host in ["10.2.0.1", "127.0.0.1", "127.0.0.2:8080", "[::1]", "[fd00::2]"] {
            assert!(!permits(&guard, &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn a_port_means_nothing_to_a_resolver_so_the_name_stays_out() {
        let loopback: IpAddr = "127.0.0.1".parse().unwrap();
        let guard = Guard::allowing(["127.0.0.1:8080"]).unwrap();
        assert!(guard.sift(vec![loopback]).is_err());
        assert!(Guard::allowing(["127.0.0.1"]).unwrap().sift(vec![loopback]).is_ok());
    }

    #[test]
    fn of_mixed_answers_the_public_ones_stay() {
        let (public, private) = ("1.1.1.1".parse().unwrap(), "10.0.0.1".parse().unwrap());
        assert_eq!(Guard::default().sift(vec![private, public]), Ok(vec![public]));
        assert_eq!(Guard::default().sift(vec![]), Ok(vec![]));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "10.0.0.0/33", "localhost", "10.0.0.0/8:80", "::1:8080:", "*"] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }
}
