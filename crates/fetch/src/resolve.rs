//! Names to addresses, through the guard: a connection goes only to an address that was checked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use hickory_resolver::{ResolverBuilder, TokioResolver};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::{Guard, Guarded};

/// A lookup under way.
pub type Looking<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Knows the addresses of names.
pub trait Lookup: Send + Sync {
    /// All addresses of `name`, in the order they should be tried.
    fn addresses<'a>(&'a self, name: &'a str) -> Looking<'a>;
}

/// The machine's own name service: its DNS servers and its hosts file.
pub(crate) enum System {
    /// Asks the configured servers itself and keeps answers as long as they may be kept.
    Dns(Box<TokioResolver>),
    /// Asks the C library, where no server is configured that we could ask.
    Library,
}

impl System {
    pub(crate) fn new() -> Self {
        let resolver = TokioResolver::builder_tokio().and_then(ResolverBuilder::build);
        resolver.map_or(Self::Library, |resolver| Self::Dns(Box::new(resolver)))
    }
}

impl Lookup for System {
    fn addresses<'a>(&'a self, name: &'a str) -> Looking<'a> {
        match self {
            Self::Dns(resolver) => Box::pin(async move {
                let found = resolver.lookup_ip(full(name)).await.map_err(io::Error::other)?;
                Ok(found.iter().collect())
            }),
            Self::Library => Box::pin(async move {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            }),
        }
    }
}

/// A name with a dot is whole: no search domain of this machine may complete it.
fn full(name: &str) -> String {
    let whole = name.contains('.') && !name.ends_with('.');
    if whole { format!("{name}.") } else { name.to_owned() }
}

/// What the HTTP client asks: the lookup's answers, sifted.
pub(crate) struct Sieve {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) guard: Arc<Guard>,
    /// The configured proxy: the user named it, so it may be anywhere.
    pub(crate) proxy: Option<String>,
}

impl Resolve for Sieve {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, guard) = (Arc::clone(&self.lookup), Arc::clone(&self.guard));
        let is_proxy = self.proxy.as_deref() == Some(name.as_str());
        Box::pin(async move {
            let found = lookup.addresses(name.as_str()).await?;
            let passed = if is_proxy { found } else { guard.sift(found)? };
            // port 0 means the scheme's own
            Ok(Box::new(passed.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

/// Behind a proxy the client resolves nothing, so the name is checked here. One that only the proxy
/// can resolve passes: then the proxy is the guard.
pub(crate) async fn check_name(
    lookup: &dyn Lookup,
    guard: &Guard,
    name: &str,
) -> Result<(), Guarded> {
    match lookup.addresses(name).await {
        Ok(found) => guard.sift(found).map(drop),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_labels_may_be_completed() {
        assert_eq!(full("example.org"), "example.org.");
        assert_eq!(full("example.org."), "example.org.");
        assert_eq!(full("intranet"), "intranet");
    }

    #[tokio::test]
    async fn the_hosts_file_is_honoured() {
        for system in [System::new(), System::Library] {
            let found = system.addresses("localhost").await.unwrap();
            assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback));
        }
    }
}
