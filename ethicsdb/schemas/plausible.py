"""Types of the texts in declarations that have a form: each refuses what can't be meant, and says what was expected."""

from __future__ import annotations

import codecs
import re
from string import Formatter
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

__all__ = [
    "Encoding",
    "Endpoint",
    "KeyVariable",
    "Language",
    "Line",
    "Sha256",
    "Url",
    "endpoint_fault",
    "template_fields",
]

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*")
# What people write for a language that is none of its codes, none of which is another language's.
_SLIPS = {
    "cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "jp": "ja", "kz": "kk", "ua": "uk", "eng": "en", "rus": "ru",
    "zho": "zh", "chi": "zh", "english": "en", "russian": "ru", "chinese": "zh", "kazakh": "kk", "german": "de",
    "french": "fr", "spanish": "es", "japanese": "ja", "korean": "ko", "arabic": "ar",
}  # fmt: skip
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def _line(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _language(value: str) -> str:
    meant = _SLIPS.get(value.casefold())
    if meant or not _LANGUAGE.fullmatch(value):
        hint = f"; did you mean `{meant}`?" if meant else ", such as en, zh, ru, zh-Hant or pt-BR"
        raise ValueError(f"`{value}` is no BCP 47 language code{hint}")
    return value


def _encoding(value: str) -> str:
    try:
        known = codecs.lookup(value)._is_text_encoding
    except (LookupError, ValueError):
        known = False
    if not known:
        raise ValueError(
            f"`{value}` is no text encoding that Python knows; usual ones are utf-8, utf-16, cp1251, gb18030"
        )
    return value


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        sound = False
    if not sound or " " in value:
        raise ValueError("is no web address; expected one that begins with https://")
    return value


def endpoint_fault(url: str) -> str | None:
    """What is wrong with an endpoint's URL, without repeating a URL that may hold a secret; None for a sound one."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket or a port that is none
        known, parts = False, urlsplit("")
    # First, and without the URL, which would show the secret.
    if "@" in url or parts.query or parts.fragment:
        return "An endpoint's URL must hold no user, password or key; put the key in the environment."
    return None if known else f"`{url}` is no endpoint; expected a URL such as http://127.0.0.1:8080/v1"


def _endpoint(value: str) -> str:
    fault = endpoint_fault(value)
    if fault:
        raise ValueError(fault)
    return value


def _variable(value: str) -> str:
    keyish = len(value) >= 20 and "_" not in value
    if keyish or not _VARIABLE.fullmatch(value):
        # Without the value, which may be the key itself.
        raise ValueError(
            "must be the name of an environment variable (capital letters, digits, `_`), such as MY_API_KEY; "
            "never write the key itself into a file"
        )
    return value


def template_fields(template: str) -> list[str]:
    """Names in the braces of a template. Raises ValueError where the braces do not match."""
    try:
        return [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise ValueError(f"its braces do not match ({error}); write {{{{ and }}}} for plain ones") from error


Line = Annotated[str, AfterValidator(_line)]
Language = Annotated[str, AfterValidator(_language)]
Encoding = Annotated[str, AfterValidator(_encoding)]
Url = Annotated[str, AfterValidator(_url)]
Endpoint = Annotated[str, AfterValidator(_endpoint)]
KeyVariable = Annotated[str, AfterValidator(_variable)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
