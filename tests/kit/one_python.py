#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One interpreter for the programs of a test file: what takes long to import is
imported once, and each program is a child of it.

    one_python.py keep SOCKET MODULE..     imports them, once it can be asked
    one_python.py run SOCKET PROGRAM..     as `python3 PROGRAM..`: a script, - or -m

A program has the caller's folder, environment and standard files, and the
caller ends as the program does; what hangs says where, and ends.
"""
import ctypes
import faulthandler
import gc
import importlib
import os
import pickle
import resource
import runpy
import signal
import socket
import sys


def at_hand(path):
    """Its last name, from its folder: a socket's name must be short."""
    os.chdir(os.path.dirname(path))
    return os.path.basename(path)


def keep(path, modules):
    """Returns in children alone, with the words of their programs."""
    # It ends with bats.
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.bind(at_hand(path))
    door.listen()
    for module in modules:
        importlib.import_module(module)
    # Else a child's collector would write to, and so copy, all of it.
    gc.freeze()
    serving = []
    while True:
        caller, _ = door.accept()
        serving = [pid for pid in serving if not os.waitpid(pid, os.WNOHANG)[0]]
        serving.append(os.fork())
        if not serving[-1]:
            door.close()
            # What runs in the background of a shell would not hear it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return serve(caller)
        caller.close()


def serve(caller):
    told, files, _, _ = socket.recv_fds(caller, 1 << 20, 3)
    program = os.fork()
    if program:
        for fd in 0, 1, 2, *files:
            os.close(fd)
        caller.send(b"%d" % os.waitpid(program, 0)[1])
        os._exit(0)
    caller.close()
    for at, fd in enumerate(files):
        os.dup2(fd, at)
        os.close(fd)
    words, folder, environ = pickle.loads(told)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(environ)
    sys.path[:0] = os.environ["PYTHONPATH"].split(":")
    return words


def go(words):
    faulthandler.dump_traceback_later(600, exit=True)
    if words[0] == "-m":
        sys.argv[:] = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    sys.argv[:] = words
    if words[0] == "-":
        exec(compile(sys.stdin.read(), "-", "exec"), {"__name__": "__main__"})
        return
    sys.path.insert(0, os.path.dirname(words[0]))
    runpy.run_path(words[0], run_name="__main__")


def run(path, words):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
        told = pickle.dumps((words, os.getcwd(), dict(os.environb)))
        caller.connect(at_hand(path))
        socket.send_fds(caller, [told], [0, 1, 2])
        status = int(caller.recv(99))
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


what, path, *words = sys.argv[1:]
if what == "run":
    run(path, words)
go(keep(path, words))
