import { RelayError } from '../../../base/errors.ts';

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
