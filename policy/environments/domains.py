"""Web addresses that a search agent must not see: a blocklist by domain."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from assay.errors import ConfigError


class Blocklist:
    """Domains with all their subdomains: pages that hold the benchmark's answers, for example.

    Case, a trailing dot, ports, user names and `www.` make no difference. An address that carries a
    blocked one in its path or query (mirrors, readers, archives) is blocked, and so is one that
    cannot be read.

    Raises:
        ConfigError: An entry that is no domain.

    >>> blocked = Blocklist(["example.org"])
    >>> blocked.blocks("https://user@WWW.Example.org:443/x"), blocked.blocks("https://notexample.org")
    (True, False)
    """

    def __init__(self, domains: Iterable[str] = ()) -> None:
        self.domains = frozenset(map(_domain, domains))

    def blocks(self, url: str) -> bool:
        """Whether the address lies in a blocked domain."""
        if not self.domains:
            return False
        host = host_of(url)
        if not host:
            return True
        plain = unquote(unquote(url)).lower()
        _, _, rest = plain.partition("://")[2].partition("/") if "://" in plain else ("", "", plain)
        carried = re.findall(r"[\w-]+(?:\.[\w-]+)+", rest)
        return any(self._within(name) for name in (host, *carried))

    def _within(self, host: str) -> bool:
        labels = host.split(".")
        return any(".".join(labels[start:]) in self.domains for start in range(len(labels)))


def host_of(url: str) -> str:
    """Host of an address in its plain form, empty where there is none.

    >>> host_of("HTTPS://Example.org.:8080/a"), host_of("example.org/a"), host_of("not an address")
    ('example.org', 'example.org', '')
    """
    text = url.strip()
    try:
        host = urlsplit(text if "://" in text else f"https://{text}").hostname or ""
        host = host.rstrip(".").encode("idna").decode().lower()
    except (ValueError, UnicodeError):
        return ""
    return "" if any(c in host for c in " \t\n\\@") else host


def _domain(entry: str) -> str:
    host = host_of(entry) if isinstance(entry, str) else ""
    if "." not in host:
        raise ConfigError(f"a blocked domain must be like 'example.org', got {entry!r:.80}")
    return host.removeprefix("www.")
