# SPDX-License-Identifier: GPL-2.0
"""The server's answers to valid and invalid requests"""
import argparse
import collections
import hashlib
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import threading

from harness import Client, Server, Skip, TIMEOUT, UPLOAD_MAX, args, eq, get, no_openat2, put, test


@test
def files_arrive_whole_with_type_and_length():
    types = {'html': 'text/html; charset=utf-8', 'txt': 'text/plain; charset=utf-8'}
    with Server() as s, s.client() as c:
        for name, data in s.files.items():
            path = '/' + name.replace(' ', '%20')
            status, fields, body = c.ask(get(path))
            eq(status, 200, name)
            eq(hashlib.sha256(body).digest(), hashlib.sha256(data).digest(), name)
            eq(fields['content-type'], types.get(name.split('.')[1], 'application/octet-stream'), name)
            hstatus, hfields, _ = c.ask(get(path, method='HEAD'), head=True)
            eq(hstatus, 200, name)
            for f in (fields, hfields):
                f.pop('date')
            eq(hfields, fields, f'HEAD of {name}')
        eq(c.buf, b'')


@test
def an_etag_changes_with_the_content():
    with Server() as s, s.client() as c:
        def tag(path, method='GET'):
            status, fields, _ = c.ask(get(path, method=method), head=method == 'HEAD')
            eq(status, 200, path)
            return fields['etag']

        tags = {}
        for name in s.files:
            path = '/' + name.replace(' ', '%20')
            tags[name] = tag(path)
            eq(re.fullmatch('"[0-9a-f]{16}"', tags[name]) is not None, True, tags[name])
            eq((tag(path), tag(path, 'HEAD')), (tags[name], tags[name]), name)
        eq(len(set(tags.values())), len(tags), 'all files differ, so their tags do')
        index = f'{s.root}/index.html'
        for content, same in ((s.files['64k.bin'], True), (s.files['64k.bin'][:-1] + b'x', False)):
            changed = os.stat(index).st_mtime_ns
            with open(index, 'wb') as f:
                f.write(content)
            # Two writes may happen in one tick of the file system's clock.
            os.utime(index, ns=(changed + 1, changed + 1))
            eq(tag('/') == tags['64k.bin'], same, 'the tag is of the content')
        eq('etag' in c.ask(get('/nope'))[1], False, 'of a file only')


@test
def etags_asked_for_at_once_are_right():
    with Server('-w', '4') as s:
        tags = []

        def ask():
            with s.client() as c:
                tags.append(c.ask(get('/5m.bin', method='HEAD'), head=True)[1]['etag'])

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        eq((len(tags), len(set(tags))), (16, 1))


@test
def the_log_has_a_line_for_each_request():
    asked = [('/', 200), ('/a%20b.txt', 200), ('/nope', 404), ('/%0a%25%c3%a9', 404), ('/upload/x', 201),
             ('/256k1.bin', 200)]
    with tempfile.NamedTemporaryFile('r', encoding='ascii') as log:
        with Server('-l', log.name) as s, s.client() as c:
            for path, status in asked:
                eq(c.ask(put(path, b'x') if status == 201 else get(path))[0], status, path)
            threads = os.listdir(f'/proc/{s.proc.pid}/task')
        lines = [dict(f.split('=', 1) for f in line.split(' ')) for line in log.read().splitlines()]
    eq([(li['path'], int(li['status'])) for li in lines],
       [(re.sub('%..', lambda m: m[0].upper(), path), status) for path, status in asked])
    eq(len({int(li['id'], 16) for li in lines}), len(asked), 'ids differ')
    for li in lines:
        eq(li['thread'] in threads, True, li)
        eq(0 < int(li['queued']) <= int(li['taken']) <= int(li['done']), True, li)
        eq((int(li['fsync']) > 0, li['holder']), (li['status'] == '201', '0x0'), li)


@test
def directories_answer_with_their_index():
    with Server() as s, s.client() as c:
        for path, name in (('/', 'index.html'), ('/sub', 'sub/index.html'), ('/sub/', 'sub/index.html'),
                           ('//sub//', 'sub/index.html'), ('/./sub/.', 'sub/index.html'),
                           ('/?query', 'index.html'), ('http://test/sub', 'sub/index.html')):
            status, fields, body = c.ask(get(path))
            eq((status, body), (200, s.files[name]), path)
            eq(fields['content-type'], 'text/html; charset=utf-8', path)
        eq(c.ask(get('/sub/empty/'))[0], 404)


@test
def what_is_not_there_is_404_and_the_connection_stays():
    with Server() as s, s.client() as c:
        for path in ('/nope', '/sub/nope', '/index.html/', '/index.html/x', '/' + 'n' * 300,
                     '/' + 'n/' * 500, '/upload/nope'):
            status, _, body = c.ask(get(path))
            eq((status, body), (404, b'404 Not Found\n'), path)
            eq(c.ask(get(path, method='HEAD'), head=True)[0], 404, path)
        eq(c.ask(get('/'))[0], 200)


def refused_outside(s):
    link = f'{s.root}/sub'
    os.symlink('../../secret', f'{link}/out')
    os.symlink(f'{s.dir}/secret', f'{link}/absolute')
    os.symlink('../..', f'{link}/outdir')
    os.symlink('loop', f'{link}/loop')
    os.symlink('/proc/self/root', f'{link}/magic')
    os.mkfifo(f'{link}/fifo')
    os.symlink('../../secret', f'{s.uploads}/out')
    for path in ('/..', '/../', '/../secret', '/sub/../../secret', '/sub/..', '/%2e%2e/secret', '/.%2E/secret',
                 '/%2e./secret', '/sub%2f..%2f..%2fsecret', '/..%2fsecret', '//../secret', '/sub/../index.html',
                 '/sub/out', '/sub/absolute', '/sub/outdir/secret', '/sub/outdir/', '/sub/outdir', '/sub/loop',
                 '/sub/magic/etc/passwd', '/sub/fifo', '/upload/../secret', '/upload/%2e%2e/secret',
                 '/upload/..', '/upload/.hidden', '/upload/', '/upload/a/b', '/upload/a%2fb', '/upload/out'):
        with s.client() as c:
            status, _, body = c.ask(get(path))
            eq((status, body), (403, b'403 Forbidden\n'), path)
    for path in ('/upload/../evil', '/upload/%2e%2e%2fevil', '/upload/.evil', '/upload/', '/upload/a/evil',
                 '/upload/' + 'n' * 256):
        with s.client() as c:
            eq(c.ask(put(path, b'evil'))[0], 403, path)
    eq(os.path.exists(f'{s.dir}/evil'), False)
    eq(sorted(os.listdir(s.uploads)), ['out'])
    with s.client() as c:       # a link that is overwritten is replaced, not followed
        eq(c.ask(put('/upload/out', b'new'))[0], 204)
        eq(open(f'{s.dir}/secret').read(), 'secret')
        eq(open(f'{s.uploads}/out').read(), 'new')


@test
def nothing_outside_the_root_is_served():
    with Server() as s:
        os.symlink('index.html', f'{s.root}/inside')
        os.symlink('sub', f'{s.root}/insidedir')
        with s.client() as c:
            eq(c.ask(get('/inside'))[2], s.files['index.html'])
            eq(c.ask(get('/insidedir/'))[2], s.files['sub/index.html'])
        refused_outside(s)


@test
def nothing_outside_the_root_is_served_without_openat2():
    with Server(preexec=no_openat2) as s:
        with s.client() as c:
            for path, name in (('/', 'index.html'), ('/sub', 'sub/index.html'), ('//sub//', 'sub/index.html'),
                               ('/./sub/./index.html', 'sub/index.html'), ('/5m.bin', '5m.bin')):
                eq(c.ask(get(path))[::2], (200, s.files[name]), path)
            for path in ('/nope', '/index.html/', '/' + 'n' * 300):
                eq(c.ask(get(path))[0], 404, path)
        refused_outside(s)
        os.symlink('index.html', f'{s.root}/inside')
        with s.client() as c:   # shows that the fallback for openat2 was used
            eq(c.ask(get('/inside'))[0], 403)


@test
def unreadable_files_are_403():
    if os.geteuid() == 0:
        def preexec():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
    else:
        preexec = None
    with Server(preexec=preexec) as s, s.client() as c:
        os.chmod(f'{s.root}/x.unknown', 0)
        eq(c.ask(get('/x.unknown'))[0], 403)
        os.chmod(s.uploads, 0o555)
        eq(c.ask(put('/upload/x', b'x'))[0], 403, 'into a directory without write permission')


@test
def pipelined_requests_are_answered_in_order():
    with Server() as s, s.client() as c:
        names = ['index.html', 'empty.txt', '64k1.bin', 'x.unknown', '256k1.bin', '64k.bin', 'sub/index.html'] * 6
        sender = threading.Thread(target=c.send, args=(''.join(get('/' + n) for n in names),))
        sender.start()
        for n in names:
            eq(c.answer()[::2], (200, s.files[n]), n)
        sender.join()
        c.send(put('/upload/p', b'body') + get('/upload/p').encode() + get('/nope').encode() +
               put('/upload/p', b'longer') + get('/upload/p', 'Connection: close').encode() +
               get('/never').encode())
        eq([c.answer()[::2] for _ in range(5)], [(201, b''), (200, b'body'), (404, b'404 Not Found\n'),
                                                 (204, b''), (200, b'longer')])
        c.eof()


@test
def requests_may_come_byte_by_byte():
    with Server() as s, s.client() as c:
        c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for b in put('/upload/slow', b'0123456789') + get('/sub/').encode():
            c.send(bytes([b]))
        eq(c.answer()[0], 201)
        eq(c.answer()[2], s.files['sub/index.html'])
        eq(open(f'{s.uploads}/slow', 'rb').read(), b'0123456789')


@test
def connections_are_kept_or_closed_as_asked():
    with Server() as s:
        with s.client() as c:
            for _ in range(200):
                status, fields, _ = c.ask(get('/'))
                eq((status, fields.get('connection')), (200, None))
            eq(c.ask(get('/', 'Connection: close'))[1]['connection'], 'close')
            c.eof()
        with s.client() as c:
            eq(c.ask(get('/', version='1.0'))[1]['connection'], 'close')
            c.eof()
        with s.client() as c:
            for _ in range(3):
                eq(c.ask(get('/', 'Connection: Keep-Alive', version='1.0', host=''))[1]['connection'], 'keep-alive')
        with s.client() as c:       # half closed: the client still gets all its answers
            c.send(get('/5m.bin') + get('/'))
            c.sock.shutdown(socket.SHUT_WR)
            eq(c.answer()[2], s.files['5m.bin'])
            eq(c.answer()[2], s.files['index.html'])
            c.eof()


@test
def bad_requests_are_answered_and_closed():
    long = 'x' * 5000
    cases = (
        (400, 'GET\r\n'), (400, 'GET / HTTP/1.1\r\n\r\n'), (400, 'GET / HTTP/1.1\r\nHost : a\r\n'),
        (400, get('/%zz')), (400, get('/%00')), (400, '\x16\x03\x01\x02\x00\x01\n\r\n'),
        (400, get('/', 'Content-Length: x')), (400, get('/', 'Content-Length: 1', 'Content-Length: 2')),
        (400, get('/', 'Content-Length: 1', 'Transfer-Encoding: chunked')),
        (405, get('/', method='DELETE')), (405, get('*', method='OPTIONS')), (405, put('/x', b'y')),
        (405, get('/upload/x', method='DELETE')),
        (411, get('/upload/x', method='PUT')), (411, get('/upload/x', method='POST')),
        (413, get('/upload/x', f'Content-Length: {UPLOAD_MAX + 1}', method='PUT')),
        (413, get('/upload/x', f'Content-Length: {UPLOAD_MAX + 1}', 'Expect: 100-continue', method='PUT')),
        (413, get('/', 'Content-Length: 99999999999999999999999')),
        (414, get('/' + long)), (414, 'GET /' + long),
        (417, get('/', 'Expect: more')), (431, get('/', 'X: ' + long, 'X: ' + long)),
        (431, get('/', *['X: y'] * 101)), (501, get('/', method='BREW')),
        (501, get('/upload/x', 'Transfer-Encoding: chunked', method='PUT') + '0\r\n\r\n'),
        (505, get('/', version='2.0')), (505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
    with Server() as s:
        for want, request in cases:
            with s.client() as c:
                status, fields, body = c.ask(request)
                eq(status, want, request[:60])
                eq(fields['connection'], 'close', request[:60])
                eq(body[:4], f'{want} '.encode(), request[:60])
                if want == 405:
                    allow = 'GET, HEAD, PUT, POST' if '/upload' in str(request) else 'GET, HEAD'
                    eq(fields['allow'], allow, request[:60])
                c.eof()
        eq(os.listdir(s.uploads), [])


@test
def uploads_are_stored_whole():
    rng = random.Random(args.seed)
    with Server() as s, s.client() as c:
        for n in (0, 1, 8191, 8192, 65537, 1 << 20, UPLOAD_MAX):
            data = rng.randbytes(n)
            for method, want in (('PUT', 201), ('POST', 204)):
                status, fields, body = c.ask(put(f'/upload/n{n}', data, method=method))
                eq((status, body), (want, b''), n)
            eq(open(f'{s.uploads}/n{n}', 'rb').read() == data, True, n)
            eq(c.ask(get(f'/upload/n{n}'))[2] == data, True, n)
        eq(c.ask(put('/upload/a%20b%25.txt', b'named'))[0], 201)
        eq(open(f'{s.uploads}/a b%.txt').read(), 'named')
        eq(len(os.listdir(s.uploads)), 8, 'no temporary files are left')
        os.mkdir(f'{s.uploads}/dir')
        eq(c.ask(put('/upload/dir', b'x'))[0], 409)
        eq(c.ask(get('/', 'Content-Length: 4') + 'body' + get('/sub'))[0], 200, 'a body for GET is skipped')
        eq(c.answer()[2], s.files['sub/index.html'])


@test
def expect_100_continue():
    with Server() as s, s.client() as c:
        head = get('/upload/e', 'Content-Length: 4', 'Expect: 100-continue', method='PUT')
        for want in (201, 204):
            eq(c.ask(head)[0], 100)
            eq(c.ask('body')[0], want)
        eq(c.ask(head + 'body')[0], 204, 'no invitation for what is there already')
        eq(c.ask(get('/', 'Expect: 100-continue'))[0], 200, 'also without a body')


@test
def concurrent_uploads_never_mix():
    with Server('-w', '8') as s:
        stop = threading.Event()
        bodies = [bytes([b]) * 200000 for b in range(8)]
        wrong = []

        def reader():
            while not stop.is_set():
                with s.client() as c:
                    status, _, body = c.ask(get('/upload/same'))
                    if status == 200 and body not in bodies:
                        wrong.append(len(body))

        def writer(body):
            with s.client() as c:
                for _ in range(5):
                    if c.ask(put('/upload/same', body))[0] not in (201, 204):
                        wrong.append('status')

        # Each body has a thread of its own, so that the uploads are concurrent.
        threads = [threading.Thread(target=writer, args=(b,)) for b in bodies]
        watcher = threading.Thread(target=reader)
        for t in (*threads, watcher):
            t.start()
        for t in threads:
            t.join()
        stop.set()
        watcher.join()
        eq(wrong, [])
        eq(s.seen[201], 1, 'created once')
        eq(s.seen[201] + s.seen[204], 40)


@test
def uploads_are_synced_before_the_answer():
    if not shutil.which('strace'):
        raise Skip('strace is not installed (selftests/deps.sh installs it)')
    log = tempfile.NamedTemporaryFile('r', suffix='.strace')
    with Server(prefix=('strace', '-f', '-qq', '-y', '-o', log.name, '-e',
                        'trace=openat,write,fsync,renameat,sendmsg')) as s, s.client() as c:
        eq(c.ask(put('/upload/synced', b'data'))[0], 201)
    calls = [re.sub(r'^\d+ +', '', line) for line in log]
    calls = calls[next(i for i, l in enumerate(calls) if '.upload-' in l):]
    steps = (r'openat\(.*"\.upload-.*O_EXCL', r'write\(\d+<.*/uploads/\.upload-.*"data"', r'fsync\(\d+<.*/uploads/\.upload-',
             r'renameat\(.*"\.upload-.*"synced"', r'fsync\(\d+<.*/uploads>', r'sendmsg\(.*201 Created')
    at = 0
    for call in calls:
        if at < len(steps) and re.match(steps[at], call):
            at += 1
        elif any(re.match(step, call) for step in steps):
            raise AssertionError(f'out of order: {call}')
    eq(at, len(steps), f'steps in {calls}')


@test
def a_full_disk_is_507():
    if os.geteuid():
        raise Skip('mounting a small filesystem needs root')
    where = tempfile.mkdtemp(prefix='httpd-full-')
    try:
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', where],
                          stderr=subprocess.DEVNULL).returncode:
            raise Skip('mounting is not allowed here')
        try:
            with Server(uploads=where) as s, s.client() as c:
                eq(c.ask(put('/upload/big', bytes(2 << 20)))[0], 507)
                eq(os.listdir(where), [], 'no temporary files are left')
                eq(c.ask(put('/upload/small', b'x'))[0], 201)
        finally:
            subprocess.run(['umount', where], check=True)
    finally:
        os.rmdir(where)


@test
def without_an_upload_directory_uploads_are_refused():
    with tempfile.TemporaryDirectory() as root:
        p = subprocess.Popen([args.httpd, '-p', '0', '-r', root], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        try:
            s = argparse.Namespace(address=('127.0.0.1', int(p.stdout.readline().rsplit(':')[-1])),
                                   seen=collections.Counter())
            with Client(s) as c:
                status, fields, _ = c.ask(put('/upload/x', b'x'))
                eq((status, fields['allow']), (405, 'GET, HEAD'))
            p.terminate()
            p.communicate(timeout=TIMEOUT)
            eq(p.returncode, 0)
        finally:
            p.kill()


@test
def options_are_checked():
    def run(*argv):
        p = subprocess.run([args.httpd, *argv], capture_output=True, text=True, timeout=TIMEOUT)
        return p.returncode, p.stdout, p.stderr
    code, out, err = run('--help')
    eq((code, err), (0, ''))
    for word in ('-p PORT', '-b ADDR', '-r ROOT', '-u UPLOADDIR', '-w WORKERS', '-l LOGFILE'):
        eq(word in out, True, word)
    for argv in (('-p', '65536'), ('-p', 'x'), ('-p', ''), ('-w', '0'), ('-w', '257'), ('-t', '0'), ('-z',), ('extra',)):
        code, out, err = run(*argv)
        eq((code, out, 'httpd --help' in err), (2, '', True), argv)
    for argv, name in ((('-r', '/nonexistent'), '/nonexistent'), (('-u', '/nonexistent', '-p', '0'), '/nonexistent'),
                       (('-l', '/nonexistent/log', '-p', '0'), '/nonexistent/log'),
                       (('-b', 'localhost.invalid', '-p', '0'), 'localhost.invalid'),
                       (('-b', '192.0.2.1', '-p', '0'), '192.0.2.1')):
        code, out, err = run(*argv)
        eq((code, out, name in err), (1, '', True), argv)
    with Server() as s:
        port = str(s.address[1])
        code, out, err = run('-p', port)
        eq((code, out, port in err and 'in use' in err), (1, '', True))
        with s.client() as c:
            eq(c.ask(get('/'))[0], 200)


@test
def threads_have_names():
    with Server('-w', '3') as s, s.client() as c:
        eq(c.ask(get('/'))[0], 200)
        task = f'/proc/{s.proc.pid}/task'
        names = sorted(open(f'{task}/{t}/comm').read().strip() for t in os.listdir(task))
        main = open(f'/proc/{s.proc.pid}/comm').read().strip()
        eq(set(names) >= {'accept', 'disk', 'worker-0', 'worker-1', 'worker-2', main}, True, names)
        eq(sum(n.startswith('worker-') for n in names), 3)
