/*
 * symbols_demangle_test.c - names as perf 6.1 of Debian shows them: the expected ones were printed
 * by perf script for a library with functions of these names.
 */
#include "symbols_example.h"

static void assert_shown(const char *name, const char *expected)
{
	char *shown = tl_demangle(name);

	if (expected)
		assert_non_null(shown);
	if (expected)
		assert_string_equal(shown, expected);
	else
		assert_null(shown);
	free(shown);
}

static void cxx_is_shown_without_parameters(void **state)
{
	(void)state;
	assert_shown("_ZN12_GLOBAL__N_14leafEi", "(anonymous namespace)::leaf");
	assert_shown("_ZNSt17_Function_handlerIFvvEZ8backwardiEUlvE_E9_M_invokeERKSt9_Any_data",
		     "std::_Function_handler<void (), backward(int)::{lambda()#1}>::_M_invoke");
	assert_shown("_ZplRK1AS1_", "operator+");
	assert_shown("_ZN1AcvbEv", "A::operator bool");
	assert_shown("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
		     "std::operator<< <std::char_traits<char> >");
	assert_shown("_ZTv0_n24_NSoD1Ev",
		     "virtual thunk to std::basic_ostream<char, std::char_traits<char> "
		     ">::~basic_ostream()");
	assert_shown("_ZN3fooILi5EE3barIcEEvv", "foo<5>::bar<char>");
	assert_shown("_Znwm", "operator new");
}

static void suffixes_of_the_compiler_are_not_shown(void **state)
{
	(void)state;
	assert_shown("_ZN3foo3barEv.cold", "foo::bar");
	assert_shown("_ZN3foo3barEv.constprop.0", "foo::bar");
}

static void rust_is_shown_without_its_hash(void **state)
{
	(void)state;
	assert_shown("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	assert_shown("_ZN4core3str21_$LT$impl$u20$str$GT$5parse17h1c0e12fc36043d1bE",
		     "core::str::<impl str>::parse");
	assert_shown("_RNvNtCsgvbsrvnw3yD_9hashbrown3raw23bucket_mask_to_capacity",
		     "hashbrown::raw::bucket_mask_to_capacity");
	assert_shown("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		     "3bar17h930b740aa94f1d3aE",
		     "<Test + 'static as foo::Bar<Test>>::bar");
}

static void what_only_looks_like_a_hash_stays(void **state)
{
	(void)state;
	assert_shown("_ZN4core3fmt9Formatter3pad17h0000000000000000E",
		     "core::fmt::Formatter::pad::h0000000000000000");
}

static void ocaml_is_shown_with_dots(void **state)
{
	(void)state;
	assert_shown("camlStdlib__List__map_123", "Stdlib.List.map_123");
	assert_shown("camlFoo$27bar__baz", "Foo'bar.baz");
	assert_shown("camlFoo__bar$2b$2b_12", "Foo.bar++_12");
	assert_shown("camlfoo__x", NULL);
}

static void java_is_shown_with_dots_and_types(void **state)
{
	(void)state;
	assert_shown("Ljava/lang/StringLatin1;equals([B[B)Z",
		     "java.lang.StringLatin1.equals(byte[], byte[])");
	assert_shown("Ljava/util/Map;put(Ljava/lang/Object;ILjava/lang/String;)V",
		     "java.util.Map.put(java.lang.Object, int, java.lang.String)");
	assert_shown("Lcom/foo/Bar;baz(JDFSZCB[[I)[Ljava/lang/Object;",
		     "com.foo.Bar.baz(long, double, float, short, boolean, char, byte, int[][])");
	assert_shown("Lcom/Foo$Bar;<init>(V)V", "com.Foo$Bar<init>(void)");
	assert_shown("LMain;f(Lx/Y;I", NULL);
	assert_shown("Lambda(x)", NULL);
}

static void other_names_are_left_alone(void **state)
{
	(void)state;
	assert_shown("", NULL);
	assert_shown("main", NULL);
	assert_shown("_Z", NULL);
	assert_shown("__libc_start_main@@GLIBC_2.34", NULL);
	assert_shown("LazyCompile:~foo file.js:1", NULL);
	assert_shown("_RINvNtNtCs1234_1m5inner3hotmE", NULL);
	assert_shown("void foo(int)", NULL);
}

/* f<A, B<A, A>, B<B<A, A>, B<A, A>>, ...>: each argument is twice the one before. */
static void a_name_that_explodes_is_given_up(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct tl_text name = { 0 };

	(void)state;
	tl_text_puts(&name, "_Z1fI1A1BIS0_S0_E");
	for (int i = 2; i < 34; i++)
		tl_text_printf(&name, "S1_IS%c_S%c_E", digits[i], digits[i]);
	tl_text_puts(&name, "Evv");
	assert_shown(name.data, NULL);
	tl_text_release(&name);
	assert_shown("_Z1fI1A1BIS0_S0_ES1_IS2_S2_EEvv", "f<A, B<A, A>, B<B<A, A>, B<A, A> > >");
}

static void a_name_that_is_too_long_is_left_alone(void **state)
{
	char *name = malloc(100002);

	(void)state;
	assert_non_null(name);
	memset(name, 'a', 100001);
	memcpy(name, "_ZN5", 4);
	name[100001] = '\0';
	assert_shown(name, NULL);
	free(name);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx_is_shown_without_parameters),
		cmocka_unit_test(suffixes_of_the_compiler_are_not_shown),
		cmocka_unit_test(rust_is_shown_without_its_hash),
		cmocka_unit_test(what_only_looks_like_a_hash_stays),
		cmocka_unit_test(ocaml_is_shown_with_dots),
		cmocka_unit_test(java_is_shown_with_dots_and_types),
		cmocka_unit_test(other_names_are_left_alone),
		cmocka_unit_test(a_name_that_explodes_is_given_up),
		cmocka_unit_test(a_name_that_is_too_long_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
