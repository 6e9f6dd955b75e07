"""The scripts of tools/: each parses, stops at errors, and explains itself."""

import os
import subprocess
import unittest

from tidy_case import ROOT, load_script

SCRIPTS = ("setup", "check", "demo", "two_racks")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=60)


class Scripts(unittest.TestCase):
    def test_parse_and_stop_at_errors(self):
        for name in SCRIPTS:
            path = os.path.join(ROOT, "tools", name)
            with self.subTest(name):
                self.assertTrue(os.access(path, os.X_OK))
                self.assertEqual(run("bash", "-n", path).stdout, "")
                with open(path, encoding="utf-8") as file:
                    self.assertIn("\nset -euo pipefail\n", file.read())

    def test_help_shows_the_usage(self):
        for name in SCRIPTS:
            with self.subTest(name):
                shown = run(os.path.join(ROOT, "tools", name), "--help")
                self.assertEqual(shown.returncode, 0)
                self.assertIn(f"tools/{name}", shown.stdout)

    def test_an_unknown_option_is_refused(self):
        for name in SCRIPTS:
            with self.subTest(name):
                refused = run(os.path.join(ROOT, "tools", name), "--no-such-option")
                self.assertEqual(refused.returncode, 2)
                self.assertIn("--no-such-option", refused.stdout)


class Settings(unittest.TestCase):
    def test_the_readme_holds_the_table_of_today(self):
        checked = run(os.path.join(ROOT, "tools", "settings_table"), "--check")
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_a_row_becomes_a_line(self):
        table = load_script("settings_table").table(
            'STRAIT_SETTING(kInteger, slots, "SLOTS", "NCCL_SLOTS", "4", "1..64", true, "slots "\n'
            '               "of one link")\n')
        self.assertEqual(table.splitlines()[-1],
                         "| `STRAIT_SLOTS`<br>`NCCL_SLOTS` | `4` | 1..64 | Slots of one link. † |")


if __name__ == "__main__":
    unittest.main()
