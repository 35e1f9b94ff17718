# SPDX-License-Identifier: Apache-2.0
"""Prints a C program that finds each place where the package's view of hpdsl.h
is another than the compiler's."""

import ctypes
import inspect

from hpdsl import _abi, _errors


def check(what, number):
    print(f"\twrong += told({what!r}, (long long)({what}), {number}LL);"
          .replace("'", '"', 2))


def structs():
    return [kind for _, kind in inspect.getmembers(_abi, inspect.isclass)
            if hasattr(kind, "c_name")]


def main():
    print("""#include "hpdsl.h"
#include <stdio.h>
static int told(const char *what, long long c, long long python)
{
	if (c != python)
		printf("%s: %lld in C, %lld in Python\\n", what, c, python);
	return c != python;
}
int main(void)
{
	int wrong = 0;
""")
    for kind in structs():
        check(f"sizeof(struct {kind.c_name})", ctypes.sizeof(kind))
        for name, of in kind._fields_:
            check(f"offsetof(struct {kind.c_name}, {name})",
                  getattr(kind, name).offset)
            check(f"sizeof(((struct {kind.c_name} *)0)->{name})",
                  ctypes.sizeof(of))
    for name in "CORRUPT", "NOTOURS", "TOONEW", "DIFFERS", "CHANGED", \
            "STOPPED", "USAGE":
        code = [c for c, kind in _errors._OURS.items() if kind.__name__.upper()
                == name + "ERROR"]
        check(f"HPDSL_E{name}", code[0])
    for name, number in _abi.ENDS.items():
        check(f"HPDSL_END_{name.upper()}", number)
    for name, number in _abi.CACHES.items():
        check(f"HPDSL_CACHE_{name.upper()}", number)
    check("HPDSL_WEIGHT_ONE", _abi.WEIGHT_ONE)
    check("HPDSL_OPEN_FOREIGN_OWNER", _abi.OPEN_FOREIGN_OWNER)
    check("HPDSL_KIND_DATASET", _abi.KIND_DATASET)
    check("HPDSL_KIND_STAGE", _abi.KIND_STAGE)
    check("HPDSL_SPLIT_ONE", _abi.SPLIT_ONE)
    check("HPDSL_STATE_MAX", _abi.STATE_MAX)
    check("HPDSL_SNAPSHOT_COPY", _abi.SNAPSHOT_COPY)
    check("HPDSL_PATH_MAX", _abi.PATH_MAX)
    check("HPDSL_SNAPSHOT_NEAR", _abi.SNAPSHOT_NEAR)
    check("(int64_t)HPDSL_NO_ENTRY", -1)
    check("HPDSL_BATCH_SIZE", _abi.BATCH_SIZE)
    check("HPDSL_LOADER_MEMORY", _abi.LOADER_MEMORY)
    check("HPDSL_LOADER_MEMORY_LEAST", _abi.LOADER_MEMORY_LEAST)
    check("(int32_t)HPDSL_NO_LABEL", -1)
    print("\treturn wrong != 0;\n}")


if __name__ == "__main__":
    main()
