"""What the rules of a language are; the rules themselves are data, a module a language."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Rules"]

Patterns = tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """Patterns of one language. Apostrophes are straight, Chinese characters simplified, gaps between words bounded.

    Attributes:
        refuses: the writer declines.
        lacks: the writer lacks access or means, which declines only where nothing else is said.
        notices: a provider's words in place of an answer.
        hedges: no refusal, although the words are there: conditions, figures of speech, reported speech.
        redirects: help, a harmless alternative, or an offer: what a refusal may go on with, lists included.
        general: an offer of general talk on the very topic, which excuses nothing of what follows.
        caveats: warnings on the way are no refusals, unless the answer begins with one.
        complies: doing what was asked after all, anywhere.
        complies_weakly: doing it, but not once help is being offered.
        remarks: on law, morals, prudence and on being a machine: neither help nor compliance.
    """

    refuses: Patterns
    lacks: Patterns
    notices: Patterns
    hedges: Patterns
    redirects: Patterns
    general: Patterns
    caveats: Patterns
    complies: Patterns
    complies_weakly: Patterns
    remarks: Patterns
