import { isLoopback } from '../../base/address.ts';
import { WEBHOOK_TIME_MS } from '../../base/limits.ts';
import type { WebhookPost } from '../../interfaces/a2a/webhooks.ts';
import { isPublicAddress } from './addresses.ts';
import { type AddressGuard, checkHost, guardedRequest } from './guarded-request.ts';

/** Posts to webhooks of the public internet, and of this machine where its operator wants that (`loopback`). */
export function webhookPost(o: { readonly loopback: boolean }): WebhookPost {
  const guard: AddressGuard = {
    allow: (address) => isPublicAddress(address) || (o.loopback && isLoopback(address)),
    refuse: (host) => new Error(`${host.replace(/^\[|\]$/g, '')} is not an address of the public internet`),
  };
  return {
    check: (text) => checkHost(webhookUrl(text), guard).catch(unlessUnknown),
    post: async (text, { headers, body }) => {
      const url = webhookUrl(text);
      const signal = AbortSignal.timeout(WEBHOOK_TIME_MS);
      const answer = await guardedRequest(url, guard, { method: 'POST', headers, body, signal });
      answer.resume();
      const { statusCode = 0 } = answer;
      if (statusCode < 200 || statusCode > 299)
        throw new Error(`The webhook at ${url.host} answered ${statusCode}.`);
    },
  };
}

/** A name that nobody knows now may be known when something is sent, and what it leads to is checked then. */
function unlessUnknown(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOTFOUND' && error.code !== 'EAI_AGAIN') throw error;
}

function webhookUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('it is no http:// or https:// address');
  if (url.username || url.password) throw new Error('it names a user');
  return url;
}
