# SPDX-License-Identifier: GPL-2.0
"""Runs the example server and talks to it

Tests see the server from outside, by its answers, and from inside: the program is built with
standin/, which checks at exit what the server would have traced. Each server that stops must
report the statuses of all its requests.
"""
import argparse
import collections
import ctypes
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading

UPLOAD_MAX = 8 << 20
TIMEOUT = 300           # seconds for one answer; reached only if something hangs

args = argparse.Namespace()     # filled in by test_httpd.py
tests = []
libc = ctypes.CDLL(None, use_errno=True)
counting = threading.Lock()     # of the answers that a server gave: += of a Counter is not atomic


def test(f):
    tests.append(f)
    return f


class Skip(Exception):
    pass


def eq(got, want, what=''):
    if got != want:
        raise AssertionError(f'{what}: expected {want!r:.300}, got {got!r:.300}')


class Client:
    def __init__(self, server, rcvbuf=None):
        self.server = server
        self.sock = socket.socket()
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect(server.address)
        self.buf = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        if isinstance(data, str):
            data = data.encode('latin-1')
        self.sock.sendall(data)

    def fill(self):
        data = self.sock.recv(65536)
        self.buf += data
        return bool(data)

    def eof(self):
        """The connection was closed in order, with no more data."""
        eq(self.buf, b'', 'left over')
        eq(self.sock.recv(1), b'', 'after the end')

    def head(self):
        while b'\r\n\r\n' not in self.buf:
            if not self.fill():
                raise AssertionError(f'connection closed, after {self.buf!r:.200}')
        head, self.buf = self.buf.split(b'\r\n\r\n', 1)
        lines = head.decode('latin-1').split('\r\n')
        version, status, _ = lines[0].split(' ', 2)
        eq(version, 'HTTP/1.1')
        fields = {}
        for line in lines[1:]:
            name, value = line.split(': ', 1)
            if name.lower() in fields:
                raise AssertionError(f'{name} twice')
            fields[name.lower()] = value
        return int(status), fields

    def answer(self, head=False):
        status, fields = self.head()
        if status == 100:
            return status, fields, b''
        with counting:
            self.server.seen[status] += 1
        if 'date' not in fields:
            raise AssertionError('no Date')
        n = 0 if head or status in (204, 304) else int(fields['content-length'])
        parts, have = [self.buf], len(self.buf)
        while have < n:
            data = self.sock.recv(1 << 20)
            if not data:
                raise AssertionError(f'closed after {have} of {n} bytes')
            parts.append(data)
            have += len(data)
        data = b''.join(parts)
        self.buf = data[n:]
        return status, fields, data[:n]

    def ask(self, request, head=False):
        self.send(request)
        return self.answer(head)


def get(path, *fields, method='GET', version='1.1', host='Host: test\r\n'):
    return (f'{method} {path} HTTP/{version}\r\n{host}' + ''.join(f + '\r\n' for f in fields) + '\r\n')


def put(path, body, *fields, method='PUT'):
    return get(path, f'Content-Length: {len(body)}', *fields, method=method).encode('latin-1') + body


def no_openat2():
    """As on a kernel before 5.6: openat2 returns ENOSYS."""
    prog = b''.join(struct.pack('HBBI', *i) for i in (
        (0x20, 0, 0, 0),                    # load the system call's number
        (0x15, 0, 1, 437),                  # openat2, on every architecture
        (0x06, 0, 0, 0x00050000 | 38),      # ENOSYS
        (0x06, 0, 0, 0x7fff0000)))          # allow
    buf = ctypes.create_string_buffer(prog)
    fprog = struct.pack('HxxxxxxP', len(prog) // 8, ctypes.addressof(buf))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, fprog, 0, 0):
        raise OSError(ctypes.get_errno(), 'seccomp')


class Server:
    """A server with a root of known files

    Leaving the block stops it, and checks that it exits with 0 and that every request ended
    once, with the status that the clients saw."""

    def __init__(self, *options, timeout=30, preexec=None, prefix=(), uploads=None, compare=True):
        self.options, self.timeout, self.preexec = options, timeout, preexec
        self.prefix, self.given_uploads, self.compare = prefix, uploads, compare
        self.seen = collections.Counter()

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix='httpd-test-')
        os.chmod(self.dir, 0o755)
        self.root = f'{self.dir}/root'
        self.uploads = self.given_uploads or f'{self.dir}/uploads'
        os.makedirs(f'{self.root}/sub/empty')
        os.makedirs(self.uploads, exist_ok=True)
        self.files = {}
        rng = random.Random(args.seed)
        for name, data in (('index.html', b'<p>root</p>\n'), ('sub/index.html', b'<p>sub</p>\n'),
                           ('empty.txt', b''), ('a b.txt', b'blank\n'), ('x.unknown', b'?'),
                           ('64k.bin', rng.randbytes(65536)), ('64k1.bin', rng.randbytes(65537)),
                           ('256k.bin', rng.randbytes(1 << 18)), ('256k1.bin', rng.randbytes((1 << 18) + 1)),
                           ('512k.bin', rng.randbytes(1 << 19)), ('5m.bin', rng.randbytes(5 << 20 | 7))):
            self.files[name] = data
            with open(f'{self.root}/{name}', 'wb') as f:
                f.write(data)
        with open(f'{self.dir}/secret', 'w') as f:
            f.write('secret')
        # A copy, for servers that run as a user who cannot read the build directory.
        binary = shutil.copy(args.httpd, f'{self.dir}/httpd') if self.preexec else args.httpd
        self.proc = subprocess.Popen(
            [*self.prefix, binary, '-p', '0', '-r', self.root, '-u', self.uploads,
             '-t', str(self.timeout), *self.options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=self.child)
        line = self.proc.stdout.readline()
        m = re.fullmatch(r'listening on 127\.0\.0\.1:(\d+)\n', line)
        if not m:
            raise AssertionError(f'no address: {line!r} {self.proc.communicate()}')
        self.address = '127.0.0.1', int(m[1])
        return self

    def child(self):
        if self.preexec:
            self.preexec()
        libc.prctl(1, signal.SIGKILL, 0, 0, 0)      # the server ends with the test

    def client(self, **kw):
        return Client(self, **kw)

    def pid(self):
        if not self.prefix:
            return self.proc.pid
        with open(f'/proc/{self.proc.pid}/task/{self.proc.pid}/children') as f:
            return int(f.read().split()[0])

    def cpu_seconds(self):
        with open(f'/proc/{self.proc.pid}/stat') as f:
            fields = f.read().rsplit(') ', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def stop(self, sig=signal.SIGTERM):
        os.kill(self.pid(), sig)

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.finish()
        finally:
            if self.proc.poll() is None:
                self.stop(signal.SIGKILL)       # the server itself, not only strace around it
                self.proc.kill()
            self.proc.communicate()
            shutil.rmtree(self.dir)

    def finish(self):
        if self.proc.poll() is None:
            self.stop()
        _, err = self.proc.communicate(timeout=TIMEOUT)
        if self.proc.returncode:
            raise AssertionError(f'exit status {self.proc.returncode}:\n{err[-4000:]}')
        if self.prefix:
            return
        m = re.search(r'trace-check: (\d+) begun, (\d+) ended, .* (\d+) errors\nstatuses:(.*)\n', err)
        if not m:
            raise AssertionError(f'no trace-check: {err}')
        traced = {int(k): int(v) for k, v in (i.split('=') for i in m[4].split())}
        eq(int(m[3]), 0, 'errors')
        eq(int(m[1]), int(m[2]), 'begun and ended')
        eq(int(m[2]), sum(traced.values()), 'ended and statuses')
        if self.compare:
            eq(traced, {k: v for k, v in self.seen.items() if v}, 'statuses traced and seen')


def send_quietly(c, data):
    """Send to a server that may close the connection meanwhile."""
    try:
        c.send(data)
    except OSError:
        pass


def readable(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])
