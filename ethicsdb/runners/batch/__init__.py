"""Asking through OpenAI's Batch API: cheaper and later, in steps of which each can be resumed."""
