# SPDX-License-Identifier: GPL-2.0
"""Slow clients, vanishing clients, many clients, shortages, the end of the server"""
import argparse
import collections
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import traceback

from harness import (Client, Server, Skip, TIMEOUT, UPLOAD_MAX, args, eq, get, put, readable,
                     send_quietly, test)


@test
def a_refused_body_does_not_reset_the_answer():
    with Server() as s:
        for _ in range(5):
            with s.client() as c:
                sender = threading.Thread(target=lambda: send_quietly(c, bytes(UPLOAD_MAX + 1)))
                c.send(get('/upload/x', f'Content-Length: {UPLOAD_MAX + 1}', method='PUT'))
                sender.start()
                eq(c.answer()[0], 413)
                sender.join()


@test
def slow_requests_are_408():
    with Server(timeout=1) as s:
        for part in ('G', get('/')[:-1], put('/upload/x', b'1234')[:-1].decode(),
                     get('/upload/x', 'Content-Length: 4', 'Expect: 100-continue', method='PUT')):
            with s.client() as c:
                c.send(part)
                status, fields, _ = c.answer()
                if status == 100:
                    status, fields, _ = c.answer()
                eq((status, fields['connection']), (408, 'close'), part)
                c.eof()
        with s.client() as c:       # a trickle of bytes does not extend the time
            try:
                while not readable(c.sock, 0.1):
                    c.send('G' if not c.buf else '')
            except OSError:
                pass
            eq(c.answer()[0], 408)
        with s.client() as c:       # no byte at all: closed without an answer
            c.eof()
        with s.client() as c:
            eq(c.ask(get('/'))[0], 200)
            c.eof()
        eq(os.listdir(s.uploads), [])


@test
def a_slow_reader_gets_everything():
    with Server('-w', '1') as s, s.client(rcvbuf=4096) as c:
        c.send(get('/5m.bin') + get('/512k.bin'))
        with s.client() as other:   # the only worker is not blocked by it
            eq(other.ask(get('/5m.bin'))[2], s.files['5m.bin'])
        got = b''
        while b'\r\n\r\n' not in c.buf:
            c.fill()
        for _ in range(50):
            got += c.sock.recv(3000)
            time.sleep(0.002)
        c.buf += got
        eq(c.answer()[2], s.files['5m.bin'])
        eq(c.answer()[2], s.files['512k.bin'])


@test
def clients_that_go_away_end_with_499():
    with Server('-w', '2') as s:
        for hard in (False, True):
            for request, want in ((get('/')[:20], None), (put('/upload/gone', bytes(100000))[:50000], 499),
                                  (get('/upload/gone', 'Content-Length: 5', 'Expect: 100-continue', method='PUT'),
                                   499),
                                  (get('/5m.bin'), 499), (get('/5m.bin') * 3, 499)):
                c = s.client(rcvbuf=4096)
                c.send(request)
                if want and '100-continue' in str(request):
                    eq(c.answer()[0], 100)
                elif want and b'upload' not in (request if isinstance(request, bytes) else b''):
                    c.fill()
                if hard:
                    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                c.sock.close()
                if want:
                    s.seen[want] += 1
        eq(os.listdir(s.uploads), [])
        with s.client() as c:
            eq(c.ask(get('/'))[0], 200)


@test
def a_client_that_never_reads_is_given_up():
    with Server(timeout=1) as s, s.client(rcvbuf=4096) as c:
        c.send(get('/5m.bin') * 2)
        c.head()
        # Wait until the server closes the connection. The client must not read to notice that,
        # because the server could then send more. So watch the state of the server's socket.
        while ' 01 ' in conn_states(s.address[1]):
            time.sleep(0.05)
        s.seen[499] += 1


def conn_states(port):
    """Return the states of the server's sockets at @port; 01 is established."""
    with open('/proc/net/tcp') as f:
        lines = [l.split() for l in f.readlines()[1:]]
    return ''.join(f' {l[3]} ' for l in lines if int(l[1].split(':')[1], 16) == port)


@test
def a_file_cut_short_ends_the_answer():
    with Server() as s, s.client(rcvbuf=4096) as c:
        c.send(get('/5m.bin'))
        _, fields = c.head()
        os.truncate(f'{s.root}/5m.bin', 1000)
        n = len(c.buf)
        while True:
            data = c.sock.recv(1 << 20)
            if not data:
                break
            n += len(data)
        eq(n < int(fields['content-length']), True, 'not more than there was')
        s.seen[500] += 1
        with s.client() as other:
            eq(len(other.ask(get('/5m.bin'))[2]), 1000)


@test
def stopping_finishes_what_runs():
    for sig in (signal.SIGTERM, signal.SIGINT):
        with Server() as s, s.client(rcvbuf=4096) as slow, s.client() as upload, \
                s.client() as idle, s.client() as partial:
            slow.send(get('/5m.bin') + get('/never'))
            while b'\r\n\r\n' not in slow.buf:
                slow.fill()
            upload.send(get('/upload/x', 'Content-Length: 4', 'Expect: 100-continue', method='PUT'))
            eq(upload.answer()[0], 100)
            eq(idle.ask(get('/'))[0], 200)
            partial.send(get('/')[:10])
            s.stop(sig)
            idle.eof()
            try:
                eq(partial.sock.recv(1), b'')
            except ConnectionResetError:
                pass        # the bytes came after the stop
            try:
                Client(s)
                raise AssertionError('still accepts')
            except ConnectionRefusedError:
                pass
            eq(s.proc.poll(), None, 'still at it')
            eq(slow.answer()[2], s.files['5m.bin'])
            slow.eof()
            status, fields, _ = upload.ask('body')
            eq((status, fields['connection']), (201, 'close'))
            upload.eof()


@test
def running_out_of_descriptors_is_survived():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
    with Server(preexec=few) as s:
        clients = [s.client() for _ in range(60)]
        cpu = s.cpu_seconds()
        time.sleep(1)
        eq(s.cpu_seconds() - cpu < 0.3, True, 'it waits for descriptors instead of asking all the time')
        for c in clients:
            c.send(get('/', 'Connection: close'))
        for c in clients:
            eq(c.answer()[0] in (200, 500), True)
            c.sock.close()
        # At first, the server may not have closed its ends of the last connections.
        end = time.monotonic() + TIMEOUT
        status = 500
        while status == 500 and time.monotonic() < end:
            with s.client() as c:
                status = c.ask(get('/'))[0]
        eq(status, 200)


@test
def many_connections_are_served_in_turn():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        raise Skip(f'only {hard} file descriptors are allowed')
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    try:
        with Server() as s:
            clients = [s.client() for _ in range(1200)]
            for c in clients[:1000]:
                eq(c.ask(get('/'))[0], 200)
            for c in clients[:1000]:
                c.sock.close()
            for c in clients[1000:]:
                eq(c.ask(get('/'))[0], 200)
                c.sock.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@test
def ab_2000_requests_16_at_a_time():
    if not shutil.which('ab'):
        raise Skip('ab is not installed (selftests/deps.sh installs apache2-utils)')
    for name in ('index.html', '256k1.bin'):
        for keep in ([], ['-k']):
            with Server() as s:
                url = f'http://127.0.0.1:{s.address[1]}/{name}'
                out = subprocess.run(['ab', '-q', '-n', '2000', '-c', '16', *keep, url],
                                     capture_output=True, text=True, timeout=TIMEOUT).stdout
                n = {k: int(v) for k, v in re.findall(r'^(.*?): +(\d+)', out, re.M)}
                eq(n['Complete requests'], 2000, out)
                eq(n['Failed requests'], 0, out)
                eq(n.get('Write errors', 0), 0, out)
                eq(n['HTML transferred'], 2000 * len(s.files[name]), out)
                eq(n.get('Keep-Alive requests', 0), 2000 if keep else 0, out)
                eq('Non-2xx' in out, False, out)
                s.seen[200] += 2000


@test
def mixed_load_leaves_nothing_behind():
    """Uploads, downloads, errors and vanishing clients at once; afterwards every request has
        ended once, and every answered request was counted."""
    with Server('-w', '3', compare=False) as s:
        wrong = []
        lock = threading.Lock()
        total = collections.Counter()

        def run(seed):
            rng = random.Random(seed)
            mine = argparse.Namespace(address=s.address, seen=collections.Counter())
            try:
                for _ in range(60):
                    c = Client(mine, rcvbuf=rng.choice((None, 4096)))
                    for _ in range(rng.randrange(1, 6)):
                        what = rng.randrange(6)
                        if what == 0:
                            body = rng.randbytes(rng.randrange(100000))
                            eq(c.ask(put(f'/upload/f{seed}', body))[0] in (201, 204), True)
                            eq(c.ask(get(f'/upload/f{seed}'))[2] == body, True)
                        elif what == 1:
                            eq(c.ask(get('/nope'))[0], 404)
                        elif what == 2:
                            c.send(get('/5m.bin'))      # and never read all of it
                            c.fill()
                            break
                        elif what == 3:
                            c.send(put('/upload/x', bytes(1000))[:-1])
                            break
                        else:
                            name = rng.choice(list(s.files))
                            eq(c.ask(get('/' + name.replace(' ', '%20')))[2] == s.files[name], True)
                    c.sock.close()
            except Exception:
                wrong.append(f'seed {seed}: {traceback.format_exc()}')
            with lock:
                total.update(mine.seen)

        threads = [threading.Thread(target=run, args=(args.seed + i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        eq(wrong, [])
        eq('x' in os.listdir(s.uploads), False)


@test
def garbage_does_no_harm():
    with Server(timeout=1, compare=False) as s:
        rng = random.Random(args.seed)
        bits = [b'GET ', b'PUT /upload/g', b' HTTP/1.1\r\n', b'Host: a\r\n', b'\r\n', b'\r\n\r\n', b'Content-Length: ',
                b'5', b'/', b'%2e', b'\n', b' ', get('/').encode(), get('/5m.bin').encode(),
                put('/upload/g', b'12345'), get('/', 'Connection: close').encode()]
        for _ in range(300):
            data = b''.join(rng.choice(bits) if rng.randrange(5) else
                            rng.randbytes(rng.randrange(20))
                            for _ in range(rng.randrange(30)))
            with s.client() as c:
                send_quietly(c, data)
                if rng.randrange(2):
                    try:
                        c.sock.shutdown(socket.SHUT_WR)
                        while c.sock.recv(1 << 20):
                            pass
                    except OSError:
                        pass
        with s.client() as c:
            eq(c.ask(get('/sub'))[2], s.files['sub/index.html'])
