"""The finder of functions, on the C++ that makes brace counting hard."""

import unittest

import tidy_case  # noqa: F401: makes tidy_rules importable
from tidy_rules.functions import functions_of
from tidy_rules.tree import Source, code_only


def found(text):
    return [(f.name, f.first_line, f.length) for f in functions_of(Source("a.cpp", text))]


class CodeOnly(unittest.TestCase):
    def test_blanks_comments_and_literals_in_place(self):
        text = 'f("a{b", \'{\'); // {\n/* {\n*/ g(R"x(")" {)x");\n'
        code = code_only(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertNotIn("{", code)
        self.assertIn("g(", code)

    def test_digit_separators_open_no_literal(self):
        self.assertIn("{", code_only("int64_t ns = 1'000'000; void f() { }"))

    def test_an_escaped_quote_ends_nothing(self):
        self.assertEqual(code_only(r'"\"{" x').strip(), '"   " x')


class Functions(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(found("int f(int a) {\n  return a;\n}\n"), [("f", 1, 3)])

    def test_signature_over_several_lines_counts(self):
        self.assertEqual(found("int f(int a,\n      int b)\n{\n}\n"), [("f", 1, 4)])

    def test_in_namespaces_classes_and_extern_c(self):
        text = ('namespace a::b {\nextern "C" {\nclass alignas(64) C final : public D<int> {\n'
                " public:\n  void g() const override {\n  }\n  int x_ = 3;\n};\n}\n}\n")
        self.assertEqual(found(text), [("g", 5, 2)])

    def test_inner_blocks_and_lambdas_belong_to_their_function(self):
        text = "void f() {\n  if (x) {\n    run([&](int i) { return i; });\n  }\n}\n"
        self.assertEqual(found(text), [("f", 1, 5)])

    def test_a_lambda_on_its_own_counts(self):
        self.assertEqual(found("const auto f = [](int a) {\n  return a;\n};\n"),
                         [("lambda", 1, 3)])

    def test_values_are_no_functions(self):
        text = ("constexpr std::array<int, 3> kA = {1, 2, 3};\nint b{4};\n"
                "struct Unit { double f; };\nenum class E : int { kA, kB };\n"
                "static const std::vector<F> all = {\n  make({1, 2}),\n};\nvoid f() {}\n")
        self.assertEqual(found(text), [("f", 8, 1)])

    def test_constructor_with_member_braces(self):
        text = "C::C(int a)\n    : a_{a}, b_(2), c_{} {\n  go();\n}\nvoid next() {\n}\n"
        self.assertEqual(found(text), [("C::C", 1, 4), ("next", 5, 2)])

    def test_default_arguments(self):
        text = "void f(Options o = {}, int n = 3) {\n}\ntemplate <class T = int>\nT g() {\n}\n"
        self.assertEqual(found(text), [("f", 1, 2), ("g", 3, 3)])

    def test_operators_and_trailing_returns(self):
        text = ("bool operator==(const A& b) const {\n}\nbool operator<=(A) { }\n"
                "auto f() -> std::map<int, int> {\n}\nexplicit operator bool() const { }\n")
        self.assertEqual([length for _, _, length in found(text)], [2, 1, 2, 1])

    def test_a_function_that_returns_a_struct(self):
        self.assertEqual(found("struct tm now() {\n}\n"), [("now", 1, 2)])

    def test_macros_count_neither_braces_nor_lines(self):
        text = "#define OPEN(x) \\\n  do { \\\n    x\n#define CLOSE }\nvoid f() {\n}\n"
        self.assertEqual(found(text), [("f", 5, 2)])

    def test_braces_in_text_do_not_count(self):
        text = 'void f() {\n  a("}}}"); // }\n  b(R"({)"); c(\'{\');\n}\nvoid g() {}\n'
        self.assertEqual(found(text), [("f", 1, 4), ("g", 5, 1)])

    def test_googletest(self):
        text = "TEST_F(Ring, Turns) {\n}\nINSTANTIATE_TEST_SUITE_P(A, B, Values(C{1}, C{2}));\n"
        self.assertEqual(found(text), [("TEST_F(Ring, Turns)", 1, 2)])

    def test_requires_and_concepts(self):
        text = ("template <class M>\nconcept Machine = requires(M m) {\n  { m.run() };\n};\n"
                "template <class T>\n  requires(sizeof(T) == 2)\nvoid f(T t) {\n}\n")
        self.assertEqual(found(text)[-1], ("f", 5, 4))


if __name__ == "__main__":
    unittest.main()
