"""Feeds a rule small trees of files, and the loader for scripts without a .py."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from tidy_rules.tree import Tree  # noqa: E402


def load_script(name):
    """tools/NAME as a module."""
    path = os.path.join(ROOT, "tools", name)
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class TidyCase(unittest.TestCase):
    def findings(self, rule, files):
        return list(rule(Tree(files)))

    def assert_found(self, rule, files, *expected):
        """Each expected is (path, line, rule name)."""
        found = [(f.path, f.line, f.rule) for f in self.findings(rule, files)]
        self.assertEqual(found, list(expected))

    def assert_clean(self, rule, files):
        self.assert_found(rule, files)
