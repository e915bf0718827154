"""Products that are fused with sums in the text of functions."""

from treesim.engine.frontend.fused_multiply_add import fused

PRODUCT = "  %p = fmul nsz <8 x double> %a, %b"


def test_a_product_that_one_sum_alone_uses_becomes_part_of_it():
    made = fused([PRODUCT, "  %s = fadd nsz <8 x double> %c, %p"])
    assert made == ["  %s = call nsz <8 x double> @llvm.fma.v8f64(<8 x double> %a, <8 x double> %b, <8 x double> %c)"]


def test_differences_turn_a_sign():
    assert fused([PRODUCT, "  %s = fsub nsz <8 x double> %p, %c"]) == [
        "  %s.n = fneg nsz <8 x double> %c",
        "  %s = call nsz <8 x double> @llvm.fma.v8f64(<8 x double> %a, <8 x double> %b, <8 x double> %s.n)",
    ]
    assert fused([PRODUCT, "  %s = fsub nsz <8 x double> %c, %p"]) == [
        "  %s.n = fneg nsz <8 x double> %a",
        "  %s = call nsz <8 x double> @llvm.fma.v8f64(<8 x double> %s.n, <8 x double> %b, <8 x double> %c)",
    ]


def test_of_two_products_the_later_and_on_lanes():
    lines = ["  %p = fmul <8 x double> %a, splat (double 0x4000000000000000)", "  %r = fmul <8 x double> %c, %d"]
    assert fused([*lines, "  %s = fadd <8 x double> %p, %r"]) == [
        lines[0],
        "  %s = call <8 x double> @llvm.fma.v8f64(<8 x double> %c, <8 x double> %d, <8 x double> %p)",
    ]


def test_products_used_twice_or_in_another_block_stay():
    for behind in (
        ["  %s = fadd <8 x double> %p, %c", "  %r = fadd <8 x double> %p, %d"],
        ["  %s = fadd <8 x double> %p, %p"],
        ["  br label %next", "next:", "  %s = fadd <8 x double> %p, %c"],
        ["  store <8 x double> %p, ptr %m", "  %s = fadd <8 x double> %p, %c"],
    ):
        assert fused([PRODUCT, *behind]) == [PRODUCT, *behind]


def test_single_numbers_stay_apart():
    lines = ["  %p = fmul nsz double %a, %b", "  %s = fadd nsz double %c, %p"]
    assert fused(lines) == lines
