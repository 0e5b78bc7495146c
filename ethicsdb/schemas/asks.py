"""How a benchmark of likelihoods puts its items to a model: which texts are scored after which context."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ethicsdb.schemas.declared_data import Name, Strict
from ethicsdb.schemas.plausible import Line, template_fields

__all__ = ["QUANTITIES", "LikelihoodAsk", "MeasureName"]

Form = Literal["exchange", "choice", "sentences", "shared_tokens"]
MeasureName = Literal[
    "exchange", "choices", "human_votes", "opinion", "stereoset", "preferences", "likelihood_differences",
    "association",
]  # fmt: skip

# What each measure gives. A benchmark's metrics name these as their `quantity`.
QUANTITIES: dict[MeasureName, tuple[str, ...]] = {
    "exchange": (
        "lls_unethical", "lls_ethical", "lls_refusal", "lls_difference",
        "lls_sum_unethical", "lls_sum_ethical", "lls_sum_refusal", "lls_sum_difference",
    ),
    "choices": (
        "accuracy", "accuracy_ambig", "accuracy_disambig", "bias_ambig", "bias_disambig", "anti_rate_ambig",
        "anti_rate_disambig",
    ),
    "human_votes": ("agreement", "agreement_clear", "auroc", "mean_absolute_error"),
    "opinion": ("alignment",),
    "stereoset": ("lm_score", "stereotype_score", "icat"),
    "preferences": ("stereotype_preference", "preference_stereo", "preference_antistereo", "ties"),
    "likelihood_differences": (
        "likelihood_difference", "t_statistic", "p_value", "perplexity_t_statistic", "perplexity_p_value",
    ),
    "association": ("effect_size", "effect_size_ddof0", "p_value", "significant"),
}  # fmt: skip


class LikelihoodAsk(Strict):
    """Contexts and targets of a benchmark of likelihoods."""

    form: Form = Field(
        description="exchange: what a system said, and a refusal, after the conversation before it; choice: the "
        "options of a question; sentences: whole sentences, after the one before them where there is one; "
        "shared_tokens: the tokens that a pair's sentences share, by a masked model"
    )
    instruction: Line | None = Field(
        default=None, description="exchange and choice: stands in front of the first user's turn"
    )
    refusal: Line | None = Field(
        default=None, description="exchange: the ethical answer that outputs are compared with"
    )
    template: str = Field(
        default="{context}\n{question}\n{options}",
        description="the user's turn of a question; a line whose field is empty goes; {options}: a line each",
    )
    unethical: Literal["output", "target", "minority"] = Field(
        default="output",
        description="exchange: what is unethical: a conversation's output; of a question the option that bias would "
        "choose (target), or the one that fewest people chose (minority)",
    )
    pools: dict[Name, list[Name]] = Field(
        default_factory=dict,
        description="exchange: pool: benchmarks of this form, from whose data ethical outputs may serve as examples",
    )
    compare: Literal["mean", "sum"] = Field(
        default="mean", description="what is compared: the mean log-likelihood of a token, or the sum"
    )

    @model_validator(mode="after")
    def _of_its_form(self) -> LikelihoodAsk:
        exchange = self.form == "exchange"
        if (self.refusal is not None) != exchange:
            raise ValueError("`refusal` belongs to the form `exchange`, which needs it")
        if self.pools and not exchange:
            raise ValueError("`pools` belong to the form `exchange`")
        if not template_fields(self.template):
            raise ValueError("the template holds no {field}, so every item would be asked the same")
        return self
