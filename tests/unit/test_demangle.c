/* SPDX-License-Identifier: MIT
 * Names of C++ and Rust, short and full. The full ones are those of c++filt,
 * without hashes and types of numbers. */
#define _GNU_SOURCE
#include "check.h"

#include "native/debug/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL: stays as it is. */
struct name {
    const char *raw, *full, *brief;
};

#define SAME(raw, demangled)                                                                       \
    {                                                                                              \
        raw, demangled, demangled                                                                  \
    }

static const struct name names[] = {
    {"main", NULL, NULL},
    {"", NULL, NULL},
    {"_start", NULL, NULL},
    {"_Znonsense", NULL, NULL},
    {"[libfoo.so]", NULL, NULL},
    {"malloc@plt", NULL, NULL},
    {"work.part.0", NULL, "work"},
    {"work.constprop.0.isra.3", NULL, "work"},
    {"main.cold", NULL, "main"},
    {"_ZN5shape4fillEi", "shape::fill(int)", "shape::fill"},
    {"_ZN5shape4fillEi.cold", "shape::fill(int) [clone .cold]", "shape::fill"},
    {"_ZNSt6vectorIiSaIiEE9push_backEOi",
     "std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"},
    {"_ZNKSt8functionIFiiEEclEi", "std::function<int (int)>::operator()(int) const",
     "std::function::operator()"},
    {"_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_",
     "std::remove_reference<int&>::type&& std::move<int&>(int&)", "std::move"},
    {"_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()", "(anonymous namespace)::work"},
    {"_ZZ4fillivENKUlicE_clEic",
     "fill(int, void)::{lambda(int, char)#1}::operator()(int, char) const",
     "fill::{lambda#1}::operator()"},
    {"_ZZN1A1fEvENKUlT_E_clIiEEDaS0_",
     "auto A::f()::{lambda(auto:1)#1}::operator()<int>(int) const", "A::f::{lambda#1}::operator()"},
    {"_ZN1AlsIiEERS_i", "A& A::operator<< <int>(int)", "A::operator<<"},
    {"_ZN1AltERKS_", "A::operator<(A const&)", "A::operator<"},
    {"_ZN1AptEv", "A::operator->()", "A::operator->"},
    {"_ZN1AixEi", "A::operator[](int)", "A::operator[]"},
    {"_ZN1AcvbEv", "A::operator bool()", "A::operator bool"},
    {"_ZNK1AcvT_IiEEv", "A::operator int<int>() const", "A::operator int"},
    {"_ZN1AcvSt6vectorIiSaIiEEEv", "A::operator std::vector<int, std::allocator<int> >()",
     "A::operator std::vector"},
    {"_ZN1AnwEm", "A::operator new(unsigned long)", "A::operator new"},
    {"_ZN1AdaEPv", "A::operator delete[](void*)", "A::operator delete[]"},
    {"_Zli2_sy", "operator\"\" _s(unsigned long long)", "operator\"\" _s"},
    {"_ZN1AC1Ei", "A::A(int)", "A::A"},
    {"_ZN1AD0Ev", "A::~A()", "A::~A"},
    {"_ZThn8_N1A1fEv", "non-virtual thunk to A::f()", "non-virtual thunk to A::f"},
    {"_ZN1A4nameB5cxx11Ev", "A::name[abi:cxx11]()", "A::name"},
    {"_Z1fIXgtLi3ELi2EEEvv", "void f<((3)>(2))>()", "f"},
    {"_ZNK1A1fEv", "A::f() const", "A::f"},
    {"_ZNKR1A1fEv", "A::f() const &", "A::f"},
    {"_Z3addIiiEDTplfp_fp0_ET_T0_", "decltype ({parm#1}+{parm#2}) add<int, int>(int, int)", "add"},

    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
     "core::fmt::Formatter::pad"},
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdeE", NULL, NULL}, /* the hash is too short */
    {"_ZN79_$LT$hashbrown..raw..RawTable$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop"
     "17hcf2e0f2a9b09f4b9E",
     "<hashbrown::raw::RawTable<T,A> as core::ops::drop::Drop>::drop",
     "<hashbrown::raw::RawTable as core::ops::drop::Drop>::drop"},
    {"_ZN4core3ptr7mut_ptr31_$LT$impl$u20$$BP$mut$u20$T$GT$7copy_to17ha3dc1f379a4ba7a3E",
     "core::ptr::mut_ptr::<impl *mut T>::copy_to", "core::ptr::mut_ptr::<impl *mut T>::copy_to"},
    {"_ZN24_$LT$demo..cold..Ice$GT$4melt17h0123456789abcdefE", "<demo::cold::Ice>::melt",
     "<demo::cold::Ice>::melt"},
    {"_ZN4demo4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "demo::main::{{closure}}",
     "demo::main::{{closure}}"},

    {"_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"},
    {"_RNvMs7_NtCsgEmfK2I1SDS_4core3numy11rotate_left", "<u64>::rotate_left", "<u64>::rotate_left"},
    {"_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
     "std::mem::align_of::<std::mem::Discriminant>", "std::mem::align_of"},
    {"_RNCNvC4demo4mains_0B3_", "demo::main::{closure#1}", "demo::main::{closure#1}"},
    {"_RNSC4demo11vtable_shim.llvm.1234", "demo::{shim:vtable_shim#0}",
     "demo::{shim:vtable_shim#0}"},
    {"_RNvXs2_C4demoNtB5_5ShapeNtNtC4core3fmt5Debug3fmt", "<demo::Shape as core::fmt::Debug>::fmt",
     "<demo::Shape as core::fmt::Debug>::fmt"},
    {"_RINvC4demo1fAhj8_E", "demo::f::<[u8; 8]>", "demo::f"},
    {"_RINvC4demo1fTRelEE", "demo::f::<(&str, i32)>", "demo::f"},
    {"_RINvC4demo1fFUKCPhEuE", "demo::f::<unsafe extern \"C\" fn(*const u8)>", "demo::f"},
    {"_RINvC4demo1fFG_RL0_hEQL0_hE", "demo::f::<for<'a> fn(&'a u8) -> &'a mut u8>", "demo::f"},
    {"_RINvC4demo1fRL0_hE", NULL, NULL}, /* a lifetime that nothing binds */
    {"_RINvC4demo1fFG_RL0_hEhE", "demo::f::<for<'a> fn(&'a u8) -> u8>", "demo::f"},
    {"_RINvC4demo1fDNtC4core4Itemp4ItemhEL_E", "demo::f::<dyn core::Item<Item = u8>>", "demo::f"},
    {"_RINvC4demo1fKb1_Kln5_Kc41_E", "demo::f::<true, -5, 'A'>", "demo::f"},
    {"_RNvB_3bar", NULL, NULL},     /* refers to itself */
    {"_RNvC4demo", NULL, NULL},     /* cut */
    {"_RNvC9demo3bar", NULL, NULL}, /* longer than the name */
    SAME("__pyx_pw_2cy_1both", "cy.both"),
    SAME("__pyx_pw_2cy_3foo_bar", "cy.foo_bar"),
    SAME("__pyx_pw_3pkg_6my_mod_5ab_cd", "pkg.my_mod.ab_cd"),
    SAME("__pyx_pw_3pkg_6my_mod_2Py_3meth_od", "pkg.my_mod.Py.meth_od"),
    SAME("__pyx_pw_3pkg_6my_mod_3Ext_4prop_1__get__", "pkg.my_mod.Ext.prop.__get__"),
    SAME("__pyx_pw_3pkg_6my_mod_5outer_1inner_f", "pkg.my_mod.outer.inner_f"),
    SAME("__pyx_fuse_1__pyx_pw_3pkg_6my_mod_17fu", "pkg.my_mod.fu"),
    SAME("__pyx_pf_3pkg_6my_mod_2Py_2meth_od", "pkg.my_mod.Py.meth_od"),
    SAME("__pyx_pf_2cy_3Ext___init__", "cy.Ext.__init__"),
    SAME("__pyx_pf_2cy_2ab_cd", NULL), /* ab.cd or ab_cd */
    SAME("__pyx_f_2cy_in_ner", "cy.in_ner"),
    SAME("__pyx_f_3pkg_6my_mod_3Ext_fast", "pkg.my_mod.Ext.fast"),
    SAME("__pyx_f_2cy_4fast", NULL),
    SAME("__pyx_pw_2cy", NULL),
    SAME("__pyx_pw_2cy_", NULL),
    SAME("__pyx_pw_2cy_1", NULL),
    SAME("__pyx_pw_99999999999999999999cy_1f", NULL),
    {"__pyx_pw_2cy_1both.cold", "cy.both.cold", "cy.both"},
};

static void check(const char *raw, enum dw_demangle how, const char *expected)
{
    char *name = dw_demangle(raw, how);
    if (!expected && name)
        fail_msg("%s became %s", raw, name);
    if (expected && (!name || strcmp(name, expected) != 0))
        fail_msg("%s became %s, not %s", raw, name ? name : "nothing", expected);
    free(name);
}

static void test_brackets_inside_of_brackets(void **state)
{
    (void)state;
    static char name[1 << 20];
    memset(name, '(', sizeof name - 1);
    name[0] = 'f';
    check(name, DW_DEMANGLE_SHORT, name);
}

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        check(names[i].raw, DW_DEMANGLE_FULL, names[i].full);
        check(names[i].raw, DW_DEMANGLE_SHORT, names[i].brief);
        check(names[i].raw, DW_DEMANGLE_NONE, NULL);
    }
}

/* What debug information has where there is no name for the linker. */
static void test_names_of_the_source_are_shortened_too(void **state)
{
    (void)state;
    check("std::__sort<int*, shapes::fill(int)::<lambda(int, int)> >", DW_DEMANGLE_SHORT,
          "std::__sort");
    check("shapes::fill(int)::{lambda}::operator()", DW_DEMANGLE_SHORT,
          "shapes::fill::{lambda}::operator()");
    check("shapes::(anonymous namespace)::Hidden::operator()", DW_DEMANGLE_SHORT,
          "shapes::(anonymous namespace)::Hidden::operator()");
    check("f<int", DW_DEMANGLE_SHORT, "f<int"); /* cannot be followed */
}

static void test_any_cut_and_change_is_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t size = strlen(names[i].raw);
        for (size_t at = 0; at < size; at++) {
            char *copy = strdup(names[i].raw);
            for (int c = ' '; c < 127; c++) {
                copy[at] = (char)c;
                free(dw_demangle(copy, DW_DEMANGLE_SHORT));
            }
            copy[at] = 0;
            free(dw_demangle(copy, DW_DEMANGLE_SHORT));
            free(copy);
        }
    }
}

/* Each part refers to the one before twice. */
static void test_references_that_multiply_have_an_end(void **state)
{
    (void)state;
    char bomb[2048] = "_RINvC4demo1f";
    for (int i = 0; i < 60; i++) {
        char part[32];
        snprintf(part, sizeof part, "TB%c_B%c_E", i < 10 ? '0' + i : 'a', i < 10 ? '0' + i : 'a');
        strcat(bomb, part);
    }
    strcat(bomb, "E");
    check(bomb, DW_DEMANGLE_SHORT, NULL);
    char deep[4096] = "_RINvC4demo1f";
    memset(deep + strlen(deep), 'R', 3000);
    check(deep, DW_DEMANGLE_SHORT, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_brackets_inside_of_brackets),
        cmocka_unit_test(test_names_of_the_source_are_shortened_too),
        cmocka_unit_test(test_any_cut_and_change_is_survived),
        cmocka_unit_test(test_references_that_multiply_have_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
