import { RelayError } from '../../base/errors.ts';

/** Whether only programs on this machine can reach what listens there. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** An address as pointers begin with it. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username) {
    return url.origin + url.pathname.replace(/\/+$/, '');
  }
  throw new RelayError('bad_usage', {
    what: '--public-url takes an address that begins with http:// or https://.',
    hint: 'For example: --public-url https://relay.example',
  });
}
