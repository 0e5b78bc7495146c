"""Which tokens are the target's, what stands first, how turns become text and what an over-long context loses."""

from __future__ import annotations

from typing import Any

import pytest
from likelihood_models import CHATML, STRICT, byte_pairs, pieces

from ethicsdb.runners.likelihood.base import BOUNDARY_UNSTABLE, CONTEXT_TRUNCATED, Context, Request, TargetScore, Turn
from ethicsdb.runners.likelihood.encoding import CausalEncoder, Encoded
from ethicsdb.runners.likelihood.rendering import PLAIN, Renderer
from ethicsdb.runners.likelihood.tokens import Tokens
from ethicsdb.schemas.errors import ModelError

LONG = 10_000
HELLO = (Turn("user", "hello"),)


def encoder(tokenizer: Any, *, limit: int = LONG, bos: str = "auto", model_type: str = "") -> CausalEncoder:
    return CausalEncoder(Tokens(tokenizer, bos, model_type), Renderer(tokenizer, tokenizer.chat_template), limit)


def encoded(made: CausalEncoder, context: Context, target: str) -> Encoded:
    (found,) = made.encode(Request("1", context, (target,)))
    assert isinstance(found, Encoded), found
    return found


def outcome(made: CausalEncoder, context: Context, target: str) -> str | None:
    (found,) = made.encode(Request("1", context, (target,)))
    assert isinstance(found, TargetScore)
    assert (found.logprob_sum, found.logprob_mean, found.tokens) == (None, None, 0)
    return found.error


@pytest.mark.parametrize(
    ("context", "target", "counted"),
    [
        ("Answer: ", "yes", " yes"),
        ("I do", "n't know", " don't know"),
        ("See http:", "//example.org", "://example.org"),
        ("\n你", "好，请问", "你好，请问"),
        ("\n对不", "起，我", "对不起，我"),
    ],
)
def test_a_target_that_melts_into_the_context_keeps_every_token_with_a_character_of_it(
    context: str, target: str, counted: str
) -> None:
    tokenizer = byte_pairs(size=700)
    found = encoded(encoder(tokenizer), context, target)
    assert tokenizer.decode(found.ids) == context + target
    assert tokenizer.decode(found.ids[found.start :]) == counted  # the first token reaches over the join
    assert found.flags == {BOUNDARY_UNSTABLE}


def test_a_target_on_its_own_tokens_is_stable() -> None:
    tokenizer = byte_pairs(size=700)
    for context, target in (("Answer:", " yes"), ("The answer is yes.", "\nAnswer"), ("请问", "👍🏽"), ("a\n", "b")):
        found = encoded(encoder(tokenizer), context, target)
        assert tokenizer.decode(found.ids[found.start :]) == target
        assert found.flags == frozenset()


def test_half_a_character_belongs_to_whoever_has_the_character() -> None:
    tokenizer = byte_pairs(size=300)  # no Chinese character is one token
    found = encoded(encoder(tokenizer), "你", "好")
    assert (len(found.ids), found.start) == (6, 3)
    tokenizer = pieces()  # bytes of unknown characters, after <s> and the space that stands first
    found = encoded(encoder(tokenizer), "你 𠮷", "𠮷")
    assert (len(found.ids) - found.start, tokenizer.decode(found.ids[found.start :])) == (4, "𠮷")


def test_spaces_at_the_join_are_not_lost_to_trimmed_offsets() -> None:
    tokenizer = byte_pairs()
    found = encoded(encoder(tokenizer), "Answer:", "   yes")
    assert tokenizer.decode(found.ids[found.start :]) == "   yes"
    found = encoded(encoder(tokenizer), "Answer:", " ")
    assert tokenizer.decode(found.ids[found.start :]) == " "


def test_pieces_of_words_count_from_the_space_before_them() -> None:
    tokenizer = pieces()
    found = encoded(encoder(tokenizer), "Answer:", " yes")
    assert found.flags == frozenset()
    assert tokenizer.convert_ids_to_tokens(found.ids[found.start :])[0].startswith("▁")


def test_empty_targets_are_an_outcome() -> None:
    made = encoder(byte_pairs())
    assert outcome(made, "Answer:", "") == "empty_target"
    assert outcome(made, HELLO, "") == "empty_target"


def test_lone_surrogates_are_an_outcome_and_do_not_stop_the_others() -> None:
    made = encoder(byte_pairs())
    first, second = made.encode(Request("1", "Answer:", ("\ud83d", " yes")))
    assert isinstance(first, TargetScore)
    assert first.error == "lone_surrogate"
    assert isinstance(second, Encoded)
    assert outcome(made, "\udc00Answer:", " yes") == "lone_surrogate"
    assert outcome(made, (Turn("user", "\udc00"),), " yes") == "lone_surrogate"


def test_text_stays_what_it_is() -> None:
    tokenizer = byte_pairs()
    for text in (" \x00 yes", " \u202eمرحبا", " e\u0301 é", " 👩‍👩‍👧"):
        found = encoded(encoder(tokenizer), "Answer:" + text, text)
        assert tokenizer.decode(found.ids) == "Answer:" + text + text


@pytest.mark.parametrize(
    ("bos", "policy", "model_type", "lead"),
    [
        (True, "auto", "llama", [0]),
        (False, "auto", "llama", []),
        (False, "auto", "gemma2", [0]),
        (False, "always", "llama", [0]),
        (True, "never", "llama", []),
        (True, "always", "gemma", [0]),
    ],
)
def test_exactly_one_bos_or_none(bos: bool, policy: str, model_type: str, lead: list[int]) -> None:
    tokenizer = byte_pairs(bos=bos)
    made = encoder(tokenizer, bos=policy, model_type=model_type)
    found = encoded(made, "The answer is", " yes")
    plain = tokenizer("The answer is yes", add_special_tokens=False)["input_ids"]
    assert found.ids == lead + plain
    assert made.tokens.prefix == tuple(lead)


def test_a_bos_that_text_or_template_holds_is_not_doubled() -> None:
    tokenizer = byte_pairs(bos=True, template=STRICT)
    made = encoder(tokenizer)
    assert encoded(made, HELLO, "yes").ids.count(0) == 1
    assert encoded(made, "<s>The answer is", " yes").ids.count(0) == 1
    assert encoded(made, "The answer is", " yes").ids.count(0) == 1
    assert tokenizer("<s>The")["input_ids"].count(0) == 2  # what the tokenizer itself would do


def test_a_model_without_bos_starts_an_empty_context_from_its_separator() -> None:
    tokenizer = byte_pairs()
    found = encoded(encoder(tokenizer), "", "The answer")
    assert (found.ids[0], found.start) == (0, 1)
    tokenizer.bos_token = None
    assert encoded(encoder(tokenizer), "", "The answer").ids[0] == 1
    assert encoded(encoder(tokenizer), (), "The answer").ids[0] == 1
    tokenizer.eos_token = None
    assert outcome(encoder(tokenizer), "", "The answer") == "no_context"
    with pytest.raises(ModelError, match="beginning-of-sequence"):
        encoder(tokenizer, bos="always")


def test_a_context_that_melts_whole_starts_from_the_separator_too() -> None:
    tokenizer = byte_pairs(size=700)
    found = encoded(encoder(tokenizer), ":", "//example.org")
    assert (found.ids[0], found.start, found.flags) == (0, 1, {BOUNDARY_UNSTABLE})


def test_a_chat_context_ends_where_the_answer_begins() -> None:
    tokenizer = byte_pairs(template=CHATML)
    found = encoded(encoder(tokenizer), (Turn("system", "Be kind."), *HELLO), "Yes!")
    assert tokenizer.decode(found.ids) == (
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nYes!"
    )
    assert tokenizer.decode(found.ids[found.start :]) == "Yes!"
    assert found.flags == frozenset()
    assert encoder(tokenizer).rendered((Turn("system", "Be kind."), *HELLO)) == tokenizer.decode(found.ids)[:-4]


def test_what_a_template_writes_before_an_answer_is_context() -> None:
    space = encoded(encoder(byte_pairs(bos=True, template=STRICT)), HELLO, "Yes!")
    assert space.flags == frozenset()  # the template's own space joins every answer, which is no fault of this one
    tokenizer = pieces(template=STRICT)
    found = encoded(encoder(tokenizer), HELLO, "yes")
    assert tokenizer.convert_ids_to_tokens(found.ids[found.start :]) == tokenizer.tokenize("yes")  # `▁yes`, not `yes`
    think = CHATML.replace("+ message['content']", "+ ('<think></think>' if loop.last else '') + message['content']")
    tokenizer = byte_pairs(template=think)
    found = encoded(encoder(tokenizer), HELLO, "yes")
    assert tokenizer.decode(found.ids[: found.start]).endswith("<|im_start|>assistant\n<think></think>")


def test_a_template_that_hides_answers_falls_back_to_its_generation_prompt() -> None:
    hides = "{% for m in messages %}{{ m['role'] if m['role'] == 'assistant' else m['content'] }}{% endfor %}>"
    tokenizer = byte_pairs(template=hides)
    assert tokenizer.decode(encoded(encoder(tokenizer), HELLO, "yes").ids) == "hello>yes"


def test_turns_that_a_template_refuses_are_an_outcome() -> None:
    made = encoder(byte_pairs(template=STRICT))
    (found,) = made.encode(Request("1", (Turn("system", "Be kind."), *HELLO), ("yes",)))
    assert isinstance(found, TargetScore)
    assert (found.error, found.detail) == ("template_refused", "Conversation roles must alternate user/assistant")
    assert made.rendered((Turn("system", "Be kind."), *HELLO)) is None


def test_plain_turns_name_their_roles() -> None:
    tokenizer = byte_pairs()
    found = encoded(encoder(tokenizer), (Turn("system", "Be kind."), *HELLO), "Yes!")
    assert PLAIN == "plain-1"
    assert tokenizer.decode(found.ids) == "System:\nBe kind.\n\nUser:\nhello\n\nAssistant:\nYes!"
    assert found.flags == frozenset()


def test_a_text_is_never_put_into_a_template() -> None:
    tokenizer = byte_pairs(template=CHATML)
    assert tokenizer.decode(encoded(encoder(tokenizer), "hello", " you").ids) == "hello you"


def test_a_template_that_prints_the_date_prints_a_fixed_one() -> None:
    dated = "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}|{{ strftime_now('%Y-%m-%d') }}{% endif %}\n"
    tokenizer = byte_pairs(template=dated + CHATML)
    text = tokenizer.decode(encoded(encoder(tokenizer), HELLO, "yes").ids)
    assert text.startswith("26 Jul 2024|2024-07-26<|im_start|>user")


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(ValueError, match="human"):
        Turn("human", "hello")


TURNS = (
    Turn("system", "Be kind."),
    *(Turn(("user", "assistant")[at % 2], f"{at} I don't know, I can't say.") for at in range(9)),
)


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("target", ["yes", "I'm sorry, I cannot fulfill this request."])
def test_the_fewest_oldest_turns_go_and_the_system_turn_stays(bos: bool, target: str) -> None:
    tokenizer = byte_pairs(bos=bos, template=CHATML)
    everything = encoded(encoder(tokenizer), TURNS, target)
    assert everything.flags == frozenset()
    for limit in range(len(everything.ids) - 1, 60, -7):
        found = encoded(encoder(tokenizer, limit=limit), TURNS, target)
        fitting = [
            ids
            for dropped in range(9)
            if len(ids := encoded(encoder(tokenizer), TURNS[:1] + TURNS[1 + dropped :], target).ids) - 1 <= limit
        ]
        assert found.ids == fitting[0]
        assert found.flags == ({CONTEXT_TRUNCATED} if fitting[0] != everything.ids else set())
        assert tokenizer.decode(found.ids[found.start :]) == target


def test_turns_that_can_not_go_alone_go_together() -> None:
    tokenizer = byte_pairs(bos=True, template=STRICT)
    turns = TURNS[1:]
    everything = encoded(encoder(tokenizer), turns, "yes")
    found = encoded(encoder(tokenizer, limit=len(everything.ids) - 2), turns, "yes")
    assert found.ids == encoded(encoder(tokenizer), turns[2:], "yes").ids
    assert found.flags == {CONTEXT_TRUNCATED}


@pytest.mark.parametrize("bos", [False, True])
def test_then_the_oldest_tokens_go_but_not_the_bos(bos: bool) -> None:
    tokenizer = byte_pairs(bos=bos, template=CHATML)
    whole = encoded(encoder(tokenizer), TURNS[:1] + TURNS[-1:], "yes")
    limit = 20
    found = encoded(encoder(tokenizer, limit=limit), TURNS, "yes")
    assert len(found.ids) == limit + 1  # the last token is only predicted
    assert found.ids == [0] * bos + whole.ids[-(limit + 1 - bos) :]
    assert found.ids[found.start :] == whole.ids[whole.start :]
    text = encoded(encoder(tokenizer, limit=limit), "The answer is yes." * 20, " yes")
    assert (len(text.ids), text.flags) == (limit + 1, {CONTEXT_TRUNCATED})


@pytest.mark.parametrize("bos", [False, True])
def test_a_target_is_never_cut(bos: bool) -> None:
    tokenizer = byte_pairs(bos=bos)
    target = " yes" * 20
    size = len(tokenizer(target, add_special_tokens=False)["input_ids"])
    found = encoded(encoder(tokenizer, limit=size), "The answer is", target)
    assert (found.start, len(found.ids)) == (1, size + 1)  # one token of context is left, the BOS where there is one
    assert found.ids[0] == (0 if bos else tokenizer("The answer is")["input_ids"][-1])
    assert outcome(encoder(tokenizer, limit=size - 1), "The answer is", target) == "target_too_long"


def test_each_target_makes_its_own_room() -> None:
    tokenizer = byte_pairs(template=CHATML)
    made = encoder(tokenizer, limit=80)
    short, long = "yes", "I'm sorry, I cannot fulfill this request. Please respond."
    together = made.encode(Request("1", TURNS, (short, long)))
    assert together == [encoded(made, TURNS, short), encoded(made, TURNS, long)]
    assert isinstance(together[0], Encoded)
    assert isinstance(together[1], Encoded)
    assert together[0].context != together[1].context
