# SPDX-License-Identifier: MIT
"""Figures of documents: kinds.py is the table of them, draw.py draws, style.py says how it
looks; the others say what is drawn."""
