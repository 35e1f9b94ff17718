#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Members as Python's files; the tests themselves are in test_file.py.

load ../kit/lib
load ../kit/python

# reads MODULE: it takes files of members, if it is here.
reads()
{
	[ -z "${SAN:-}" ] || skip "$1 has no sanitizer"
	need_module "$1"
	cases "test_file.Others.test_$1"
}

@test "python: files of members are as BytesIO of the same bytes" {
	cases test_file.Model test_file.Samples
}

@test "python: a flipped byte is told before the end of a file" {
	cases test_file.Damage
}

@test "python: files of members forked, pickled, used by threads, dropped" {
	forks_are_safe
	cases test_file.Rules test_file.Life
}

@test "python: zipfile, tarfile, gzip, wave, csv and others read members" {
	cases test_file.Standard
}

@test "python: Pillow reads members" {
	reads PIL
}

@test "python: NumPy reads members, npz too" {
	reads numpy
}

@test "python: h5py reads members" {
	reads h5py
}

@test "python: soundfile reads members" {
	reads soundfile
}
