/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-mount: what is at hand, and what is decided once. */
#include "cmd/mount/slots.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_has_read(void **unused)
{
	struct mount_slots *s = mount_slots_new();

	(void)unused;
	assert_non_null(s);
	assert_false(mount_slots_has_read(s, 0));
	atomic_store(&s->slot[MOUNT_FRONT - 1].reads, 0 + 1);
	assert_true(mount_slots_has_read(s, 0));
	assert_false(mount_slots_has_read(s, 7));

	/* kept ones, which wait or are read */
	atomic_store(&s->kept_most, 3);
	atomic_store(&s->kept[2].member, 7);
	assert_false(mount_slots_has_read(s, 7));
	atomic_store(&s->kept[2].is, MOUNT_KEPT_WAITS);
	assert_true(mount_slots_has_read(s, 7));
	atomic_store(&s->kept[2].is, MOUNT_KEPT_BEGUN);
	assert_true(mount_slots_has_read(s, 7));
	munmap(s, sizeof(*s));
}

/* The first worker that could, or the first answer to INIT. */
static void test_decide(void **unused)
{
	struct mount_slots *s = mount_slots_new();

	(void)unused;
	assert_non_null(s);
	assert_true(mount_slots_decide(s, true));
	assert_true(mount_slots_decide(s, false));
	atomic_store(&s->giver, MOUNT_GIVER_OPEN);
	assert_false(mount_slots_decide(s, false));
	assert_false(mount_slots_decide(s, true));
	munmap(s, sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_has_read),
		cmocka_unit_test(test_decide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
