"""Rules that tell whether an answer refuses, in English, Chinese and Russian."""

from ethicsdb.runners.refusal.classify import RULES_VERSION, Label, Refusal, classify, is_refusal

__all__ = ["RULES_VERSION", "Label", "Refusal", "classify", "is_refusal"]
