# SPDX-License-Identifier: MIT
"""Figures of documents: kinds.py says what is drawn, draw.py draws it, style.py says how it looks."""
