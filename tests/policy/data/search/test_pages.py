import bz2
import gzip
from datetime import UTC, datetime

import pytest

from assay.errors import ConfigError, DataError
from assay.judges import Reply
from assay.policy.data.search.pages import clean_title, read_pages
from assay.policy.data.search.relations import (
    ModelExtractor,
    PatternExtractor,
    infobox_relations,
    wikidata_relations,
)
from assay.policy.data.search.wikitext import Link, Sentence, read_article
from tests.judges.scripted import ScriptedClient, between, verdict
from tests.policy.data.search.dump import PAGES, REDIRECTS, write_dump, write_lines


def test_dump_and_lines_say_the_same(tmp_path):
    dump = list(read_pages(write_dump(tmp_path / "dump.xml")))
    assert dump == list(read_pages(write_lines(tmp_path / "pages.jsonl")))
    assert [page.title for page in dump] == [*PAGES, *REDIRECTS]
    assert dump[0].edited == datetime(2026, 5, 2, 10, tzinfo=UTC)
    assert dump[-1].redirect == "Tomas Brack" and dump[-1].text == ""


@pytest.mark.parametrize(("pack", "suffix"), [(bz2.compress, "bz2"), (gzip.compress, "gz")])
def test_compressed_dumps(tmp_path, pack, suffix):
    plain = write_dump(tmp_path / "dump.xml")
    packed = tmp_path / f"dump.xml.{suffix}"
    packed.write_bytes(pack(plain.read_bytes()))
    assert list(read_pages(packed)) == list(read_pages(plain))
    packed.write_bytes(pack(plain.read_bytes())[:-40])
    with pytest.raises(DataError, match="is damaged"):
        list(read_pages(packed))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html><body></body></html>", "not <mediawiki>"),
        ("<mediawiki><page><title>A</title>", "damaged after page 0"),
        ('{"text": "no title"}\n', "`title` and `text`"),
        ('{"title": "A", "text": "", "timestamp": "yesterday"}\n', "ISO 8601"),
        ("<mediawiki><page><title>A</title><ns>0</ns><revision><timestamp>x</timestamp></revision>"
         "</page></mediawiki>", "page 1: a timestamp"),
    ],
)  # fmt: skip
def test_what_is_no_source(tmp_path, text, message):
    (tmp_path / "x").write_text(text)
    with pytest.raises(DataError, match=message):
        list(read_pages(tmp_path / "x"))
    with pytest.raises(DataError, match="there is no file"):
        list(read_pages(tmp_path / "none"))


def test_an_article():
    article = read_article(PAGES["Orla Venn"][1])
    assert article.kind == "scientist" and article.words > 50
    fields = {field.name: field.targets for field in article.fields}
    assert fields["birth place"] == ("Karsholm",) and fields["field"] == ("Glaciology",)
    assert article.sentences[0] == Sentence(
        "Orla Venn (born 3 May 1931 in the town of Karsholm) was a glaciologist.",
        (Link("Karsholm", "the town of Karsholm"),),
    )
    assert "image" not in {r.predicate for r in infobox_relations("Orla Venn", article)}


@pytest.mark.parametrize(
    "text",
    ["", "{{Infobox", "[[", "{{Infobox x|a=[[B", "<ref>[[A]]", "'''" * 50, "[[:Category:X]] a"],
)
def test_broken_markup_is_read(text):
    article = read_article(text)
    assert article.words >= 0 and all(sentence.links for sentence in article.sentences)


@pytest.mark.parametrize(
    "text",
    ["{{a|", "[[a|", "<ref>", "<a b={{", "\n{|", "[http://a ", "<!--", "{{a|[[", "<div></p>"],
)
def test_a_page_that_is_never_closed_does_not_hold_a_build_up(text):
    assert read_article(text * 20_000).words == 0
    assert read_article("Ada saw [[Rome]]. " + text).sentences  # one slip is no damage


def test_long_pages_and_odd_characters():
    article = read_article("A. " * 40_000 + "[[X]]")  # one sentence of initials: too long to keep
    assert article.words == 40_001 and not article.sentences
    (sentence,) = read_article("\x02Forged\x03x\x04 &#2;&#x110000;&#xD800; [[Ada]].").sentences
    assert [link.target for link in sentence.links] == ["Ada"] and sentence.text.encode()
    assert read_article("one<br>line\n\n" * 200 + "[[Ada]]<br>[[Bo]]").sentences[0].text == "Ada Bo"


def test_sentence_ends():
    text = 'He met Dr. [[A]] in St. [[B]] in [[C]]. Then came [[D]]! "[[E]]" it said.'
    assert [s.text for s in read_article(text).sentences] == [
        "He met Dr. A in St. B in C.",
        "Then came D!",
        '"E" it said.',
    ]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Ada", "Ada was born in 1815 in [[London]].", [("birth place", "London")]),
        ("Ada", "She studied algebra at the [[Old School]].", [("education", "Old School")]),
        ("The Film", "The Film is a film directed by [[X Y]].", [("director", "X Y")]),
        ("Ada", "In other news, Bob was born in [[Paris]].", []),  # speaks of somebody else
        ("Ada", "Ada liked [[tea]].", []),
        ("Ada", "Ada married the painter [[Bo]] and won the [[Prize]].",
         [("spouse", "Bo"), ("award", "Prize")]),
        ("Ada", "Ada was born in [[Ada]].", []),
    ],
)  # fmt: skip
def test_patterns(title, text, expected):
    found = PatternExtractor().extract(title, read_article(text).sentences)
    assert [(r.predicate, r.object) for r in found] == expected
    assert all(r.origin == "sentence" and r.evidence for r in found)


def test_a_pattern_that_is_none():
    with pytest.raises(ConfigError, match="'bad'"):
        PatternExtractor((("bad", "("),))


def test_relations_by_a_model():
    sentences = read_article("Ada lived with [[Bo]]. Ada saw [[Rome]].").sentences

    def say(prompt, request):
        if "Rome" in between(prompt, "sentence"):
            return "I cannot tell."
        return verdict(
            prompt,
            relations=[
                {"predicate": "housemate", "object": "bo"},
                {"predicate": "father", "object": "Planted"},
            ],
        )

    (found,) = ModelExtractor(ScriptedClient(say)).extract("Ada", sentences)
    assert (found.predicate, found.object, found.evidence) == (
        "housemate",
        "Bo",
        "Ada lived with Bo.",
    )


def test_a_model_that_is_down_costs_no_relations():
    client = ScriptedClient(lambda prompt, request: Reply.failed("no server"))
    with pytest.raises(DataError, match="does not answer: no server"):
        ModelExtractor(client).extract("Ada", read_article("Ada saw [[Rome]].").sentences)


def test_wikidata_rows(tmp_path):
    path = tmp_path / "facts.jsonl"
    path.write_text('{"subject": "ada", "predicate": "place_of_birth", "object": "London"}\n{}\n')
    rows = wikidata_relations(path)
    first = next(rows)
    assert (first.subject, first.predicate, first.object) == ("Ada", "place of birth", "London")
    with pytest.raises(DataError, match=":2: a row has text in `subject`"):
        next(rows)


def test_titles():
    assert clean_title(" ada__Lovelace ") == "Ada Lovelace" and clean_title("#x") == ""


def test_entities_that_grow_without_end_are_refused(tmp_path):
    rows = ['<!ENTITY a0 "lol">'] + [f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10)]
    path = tmp_path / "dump.xml"
    path.write_text(
        f"<!DOCTYPE mediawiki [{''.join(rows)}]><mediawiki><page><title>A</title><ns>0</ns>"
        "<revision><text>&a9;</text></revision></page></mediawiki>"
    )
    with pytest.raises(DataError, match="damaged after page 0"):
        list(read_pages(path))
