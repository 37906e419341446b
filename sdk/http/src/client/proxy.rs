//! Which proxy leads to a server, if any.

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::remote::Proxies;
use super::url;

/// Which proxy leads to which server.
#[derive(Debug)]
pub(crate) struct Routes {
    matcher: Option<Matcher>,
    /// This machine too is reached through the proxy: it was named for everything.
    loopback: bool,
}

/// The proxy for one server.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    pub(crate) url: Uri,
    pub(crate) auth: Option<HeaderValue>,
}

impl Routes {
    pub(crate) fn new(proxies: &Proxies) -> Result<Self, &'static str> {
        let matcher = match proxies {
            Proxies::Environment => Some(Matcher::from_env()),
            Proxies::Direct => None,
            Proxies::Through(proxy) => {
                let matcher = Matcher::builder().all(proxy.as_str()).build();
                let any = Uri::from_static("http://example.invalid/");
                usable(&matcher.intercept(&any).ok_or("it is not a valid address")?)?;
                Some(matcher)
            }
        };
        Ok(Self {
            matcher,
            loopback: matches!(proxies, Proxies::Through(_)),
        })
    }

    /// The proxy that leads to `url`.
    ///
    /// # Errors
    /// If the environment names one of a kind that is not spoken here.
    pub(crate) fn to(&self, url: &Uri) -> Result<Option<Proxy>, &'static str> {
        if !self.loopback && url.host().is_some_and(url::is_loopback) {
            return Ok(None);
        }
        let Some(found) = self.matcher.as_ref().and_then(|matcher| matcher.intercept(url)) else {
            return Ok(None);
        };
        usable(&found)?;
        Ok(Some(Proxy {
            url: found.uri().clone(),
            auth: found.basic_auth().cloned(),
        }))
    }
}

fn usable(proxy: &Intercept) -> Result<(), &'static str> {
    if proxy.uri().scheme_str() == Some("http") {
        Ok(())
    } else {
        Err("only proxies at http:// addresses are supported, not SOCKS and not TLS to the proxy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(matcher: Matcher, loopback: bool, url: &str) -> Option<String> {
        let routes = Routes {
            matcher: Some(matcher),
            loopback,
        };
        let proxy = routes.to(&url.parse().unwrap()).unwrap()?;
        Some(proxy.url.to_string())
    }

    #[test]
    fn the_environment_never_leads_this_machine_away_from_itself() {
        let matcher = || {
            Matcher::builder()
                .all("http://u:p@proxy.example:3128")
                .no("inner.example")
                .build()
        };
        for (url, proxied) in [
            ("http://h.example/", true),
            ("https://h.example/", true),
            ("https://inner.example/", false),
            ("https://a.inner.example/", false),
            ("http://127.0.0.1:1/", false),
            ("http://localhost/", false),
            ("https://[::1]:5/", false),
        ] {
            let expected = proxied.then(|| "http://proxy.example:3128/".to_owned());
            assert_eq!(through(matcher(), false, url), expected, "{url}");
        }
        assert!(through(matcher(), true, "http://127.0.0.1:1/").is_some(), "unless told");
    }

    #[test]
    fn proxies_of_other_kinds_are_refused() {
        for proxy in ["socks5://h:1", "https://h:1", "nonsense://h", ""] {
            assert!(Routes::new(&Proxies::Through(proxy.to_owned())).is_err(), "{proxy}");
        }
        let named = Proxies::Through("http://u:p%40@h:1".to_owned());
        let proxy = Routes::new(&named).unwrap().to(&"http://x/".parse().unwrap());
        assert_eq!(proxy.unwrap().unwrap().auth.unwrap(), "Basic dTpwQA==");
        assert!(
            Routes::new(&Proxies::Direct)
                .unwrap()
                .to(&"http://x/".parse().unwrap())
                .unwrap()
                .is_none()
        );
    }
}
