"""What a tool's answer says of the call: done, refused for its arguments, or broken on its side.

Told by what environments agree on: an error mark, `Error: ...`, `{"error": ...}`, a traceback, an
exit code. An error of the environment (time-out, lost connection, overload, 5xx) is never the
policy's fault; a refusal is one only where the tool names the arguments as the cause. Everything
else that went wrong (nothing found, no seats left) is a fact about the world: unclear.
"""

from __future__ import annotations

import re
from typing import Literal

from assay.messages import Message

Outcome = Literal["ok", "environment", "refused", "unclear"]

_HEAD = re.compile(
    r"""\s*(?:[\[({<"'*]*\s*(?:the\ )?(?:tool\ |api\ |search\ |request\ |execution\ |internal\ )?
    (?:error|exception|failed|failure|fatal|traceback)\b(?!["']\s*:)
    |\{\s*["'](?:error|err|exception|errors)["']\s*:\s*+(?!null|none|false|""|''|\[\]|\{\}|0\b)
    |\{\s*["'](?:status|success|ok)["']\s*:\s*+(?:["'](?:error|failed|failure)["']|false\b)
    |\w*(?:Error|Exception)\b\s*[:(]
    |exit\ ?code:?\s*[1-9-]
    |(?:http(?:/[\d.]+)?\s*(?:status\s*)?(?:code\s*)?:?\s*)?[45]\d\d\s+(?:
      internal|bad|not|service|gateway|unauthorized|forbidden|too|conflict|unprocessable|method
      |request|payment|gone|precondition|client|server)\b
    |http\s*(?:error|status)?\s*:?\s*[45]\d\d\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_ENVIRONMENT = re.compile(
    r"time[sd]?[ -]?out|deadline exceeded|connection|unreachable|network|dns|socket|ssl"
    r"|temporar|unavailable|overload|rate.?limit|too many requests|quota|throttl|try again later"
    r"|internal (?:server )?error|server error|bad gateway|gateway|service (?:is )?down|maintenance"
    r"|\b(?:429|500|502|503|504)\b|out of memory|killed|sandbox (?:error|failed)|captcha",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"(?:unknown|unexpected|invalid|illegal|unsupported|missing|unrecogni[sz]ed|malformed|bad|wrong"
    r"|duplicate)\s+(?:\d+\s+)?(?:required\s+)?(?:keyword\s+|positional\s+|input\s+|function\s+)*"
    r"(?:argument|parameter|param|field|value|type|format|input|json|tool|function|action|name|call"
    r"|key|property|option|syntax|request|query|expression)s?\b"
    r"|(?:argument|parameter|field|input)s?\b.{0,60}\b(?:required|missing|invalid|must|not allowed"
    r"|expected|unknown)|(?:is|are) (?:a )?required (?:property|argument|parameter|field)"
    r"|validation error|schema|is not of type|not a valid|must be (?:a|an|of|one|in|>|<|\d)"
    r"|(?:tool|function|action) (?:\S+ )?(?:not found|does not exist|is not (?:available|defined))"
    r"|no such (?:tool|function|action)|does not add up|could not parse|cannot parse|parse error"
    r"|\b(?:syntax|name|type|attribute|key|index|indentation)error\b",
    re.IGNORECASE,
)
_LONGEST = 600  # the reason of an error stands at its beginning


def outcome_of(result: Message) -> Outcome:
    r"""How a call went, by its result.

    >>> outcome_of(Message("tool", "Error: connection timed out"))
    'environment'
    >>> outcome_of(Message("tool", '{"error": "unexpected keyword argument \'q\'"}'))
    'refused'
    >>> outcome_of(Message("tool", "Error: not enough seats")), outcome_of(Message("tool", "42"))
    ('unclear', 'ok')
    """
    text = result.content[:_LONGEST]
    if result.is_error is False or (result.is_error is None and not _HEAD.match(text)):
        return "ok"
    if result.content.lstrip().startswith("Traceback") or "exit" in text[:12]:
        text = f"{text}\n{result.content[-_LONGEST:]}"
    if _REFUSED.search(text):
        return "refused"
    return "environment" if _ENVIRONMENT.search(text) else "unclear"


_ADMITS = re.compile(
    r"\b(?:error|fail\w*|unable|unsuccess\w*|can ?not|can't|couldn'?t|could not|didn'?t|did not"
    r"|do(?:es)?n'?t|does not|isn'?t|aren'?t|wasn'?t|is not|are not|was not|were not|won'?t"
    r"|not (?:possible|available|found|enough|valid|allowed|able|sufficient|work\w*|succe\w*)"
    r"|sorry|apolog\w*|issues?|problems?|unfortunately|unavailable|invalid|insufficient|retry|again|instead"
    r"|alternative\w*|another|different\w*|however|but|although|trouble|difficult\w*|mistake\w*"
    r"|incorrect\w*|wrong|discrepanc\w*|unexpected\w*|no (?:results?|such|longer|luck)|missing"
    r"|time[sd]? ?out|correct\w*|fix\w*|adjust\w*|revis\w*|update the|transfer\w*|down)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]{4,}|\d{2,}")
_COMMON = frozenset(
    {
        *("error", "errors", "this", "that", "with", "from", "your", "have", "been", "they"),
        *("them", "then", "than", "when", "what", "which", "will", "would", "could", "should"),
        *("there", "their", "these", "those", "call", "tool", "code", "result", "results"),
    }
)


def answers_error(text: str, error: str) -> bool:
    """Whether a turn reacts to an error: it admits a difficulty or takes up the error's words.

    >>> answers_error("Your seat is booked.", "Error: no seats on flight HAT290")
    False
    >>> answers_error("There is no room on HAT290.", "Error: no seats on flight HAT290")
    True
    """
    if _ADMITS.search(text):
        return True
    named = {word for word in _WORD.findall(error[:_LONGEST].lower()) if word not in _COMMON}
    own = set(_WORD.findall(text.lower()))
    numbers = {word for word in named if word.isdigit()}
    return bool(numbers & own) or len((named - numbers) & own) >= 3
