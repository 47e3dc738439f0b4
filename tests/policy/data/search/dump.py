"""A small encyclopedia of invented people and places, as a MediaWiki export and as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from xml.sax.saxutils import escape

FILLER = " ".join(["It has been written about at length in many places."] * 5)
PAGES = {
    "Orla Venn": (
        "2026-05-02T10:00:00Z",
        """{{Infobox scientist
| name = Orla Venn
| birth_place = [[Karsholm]]
| doctoral_advisor = [[Tomas Brack]]
| field = [[Glaciology]]<ref>see [[Hidden page]]</ref>
| image = [[File:Orla.jpg]]
}}
'''Orla Venn''' (born 3 May 1931 in [[Karsholm|the town of Karsholm]]) was a glaciologist. She was
educated at the [[University of Dunmere]]. """
        + FILLER,
    ),
    "Tomas Brack": (
        "2026-04-11T09:00:00Z",
        "{{Infobox scientist\n| employer = [[Brack Institute]]\n| spouse = [[Ilse Brack]]\n"
        "| awards = [[Ring Prize]], [[Star Medal]]\n}}\n'''Tomas Brack''' taught at the "
        "[[Brack Institute]]. " + FILLER,
    ),
    "Brack Institute": (
        "2026-01-20T09:00:00Z",
        "{{Infobox institute\n| location = [[Port Selmer]]\n| founder = [[Ilse Brack]]\n}}\n"
        "The '''Brack Institute''' was founded in 1902 by [[Ilse Brack]]. " + FILLER,
    ),
    "Port Selmer": (
        "2025-11-02T09:00:00Z",
        "{{Infobox city\n| river = [[River Aun]]\n| country = [[Norland]]\n}}\n"
        "'''Port Selmer''' lies on the [[River Aun]]. " + FILLER,
    ),
    "River Aun": (
        "2024-03-01T09:00:00Z",
        "The '''River Aun''' flows through [[Norland]]. " + FILLER,
    ),
    "Karsholm": (
        "2026-05-01T09:00:00Z",
        "{{Infobox city\n| country = [[Norland]]\n| mayor = [[Pia Holt]]\n}}\n"
        "'''Karsholm''' is a town. " + FILLER,
    ),
    "Pia Holt": ("2026-02-01T09:00:00Z", "'''Pia Holt''' was born in [[Eastby]]. " + FILLER),
    "Eastby": ("2026-02-03T09:00:00Z", "'''Eastby''' is part of [[Norland]]. " + FILLER),
    "Ilse Brack": ("2026-02-04T09:00:00Z", "'''Ilse Brack''' was a patron. " + FILLER),
    "University of Dunmere": ("2026-02-05T09:00:00Z", "It is in [[Dunmere]]. " + FILLER),
    "Norland": ("2026-02-06T09:00:00Z", "'''Norland''' is a country. " + FILLER),
    "Ring Prize": ("2026-02-07T09:00:00Z", "A prize. " + FILLER),
    "Star Medal": ("2026-02-08T09:00:00Z", "A medal. " + FILLER),
    "Glaciology": ("2026-02-09T09:00:00Z", "A science. " + FILLER),
}
REDIRECTS = {"Selmer": "Port Selmer", "T. Brack": "Tomas Brack"}


def write_dump(path: Path) -> Path:
    """As MediaWiki's Special:Export writes it."""
    parts = [
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">',
        "<siteinfo><sitename>Test</sitename></siteinfo>",
        "<page><title>Talk:Norland</title><ns>1</ns><revision><text>x</text></revision></page>",
    ]
    for title, (stamp, text) in PAGES.items():
        parts.append(
            f"<page><title>{title}</title><ns>0</ns><id>1</id><revision><id>2</id>"
            f"<timestamp>{stamp}</timestamp><text xml:space='preserve'>{escape(text)}</text>"
            "</revision></page>"
        )
    for title, target in REDIRECTS.items():
        parts.append(
            f'<page><title>{title}</title><ns>0</ns><redirect title="{target}" />'
            f"<revision><text>#REDIRECT [[{target}]]</text></revision></page>"
        )
    path.write_text("\n".join([*parts, "</mediawiki>\n"]), encoding="utf-8")
    return path


def write_lines(path: Path) -> Path:
    """The same pages as JSON lines."""
    rows = [{"title": t, "timestamp": s, "text": text} for t, (s, text) in PAGES.items()]
    rows += [{"title": t, "text": "", "redirect": target} for t, target in REDIRECTS.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
