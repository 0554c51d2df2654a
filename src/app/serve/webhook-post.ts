import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from '../../base/address.ts';
import { WEBHOOK_TIME_MS } from '../../base/limits.ts';
import type { WebhookPost } from '../../interfaces/a2a/webhooks.ts';

/**
 * Posts to webhooks of the public internet. The address is checked where the connection is made, so a name that leads
 * elsewhere by then is refused as well. Redirects are not followed. `allowPrivate` is for tests and for closed networks.
 */
export function webhookPost(o: { readonly allowPrivate: boolean }): WebhookPost {
  const allowed = (address: string) => o.allowPrivate || isPublicAddress(address);
  const guarded: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '', 4);
      const refused = found.find(({ address }) => !allowed(address));
      if (refused || found.length === 0) return callback(notPublic(hostname), '', 4);
      if (options.all) return callback(null, found as never, 4);
      const [{ address, family }] = found as [LookupAddress];
      return callback(null, address, family);
    });
  };
  return {
    check: async (text) => {
      const url = webhookUrl(text);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host)) {
        if (!allowed(host)) throw notPublic(host);
        return;
      }
      await new Promise<void>((resolve, reject) => {
        guarded(host, { all: true }, (error) => (error ? reject(error) : resolve()));
      });
    },
    post: (text, { headers, body }) => {
      const url = webhookUrl(text);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) && !allowed(host)) return Promise.reject(notPublic(host));
      return send(url, guarded, headers, body);
    },
  };
}

function send(
  url: URL,
  guarded: LookupFunction,
  headers: Record<string, string>,
  body: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const signal = AbortSignal.timeout(WEBHOOK_TIME_MS);
    const asked = open(url, { method: 'POST', headers, lookup: guarded, signal, agent: false }, (answer) => {
      answer.resume();
      const { statusCode = 0 } = answer;
      if (statusCode >= 200 && statusCode < 300) resolve();
      else reject(new Error(`The webhook at ${url.host} answered ${statusCode}.`));
    });
    asked.once('error', reject);
    asked.end(body);
  });
}

function webhookUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('it is no http:// or https:// address');
  if (url.username || url.password) throw new Error('it names a user');
  return url;
}

function notPublic(host: string): Error {
  return new Error(`${host} is not an address of the public internet`);
}
