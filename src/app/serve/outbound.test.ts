import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { isPublicAddress } from './addresses.ts';
import { publicFetch } from './outbound.ts';

describe('publicFetch', () => {
  let server: Server;
  let base = '';
  const seen: string[] = [];
  before(async () => {
    server = createServer((request, response) => {
      seen.push(request.url ?? '');
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
      if (pathname === '/to') response.writeHead(302, { location: searchParams.get('url') ?? '' }).end();
      else if (pathname === '/loop') response.writeHead(302, { location: '/loop' }).end();
      else if (pathname === '/big') {
        response.writeHead(200);
        const more = () => {
          if (!response.destroyed && response.write(Buffer.alloc(65_536))) setImmediate(more);
        };
        response.on('drain', more);
        more();
      } else if (pathname === '/slow') response.writeHead(200).write('never ends');
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('hello');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Allows requests to this machine, which `guarded` rejects. */
  const open = publicFetch((address) => address === '127.0.0.1');
  const guarded = publicFetch();
  const o = (ms = 10_000) => ({ maxBytes: 100_000, signal: AbortSignal.timeout(ms) });

  it('returns the page, its final URL and its type', async () => {
    const page = await open(`${base}/to?url=/page`, o());
    assert.deepEqual([page.status, page.url, page.contentType], [200, `${base}/page`, 'text/plain']);
    assert.equal(Buffer.from(page.body).toString(), 'hello');
  });

  it('connects only to public addresses', async () => {
    const { port } = server.address() as AddressInfo;
    seen.length = 0;
    for (const url of [
      base,
      `http://localhost:${port}/`,
      `http://[::1]:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://2130706433:${port}/`,
      `http://0x7f.1:${port}/`,
      `http://127.1:${port}/`,
      `http://0:${port}/`,
      'http://169.254.169.254/latest/meta-data/',
      'http://[fd00:ec2::254]/',
      'http://10.0.0.1/',
      'http://192.168.1.1/',
    ]) {
      await assert.rejects(guarded(url, o()), /not on the public internet/, url);
    }
    assert.deepEqual(seen, []);
  });

  it('checks every redirect again', async () => {
    await assert.rejects(open(`${base}/to?url=http://169.254.169.254/x`, o()), /not on the public internet/);
    await assert.rejects(open(`${base}/to?url=http://10.1.2.3/`, o()), /not on the public internet/);
    await assert.rejects(open(`${base}/to?url=file:///etc/passwd`, o()), /neither http/);
    await assert.rejects(open(`${base}/to?url=http://u:p@127.0.0.1/`, o()), /user name/);
    await assert.rejects(open(`${base}/loop`, o()), /redirects more than/);
  });

  it('rejects a host name if any of its addresses is not public', async () => {
    const checkedAddresses: string[] = [];
    const mixed = publicFetch((address) => {
      checkedAddresses.push(address);
      return isPublicAddress(address);
    });
    await assert.rejects(mixed(`http://localhost:${new URL(base).port}/`, o()), /not on the public internet/);
    assert.ok(checkedAddresses.length > 0);
  });

  it('stops at the size limit and at the timeout', async () => {
    await assert.rejects(open(`${base}/big`, o()), /larger than 100000 bytes/);
    await assert.rejects(open(`${base}/slow`, o(200)));
  });

  it('accepts only http and https', async () => {
    for (const url of [
      'ftp://example.com/',
      'file:///etc/passwd',
      'javascript:1',
      'not a url',
      'http://user@example.com/',
    ]) {
      await assert.rejects(guarded(url, o()), /refused|neither|not a URL|user name/);
    }
  });
});
